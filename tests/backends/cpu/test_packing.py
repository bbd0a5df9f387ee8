"""Packed weights come back bit for bit, and each is packed once."""

from __future__ import annotations

import pytest
import torch

from forge_ugc.backends.cpu.packing import Packer
from forge_ugc.npuir.types import DType

FORMS = {DType.F32: torch.float32, DType.BF16: torch.bfloat16, DType.I8: torch.int8}


def random_bits(shape: tuple[int, int], dtype: torch.dtype) -> torch.Tensor:
    size = shape[0] * shape[1] * dtype.itemsize
    return torch.randint(0, 256, (size,), dtype=torch.uint8).view(dtype).reshape(shape)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1, 1), (16, 64), (50, 7), (97, 130), (300, 33)])
@pytest.mark.parametrize("transposed", [False, True])
def test_unpacking_restores_every_bit(
    form: DType, shape: tuple[int, int], transposed: bool
) -> None:
    torch.manual_seed(0)
    weight = random_bits(shape, FORMS[form])
    given = weight.t().contiguous().t() if transposed else weight
    packer = Packer(2)
    packed = packer.pack(given, form)
    restored = packer.unpack(packed, shape, form)
    assert restored.is_contiguous()
    assert torch.equal(restored.view(torch.uint8), weight.view(torch.uint8))


def test_a_weight_is_packed_once() -> None:
    weight, packer = torch.randn(40, 24), Packer(1)
    first = packer.pack(weight, DType.F32)
    size = packer.nbytes
    assert packer.pack(weight[:], DType.F32) == first
    assert packer.nbytes == size
    assert packer.pack(weight[1:], DType.F32) != first
    packer.forget(weight)
    assert packer.pack(weight, DType.F32) != first
