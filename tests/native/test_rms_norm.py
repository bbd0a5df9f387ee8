"""The kernel rms_norm on every instruction set of this machine."""

import pytest
import torch

from forge_ugc import native

VARIANTS = [s for s in native.kernel_table()["rms_norm_f32"] if s in native.cpu_isa()]


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("shares", [1, 3])
@pytest.mark.parametrize("dim", [1, 15, 16, 17, 33, 100])
def test_every_variant_agrees_with_the_formula(isa, shares, dim):
    torch.manual_seed(dim)
    rows, gap = 5, 3
    x, w = torch.randn(rows, dim + gap), torch.randn(dim)
    out = torch.full((rows, dim + gap), 7.0)
    native.run_kernel(
        "rms_norm_f32", isa=isa, shares=shares, x=x, x_stride=dim + gap, w=w, out=out,
        out_stride=dim + gap, rows=rows, dim=dim, eps=1e-5,
    )  # fmt: skip
    row = x[:, :dim].double()
    want = row * (row.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w.double()
    torch.testing.assert_close(out[:, :dim].double(), want, rtol=1e-5, atol=1e-6)
    assert bool((out[:, dim:] == 7.0).all())
