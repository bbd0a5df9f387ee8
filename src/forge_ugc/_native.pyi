"""What the compiled extension offers; `forge_ugc.native` is the interface to use."""

import numpy as np
import numpy.typing as npt
import torch

def cpu_isa() -> list[str]: ...
def isa_cap() -> str: ...
def kernel_table() -> dict[str, list[str]]: ...
def rms_norm(
    x: npt.NDArray[np.float32] | torch.Tensor,
    w: npt.NDArray[np.float32] | torch.Tensor | None,
    eps: float,
    out: npt.NDArray[np.float32] | torch.Tensor,
    isa: str | None = None,
) -> None: ...
