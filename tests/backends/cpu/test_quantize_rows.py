"""Instructions quantize_rows run on the engine, in every precision of linear layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options


class Block(nn.Module):
    """Every form of a product: merged, plain, gated, with bias, activation and residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(96)
        self.q, self.k = nn.Linear(96, 96), nn.Linear(96, 48)
        self.up, self.gate = nn.Linear(96, 130, bias=False), nn.Linear(96, 130, bias=False)
        self.down = nn.Linear(130, 96)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.norm(x)
        x = x + nn.functional.gelu(self.q(y))
        z = self.norm(x)
        return x + self.down(nn.functional.silu(self.gate(z)) * self.up(z)), self.k(y)


@pytest.mark.parametrize(("precision", "bound"), [("fp32", 1e-5), ("bf16", 2e-2), ("int8", 4e-2)])
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_every_precision_runs_natively(precision: str, bound: float, rows: int) -> None:
    torch.manual_seed(0)
    module, x = Block().eval(), torch.randn(2, rows, 96)
    model = forge_ugc.compile(module, (x,), options=Options(precision=precision, threads=2))
    meant = forge_ugc.compile(module, (x,), options=Options(precision=precision, native=False))
    assert dict(model.result.host_instructions) == {}
    with torch.no_grad():
        for got, want, exact in zip(model(x), meant(x), module(x), strict=True):
            # As the reference does, up to the order of sums: a step of bf16 apart at most.
            torch.testing.assert_close(got, want, rtol=2**-7, atol=2e-3 if bound > 1e-3 else 1e-5)
            assert (got - exact).abs().max() <= bound * exact.abs().max()
