"""The kernels copy, gather and conv1d at their edges."""

import pytest
import torch
import torch.nn.functional as F

from forge_ugc import native


def variants(kernel):
    return [s for s in native.kernel_table()[kernel] if s in native.cpu_isa()]


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def copy(isa, shares, x, out, offset=0):
    lead = 6 - x.ndim
    native.run_kernel(
        "copy", isa=isa, shares=shares, x=x, x_strides=[0] * lead + list(x.stride()), out=out,
        out_offset=offset, out_strides=[0] * lead + list(out.stride()),
        sizes=[1] * lead + list(x.shape), element_bytes=x.element_size(),
    )  # fmt: skip


@pytest.mark.parametrize("isa", variants("copy"))
@pytest.mark.parametrize("shares", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (15, 17), (16, 16), (33, 100), (3, 5000), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.int64])
def test_transposed_copies_and_the_memory_around_them(isa, shares, shape, dtype):
    x = (rand(*shape) * 100).to(dtype)
    for source in (x, x.t().contiguous().t(), x[:, :1].expand(shape)):
        around = torch.full((shape[0] + 2, shape[1] + 3), 7).to(dtype)
        out = around[1:-1, 2:-1]
        copy(isa, shares, source, out)
        assert torch.equal(out, source)
        out.fill_(7)
        assert bool((around == 7).all())


@pytest.mark.parametrize("isa", variants("copy"))
def test_six_axes(isa):
    x = rand(2, 3, 2, 4, 3, 5)
    out = torch.empty(5, 2, 3, 3, 2, 4).permute(1, 2, 4, 5, 3, 0)
    copy(isa, 3, x, out)
    assert torch.equal(out, x)


def gather_rows(isa, shares, table, ids, out, conversion=0, step=3):
    status = torch.zeros(1, dtype=torch.int32)
    native.run_kernel(
        "gather", isa=isa, shares=shares, x=table, x_strides=[0, 0, 0, 0, 1], ids=[ids],
        ids_strides=[0, 0, 0, 1, 0], ids_bytes=[ids.element_size()],
        axis_strides=[table.stride(0)], axis_sizes=[len(table)], indices=1, from_end=0, out=out,
        out_strides=[0, 0, 0, out.stride(0), 1], sizes=[1, 1, 1, len(ids), table.shape[1]],
        element_bytes=table.element_size(), conversion=conversion, status=status, step=step,
    )  # fmt: skip
    return status.item()


@pytest.mark.parametrize("isa", variants("gather"))
@pytest.mark.parametrize("shares", [1, 2, 7])
@pytest.mark.parametrize("ids_dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("pair", [("f32", "f32"), ("f32", "bf16"), ("bf16", "f32")])
def test_rows_of_a_table(isa, shares, ids_dtype, pair):
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16}
    table = rand(11, 70)
    table[2, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    table = table.to(dtypes[pair[0]])[:, 1:70]
    ids = torch.tensor([3, 0, 10, 2, 2]).to(ids_dtype)
    around = torch.full((5, 80), 7.0).to(dtypes[pair[1]])
    conversion = {("f32", "bf16"): 2, ("bf16", "f32"): 1}.get(pair, 0)
    assert gather_rows(isa, shares, table, ids, around[:, :69], conversion) == 0
    want = table[ids.long()].to(around.dtype)
    torch.testing.assert_close(around[:, :69], want, rtol=0, atol=0, equal_nan=True)
    assert bool((around[:, 69:] == 7).all())


@pytest.mark.parametrize("isa", variants("gather"))
@pytest.mark.parametrize("bad", [-1, 11, 2**40, -(2**63), 2**63 - 1])
def test_an_index_out_of_range_is_reported_and_reads_nothing(isa, bad):
    table, ids, out = rand(11, 70), torch.tensor([3, bad, 10]), torch.full((3, 70), 7.0)
    assert gather_rows(isa, 2, table, ids, out) == 3
    assert torch.equal(out[[0, 2]], table[[3, 10]])
    assert bool((out[1] == 0).all())


@pytest.mark.parametrize("isa", variants("conv1d"))
@pytest.mark.parametrize("shares", [1, 3])
@pytest.mark.parametrize("size", [(1, 1, 1), (2, 15, 17), (1, 16, 16), (1, 40, 33)])
@pytest.mark.parametrize("layout", ["channels first", "channels last"])
def test_depthwise_convolution(isa, shares, size, layout):
    batch, channels, length = size
    x, w, b = rand(batch, channels, length), rand(channels, 1, 4), rand(channels)
    if layout == "channels last":
        x = x.transpose(1, 2).contiguous().transpose(1, 2)
    for padding in (3, 4):
        want = F.conv1d(x.double(), w.double(), b.double(), padding=padding, groups=channels)
        out = torch.full((batch, channels, want.shape[2] + 2), 7.0)
        native.run_kernel(
            "conv1d", isa=isa, shares=shares, x=x, x_strides=list(x.stride()), w=w,
            w_strides=[4, 1], bias=b, out=out, out_strides=list(out.stride()), batch=batch,
            channels=channels, length=length, out_length=want.shape[2], taps=4, padding=padding,
        )  # fmt: skip
        bound = 5 * 2**-24 * F.conv1d(
            x.double().abs(), w.double().abs(), b.double().abs(), padding=padding, groups=channels
        )  # fmt: skip
        assert bool(((out[..., :-2] - want).abs() <= bound).all())
        assert bool((out[..., -2:] == 7).all())
