"""Random valid programs of real operators: views, several results, stores, draws, effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import torch
from hypothesis import strategies as st

from forge_ugc.npuir.instruction import (
    Const,
    Device,
    Instruction,
    Operand,
    Ref,
    Reg,
    Result,
    State,
    Symbol,
    ViewOf,
)
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program, StateDecl, Store
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.infer import infer_views
from forge_ugc.ops.core.schema import is_view, overload_of
from forge_ugc.ops.core.torch_types import empty

SHAPES = ((4, 6), (6, 4), (1, 6), (6,), (4, 1, 6), (16, 24), (0, 6))
DTYPES = (DType.F32, DType.F32, DType.F32, DType.BF16, DType.I64)
DEVICES = (Device("cpu"), Device("npu"), Device("aie"))


class Builder:
    """Appends drawn instructions whose types are inferred."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.types: dict[Ref, TensorType] = {}
        self.values: list[Ref] = []
        self.inputs: list[InputDecl] = []
        self.states: list[StateDecl] = []
        self.constants: list[ConstDecl] = []
        self.instructions: list[Instruction] = []
        self.devices = DEVICES[: draw(st.integers(1, 3))]
        self._next = 0

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def declare(self) -> None:
        for index in range(self.draw(st.integers(2, 4))):
            kind = TensorType.of(self.one(DTYPES), self.one(SHAPES))
            self.inputs.append(InputDecl(self._reg(), f"x{index}", kind))
            self._know(self.inputs[-1].reg, kind)
            if self.flip():
                self.states.append(StateDecl(f"s{index}", kind))
                self._know(State(f"s{index}"), kind)
        kind = TensorType.of(DType.F32, (4, 6))
        self.constants.append(ConstDecl("w", kind))
        row = TensorType.of(DType.F32, (6,))
        self.constants.append(ConstDecl("w.row", row, ViewOf(Const("w"), 24)))
        self._know(Const("w"), kind)
        self._know(Const("w.row"), row)

    def one(self, among: Sequence[Any]) -> Any:
        return among[self.draw(st.integers(0, len(among) - 1))]

    def pick(self, fits: Callable[[TensorType], bool]) -> Ref | None:
        """A value of a fitting type, more often a young one."""
        able = [v for v in self.values if fits(self.types[v])]
        if not able:
            return None
        return self.one(able[-4:] if self.flip() else able)

    def emit(self, opcode: str, operands: Sequence[Operand], **attributes: Any) -> tuple[Reg, ...]:
        kinds = infer_views(opcode, [self._typed(o) for o in operands], attributes)
        view = "." in opcode and is_view(overload_of(opcode))
        results = []
        for kind, offset in kinds:
            of = ViewOf(operands[0], offset * kind.dtype.size_bytes) if view else None  # type: ignore[arg-type]
            results.append(Result(self._reg(), kind, of))
        device = self.one(self.devices)
        self.instructions.append(
            Instruction(
                tuple(results), opcode, tuple(operands), MappingProxyType(attributes), device
            )
        )
        for result in results:
            self._know(result.reg, result.type)
        return tuple(r.reg for r in results)

    def finish(self) -> Program:
        outputs = tuple(self.one(self.values) for _ in range(self.draw(st.integers(1, 3))))
        stores = []
        targets = [i.reg for i in self.inputs] + [State(s.name) for s in self.states]
        for target in targets:
            kind = self.types[target]
            able = [
                v
                for v in self.values
                if self.types[v].shape == kind.shape and self.types[v].dtype == kind.dtype
            ]
            if self.flip():
                stores.append(Store(target, self.one(able)))
        return Program(
            name="random",
            target="cpu",
            inputs=tuple(self.inputs),
            constants=tuple(self.constants),
            states=tuple(self.states),
            instructions=tuple(self.instructions),
            stores=tuple(stores),
            outputs=outputs,
        )

    def _typed(self, operand: Operand) -> Any:
        if isinstance(operand, tuple):
            return tuple(self._typed(o) for o in operand)
        return self.types[operand] if isinstance(operand, Reg | Const | State) else operand

    def _reg(self) -> Reg:
        self._next += 1
        return Reg(self._next - 1)

    def _know(self, ref: Ref, kind: TensorType) -> None:
        self.types[ref] = kind
        self.values.append(ref)


def _is_float(kind: TensorType) -> bool:
    return kind.dtype.is_float


def unary(b: Builder) -> None:
    name = b.one(("relu", "neg", "gelu", "tanh", "sigmoid", "exp"))
    x = b.pick(_is_float)
    b.emit(f"aten.{name}.default", (x,))


def binary(b: Builder) -> None:
    x = b.pick(lambda _: True)
    kind = b.types[x]

    def fits(other: TensorType) -> bool:
        pairs = zip(kind.shape[::-1], other.shape[::-1], strict=False)
        return other.dtype == kind.dtype and all(m == n or 1 in (m, n) for m, n in pairs)

    name = b.one(("add.Tensor", "mul.Tensor", "sub.Tensor", "maximum.default"))
    if kind.dtype is DType.BOOL:
        name = "maximum.default"
    scalar = b.flip() and b.flip() and name != "maximum.default"
    operands = [x, 2 if scalar else b.pick(fits)]
    if not scalar and b.flip():
        operands.reverse()
    b.emit(f"aten.{name}", operands)


