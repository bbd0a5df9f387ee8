"""Calls of the dense kernels by name, with packed weights that end at a guard."""

from dataclasses import dataclass

import torch

from forge_ugc import native

ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "quick_gelu", "sigmoid")
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
GUARD = 7.0


def variants(kernel: str) -> list[str]:
    """The instruction sets of a kernel that this machine has."""
    return [isa for isa in native.kernel_table()[kernel] if isa in native.cpu_isa()]


def float_type(*tensors: torch.Tensor | None) -> int:
    """The `Float` of csrc/kernels/linear/args.h of tensors of one dtype."""
    found = {t.dtype for t in tensors if t is not None} or {torch.float32}
    assert len(found) == 1, found
    return [torch.float32, torch.bfloat16].index(found.pop())


def allocate(elements: int, dtype: torch.dtype) -> torch.Tensor:
    """Uninitialised elements on 64 bytes, with a line of guard values behind them."""
    size = torch.empty(0, dtype=dtype).element_size()
    room = torch.full((elements + 128 // size,), GUARD, dtype=dtype)
    skip = -room.data_ptr() % 64 // size
    return room[skip : skip + elements + 64 // size]


@dataclass(frozen=True)
class Packed:
    """Weights of one depth, packed one after another along the columns."""

    data: torch.Tensor
    columns: int
    depth: int
    isa: str
    precision: str


def pack(*weights: torch.Tensor, isa: str, precision: str = "f32", shares: int = 1) -> Packed:
    """Pack for one variant, and check that nothing was written behind the end."""
    columns, depth = sum(len(w) for w in weights), weights[0].shape[1]
    dtype = DTYPES[precision]
    size = torch.empty(0, dtype=dtype).element_size()
    elements = native.linear_packed_bytes(size, columns, depth) // size
    data, first = allocate(elements, dtype), 0
    for w in weights:
        kernel, extra = f"linear_pack_{precision}", {}
        if precision == "bf16":
            extra["source_type"] = float_type(w)
        native.run_kernel(
            kernel, isa=isa, shares=shares, w=w, row_stride=w.stride(0), depth_stride=w.stride(1),
            rows=len(w), depth=depth, packed=data, first_column=first, columns=columns, **extra,
        )  # fmt: skip
        first += len(w)
    assert bool((data[elements:] == GUARD).all()), "wrote behind the packed matrix"
    return Packed(data, columns, depth, isa, precision)


def linear(
    x: torch.Tensor,
    packed: Packed | list[Packed],
    bias: torch.Tensor | list[torch.Tensor | None] | None = None,
    residual: torch.Tensor | None = None,
    activation: str = "none",
    *,
    out: torch.Tensor | list[torch.Tensor],
    up: Packed | None = None,
    up_bias: torch.Tensor | None = None,
    scale: float = 1.0,
    shares: int = 1,
    parallel: bool = False,
) -> None:
    """Run `linear_f32` or `linear_bf16` on matrices whose rows have adjacent elements."""
    parts = packed if isinstance(packed, list) else [packed]
    outs = out if isinstance(out, list) else [out]
    biases = bias if isinstance(bias, list) else [bias] * len(parts)
    assert all(o.stride(1) == 1 or o.shape[1] <= 1 for o in outs)
    native.run_kernel(
        f"linear_{parts[0].precision}", isa=parts[0].isa, shares=shares, parallel=parallel,
        x=x, x_stride=x.stride(0), rows=len(x), depth=parts[0].depth, parts=len(parts),
        columns=[p.columns for p in parts], w=[p.data for p in parts], bias=biases,
        up=None if up is None else up.data, up_bias=up_bias,
        bias_type=float_type(*biases, up_bias), activation=ACTIVATIONS.index(activation),
        scale=scale, residual=residual, residual_type=float_type(residual),
        residual_stride=0 if residual is None else residual.stride(0),
        out=outs, out_stride=[o.stride(0) for o in outs], out_type=float_type(*outs),
    )  # fmt: skip
