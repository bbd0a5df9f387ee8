"""Type rules for every opcode: our operators' own, PyTorch's by running them on meta tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload

from forge_ugc.errors import ForgeError, VerificationError
from forge_ugc.npuir.instruction import Attribute
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import lookup
from forge_ugc.ops.core.schema import is_mutable, overload_of, unbind
from forge_ugc.ops.core.torch_types import empty, type_of

_RUN_LIMIT_BYTES = 1 << 30
_BY_DEVICE = frozenset({"_native_batch_norm_legit_no_training", "native_batch_norm"})
TypedOperand = Any  # TensorType | number | None | tuple of those


def infer(
    opcode: str, operands: Sequence[TypedOperand], attributes: Mapping[str, Attribute]
) -> tuple[TensorType, ...]:
    """Result types of an instruction from the types of its operands.

    Args:
        opcode: name of an operator.
        operands: for each operand its `TensorType`, a number, None or a tuple of those.
        attributes: the instruction's attributes.

    Raises:
        VerificationError: the operands break the operator's type rule.
        UnsupportedOperatorError: the opcode is unknown.
    """
    return tuple(kind for kind, _ in infer_views(opcode, operands, attributes))


def infer_views(
    opcode: str, operands: Sequence[TypedOperand], attributes: Mapping[str, Attribute]
) -> tuple[tuple[TensorType, int], ...]:
    """As `infer`, with each result's offset in elements from the first operand's first element.

    The offset means something for view operators only.
    """
    try:
        return _evaluate(opcode, operands, attributes)
    except ForgeError:
        raise
    except Exception as error:  # wrong operands end in whatever Python or PyTorch raises
        shown = ", ".join(str(o) for o in operands)
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise VerificationError(
            f"{opcode}({shown}) breaks the operator's type rule", why=why
        ) from error


def _evaluate(
    opcode: str, operands: Sequence[TypedOperand], attributes: Mapping[str, Attribute]
) -> tuple[tuple[TensorType, int], ...]:
    ours = lookup(opcode) if "." not in opcode else None
    if ours is not None:
        kinds = ours(**attributes).infer(*operands)
        return tuple((k, 0) for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
    overload = overload_of(opcode)
    if is_mutable(overload):
        raise VerificationError(f"{opcode} writes to its operands; programs are functional")
    try:
        out = _call(overload, operands, attributes, _device_of(overload))
    except NotImplementedError:
        # PyTorch has no meta kernel: run the real one on zeros, as torch.export does.
        if overload.namespace != "aten" or _bytes_of(operands) > _RUN_LIMIT_BYTES:
            raise
        out = _call(overload, operands, attributes, "cpu")
    results = out if isinstance(out, tuple | list) else (out,)
    return tuple((type_of(r), int(r.storage_offset())) for r in results if r is not None)


def _device_of(overload: OpOverload) -> str:
    """Meta, except where PyTorch's results differ by device.

    What a batch normalisation saves in eval mode is empty on the cpu only.
    """
    return "cpu" if overload._opname in _BY_DEVICE else "meta"


def _call(
    overload: OpOverload,
    operands: Sequence[TypedOperand],
    attributes: Mapping[str, Attribute],
    device: str,
) -> Any:  # noqa: ANN401 - one tensor or several
    args, kwargs = unbind(overload, [_place(o, device) for o in operands], attributes)
    if "device" in kwargs:
        kwargs["device"] = torch.device(device)
    return overload(
        *(torch.device(device) if isinstance(a, torch.device) else a for a in args), **kwargs
    )


def _place(operand: TypedOperand, device: str) -> Any:  # noqa: ANN401 - mirrors the operand's own structure
    if isinstance(operand, TensorType):
        tensor = empty(operand, device)
        return tensor.zero_() if device == "cpu" else tensor
    if isinstance(operand, tuple):
        return [_place(item, device) for item in operand]
    return operand


def _bytes_of(operands: Sequence[TypedOperand]) -> int:
    return sum(
        o.size_bytes if isinstance(o, TensorType) else _bytes_of(o) if isinstance(o, tuple) else 0
        for o in operands
    )
