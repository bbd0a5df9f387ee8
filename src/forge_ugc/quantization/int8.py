"""Weights as 8-bit integers with one scale for each output."""

from __future__ import annotations

import torch

from forge_ugc import native
from forge_ugc.ops.quantize_rows import QuantizeRows

_CHUNK_ELEMENTS = 1 << 18  # what a cache holds
_FLOATS = {torch.float32: 0, torch.bfloat16: 1}
"""The enum `Float` of csrc/kernels/float.h."""


def quantize_weight(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(i8[out, in] row-major, f32[out]) of a weight f32|bf16[out, in] in any layout.

    `quantize_rows` of the weight, bit for bit. On the native engine, with as many threads as
    PyTorch has, if either stride is 1 at the speed of the memory; without the compiled extension,
    or elsewhere than on the cpu, by PyTorch's operators at a tenth of that.
    """
    rows, depth = weight.shape
    q = torch.empty(weight.shape, dtype=torch.int8, device=weight.device)
    scale = torch.empty(rows, dtype=torch.float32, device=weight.device)
    if native.missing() is not None or weight.device.type != "cpu":
        _by_operators(weight, q, scale)
        return q, scale
    native.run_kernel(
        "quantize_weights", shares=torch.get_num_threads(), parallel=True,
        w=weight, w_type=_FLOATS[weight.dtype], row_stride=weight.stride(0),
        depth_stride=weight.stride(1), rows=rows, depth=depth, q=q, q_stride=depth, scale=scale,
    )  # fmt: skip
    return q, scale


def _by_operators(weight: torch.Tensor, q: torch.Tensor, scale: torch.Tensor) -> None:
    """A few rows at a time, so that what comes between stays in a cache."""
    step = max(1, _CHUNK_ELEMENTS // max(weight.shape[1], 1))
    for start in range(0, len(weight), step):
        part = slice(start, start + step)
        q[part], scale[part] = QuantizeRows().eval(weight[part])
