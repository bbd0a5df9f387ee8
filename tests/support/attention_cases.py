"""The kernels attention_f32 and attention_bf16 as a function, and their meaning in float64."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from forge_ugc import native
from forge_ugc.ops.attention import band

U = 2.0**-24
UNBOUNDED = 2**62
GUARD = 7.0
MASK_TYPES = {torch.bool: 1, torch.float32: 2, torch.bfloat16: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The attributes of an attention; `out` is the dtype of the result."""

    scale: float = 0.25
    left: int | None = None
    right: int | None = None
    empty_rows: str = "zero"
    out: torch.dtype = torch.float32


def variants(dtype: torch.dtype) -> list[str]:
    """The instruction sets of this processor that the kernel for this type has a variant for."""
    return [s for s in native.kernel_table()[kernel_name(dtype)] if s in native.cpu_isa()]


def kernel_name(dtype: torch.dtype) -> str:
    return "attention_f32" if dtype == torch.float32 else "attention_bf16"


def padded(x: torch.Tensor, gaps: tuple[int, int, int, int] = (0, 0, 0, 0)) -> torch.Tensor:
    """A copy between whose rows, heads and batches lie guard values."""
    sizes = [n + gap for n, gap in zip(x.shape, gaps, strict=True)]
    room = torch.full(sizes, GUARD, dtype=x.dtype)
    view = room[tuple(slice(n) for n in x.shape)]
    view.copy_(x)
    return view


def fields(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None,
    out: torch.Tensor,
    setting: Setting,
) -> dict[str, object]:
    """The kernel's arguments by name."""
    batch, heads, length, size = q.shape
    made: dict[str, object] = {
        "q": q, "k": k, "v": v, "out": out, "batch": batch, "heads": heads,
        "groups": k.shape[1], "length": length, "keys": k.shape[2], "size": size,
        "value_size": v.shape[3], "scale": setting.scale,
        "left": UNBOUNDED if setting.left is None else setting.left,
        "right": UNBOUNDED if setting.right is None else setting.right,
        "empty_rows": int(setting.empty_rows == "nan"),
        "mask_type": 0, "mask_strides": [0, 0, 0, 0],
    }  # fmt: skip
    for name, tensor in (("q", q), ("k", k), ("v", v), ("out", out)):
        made[f"{name}_strides"] = list(tensor.stride()[:3])
    if mask is not None:
        shown = mask.expand(batch, heads, length, k.shape[2])
        made |= {"mask": mask, "mask_strides": list(shown.stride())}
        made["mask_type"] = MASK_TYPES[mask.dtype]
    if q.dtype == torch.bfloat16:
        made["out_type"] = int(out.dtype == torch.bfloat16)
    return made


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    setting: Setting = Setting(),
    *,
    isa: str,
    shares: int = 1,
    parallel: bool = False,
    gaps: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> torch.Tensor:
    """The kernel's result, written between guard values that are checked."""
    out = padded(torch.zeros(*q.shape[:3], v.shape[3], dtype=setting.out), gaps)
    given = fields(q, k, v, mask, out, setting)
    native.run_kernel(kernel_name(q.dtype), isa=isa, shares=shares, parallel=parallel, **given)
    room = torch.as_strided(
        out, [n + g for n, g in zip(out.shape, gaps, strict=True)], out.stride()
    )
    room = room.clone()
    room[tuple(slice(n) for n in out.shape)] = GUARD
    assert bool((room == GUARD).all()), "wrote outside its rows"
    return out


def meaning(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None,
    setting: Setting,
    isa: str = "none",
) -> tuple[torch.Tensor, torch.Tensor]:
    """The result in float64, and the error that csrc/kernels/attention/attention.h allows."""
    shared = q.shape[1] // k.shape[1]
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(shared, 1) for x in (k, v))
    scores = q @ k.mT * setting.scale
    size, keys = q.shape[3], k.shape[2]
    unit = (size + 3) * abs(setting.scale) * (q.abs() @ k.abs().mT)
    if mask is not None and mask.dtype != torch.bool:
        scores = scores + mask.double()
        unit = unit + 2 * mask.double().abs()
    seen = band(q.shape[2], keys, setting.left, setting.right)
    if mask is not None and mask.dtype == torch.bool:
        seen = seen & mask
    scores = scores.masked_fill(~seen, -torch.inf)
    distance = scores.amax(-1, keepdim=True) - scores if keys else scores
    weights = scores.softmax(-1)
    # What is hidden has neither a weight nor an error.
    each = (unit + distance).nan_to_num(0, 0, 0) * (weights > 0) * U
    magnitude = weights @ v.abs()
    error = (weights * each) @ v.abs() + (weights * each).sum(-1, keepdim=True) * magnitude
    error = error + (keys + 24) * U * magnitude
    if isa == "amx":
        error = error + 2.0**-15 * magnitude
    want = weights @ v
    if setting.empty_rows == "zero":
        empty = (scores == -torch.inf).all(-1, keepdim=True).expand_as(want)
        want = want.masked_fill(empty, 0.0)
        error = error.masked_fill(empty, 0.0)
    # Terms of the second order; weights that count as zero.
    error = error * (1 + 2.0**-8) + keys * 2.0**-125 * (v.abs().amax() if v.numel() else 0)
    if setting.out == torch.bfloat16:
        error = error + (want.abs() + error) * 2.0**-8 + 2.0**-134
    return want, error


def assert_meets_contract(
    got: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    setting: Setting = Setting(),
    isa: str = "none",
) -> None:
    want, error = meaning(q, k, v, mask, setting, isa)
    assert got.shape == want.shape
    got = got.double()
    assert torch.equal(got.isnan(), want.isnan())
    excess = ((got - want).abs() - error).nan_to_num(0)
    assert not excess.numel() or excess.max() <= 0, (
        f"off by {(got - want).abs().nan_to_num(0).max()}, {excess.max()} more than allowed"
    )
