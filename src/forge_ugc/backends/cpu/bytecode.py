"""The byte code of the kernel `elementwise`, made from an expression."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any, cast

import torch

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.expression import (
    Call,
    Constant,
    Expression,
    Operand,
    evaluate_steps,
    steps,
)
from forge_ugc.ops.core.torch_types import empty, from_torch, to_torch

KINDS: Mapping[DType, int] = MappingProxyType({
    DType.F32: 0, DType.BF16: 1, DType.F16: 2, DType.I64: 3, DType.I32: 4, DType.BOOL: 5,
})  # fmt: skip
"""Element types in the order of `ElementwiseKind`."""
REGISTERS = 14

STEPS = (
    "absolute", "ceiling", "cosine", "error_function", "exponential", "exponential_less_one",
    "floor_of", "gelu", "gelu_tanh", "logarithm", "logarithm_plus_one", "negate", "reciprocal",
    "relu", "round_bf16", "round_even", "round_f16", "rsqrt", "sigmoid", "sign", "silu", "sine",
    "square", "square_root", "tangent", "truncate",
    "add", "divide", "maximum", "minimum", "multiply", "power", "subtract",
    "scaled_add",
    "is_nan", "nonzero",
    "equal_to", "greater", "greater_equal", "less_equal", "less_than", "not_equal",
    "absolute_int", "negate_int", "not_int", "relu_int", "sign_int", "square_int", "wrap_i32",
    "add_int", "and_int", "maximum_int", "minimum_int", "multiply_int", "or_int", "subtract_int",
    "xor_int",
    "equal_to_int", "greater_int", "greater_equal_int", "less_equal_int", "less_than_int",
    "not_equal_int",
    "not_bool",
    "and_bool", "or_bool", "xor_bool",
    "float_to_i32", "float_to_i64", "int_to_float", "int_to_bool", "bool_to_float", "bool_to_int",
    "where_float", "where_int", "where_bool",
)  # fmt: skip
"""In the order of steps.inc."""
_NUMBER = {name: number for number, name in enumerate(STEPS)}

_FLOAT = {
    "abs": "absolute", "add": "add", "ceil": "ceiling", "cos": "cosine", "div": "divide",
    "erf": "error_function", "exp": "exponential", "expm1": "exponential_less_one",
    "floor": "floor_of", "gelu": "gelu", "gelu_tanh": "gelu_tanh", "log": "logarithm",
    "log1p": "logarithm_plus_one", "maximum": "maximum", "minimum": "minimum", "mul": "multiply",
    "neg": "negate", "reciprocal": "reciprocal", "relu": "relu", "round": "round_even",
    "rsqrt": "rsqrt", "scaled_add": "scaled_add", "sigmoid": "sigmoid", "sign": "sign",
    "silu": "silu", "sin": "sine", "sqrt": "square_root", "square": "square", "sub": "subtract",
    "tanh": "tangent", "trunc": "truncate",
}  # fmt: skip
_INT = {
    "abs": "absolute_int", "add": "add_int", "bitwise_and": "and_int", "bitwise_not": "not_int",
    "bitwise_or": "or_int", "bitwise_xor": "xor_int", "maximum": "maximum_int",
    "minimum": "minimum_int", "mul": "multiply_int", "neg": "negate_int", "relu": "relu_int",
    "sign": "sign_int", "square": "square_int", "sub": "subtract_int",
}  # fmt: skip
_BOOL = {
    "add": "or_bool", "bitwise_and": "and_bool", "bitwise_not": "not_bool",
    "bitwise_or": "or_bool", "bitwise_xor": "xor_bool", "logical_and": "and_bool",
    "logical_not": "not_bool", "logical_or": "or_bool", "maximum": "or_bool",
    "minimum": "and_bool", "mul": "and_bool",
}  # fmt: skip
_COMPARE = {
    "eq": "equal_to", "ge": "greater_equal", "gt": "greater", "le": "less_equal",
    "lt": "less_than", "ne": "not_equal",
}  # fmt: skip
_BY_LANES = {"float": _FLOAT, "int": _INT, "bool": _BOOL}
_WRAPS = frozenset({"add", "sub", "mul", "neg", "abs", "square"})
_WIDE_NUMBERS = frozenset({("mul", 1), ("div", 1)})
"""Arguments that PyTorch leaves in float32 where the tensor beside a number is bfloat16 or float16;
of any other function it rounds the number to the tensor's type first."""
_CASTS = frozenset({"f32", "bf16", "f16", "i64", "i32", "bool"})


