"""Programs with attention run without PyTorch, and agree with the interpreter."""

import pytest
import torch
from native_checks import assert_native, assert_on_host

import forge_ugc

BF16 = {"rtol": 2**-7, "atol": 2**-8}
OUT = "[2,4,9,24]{864,24,96,1}"


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def program(attributes="", mask=None, dtype="f32", kind_q="[2,4,9,16]", out=OUT):
    """Attention of four query heads and two key heads, nine queries and twelve keys."""
    declared = [
        f'input  %0 "q" : {dtype}{kind_q}',
        f'input  %1 "k" : {dtype}[2,2,12,16]',
        f'input  %2 "v" : {dtype}[2,2,12,24]',
        *([] if mask is None else [f'input  %3 "mask" : {mask}']),
    ]
    operands = "%0, %1, %2" if mask is None else "%0, %1, %2, %3"
    lines = [
        *declared,
        f"%9 = attention({operands}) {{{attributes}scale = 0.25}} : {dtype}{out}",
        "output %9",
    ]
    return "npuir.program @p target(cpu) {\n  " + "\n  ".join(lines) + "\n}\n"


@pytest.mark.parametrize("attributes", ["", "right = 3, ", "left = 2, right = 1, ", "left = 4, "])
def test_bands(attributes):
    assert_native(program(attributes))
    assert_native(program(attributes, dtype="bf16"), **BF16)


@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
@pytest.mark.parametrize(
    "mask", ["bool[9,12]", "bool[2,1,1,12]", "f32[2,4,9,12]", "f32[4,1,12]", "bf16[9,1]"]
)
def test_masks(mask, empty_rows):
    attributes = f'empty_rows = "{empty_rows}", left = 3, right = 5, '
    assert_native(program(attributes, mask))
    assert_native(program(attributes, mask, dtype="bf16"), **BF16)


@pytest.mark.parametrize("empty_rows", ["zero", "nan"])
def test_rows_that_see_nothing(empty_rows):
    assert_native(program(f'empty_rows = "{empty_rows}", right = -4, '))


def test_refusals():
    assert_on_host(program(kind_q="[2,4,9,16]{576,144,1,9}"), "attention")
    assert_on_host(program(dtype="f64"), "attention")
    assert_on_host(program(mask="f64[9,12]"), "attention")


class _Heads(torch.nn.Module):
    """Self-attention over merged projections, grouped queries, and a projection of the result."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        self.out = torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, 4, 16).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, 2, 16).transpose(1, 3).unbind(2)
        y = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        )
        return self.out(y.transpose(1, 2).reshape(batch, length, 64))


@pytest.mark.parametrize("length", [1, 5, 40])
def test_a_module_has_no_host_instruction(length):
    module, x = _Heads().eval(), torch.randn(2, length, 64)
    compiled = forge_ugc.compile(module, (x,))
    torch.testing.assert_close(compiled(x), module(x), rtol=1e-5, atol=1e-5)
    assert dict(compiled.result.host_instructions) == {}