def choose(b: Builder) -> None:
    x = b.pick(lambda _: True)
    same = b.pick(lambda t: t.shape == b.types[x].shape and t.dtype == b.types[x].dtype)
    (condition,) = b.emit("aten.gt.Scalar", (x,), other=0)
    b.emit("aten.where.self", (condition, x, same))


def view(b: Builder) -> None:
    x = b.pick(lambda t: 1 <= t.rank < 5)
    kind = b.types[x]
    name = b.one(
        (
            "transpose",
            "slice",
            "unsqueeze",
            "squeeze",
            "view",
            "expand",
            "select",
            "split",
            "detach",
        )
    )
    if name == "transpose":
        b.emit("aten.transpose.int", (x,), dim0=0, dim1=-1)
    elif name == "slice":
        b.emit("aten.slice.Tensor", (x,), dim=kind.rank - 1, start=1, end=5, step=b.one((1, 2)))
    elif name == "unsqueeze" and kind.rank < 4:
        b.emit("aten.unsqueeze.default", (x,), dim=b.one((0, 1)))
    elif name == "squeeze":
        b.emit("aten.squeeze.dim", (x,), dim=0)
    elif name == "view" and kind.is_contiguous and kind.numel:
        b.emit("aten.view.default", (x,), size=(-1,))
    elif name == "expand":
        (row,) = b.emit("aten.unsqueeze.default", (x,), dim=0)
        b.emit("aten.expand.default", (row,), size=(4, *kind.shape))
    elif name == "select" and kind.shape[0]:
        b.emit("aten.select.int", (x,), dim=0, index=kind.shape[0] - 1)
    elif name == "split" and kind.shape[0]:
        b.emit("aten.split.Tensor", (x,), split_size=(kind.shape[0] + 1) // 2)
    else:
        b.emit("aten.detach.default", (x,))


def maybe_copy(b: Builder) -> None:
    x = b.pick(lambda t: t.numel > 0)
    name = b.one(("clone", "contiguous", "reshape"))
    size = {"shape": (-1,)} if name == "reshape" else {}
    b.emit(f"aten.{name}.default", (x,), **size)


def several_results(b: Builder) -> None:
    x = b.pick(lambda t: t.rank >= 1 and t.numel > 0 and t.dtype.is_float)
    if x is None:
        return
    name = b.one(("sort", "max", "var_mean"))
    if name == "sort":
        b.emit("aten.sort.default", (x,))
    elif name == "max":
        b.emit("aten.max.dim", (x,), dim=0)
    else:
        b.emit("aten.var_mean.correction", (x,), dim=(0,), correction=0)


def join(b: Builder) -> None:
    x = b.pick(lambda t: t.rank >= 1)
    kind = b.types[x]
    y = b.pick(lambda t: t.dtype == kind.dtype and t.rank >= 1 and t.shape[1:] == kind.shape[1:])
    if kind.numel < 4096:
        b.emit("aten.cat.default", ((x, y, x) if b.flip() else (y, x),))


def product(b: Builder) -> None:
    x = b.pick(lambda t: t.rank == 2 and t.dtype.is_float)
    if x is None:
        return
    kind = b.types[x]
    y = b.pick(lambda t: t.rank == 2 and t.dtype == kind.dtype and t.shape[1] == kind.shape[1])
    if b.flip():
        b.emit("aten.linear.default", (x, y))
    else:
        (turned,) = b.emit("aten.t.default", (y,))
        b.emit("aten.mm.default", (x, turned))


def own_operator(b: Builder) -> None:
    x = b.pick(lambda t: t.rank >= 1 and t.dtype.is_float and t.is_contiguous)
    if x is None:
        return
    w = b.pick(lambda t: t == TensorType.of(b.types[x].dtype, b.types[x].shape[-1:]))
    b.emit("rms_norm", (x,) if w is None else (x, w))


def draw_random(b: Builder) -> None:
    x = b.pick(_is_float)
    if b.flip():
        b.emit("aten.rand_like.default", (x,))
    else:
        b.emit("aten.dropout.default", (x,), p=b.one((0.5, 0.0)), train=True)


def effect(b: Builder) -> None:
    (yes,) = b.emit("aten.ones.default", (), size=(), dtype=Symbol("bool"))
    b.emit("aten._assert_async.msg", (yes,), assert_msg="never fails")


RECIPES = (
    unary, unary, binary, binary, binary, binary, view, view, view, choose, maybe_copy,
    several_results, join, product, own_operator, draw_random, effect,
)  # fmt: skip


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any], most: int = 24) -> Program:
    """Programs of up to about `most` instructions, unscheduled and unallocated."""
    builder = Builder(draw)
    builder.declare()
    for _ in range(draw(st.integers(1, most))):
        builder.one(RECIPES)(builder)
    return builder.finish()


def tensors_for(program: Program) -> tuple[dict[str, torch.Tensor], list[torch.Tensor]]:
    """Constants and states by name, and inputs, filled with fixed random numbers."""
    generator = torch.Generator().manual_seed(7)

    def filled(kind: TensorType) -> torch.Tensor:
        numbers = torch.randn(kind.shape, generator=generator) * 3
        return empty(kind).copy_(numbers)

    named = {c.name: filled(c.type) for c in program.constants if c.view is None}
    named.update((s.name, filled(s.type)) for s in program.states)
    return named, [filled(i.type) for i in program.inputs]
