"""Rows of packed weights by index, on every instruction set of this machine."""

from __future__ import annotations

import pytest
import torch

from forge_ugc import _native, native
from forge_ugc.backends.cpu.layouts import FLOATS
from forge_ugc.ops.core.torch_types import from_torch

FORMS = {"f32": torch.float32, "bf16": torch.bfloat16, "i8": torch.int8}
CASES = [
    (form, isa)
    for form in FORMS
    for isa in native.kernel_table()[f"linear_gather_{form}"]
    if isa in native.cpu_isa()
]


def packed(weight: torch.Tensor, form: str, isa: str) -> torch.Tensor:
    columns, depth = weight.shape
    size = _native.linear_packed_bytes(weight.element_size(), columns, depth)
    memory = _native.allocate(max(size, 64))
    extra: dict[str, object] = {}
    if form == "bf16":
        extra["source_type"] = FLOATS[from_torch(weight.dtype)]
    native.run_kernel(
        f"linear_pack_{form}", isa=isa, w=weight, row_stride=depth, depth_stride=1, rows=columns,
        depth=depth, packed=memory.data_ptr(), first_column=0, columns=columns, **extra,
    )  # fmt: skip
    return memory


@pytest.mark.parametrize(("form", "isa"), CASES)
@pytest.mark.parametrize(("columns", "depth"), [(1, 1), (15, 7), (49, 64), (131, 67)])
@pytest.mark.parametrize("ids_type", [torch.int32, torch.int64])
@pytest.mark.parametrize("out_type", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shares", [1, 3])
def test_rows_come_out_as_they_went_in(
    form: str, isa: str, columns: int, depth: int, ids_type: torch.dtype, out_type: torch.dtype,
    shares: int,
) -> None:  # fmt: skip
    torch.manual_seed(columns)
    weight = torch.randint(-127, 128, (columns, depth)).to(FORMS[form])
    scale = torch.rand(columns) + 0.5 if form == "i8" else None
    ids = torch.tensor([columns - 1, 0, columns // 2, columns, -1], dtype=ids_type)
    out = torch.full((5, depth + 3), 7.0, dtype=out_type)
    status = torch.zeros(1, dtype=torch.int32)
    held = packed(weight, form, isa)
    native.run_kernel(
        f"linear_gather_{form}", isa=isa, shares=shares, packed=held.data_ptr(),
        columns=columns, depth=depth, scale=scale, ids=ids, ids_stride=1,
        ids_bytes=ids.element_size(), rows=5, out=out, out_type=FLOATS[from_torch(out_type)],
        out_stride=depth + 3, status=status, step=42,
    )  # fmt: skip
    want = weight.float() if scale is None else weight.float() * scale[:, None]
    assert torch.equal(out[:3, :depth], want[ids[:3].long()].to(out_type))
    assert bool((out[3:, :depth] == 0).all())
    assert bool((out[:, depth:] == 7.0).all())
    assert status.item() == 42
