"""Matrix products and attention in bf16 or int8, with norms, softmax and residuals in f32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.errors import OptionError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.attention import Attention
from forge_ugc.ops.embedding import Embedding
from forge_ugc.ops.gated_linear import GatedLinear
from forge_ugc.ops.layer_norm import LayerNorm
from forge_ugc.ops.merged_linear import MergedLinear
from forge_ugc.ops.quantize_rows import QuantizeRows
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, NearMiss, PassResult, graph_pass
from forge_ugc.passes.graph import (
    aten,
    constant_of,
    emit,
    infer_call,
    is_call,
    location,
    tensor_type,
)
from forge_ugc.passes.mixed.constants import Constants
from forge_ugc.passes.mixed.readers import (
    PRODUCTS,
    is_attention,
    is_norm,
    is_product,
    is_rotary,
    is_transparent,
    is_view_of_all,
    narrow_values,
)
from forge_ugc.passes.operators.matching import argument, take
from forge_ugc.passes.replacing import erase_dead

NAME = "precision"


@graph_pass(NAME)
class Precision(GraphPass):
    """With `Options.precision`, computes matrix products and attention in bf16 or int8.

    bf16: their operands become bf16, sums stay f32. A value that only they read is rounded to bf16
    by whoever computes it; any other stays f32, the residual stream among them. Embedding tables
    become bf16. int8: the operands of products are quantised instead, weights here, one scale for
    each output, and activations at run time, one scale for each row. Models of bf16 stay bf16
    otherwise. The program's inputs, outputs and states keep their types.
    """

    approximates = True

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        if options.precision is None:
            return PassResult(changed=0)
        if options.precision == "fp32":
            _refuse_half(graph_module.graph)
            return PassResult(changed=0)
        conversion = _Conversion(graph_module.graph, quantizes=options.precision == "int8")
        conversion.run()
        fired, missed = tuple(conversion.fired), tuple(conversion.missed)
        return PassResult(changed=len(fired), details=fired, near_misses=missed)


def _refuse_half(graph: fx.Graph) -> None:
    """Raise if products or attention compute in another type than f32 or f64."""
    for node in graph.nodes:
        if node.target in PRODUCTS or node.target is Attention.overload():
            kind = tensor_type(node.args[0])
            if kind is not None and kind.dtype not in (DType.F32, DType.F64):
                raise OptionError(
                    f"precision='fp32' does not apply: the model computes in {kind.dtype.value}",
                    where=str(location(node)),
                    fix="convert the model first: module.float(); or leave the precision out",
                )


class _Conversion:
    """One walk over a graph in topological order."""

    def __init__(self, graph: fx.Graph, *, quantizes: bool) -> None:
        self.fired: list[Fired] = []
        self.missed: list[NearMiss] = []
        self._narrow = narrow_values(graph, products=not quantizes)
        self._constants = Constants(graph)
        self._quantizes = quantizes
        self._steps = {n: step for n in graph.nodes if (step := self._step(n)) is not None}
        self._low: dict[fx.Node, fx.Node] = {}
        self._rows: dict[fx.Node, tuple[fx.Node, fx.Node]] = {}

    def run(self) -> None:
        """Convert each call after everything before it."""
        for node, step in self._steps.items():
            form = "int8" if step == self._quantize else "bf16"
            if step in (self._quantize, self._product):
                for weight in _flat(_weights(node)):
                    self._constants.plan(weight, form)
        # Tables come last: one that is also a weight is held in the form of the weight alone.
        for node, step in self._steps.items():
            if step == self._embedding and _table(node) is not None:
                table = cast(fx.Node, node.args[0])
                tied = self._quantizes and self._constants.is_planned(table, "int8")
                self._constants.plan(table, "int8" if tied else "bf16")
        for node, step in self._steps.items():
            step(node)
        erase_dead([wide for wide in self._low if not wide.users])

    def _step(self, node: fx.Node) -> Callable[[fx.Node], None] | None:
        """What to do with a call, as the graph stands before anything is converted."""
        narrow = node in self._narrow
        if node.op != "call_function":
            return None
        if is_transparent(node):
            return self._follow if narrow else None
        if node.target in PRODUCTS:
            return self._product_step(node)
        if is_attention(node):
            return self._attention
        if is_call(node, aten.embedding.default):
            return self._embedding
        if is_norm(node) and narrow:
            return self._norm
        return self._result_in_bf16 if is_rotary(node) and narrow else None

    def _product_step(self, node: fx.Node) -> Callable[[fx.Node], None] | None:
        if is_product(node, DType.F32):
            return self._quantize if self._quantizes else self._product
        if is_product(node, DType.BF16):
            return self._quantize if self._quantizes else None
        if node.kwargs.get("dtype") is None:
            self._miss(node, f"it computes in {tensor_type(node.args[0])}, not in f32 or bf16")
        return None

    def _follow(self, node: fx.Node) -> None:
        _retype(node)

    def _product(self, node: fx.Node) -> None:
        weights = fx.node.map_arg(cast(Any, _weights(node)), self._constants.bf16)
        x = self._bf16(cast(fx.Node, node.args[0]), node)
        self._put(node, (x, *weights, *_rest(node)), "bf16 operands")

    def _quantize(self, node: fx.Node) -> None:
        pairs = [self._constants.int8(w) for w in _flat(_weights(node))]
        weights, scales = [w for w, _ in pairs], [s for _, s in pairs]
        x, x_scale = self._quantized(cast(fx.Node, node.args[0]), node)
        if node.target is MergedLinear.overload():
            args: tuple[object, ...] = (x, weights, node.args[2], x_scale, scales)
        else:  # two operands may be absent: bias and residual, or both biases
            args = (x, *weights, *[*_rest(node), None, None][:2], x_scale, *scales)
        self._put(node, args, "int8 operands")

    def _put(self, node: fx.Node, args: tuple[object, ...], what: str) -> None:
        """Give a product its new operands, and its result the type that its readers want."""
        dtype = _result(node.meta["type"], narrow=node in self._narrow)
        node.args = args  # type: ignore[assignment]
        node.kwargs = {**node.kwargs, "dtype": dtype}
        _retype(node)
        self._note(node, f"{what}, {dtype} result")

    def _attention(self, node: fx.Node) -> None:
        operands = [self._bf16(cast(fx.Node, a), node) for a in node.args[:3]]
        node.args = (*operands, *node.args[3:])
        _retype(node)
        self._note(node, "bf16 operands and result")
        if node not in self._narrow:
            wide = emit(node.next, aten.to.dtype, (node, torch.float32), by=NAME, origin=node)
            node.replace_all_uses_with(wide, delete_user_cb=lambda user: user is not wide)
            self._low[wide] = node

    def _result_in_bf16(self, node: fx.Node) -> None:
        node.kwargs = {**node.kwargs, "dtype": "bf16"}
        _retype(node)
        self._note(node, "bf16 result")

    def _norm(self, node: fx.Node) -> None:
        if is_call(node, aten.layer_norm.default):
            x, w, b = node.args[0], argument(node, 2, "weight"), argument(node, 3, "bias")
            op = LayerNorm(eps=cast(float, argument(node, 4, "eps", 1e-5)))
            node.target, node.args = op.overload(), (x, w, b)  # type: ignore[assignment]
            node.kwargs = op.attributes()
        self._result_in_bf16(node)

    def _embedding(self, node: fx.Node) -> None:
        table, kind = _table(node), tensor_type(node)
        if table is None:
            return
        tied = self._quantizes and self._constants.is_planned(table, "int8")
        node.target = Embedding.overload()
        if tied:
            rows, scale = self._constants.int8(table)
            node.args = (rows, node.args[1], scale)
        else:
            node.args = (self._constants.bf16(table), node.args[1])
        node.kwargs = {"dtype": _result(kind, narrow=node in self._narrow)}
        _retype(node)
        self._note(node, "int8 table, which is a weight too" if tied else "bf16 table")

    def _bf16(self, value: fx.Node, reader: fx.Node) -> fx.Node:
        """The value in bf16: itself, a constant, a view of one, or a cast before `reader`."""
        kind = cast(TensorType, tensor_type(value))
        if kind.dtype is not DType.F32:
            return value
        if constant_of(value) is not None:
            return self._constants.bf16(value)
        if value not in self._low:
            self._low[value] = self._cast(value, kind, reader)
        return self._low[value]

    def _cast(self, value: fx.Node, kind: TensorType, reader: fx.Node) -> fx.Node:
        base = cast(fx.Node, value.args[0]) if is_view_of_all(value) else None
        if base is None:
            return emit(reader, aten.to.dtype, (value, torch.bfloat16), by=NAME, origin=value)
        args = (self._bf16(base, reader), *value.args[1:])
        return emit(reader, cast(OpOverload, value.target), args, value.kwargs, by=NAME,
                    origin=value)  # fmt: skip

    def _quantized(self, value: fx.Node, reader: fx.Node) -> tuple[fx.Node, fx.Node]:
        """(i8, scale of each row) of a value, which many products may read."""
        if value not in self._rows:
            base = value
            while is_view_of_all(base):
                base = cast(fx.Node, base.args[0])
            # What was widened from bf16 is quantised as it was.
            source = self._bf16(value, reader) if base in self._low else value
            rows = emit(reader, QuantizeRows(), (source,), by=NAME, origin=reader)
            self._rows[value] = take(rows, 0, reader), take(rows, 1, reader)
        return self._rows[value]

    def _note(self, node: fx.Node, what: str) -> None:
        text = f"{node.name}: {what}"
        self.fired.append(Fired(rule=NAME, node=node.name, what=text, location=location(node)))

    def _miss(self, node: fx.Node, why: str) -> None:
        self.missed.append(NearMiss(rule=NAME, node=node.name, reason=why, location=location(node)))


def _table(node: fx.Node) -> fx.Node | None:
    """The f32 constant that an embedding reads."""
    kind = tensor_type(node.args[0])
    constant = constant_of(node.args[0]) is not None
    found = constant and kind is not None and kind.dtype is DType.F32
    return cast(fx.Node, node.args[0]) if found else None


def _retype(node: fx.Node) -> None:
    if isinstance(node.target, OpOverload):
        node.meta["type"] = infer_call(node.target, node.args, node.kwargs)
    else:  # operator.getitem
        source, index = cast("tuple[fx.Node, int]", node.args)
        node.meta["type"] = source.meta["type"][index]


def _result(before: object, *, narrow: bool) -> str:
    """The attribute `dtype` of a call whose result was of this type."""
    kinds = before if isinstance(before, tuple) else (before,)
    return "bf16" if narrow else cast(TensorType, kinds[0]).dtype.value


def _weights(node: fx.Node) -> tuple[object, ...]:
    """The weights of a product, in the form in which its arguments hold them."""
    return node.args[1 : 3 if node.target is GatedLinear.overload() else 2]


def _rest(node: fx.Node) -> tuple[object, ...]:
    """The arguments of a product behind its weights."""
    return node.args[1 + len(_weights(node)) :]


def _flat(values: tuple[object, ...]) -> list[fx.Node]:
    found: list[fx.Node] = []
    for value in values:
        found += [value] if isinstance(value, fx.Node) else cast("list[fx.Node]", value)
    return found
