"""Arguments of the kernel `elementwise` for one expression on operands of given types."""

from __future__ import annotations

from collections.abc import Sequence

from forge_ugc.backends.cpu.bytecode import KINDS, NotSupported, assemble
from forge_ugc.backends.cpu.loops import broadcast_strides, loops, padded
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.expression import Expression

DIMS, OPERANDS, STEPS = 5, 8, 192


def elementwise_fields(
    expression: Expression, operands: Sequence[TensorType], result: TensorType
) -> dict[str, object]:
    """Every field but the pointers `in` and `out`.

    Raises:
        NotSupported: the kernel cannot do it; the message says why.
    """
    if len(operands) > OPERANDS:
        raise NotSupported(f"{len(operands)} operands, at most {OPERANDS} fit")
    if result.dtype not in KINDS:
        raise NotSupported(f"the kernel has no {result.dtype.value}")
    code = assemble(expression, operands)
    strides = [result.strides, *(broadcast_strides(o, result.shape) for o in operands)]
    axes = loops(result.shape, *strides)
    if len(axes) > DIMS:
        raise NotSupported(f"{len(axes)} nested loops, at most {DIMS} fit")
    if len(code.words) > STEPS:
        raise NotSupported(f"{len(code.words)} steps, at most {STEPS} fit")
    axes = padded(axes, DIMS, 1 + len(operands))
    return {
        "in_strides": [axis.strides[1 + i] for i in range(len(operands)) for axis in axes],
        "in_kinds": [KINDS[o.dtype] for o in operands],
        "operands": len(operands),
        "out_strides": [axis.strides[0] for axis in axes],
        "out_kind": KINDS[result.dtype],
        "sizes": [axis.size for axis in axes],
        "constants": len(code.constant_kinds),
        "constant_words": list(code.constant_words),
        "constant_kinds": list(code.constant_kinds),
        "steps": len(code.words),
        "code": list(code.words),
        "result": code.result,
    }
