"""Copies, gathers and depthwise convolution as kernels: no instruction runs through PyTorch."""

import pytest
import torch
import torch.nn.functional as F

import forge_ugc
from forge_ugc.errors import InputError


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def agrees(function, *inputs, exact=True):
    module = Function(function)
    compiled = forge_ugc.compile(module, inputs)
    assert not compiled._executable.host_instructions, compiled.program
    got, want = compiled(*inputs), module(*inputs)
    if exact:
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    else:
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)


X = rand(3, 5, 40)
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int16, torch.bool]
COPIES = {
    "clone": lambda x: x.clone() + 0,
    "contiguous": lambda x: x.permute(2, 0, 1).contiguous(),
    "transpose": lambda x: x.transpose(1, 2).contiguous(),
    "expanded": lambda x: x[:, :1].expand(3, 7, 40).contiguous(),
    "reshape": lambda x: x.transpose(0, 1).reshape(15, 40),
    "stepped": lambda x: x[:, ::2, 1::3].contiguous(),
    "cat": lambda x: torch.cat((x, x[:, 1:3], x[:, :0]), 1),
    "cat of the last axis": lambda x: torch.cat((x[..., 3:], x[..., :3]), -1),
    "stack": lambda x: torch.stack((x, x.flip(0) if x.ndim == 9 else x[[0] * 3]), 1),
    "slice_scatter": lambda x: torch.slice_scatter(x, x[:, :2], 1, 3),
    "slice_scatter with a step": lambda x: torch.slice_scatter(x, x[:, :2], 1, -4, 5, 2),
    "select_scatter": lambda x: torch.select_scatter(x, x[:, 0], 1, -2),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    if name in {"clone", "stack"}:
        agrees(COPIES[name], X)
        return
    for dtype in DTYPES:
        agrees(COPIES[name], (X * 9).to(dtype))


IDS = torch.tensor([[4, 0, 2], [1, 1, 3]])
GATHERS = {
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding by i32": lambda x, i: F.embedding(i.to(torch.int32), x),
    "index first": lambda x, i: x[i],
    "index last": lambda x, i: x[:, i],
    "index from the end": lambda x, i: x[i - 5],
    "two indices": lambda x, i: x[i, i.flip(1) if x.ndim == 9 else i + 2],
    "broadcast indices": lambda x, i: x[i[:, :1], i[0]],
    "index_select": lambda x, i: x.index_select(1, i[0]),
    "gather": lambda x, i: x.gather(0, i),
    "gather of the last axis": lambda x, i: x.gather(1, i),
}


@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_gathers(name, dtype):
    agrees(GATHERS[name], (rand(5, 7) * 9).to(dtype), IDS)


def test_indices_apart_come_first():
    agrees(lambda x, i: x[i, :, i + 1], rand(5, 6, 7), IDS)


def test_a_mask_by_index():
    """How BERT's padding mask is looked up."""
    rows, columns = torch.zeros(1, 1, 1, 1, dtype=torch.int64), torch.arange(9).view(1, 1, 1, 9)
    agrees(lambda m: m.to(torch.bool)[rows, columns], torch.ones(1, 9, dtype=torch.int64))


@pytest.mark.parametrize("bad", [5, -1, 2**40, -(2**63)])
def test_an_id_outside_the_table_is_an_error(bad):
    module = Function(lambda x, i: F.embedding(i, x) * 2)
    compiled = forge_ugc.compile(module, (rand(5, 7), IDS))
    with pytest.raises((InputError, IndexError), match="out of range"):
        compiled(rand(5, 7), IDS.index_fill(1, torch.tensor([1]), bad))
    torch.testing.assert_close(compiled(rand(5, 7), IDS), module(rand(5, 7), IDS))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("padding", [0, 2])
def test_depthwise_convolution(bias, padding):
    w, b = rand(33, 1, 3), rand(33)

    def convolve(x):
        return F.conv1d(x, w, b if bias else None, padding=padding, groups=33)

    agrees(convolve, rand(2, 33, 20), exact=False)
    agrees(lambda x: convolve(x.transpose(1, 2))[..., :20], rand(2, 20, 33), exact=False)


def test_other_convolutions_run_through_pytorch():
    module = torch.nn.Conv1d(4, 6, 3).eval()
    compiled = forge_ugc.compile(module, (rand(1, 4, 9),))
    assert compiled._executable.host_instructions == {"aten.conv1d.default": 1}
