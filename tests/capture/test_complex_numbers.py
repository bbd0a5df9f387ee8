"""Complex Python numbers in a model compile, and survive a saved file."""

import torch
from torch import nn

import forge_ugc


class Net(nn.Module):
    def forward(self, x):
        z = torch.complex(x, x.flip(0))
        return z * (1 + 2j), x * 1j, (z - 0.5j) / 2j, z.to(torch.complex128) * 1j


def test_complex_numbers_promote_as_in_eager_and_are_kept_in_a_file(tmp_path):
    x = torch.randn(3, 4)
    compiled = forge_ugc.compile(Net(), (x,))
    compiled.save(tmp_path / "net.forge")
    for call in (compiled, forge_ugc.load(tmp_path / "net.forge")):
        for got, want in zip(call(x), Net()(x), strict=True):
            torch.testing.assert_close(got, want, rtol=0, atol=0)
