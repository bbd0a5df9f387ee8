"""Weights in the layout that the matrix kernels stream, packed once each."""

from __future__ import annotations

from typing import NamedTuple

import torch

from forge_ugc import _native
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.torch_types import from_torch, to_torch


class Packed(NamedTuple):
    """Bytes that no step ever writes: a packed weight, a table. An operand of a step."""

    address: int


class Packer:
    """Packs on all threads, and every matrix only once however many instructions read it."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._known: dict[tuple[object, ...], Packed] = {}
        self._memory: dict[int, torch.Tensor] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all packed matrices."""
        return sum(t.numel() for t in self._memory.values())

    def pack(self, weight: torch.Tensor, form: DType) -> Packed:
        """Pack a weight [outputs, depth] with any strides as elements of `form`.

        Args:
            weight: f32 for f32; f32 or bf16 for bf16; i8 for i8. Has to live, or at least keep its
                memory, as long as other weights are packed.
            form: f32, bf16 or i8.
        """
        key = (weight.data_ptr(), weight.shape, weight.stride(), weight.dtype, form)
        if key not in self._known:
            packed = _pack(weight, form, self._threads)
            self._memory[packed.data_ptr()] = packed
            self._known[key] = Packed(packed.data_ptr())
        return self._known[key]

    def forget(self, weight: torch.Tensor) -> None:
        """The memory of a weight is about to go, and its address may soon be another's."""
        at = weight.data_ptr()
        self._known = {key: value for key, value in self._known.items() if key[0] != at}

    def unpack(self, packed: Packed, shape: tuple[int, int], form: DType) -> torch.Tensor:
        """The weight that `pack` was given, row-major, bit for bit."""
        return _unpack(self._memory[packed.address], shape, form, self._threads)


def _pack(weight: torch.Tensor, form: DType, threads: int, *, clear: bool = False) -> torch.Tensor:
    columns, depth = weight.shape
    size = _native.linear_packed_bytes(form.size_bytes, columns, depth)
    packed = _native.allocate(max(size, 64))
    if clear:
        packed.zero_()
    fields: dict[str, object] = {
        "w": weight.data_ptr(), "row_stride": weight.stride(0),
        "depth_stride": weight.stride(1), "rows": columns, "depth": depth,
        "packed": packed.data_ptr(), "first_column": 0, "columns": columns,
    }  # fmt: skip
    if form == DType.BF16:
        fields["source_type"] = FLOATS[from_torch(weight.dtype)]
    _native.run_kernel(_KERNELS[form], fields, threads, parallel=True)
    return packed


def _unpack(
    packed: torch.Tensor, shape: tuple[int, int], form: DType, threads: int
) -> torch.Tensor:
    """Packs the numbers of the elements and sees where each one went: true of every layout.

    Packing copies bits or flips some of every element, so numbers pass through it as long as they
    have the width of an element: wider ones go byte by byte, or half by half.
    """
    element = {4: torch.int32, 2: torch.int16, 1: torch.int8}[form.size_bytes]
    count = shape[0] * shape[1]
    # Cleared, here and below, since a layout may use less than the bytes enough for every one.
    zeros = torch.zeros(shape, dtype=to_torch(form))
    flipped = _pack(zeros, form, threads, clear=True).view(element)
    places = torch.zeros(packed.numel() // form.size_bytes, dtype=torch.int64)
    numbers = torch.arange(1, count + 1)  # 0 is padding
    for low in range(0, 64, 8 * form.size_bytes):
        if count >> low == 0:
            break
        part = (numbers >> low).to(element).view(to_torch(form)).reshape(shape)
        found = (_pack(part, form, threads, clear=True).view(element) ^ flipped).to(torch.int64)
        places |= (found & ((1 << 8 * form.size_bytes) - 1)) << low
    restored = torch.zeros(count + 1, dtype=element)
    restored[places] = packed.view(element) ^ flipped
    return restored[1:].view(to_torch(form)).reshape(shape)


_KERNELS = {
    DType.F32: "linear_pack_f32",
    DType.BF16: "linear_pack_bf16",
    DType.I8: "linear_pack_i8",
}
