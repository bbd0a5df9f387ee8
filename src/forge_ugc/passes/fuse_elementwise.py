"""Fusion of elementwise operators into one loop over memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from torch import fx
from torch._ops import OpOverload

from forge_ugc.errors import VerificationError
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.expression import (
    LETTERS,
    MAX_LIVE,
    Call,
    Expression,
    Operand,
    calls,
    live,
    parse,
    text,
)
from forge_ugc.ops.core.pointwise import OPCODES, pointwise
from forge_ugc.ops.core.schema import bind, opcode_of
from forge_ugc.ops.elementwise import Elementwise
from forge_ugc.options import Options
from forge_ugc.passes.base import Fired, GraphPass, NearMiss, PassResult, graph_pass
from forge_ugc.passes.core.aliasing import memory_of
from forge_ugc.passes.graph import calls as calls_of
from forge_ugc.passes.graph import emit, location, tensor_type
from forge_ugc.passes.replacing import replace

TIER = 0.6
MAX_CALLS = 32
_RULE = "elementwise"
_DTYPES = frozenset({DType.F32, DType.BF16, DType.F16, DType.I64, DType.I32, DType.BOOL})


@dataclass(frozen=True, slots=True)
class _Step:
    """What a node computes: an expression over the nodes it reads."""

    expression: Expression
    operands: tuple[fx.Node, ...]


@graph_pass("fuse-elementwise")
class FuseElementwise(GraphPass):
    """add(x, mul(y, 0.5))  ->  elementwise([x, y], code='add(a, mul(b, 0.5))').

    A step joins the one step that reads it if both have one shape; whatever else reads, stores or
    returns a value keeps it in memory. Single steps stay PyTorch's operators. Every value stays as
    it was bit for bit, since the operator computes and rounds step by step.
    """

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        if options.fusion_aggressiveness < TIER:
            return PassResult(changed=0)
        fired: list[Fired] = []
        missed: list[NearMiss] = []
        # Readers come before what they read, so that a chain is fused at its end, once.
        for node in reversed(calls_of(graph_module.graph)):
            if node._erased or (step := _step(node)) is None:
                continue
            grown, reasons = _grow(node, step)
            missed += [_near_miss(at, why) for at, why in reasons]
            if grown is not step and (new := _fuse(node, grown)) is not None:
                what = f"{node.name} -> elementwise ({text(grown.expression)})"
                place = location(node)
                fired.append(Fired(rule=_RULE, node=new.name, what=what, location=place))
        fired.reverse()
        missed.reverse()
        return PassResult(changed=len(fired), details=tuple(fired), near_misses=tuple(missed))


def _near_miss(node: fx.Node, reason: str) -> NearMiss:
    return NearMiss(rule=_RULE, node=node.name, reason=reason, location=location(node))


def _step(node: object) -> _Step | None:
    """The step that a node is, if it is an elementwise operator of its own memory."""
    if not isinstance(node, fx.Node) or not isinstance(node.target, OpOverload):
        return None
    opcode = opcode_of(node.target)
    if opcode == Elementwise.name:
        given = cast("list[fx.Node]", node.args[0])
        return _Step(parse(str(node.kwargs["code"]), len(given)), tuple(given))
    if opcode not in OPCODES or memory_of(node) is not None:
        return None
    operands, attributes = bind(node.target, node.args, node.kwargs, lambda value: value)
    found = pointwise(opcode, operands, attributes)
    if found is None or not isinstance(found.expression, Call):
        return None
    nodes = tuple(o for o in found.operands if isinstance(o, fx.Node))
    kinds = [tensor_type(n) for n in (*nodes, node)]
    if len(nodes) != len(found.operands) or len(nodes) > len(LETTERS):
        return None
    if any(kind is None or kind.dtype not in _DTYPES for kind in kinds):
        return None
    return _Step(found.expression, nodes)


def _grow(node: fx.Node, step: _Step) -> tuple[_Step, list[tuple[fx.Node, str]]]:
    """The step with all that only it reads, and what had to stay outside."""
    kind = cast(TensorType, tensor_type(node))
    inside: set[fx.Node] = {node}
    while True:
        reasons: list[tuple[fx.Node, str]] = []
        for operand in step.operands:
            if (inner := _step(operand)) is None:
                continue
            grown = _joined(step, operand, inner)
            reason = _refusal(operand, kind, inside, grown)
            if reason is None:
                inside.add(operand)
                step = grown
                break
            reasons.append((operand, reason))
        else:
            return step, reasons


def _refusal(operand: fx.Node, kind: TensorType, inside: set[fx.Node], grown: _Step) -> str | None:
    others = [user for user in operand.users if user not in inside]
    if others:
        readers = ", ".join(user.name for user in others)
        return f"{operand.name} is read by {readers} too"
    have = cast(TensorType, tensor_type(operand))
    if have.shape != kind.shape:
        return f"{operand.name} is {have}, which would be computed for every element of {kind}"
    if len(grown.operands) > len(LETTERS):
        return f"{len(grown.operands)} operands, at most {len(LETTERS)} fit"
    if calls(grown.expression) > MAX_CALLS:
        return f"{calls(grown.expression)} steps, at most {MAX_CALLS} fit"
    if live(grown.expression) > MAX_LIVE:
        return f"{live(grown.expression)} values are kept at once, at most {MAX_LIVE} can be"
    return None


def _joined(outer: _Step, operand: fx.Node, inner: _Step) -> _Step:
    """The outer step with `operand` replaced by what computes it; letters in order of reading."""
    order: list[fx.Node] = []

    def rebuilt(at: Expression, nodes: tuple[fx.Node, ...]) -> Expression:
        if isinstance(at, Call):
            return Call(at.name, tuple(rebuilt(a, nodes) for a in at.arguments))
        if not isinstance(at, Operand):
            return at
        node = nodes[at.position]
        if node is operand and nodes is outer.operands:
            return rebuilt(inner.expression, inner.operands)
        if node not in order:
            order.append(node)
        return Operand(order.index(node))

    expression = rebuilt(outer.expression, outer.operands)
    return _Step(expression, tuple(order))


def _fuse(node: fx.Node, step: _Step) -> fx.Node | None:
    operator = Elementwise(code=text(step.expression))
    kinds = [cast(TensorType, tensor_type(o)) for o in step.operands]
    try:
        kind = operator.infer(kinds)
    except VerificationError:
        return None
    want = cast(TensorType, tensor_type(node))
    if (kind.dtype, kind.shape) != (want.dtype, want.shape):
        return None
    new = emit(node, operator, (list(step.operands),), by=_RULE, origin=node, kind=kind)
    replace(node, new)
    return new
