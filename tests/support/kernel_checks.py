"""What tests of row-wise kernels share: variants, element types, guarded rows, rounding."""

import pytest
import torch

from forge_ugc import native

FLOATS = {torch.float32: 0, torch.bfloat16: 1}  # csrc/kernels/float.h
EPSILON = 2.0**-24  # half a unit in the last place of float32, relative
GUARD = 7.0


def variants(kernel):
    """The instruction sets of this machine that the kernel has a variant for."""
    return [isa for isa in native.kernel_table()[kernel] if isa in native.cpu_isa()]


def every_variant(kernel):
    return pytest.mark.parametrize("isa", variants(kernel))


class Rows:
    """`shape[-1]` elements a row in the middle of memory that otherwise holds GUARD."""

    def __init__(self, values, gap=3):
        rows, dim = values.shape
        self.room = torch.full((rows, dim + 2 * gap), GUARD, dtype=values.dtype)
        self.view = self.room[:, gap : gap + dim]
        self.view.copy_(values)
        self.stride = self.room.stride(0) if rows else dim + 2 * gap

    def assert_guards(self):
        """Nothing beside the rows was written."""
        self.view.fill_(GUARD)
        assert bool((self.room == GUARD).all())


def rounding(values, dtype):
    """The largest error of rounding `values`, in float64, to `dtype`."""
    if dtype == torch.float64:
        return torch.zeros_like(values)
    info = torch.finfo(dtype)
    return values.abs() * (info.eps / 2) + info.smallest_normal * info.eps


def assert_within(got, want, bound):
    """|got - want| <= bound + the rounding of got, or both NaN, or the same infinity."""
    wide = got.double()
    allowed = bound + rounding(want.abs() + bound, got.dtype)
    close = (wide - want).abs() <= allowed
    same = (wide == want) | (wide.isnan() & want.isnan())
    wrong = ~(close | same)
    assert not bool(wrong.any()), (
        f"{int(wrong.sum())} of {wrong.numel()}: got {wide[wrong][:4]}, want {want[wrong][:4]}, "
        f"allowed {allowed.expand_as(wide)[wrong][:4]}"
    )
