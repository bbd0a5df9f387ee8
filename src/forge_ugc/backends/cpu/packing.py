"""Weights in the layout that the matrix kernels stream, packed once each."""

from __future__ import annotations

from typing import NamedTuple

import torch

from forge_ugc import _native
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.torch_types import from_torch


class Packed(NamedTuple):
    """Bytes that no step ever writes: a packed weight, a table. An operand of a step."""

    address: int


class PackedWeight(NamedTuple):
    """A packed matrix; for 8-bit elements also the sum of each column, as int32."""

    weight: Packed
    sums: Packed | None


class Packer:
    """Packs on all threads, and every matrix only once however many instructions read it."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._kept: list[torch.Tensor] = []
        self._known: dict[tuple[object, ...], PackedWeight] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all packed matrices."""
        return sum(t.numel() * t.element_size() for t in self._kept)

    def pack(self, weight: torch.Tensor, form: DType) -> PackedWeight:
        """Pack a weight [outputs, depth] with any strides as elements of `form`.

        Args:
            weight: f32 for f32; f32 or bf16 for bf16; i8 for i8.
            form: f32, bf16 or i8.
        """
        key = (weight.data_ptr(), weight.shape, weight.stride(), weight.dtype, form)
        if key not in self._known:
            self._known[key] = self._packed(weight, form)
        return self._known[key]

    def _packed(self, weight: torch.Tensor, form: DType) -> PackedWeight:
        columns, depth = weight.shape
        size = _native.linear_packed_bytes(form.size_bytes, columns, depth)
        packed = self._keep(_native.allocate(max(size, 64)))
        fields: dict[str, object] = {
            "w": weight.data_ptr(), "row_stride": weight.stride(0),
            "depth_stride": weight.stride(1), "rows": columns, "depth": depth,
            "packed": packed.data_ptr(), "first_column": 0, "columns": columns,
        }  # fmt: skip
        sums = None
        if form == DType.BF16:
            fields["source_type"] = FLOATS[from_torch(weight.dtype)]
        if form == DType.I8:
            sums = self._keep(_native.allocate(max(4 * columns, 64)))
            fields["sums"] = sums.data_ptr()
        _native.run_kernel(_KERNELS[form], fields, self._threads, parallel=True)
        return PackedWeight(
            Packed(packed.data_ptr()), None if sums is None else Packed(sums.data_ptr())
        )

    def _keep(self, tensor: torch.Tensor) -> torch.Tensor:
        self._kept.append(tensor)
        return tensor


_KERNELS = {
    DType.F32: "linear_pack_f32",
    DType.BF16: "linear_pack_bf16",
    DType.I8: "linear_pack_i8",
}
