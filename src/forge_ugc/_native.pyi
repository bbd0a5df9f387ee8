"""What the compiled extension offers; `forge_ugc.native` is the interface to use."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch

_Array: TypeAlias = npt.NDArray[np.float32] | torch.Tensor

class PackedLinear:
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def isa(self) -> str: ...

def cpu_isa() -> list[str]: ...
def isa_cap() -> str: ...
def kernel_table() -> dict[str, list[str]]: ...
def kernel_fields(name: str) -> list[tuple[str, str, str, int]]: ...
def run_kernel(
    name: str, values: dict[str, object], shares: int, parallel: bool, isa: str | None = None
) -> None: ...
def linear_packed_bytes(element_bytes: int, columns: int, depth: int) -> int: ...
def linear_pack(weights: list[_Array], isa: str | None = None) -> PackedLinear: ...
def linear(
    x: _Array,
    packed: PackedLinear,
    bias: _Array | None,
    residual: _Array | None,
    activation: str,
    out: _Array,
    shares: int,
) -> None: ...
def gated_linear(
    x: _Array,
    gate: PackedLinear,
    up: PackedLinear,
    gate_bias: _Array | None,
    up_bias: _Array | None,
    activation: str,
    out: _Array,
    shares: int,
) -> None: ...
