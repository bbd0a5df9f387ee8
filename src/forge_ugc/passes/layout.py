"""Resolution of every call to either a pure view or a value in memory of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import cast

import torch
from torch import fx
from torch._ops import OpOverload

from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.schema import is_view
from forge_ugc.ops.core.torch_types import to_torch
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, PassResult, graph_pass
from forge_ugc.passes.core.aliasing import Aliases, memory_of, root
from forge_ugc.passes.core.arguments import (
    argument,
    first_tensor,
    hashable,
    operator_name,
    overload_called,
)
from forge_ugc.passes.core.identities import identity_operand
from forge_ugc.passes.core.views import permutation, view_strides
from forge_ugc.passes.graph import (
    aten,
    emit,
    infer_call,
    location,
    node_type,
    tensor_type,
)
from forge_ugc.passes.replacing import replace

_RESHAPES = frozenset({
    "view", "reshape", "flatten", "unflatten", "ravel", "_reshape_alias", "reshape_as", "view_as",
    "_unsafe_view", "squeeze", "unsqueeze",
})  # fmt: skip
_AS_VIEW = _RESHAPES - {"view", "squeeze", "unsqueeze"}
_PERMUTES = frozenset({
    "permute", "transpose", "t", "numpy_T", "mT", "matrix_H", "adjoint", "swapaxes", "swapdims",
})  # fmt: skip
_CASTS = frozenset({"to", "type_as", "float", "cpu", "pin_memory"})
_CONJUGATES = frozenset({"conj", "_conj", "adjoint", "matrix_H"})
_ROW_MAJOR = torch.contiguous_format
_SAFE = {
    aten.unsafe_split.Tensor: aten.split.Tensor,
    aten.unsafe_split_with_sizes.default: aten.split_with_sizes.default,
    aten.unsafe_chunk.default: aten.chunk.default,
}
"""PyTorch's splits whose results share the operand's memory without their schema saying so."""
_WHOLE = _RESHAPES | _PERMUTES | {"expand", "expand_as", "broadcast_to", "alias", "detach"}
"""Views that start at their operand's first element: type and memory alone then define them."""


@graph_pass("layout")
class Layout(GraphPass):
    """Makes memory explicit from the real strides, and drops what only moves or renames it.

    Before: `reshape`, `contiguous`, `to`, ... may or may not copy. After: each is a view, or a
    `clone` and a view, or gone. Chains of views become one view, pairs that cancel vanish, and so
    do copies that no caller can tell from their source. Results that are not views get dense
    memory.
    """

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        relayout = _Relayout(graph_module.graph)
        for node in list(graph_module.graph.nodes):
            if node.op == "call_function" and not node._erased:
                relayout.visit(node)
        return PassResult(changed=len(relayout.fired), details=tuple(relayout.fired))


