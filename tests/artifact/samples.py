"""A program with every kind of tensor, and what its tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from forge_ugc.artifact import read_artifact
from forge_ugc.errors import ArtifactError

TEXT = """\
npuir.program @mlp target(cpu) arena(128 B) {
  input  %0 "x" : f32[4,8]
  const  @w : f32[3,8]
  const  @w_t : f32[8,3]{1,8} view(@w, 0 B)
  const  @w_row : f32[8] view(@w_t, 32 B)
  const  @w_bits : i32[2] view(@w_row, 8 B)
  const  @"odd name" : f32[8,3]{1,8}
  const  @gaps : f32[2,2]{4,1}
  const  @spread : f32[4,2]{0,1}
  const  @half : bf16[5]
  const  @flag : bool[3]
  const  @scalar : f64[]
  const  @index : i64[1]
  const  @empty : f32[0,4]
  const  @empty_view : f32[2,0] view(@w, 4096 B)
  const  @z : c64[3]
  const  @zz : c128[2,2]
  state  $cache : f32[8,3]{1,8}
  %1 = aten.mm.default(%0, @w_t) : f32[4,3] device(cpu) buffer(0 @ 0, 48 B)
  %2 = aten.relu.default(%1) : f32[4,3] device(cpu) buffer(output) loc("model.py":3 "relu")
  store  $cache, @"odd name"
  output %2
}
"""
EXTRA = {"inputs": ["x", None, 1.5, True], "naïve": {}}


def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    w = torch.randn(3, 8)
    return {
        "w": w,
        "w_t": w.t(),
        "odd name": torch.randn(3, 8).t(),
        "gaps": torch.randn(4, 4)[:2, :2],
        "spread": torch.randn(2).expand(4, 2),
        "half": torch.randn(5).bfloat16(),
        "flag": torch.tensor([True, False, True]),
        "scalar": torch.tensor(float("nan"), dtype=torch.float64),
        "index": torch.tensor([-(2**63)]),
        "empty": torch.empty(0, 4),
        "z": torch.randn(3, dtype=torch.complex64).conj(),
        "zz": torch.randn(2, 2, dtype=torch.complex128),
        "cache": torch.randn(3, 8).t(),
    }


def refused(path: Path) -> str:
    with pytest.raises(ArtifactError) as caught:
        read_artifact(path)
    assert str(path) in str(caught.value)
    return str(caught.value).replace(str(path), "PATH")