class NotSupported(Exception):
    """The kernel has no steps for an expression; the message says why."""


def lanes_of(dtype: DType) -> str:
    """How registers hold an element type: `float`, `int` or `bool`."""
    if dtype not in KINDS:
        raise NotSupported(f"the kernel has no {dtype.value}")
    return "float" if dtype.is_float else "bool" if dtype is DType.BOOL else "int"


@dataclass(frozen=True, slots=True)
class Code:
    """What the kernel's fields `code`, `constant_*` and `result` hold."""

    words: tuple[int, ...]
    constant_kinds: tuple[int, ...]
    constant_words: tuple[int, ...]
    result: int


@dataclass(frozen=True, slots=True)
class _Value:
    register: int
    dtype: DType


@dataclass
class _Assembler:
    """Emits steps one by one; a register is free again after the last use of what it holds."""

    operands: int
    constants: dict[tuple[int, bytes], int] = field(default_factory=dict)
    uses: dict[int, int] = field(default_factory=dict)
    words: list[int] = field(default_factory=list)

    def emit(self, step: str, *sources: int, to: int) -> None:
        word = _NUMBER[step] | to << 8
        for shift, source in zip((12, 16, 20), sources, strict=False):
            word |= source << shift
        self.words.append(word)

    def allocate(self) -> int:
        first = self.operands + len(self.constants)
        for register in chain(range(self.operands), range(first, REGISTERS)):
            if not self.uses.get(register):
                return register
        raise NotSupported(f"more than {REGISTERS} values are needed at once")

    def release(self, values: Sequence[_Value]) -> None:
        for value in values:
            if value.register in self.uses:
                self.uses[value.register] -= 1


def assemble(expression: Expression, operands: Sequence[TensorType]) -> Code:
    """Byte code for operands of these types.

    Raises:
        NotSupported: a step has no byte code.
    """
    metas = evaluate_steps(expression, [empty(o, "meta") for o in operands])
    order = list(steps(expression))
    planner = _Planner(_Assembler(len(operands)), metas, expression)
    planner.declare_constants(order)
    return planner.run(order)


