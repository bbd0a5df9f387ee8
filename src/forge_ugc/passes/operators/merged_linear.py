"""Linear layers over one input become one with several results."""

from __future__ import annotations

from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.ops.merged_linear import MergedLinear
from forge_ugc.passes.base import No, Rewrite
from forge_ugc.passes.graph import constant_of, emit, location
from forge_ugc.passes.operators.linear_call import LinearCall, linear_call
from forge_ugc.passes.operators.matching import take
from forge_ugc.passes.replacing import replace


class MergedLinears(Rewrite):
    """linear(x, w1), linear(x, w2), ...  ->  merged_linear(x, [w1, w2, ...], [b1, b2, ...]).

    For layers of one module without activation and residual (query, key and value). Layers of
    different modules stay apart: a decoder's layers all project the encoder's result, and merging
    those would keep every layer's keys and values alive at once. The merged layer stands where the
    first one stood; the weights stay separate constants.
    """

    name = "merged-linear"
    tier = 0.6
    anchors = (Linear.overload(),)

    def apply(self, node: fx.Node) -> fx.Node | No | None:
        own = linear_call(node)
        if own is None or not own.is_plain or not _is_constant(own):
            return None
        calls = [c for u in own.x.users if (c := linear_call(u)) is not None and c.x is own.x]
        parallel = [c for c in calls if c.is_plain and _is_constant(c)]
        home = _parent(node)
        group = sorted((c for c in parallel if _parent(c.node) == home), key=lambda c: c.node)
        if len(group) > 1 and group[0].node is node:
            return _merge(group)
        if len(group) > 1 or len(parallel) < 2 or any(c.node < node for c in parallel):
            return None  # not the first, which speaks for all
        return No("the other linear layers over this input belong to other modules")


def _is_constant(call: LinearCall) -> bool:
    return constant_of(call.w) is not None and (call.b is None or constant_of(call.b) is not None)


def _parent(node: fx.Node) -> str:
    """Path of the module that holds the node's own module."""
    return location(node).module.rpartition(".")[0]


def _merge(group: list[LinearCall]) -> fx.Node:
    first = group[0].node
    for call in group[1:]:
        for constant in (call.w, call.b):
            if constant is not None and first < constant:
                first.prepend(constant)
    merged = emit(
        first, MergedLinear(), (group[0].x, [c.w for c in group], [c.b for c in group]),
        by=MergedLinears.name, origin=first,
    )  # fmt: skip
    results = [take(merged, i, first) for i in range(len(group))]
    for call, result in zip(group, results, strict=True):
        replace(call.node, result)
    return merged