class _Relayout:
    """One walk over a graph in topological order."""

    def __init__(self, graph: fx.Graph) -> None:
        self.fired: list[Fired] = []
        self._aliases = Aliases(graph)
        self._inferred: dict[object, object] = {}

    def visit(self, node: fx.Node) -> None:
        """Bring one call to its final form; everything before it is final already."""
        if node.target is operator.getitem:
            self._item(node)
            return
        if overload_called(node) is None or not node.users:
            return
        node.target = _SAFE.get(cast(OpOverload, node.target), node.target)
        name = operator_name(node)
        if name in _CONJUGATES and self._conjugate(node):
            return
        if name in _RESHAPES and self._is_same_elements(node):
            self._reshape(node)
            return
        self._check_type(node)
        operand = identity_operand(node, arithmetic=False)
        if operand is not None and self._aliases.merge(node, operand):
            self._put("nothing-to-do", node, operand)
        elif name in _PERMUTES:
            self._permute(node)
        elif name in _WHOLE:
            self._cancel(node)
        elif name == "contiguous":
            given = argument(node, "memory_format")
            self._copy(node, given if isinstance(given, torch.memory_format) else _ROW_MAJOR)
        elif name in _CASTS:
            self._cast(node)
        elif name in {"resolve_conj", "resolve_neg"}:
            self._resolve(node)

    def _put(self, rule: str, node: fx.Node, by: fx.Node) -> None:
        what = f"{node.name} ({node.target}) -> {by.name}"
        self.fired.append(Fired(rule=rule, node=by.name, what=what, location=location(node)))
        replace(node, by)

    @staticmethod
    def _is_same_elements(node: fx.Node) -> bool:
        """False for `view` to another dtype, and where a type is unknown."""
        kind, mine = tensor_type(first_tensor(node)), tensor_type(node)
        return kind is not None and mine is not None and kind.dtype == mine.dtype

    def _reshape(self, node: fx.Node) -> None:
        base, mine = cast(fx.Node, first_tensor(node)), cast(TensorType, tensor_type(node))
        strides = view_strides(cast(TensorType, tensor_type(base)), mine.shape)
        if strides is None:
            visible = self._aliases.is_visible(node)
            keep = {"memory_format": _ROW_MAJOR}
            copy = emit(node, aten.clone.default, (base,), keep, by=Layout.name)
            if visible:
                self._aliases.show(copy)
            by = emit(node, aten.view.default, (copy, list(mine.shape)), by=Layout.name)
            self._put("reshape-copies", node, by)
            return
        kind = TensorType.of(mine.dtype, mine.shape, strides)
        node.meta["type"] = kind
        if self._cancel(node):
            return
        start = _furthest(base, lambda a: view_strides(a, kind.shape) == kind.strides)
        if start is not base or operator_name(node) in _AS_VIEW:
            by = emit(node, aten.view.default, (start, list(kind.shape)), by=Layout.name)
            self._put("view-of-view" if start is not base else "reshape-is-view", node, by)

    def _cancel(self, node: fx.Node) -> bool:
        """Replace a view by the operand, or operand's operand, whose type it has come back to."""
        kind = tensor_type(node)
        base = first_tensor(node) if _is_whole(node) else None
        while base is not None:
            if tensor_type(base) == kind:
                self._put("views-cancel", node, base)
                return True
            base = first_tensor(base) if _is_whole(base) else None
        return False

    def _permute(self, node: fx.Node) -> None:
        base, order = cast(fx.Node, first_tensor(node)), permutation(node)
        if self._cancel(node) or order is None:
            return
        inner = permutation(base) if operator_name(base) in _PERMUTES else None
        if inner is not None:
            dims = [inner[d] for d in order]
            source = cast(fx.Node, first_tensor(base))
            by = emit(node, aten.permute.default, (source, dims), by=Layout.name)
            self._put("permute-of-permute", node, by)
        elif operator_name(node) in {"matrix_H", "adjoint"}:
            by = emit(node, aten.permute.default, (base, list(order)), by=Layout.name)
            self._put("permute", node, by)

    def _conjugate(self, node: fx.Node) -> bool:
        """Conjugate at once: a pending conjugation is a mark that memory does not carry."""
        base, kind = cast(fx.Node, first_tensor(node)), tensor_type(node)
        if kind is None or kind.dtype not in {DType.C64, DType.C128}:
            return False
        if operator_name(node) in {"adjoint", "matrix_H"}:
            base = emit(node, aten.transpose.int, (base, -2, -1), by=Layout.name)
        visible = self._aliases.is_visible(node)
        by = emit(node, aten.conj_physical.default, (base,), by=Layout.name)
        if visible:
            self._aliases.show(by)
        self._put("conjugates", node, by)
        return True

    def _resolve(self, node: fx.Node) -> None:
        """Nothing computed here is pending (see `_conjugate`); inputs and constants may be."""
        base = cast(fx.Node, first_tensor(node))
        if root(base).op == "call_function":
            self._put("nothing-to-do", node, base)
        else:
            self._copy(node, None)

    def _copy(self, node: fx.Node, memory_format: object) -> None:
        keep = {"memory_format": memory_format} if memory_format is not None else {}
        by = emit(node, aten.clone.default, (first_tensor(node),), keep, by=Layout.name)
        self._aliases.moved(node, by)
        self._put("copies", node, by)

    def _cast(self, node: fx.Node) -> None:
        source = cast(fx.Node, first_tensor(node))
        kind, old = tensor_type(node), tensor_type(source)
        if kind is None or old is None:
            return
        if kind.dtype == old.dtype:
            self._copy(node, argument(node, "memory_format"))
        elif operator_name(node) != "to" or overload_called(node) is aten.to.other:
            by = emit(node, aten.to.dtype, (source, to_torch(kind.dtype)), by=Layout.name)
            self._aliases.moved(node, by)
            self._put("cast", node, by)

    def _item(self, node: fx.Node) -> None:
        source, index = cast(fx.Node, node.args[0]), cast(int, node.args[1])
        name = operator_name(source)
        if name in {"meshgrid", "broadcast_tensors"}:
            base = cast(fx.Node, memory_of(node))
            mine = cast(TensorType, tensor_type(node))
            shape = list(mine.shape)
            if name == "meshgrid":
                axis = {0: 1, 1: 0}.get(index, index) if _is_xy(source) else index
                ones = [shape[axis] if i == axis else 1 for i in range(len(shape))]
                base = emit(node, aten.view.default, (base, ones), by=Layout.name)
            if tensor_type(base) != mine:
                base = emit(node, aten.expand.default, (base, shape), by=Layout.name)
            self._put("grid", node, base)
            return
        kinds = node_type(source)
        if isinstance(kinds, tuple):
            node.meta["type"] = kinds[index]

    def _check_type(self, node: fx.Node) -> None:
        """Record the strides that the operands lead to."""
        target = cast(OpOverload, node.target)
        kind = tensor_type(node)
        if target.namespace == "forge" or is_view(target):
            key = (
                target,
                hashable(node.args, node_type),
                hashable(tuple(node.kwargs.items()), node_type),
            )
            if key not in self._inferred:
                self._inferred[key] = infer_call(target, node.args, node.kwargs)
            node.meta["type"] = self._inferred[key]
        elif kind is not None and not kind.is_dense and memory_of(node) is None:
            node.meta["type"] = kind.contiguous()


def _is_whole(node: fx.Node) -> bool:
    """True for a view that shows its operand's memory from the first element on."""
    return operator_name(node) in _WHOLE and memory_of(node) is not None


def _furthest(base: fx.Node, fits: Callable[[TensorType], bool]) -> fx.Node:
    """The first value in a chain of views up from `base` from which the same view can be taken."""
    found, at = base, base
    while len(at.users) == 1 and _is_whole(at):
        above = cast(fx.Node, first_tensor(at))
        kind = tensor_type(above)
        if kind is None:
            break
        at = above
        if fits(kind):
            found = at
    return found


def _is_xy(meshgrid: fx.Node) -> bool:
    return (
        argument(meshgrid, "indexing") == "xy" and len(cast("list[object]", meshgrid.args[0])) > 1
    )