class _Planner:
    """Chooses the steps of each call: conversions to the type it computes in, itself, rounding."""

    def __init__(
        self,
        assembler: _Assembler,
        metas: Mapping[Expression, torch.Tensor],
        whole: Expression,
    ) -> None:
        self.assembler, self.metas, self.whole = assembler, metas, whole
        self.values: dict[Expression, _Value] = {}
        self.pending: dict[Expression, int] = {whole: 1}

    def dtype(self, at: Expression) -> DType:
        return from_torch(self.metas[at].dtype)

    def declare_constants(self, order: Sequence[Expression]) -> None:
        """Give every constant its register before any result takes one."""
        for step in order:
            if isinstance(step, Call):
                for position, argument in enumerate(step.arguments):
                    self.pending[argument] = self.pending.get(argument, 0) + 1
                    if isinstance(argument, Constant) and step.name != "pow":
                        self.constant(step, position, self.computed_in(step))
                if step.name == "pow" and _power_steps(step) is None:
                    self.constant(step, 1, self.dtype(step))

    def constant(self, call: Call, position: int, dtype: DType) -> _Value:
        """The register of a number as an argument that is computed with in this type."""
        constant = cast(Constant, call.arguments[position])
        wide = (call.name, position) in _WIDE_NUMBERS and dtype in {DType.BF16, DType.F16}
        kind = DType.F32 if wide else dtype
        lanes = lanes_of(dtype)
        number = torch.tensor(constant.value).to(to_torch(kind)).item()
        packed = struct.pack("<q", int(number)) if lanes == "int" else (
            struct.pack("<fi", number, 0) if lanes == "float" else struct.pack("<ii", number, 0)
        )  # fmt: skip
        known, key = (
            self.assembler.constants,
            (KINDS[DType.I64 if lanes == "int" else kind], packed),
        )
        if key not in known:
            known[key] = self.assembler.operands + len(known)
            if known[key] >= REGISTERS:
                raise NotSupported(f"more than {REGISTERS} operands and constants")
        return _Value(known[key], dtype)

    def computed_in(self, call: Call) -> DType:
        """The type that the operands of a call are converted to."""
        if call.name in _COMPARE:
            given: list[Any] = [
                a.value if isinstance(a, Constant) else self.metas[a] for a in call.arguments
            ]
            return from_torch(torch.result_type(given[0], given[1]))
        if call.name.startswith("logical_"):
            return DType.BOOL
        if call.name == "isnan":
            return self.dtype(call.arguments[0])
        return self.dtype(call)

    def run(self, order: Sequence[Expression]) -> Code:
        assembler = self.assembler
        for step in order:
            if isinstance(step, Operand):
                lanes_of(self.dtype(step))
                self.values[step] = _Value(step.position, self.dtype(step))
                assembler.uses[step.position] = self.pending[step]
        for step in order:
            if isinstance(step, Call):
                self.call(step)
        keys = list(assembler.constants)
        words = [w for _, packed in keys for w in struct.unpack("<ii", packed)]
        result = self.values[self.whole].register
        return Code(tuple(assembler.words), tuple(k for k, _ in keys), tuple(words), result)

    def argument(self, call: Call, position: int, dtype: DType) -> _Value:
        """An argument as a value of that type; the caller releases it after its use."""
        at = call.arguments[position]
        if isinstance(at, Constant):
            return self.constant(call, position, dtype)
        value = self.values[at]
        wide = (call.name, position) in _WIDE_NUMBERS and self.metas[at].ndim == 0
        if wide and self.metas[call].ndim and value.dtype.is_float and dtype.is_float:
            return value
        return self.converted(value, dtype)

    def converted(self, value: _Value, dtype: DType) -> _Value:
        """The value in another type, which takes over one use of the given one."""
        have, want = lanes_of(value.dtype), lanes_of(dtype)
        if have == want:
            step = _NARROWING.get((value.dtype, dtype))
            if step is None:
                return _Value(value.register, dtype)
            return self.result(step, [value], dtype)
        if want == "bool":
            return self.result("nonzero" if have == "float" else "int_to_bool", [value], dtype)
        if want == "int":
            step = "bool_to_int" if have == "bool" else f"float_to_{dtype.value}"
            return self.result(step, [value], dtype)
        wide = self.result(f"{have}_to_float", [value], DType.F32)
        return self.converted(wide, dtype)

    def result(self, step: str, sources: Sequence[_Value], dtype: DType) -> _Value:
        """Emit a step that reads the sources for the last time, as far as its caller is concerned.

        A result may be written over a source whose lanes have its size.
        """
        assembler = self.assembler
        same = all(_lane_bytes(s.dtype) == _lane_bytes(dtype) for s in sources)
        if same:
            assembler.release(sources)
        register = assembler.allocate()
        if not same:
            assembler.release(sources)
        assembler.uses[register] = 1
        assembler.emit(step, *(s.register for s in sources), to=register)
        return _Value(register, dtype)

    def call(self, call: Call) -> None:
        dtype = self.dtype(call)
        lanes_of(dtype)
        value = self.value_of(call, dtype)
        self.assembler.uses[value.register] += self.pending[call] - 1
        self.values[call] = value

    def value_of(self, call: Call, dtype: DType) -> _Value:
        name, inner = call.name, self.computed_in(call)
        if name in _CASTS:
            return self.converted(self.values[call.arguments[0]], dtype)
        if name == "pow":
            return self.power(call, dtype)
        if name == "where":
            mask = self.argument(call, 0, DType.BOOL)
            sources = [mask, self.argument(call, 1, dtype), self.argument(call, 2, dtype)]
            return self.result(f"where_{lanes_of(dtype)}", sources, dtype)
        if name.startswith("clamp"):
            return self.clamped(call, dtype)
        if name in _COMPARE:
            return self.compared(call, inner)
        sources = [self.argument(call, i, inner) for i in range(len(call.arguments))]
        if name == "isnan" and inner.is_float:
            return self.result("is_nan", sources, dtype)
        if name in {"floor", "ceil", "round", "trunc"} and lanes_of(inner) == "int":
            return sources[0]
        step = _BY_LANES[lanes_of(inner)].get(name)
        if step is None:
            raise NotSupported(f"{name} of {inner.value} has no step")
        return self.rounded(self.result(step, sources, inner), name)

    def rounded(self, value: _Value, name: str) -> _Value:
        """What PyTorch stores of a result: rounded to its type, integers wrapped around."""
        if value.dtype in _ROUNDING:
            return self.result(_ROUNDING[value.dtype], [value], value.dtype)
        if value.dtype is DType.I32 and name in _WRAPS:
            return self.result("wrap_i32", [value], value.dtype)
        return value

    def compared(self, call: Call, inner: DType) -> _Value:
        if inner is DType.BOOL:
            raise NotSupported(f"{call.name} of booleans has no step")
        sources = [self.argument(call, 0, inner), self.argument(call, 1, inner)]
        suffix = "_int" if lanes_of(inner) == "int" else ""
        return self.result(_COMPARE[call.name] + suffix, sources, DType.BOOL)

    def clamped(self, call: Call, dtype: DType) -> _Value:
        suffix = "_int" if lanes_of(dtype) == "int" else ""
        value = self.argument(call, 0, dtype)
        names = {"clamp_min": ["maximum"], "clamp_max": ["minimum"]}
        for position, step in enumerate(names.get(call.name, ["maximum", "minimum"]), 1):
            limit = self.argument(call, position, dtype)
            value = self.result(step + suffix, [value, limit], dtype)
        return value

    def power(self, call: Call, dtype: DType) -> _Value:
        """PyTorch multiplies, divides and takes roots for the exponents it knows."""
        value = self.argument(call, 0, dtype)
        known = _power_steps(call)
        if known is None:
            if not dtype.is_float:
                raise NotSupported(f"{call.name} of {dtype.value} has no step")
            exponent = self.argument(call, 1, dtype)
            return self.rounded(self.result("power", [value, exponent], dtype), "pow")
        between = DType.F32 if dtype is DType.F16 else dtype  # of float16 it rounds the result only
        for number, step in enumerate(known):
            if step == "cube":
                self.assembler.uses[value.register] += 1
                square = self.result(self.named("square", dtype), [value], between)
                sources = [self.rounded(square, "mul"), value]
                value = self.result(self.named("mul", dtype), sources, between)
            else:
                value = self.result(self.named(step, dtype), [value], between)
            last = number == len(known) - 1
            value = self.rounded(_Value(value.register, dtype if last else between), "mul")
        return value

    @staticmethod
    def named(function: str, dtype: DType) -> str:
        step = _BY_LANES[lanes_of(dtype)].get(function)
        if step is None:
            raise NotSupported(f"{function} of {dtype.value} has no step")
        return step


_ROUNDING = {DType.BF16: "round_bf16", DType.F16: "round_f16"}
_NARROWING = {
    **{(a, b): step for b, step in _ROUNDING.items() for a in KINDS if a.is_float and a is not b},
    (DType.I64, DType.I32): "wrap_i32",
}
_POWERS: Mapping[float, tuple[str, ...]] = MappingProxyType({
    2.0: ("square",), 3.0: ("cube",), 0.5: ("sqrt",), -0.5: ("rsqrt",), -1.0: ("reciprocal",),
    -2.0: ("square", "reciprocal"),
})  # fmt: skip


def _power_steps(call: Call) -> tuple[str, ...] | None:
    return _POWERS.get(float(cast(Constant, call.arguments[1]).value))


def _lane_bytes(dtype: DType) -> int:
    return 8 if lanes_of(dtype) == "int" else 4
