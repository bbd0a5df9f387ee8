"""The steps of host execution: one PyTorch call each, with its results put in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import torch
from torch._ops import OpOverload

from forge_ugc.errors import InputError
from forge_ugc.npuir.instruction import Const, External, Ref, Reg, Result, State
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.op import load_all
from forge_ugc.ops.core.schema import overload_of, parameters
from forge_ugc.ops.core.torch_types import empty, to_torch, type_of

Values = list[torch.Tensor | None]
"""The tensor of every register, by number."""
Step = Callable[[Values], None]
Fetch = Callable[[Values], Any]
_KEYS = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd",
              "CompositeExplicitAutogradNonFunctional")  # fmt: skip


@lru_cache(maxsize=4096)
def has_cpu_kernel(opcode: str) -> bool:
    """True if PyTorch can run the operator on cpu tensors."""
    load_all()
    name = overload_of(opcode).name()
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _KEYS)


@lru_cache(maxsize=4096)
def out_variant(overload: OpOverload) -> OpOverload | None:
    """The overload that writes the one result of `overload` into a given tensor, if any."""
    returns = overload._schema.returns
    if len(returns) != 1 or str(returns[0].type) != "Tensor" or overload.namespace != "aten":
        return None
    wanted = [(name, kind) for name, kind, _, _ in parameters(overload)]
    for name in overload.overloadpacket.overloads():
        found = cast(OpOverload, getattr(overload.overloadpacket, name))
        if not name.endswith("out"):
            continue
        given = [(n, k) for n, k, _, _ in parameters(found) if n != "out"]
        has_out = any(n == "out" and k == "Tensor" for n, k, _, _ in parameters(found))
        if has_out and given == wanted and len(found._schema.returns) == 1:
            return found
    return None


def fetcher(template: Any, fixed: Mapping[Ref, torch.Tensor]) -> Fetch:  # noqa: ANN401 - call arguments
    """A function that fills registers, constants and states into a call's arguments."""
    if isinstance(template, Reg):
        number = template.id
        return lambda values: values[number]
    if isinstance(template, Const | State):
        tensor = fixed[template]
        return lambda values: tensor
    if isinstance(template, list):
        parts = [fetcher(item, fixed) for item in template]
        return lambda values: [part(values) for part in parts]
    if isinstance(template, dict):
        named = {key: fetcher(item, fixed) for key, item in template.items()}
        return lambda values: {key: part(values) for key, part in named.items()}
    return lambda values: template


def destination(values: Values, result: Result) -> torch.Tensor:
    """Where a call writes a result: in the arena, or in new memory if it leaves the program."""
    if isinstance(result.place, External):
        values[result.reg.id] = empty(result.type)
    return cast(torch.Tensor, values[result.reg.id])


def out_step(overload: OpOverload, fetch: Fetch, named: Fetch, result: Result) -> Step:
    """A call that writes its one result where it is to live."""

    def run(values: Values) -> None:
        overload(*fetch(values), **named(values), out=destination(values, result))

    return run


def copy_step(
    call: Callable[..., Any],
    fetch: Fetch,
    named: Fetch,
    results: tuple[Result, ...],
) -> Step:
    """A call whose results are copied to where they are to live."""

    def run(values: Values) -> None:
        got = call(*fetch(values), **named(values))
        several = [t for t in (got if isinstance(got, tuple | list) else (got,)) if t is not None]
        for result, tensor in zip(results, several, strict=True):
            destination(values, result).copy_(tensor)

    return run


def _as_strided_scatter(
    tensor: torch.Tensor,
    source: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> torch.Tensor:
    """A copy of `tensor` with `source` written to a part of its memory."""
    written = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)
    written.as_strided(size, stride, storage_offset or 0).copy_(source)
    return written


REPLACED: Mapping[OpOverload, Callable[..., Any]] = {
    # PyTorch's counts from the start of the memory around the tensor, here of the whole arena.
    torch.ops.aten.as_strided_scatter.default: _as_strided_scatter,
}


def view_of(base: torch.Tensor, offset_bytes: int, kind: TensorType) -> torch.Tensor:
    """A tensor of type `kind` on base's memory, `offset_bytes` after base's first element.

    Raises:
        InputError: the view's elements would not be aligned, which only a caller's tensor, lying
            anywhere in its storage, can lead to.
    """
    dtype = to_torch(kind.dtype)
    size = kind.dtype.size_bytes
    start = base.storage_offset() * base.element_size() + offset_bytes
    if start % size:
        raise InputError(
            f"an input starts at byte {base.storage_offset() * base.element_size()} of its storage,"
            f" and the program views it as {kind.dtype.value}",
            why=f"elements of {kind.dtype.value} begin at multiples of {size} bytes",
            fix="pass a copy of the input: x.clone()",
        )
    if dtype == base.dtype:
        return base.as_strided(kind.shape, kind.strides, start // size)
    view = torch.empty(0, dtype=dtype, device=base.device)
    return view.set_(base.untyped_storage(), start // size, kind.shape, kind.strides)


def in_layout(tensor: torch.Tensor, kind: TensorType) -> torch.Tensor:
    """The tensor, or a copy of it in exactly the layout of `kind`."""
    tensor = tensor.detach()
    if type_of(tensor) == kind and not tensor.is_conj() and not tensor.is_neg():
        return tensor
    return empty(kind).copy_(tensor)


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if the spans of two tensors share bytes."""
    if a.numel() == 0 or b.numel() == 0:
        return False
    if a.untyped_storage()._cdata != b.untyped_storage()._cdata:
        return False
    start_a, start_b = a.data_ptr(), b.data_ptr()
    return start_a < start_b + type_of(b).size_bytes and start_b < start_a + type_of(a).size_bytes
