"""The kernel elementwise on every instruction set of this machine, against PyTorch."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from forge_ugc import native
from forge_ugc.backends.cpu.bytecode import STEPS
from forge_ugc.backends.cpu.elementwise_fields import elementwise_fields
from forge_ugc.ops.core.expression import parse
from forge_ugc.ops.core.torch_types import empty, type_of
from forge_ugc.ops.elementwise import Elementwise

VARIANTS = [s for s in native.kernel_table()["elementwise"] if s in native.cpu_isa()]
GUARD = 64


def run(isa, code, *operands, shares=1, out=None):
    types = [type_of(o) for o in operands]
    kind = Elementwise(code=code).infer(types)
    out = empty(kind) if out is None else out
    fields = elementwise_fields(parse(code, len(operands)), types, type_of(out))
    given = {"in": list(operands), "out": out}
    native.run_kernel("elementwise", isa=isa, shares=shares, **given, **fields)
    return out


def rand(*shape, dtype=torch.float32, seed=0):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3
    return made.to(dtype) if dtype is not torch.bool else made > 0


def test_the_assembler_numbers_steps_as_the_kernel_does():
    path = Path(__file__).parents[2] / "csrc" / "kernels" / "elementwise" / "steps.inc"
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [m.group(1) for line in lines if (m := re.fullmatch(r"FORGE_\w+\((\w+)\)", line))]
    assert tuple(found) == STEPS


EXACT = {
    "add(a, mul(b, 0.246))": "f", "sub(div(a, b), 0.1)": "f", "add(sub(0.1, a), 0.3)": "f",
    "mul(0.1, div(0.3, a))": "f", "neg(abs(a))": "f",
    "minimum(maximum(a, b), 0.5)": None, "clamp(a, -1, 1.5)": "fi", "clamp_min(a, 0.1)": "fi",
    "clamp_max(a, 2)": "fi", "relu(a)": "fi", "sign(a)": "fi", "square(a)": "fi",
    "pow(a, 2)": "fi", "pow(a, 3)": "fi", "pow(a, -1)": "f", "pow(a, -2)": "f", "floor(a)": "f",
    "ceil(a)": "f", "trunc(a)": "f", "round(a)": "f", "reciprocal(a)": "f",
    "where(lt(a, b), a, -inf)": "f", "where(ge(a, 0), b, a)": "fi", "eq(a, b)": "fi",
    "logical_or(gt(a, 1), le(b, -1))": "fi", "logical_and(ne(a, b), logical_not(b))": "fi",
    "isnan(a)": "f", "bf16(a)": "fib", "f16(a)": "fib", "f32(a)": "fib", "i32(a)": "fib",
    "i64(a)": "fib", "bool(a)": "fib", "mul(a, sub(b, f32(a)))": "fi", "add(a, b)": "fib",
    "mul(a, b)": "fib", "bitwise_and(a, bitwise_not(b))": "ib", "bitwise_xor(a, b)": "ib",
    "bitwise_or(a, b)": "ib", "sub(mul(a, a), neg(b))": "i", "div(a, 2)": "fi",
    "minimum(a, b)": "fib", "maximum(a, b)": "fi", "abs(a)": "i", "lt(a, 2)": "fi",
}  # fmt: skip
DTYPES = {
    "f": (torch.float32, torch.bfloat16, torch.float16), "i": (torch.int64, torch.int32),
    "b": (torch.bool,),
}  # fmt: skip
CASES = [
    (code, dtype)
    for code, kinds in EXACT.items()
    for kind in dict.fromkeys(kinds or "")
    for dtype in DTYPES[kind]
]


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize(("code", "dtype"), CASES, ids=lambda v: str(v))
def test_exact_steps_are_those_of_pytorch_bit_for_bit(isa, code, dtype):
    count = 2 if re.search(r"\bb\b", code) else 1
    for shape in ((1,), (15,), (16,), (17,), (3, 257), (2, 600)):
        given = [rand(*shape, dtype=dtype, seed=s) for s in range(count)]
        want = torch.ops.forge.elementwise(given, code=code)
        got = run(isa, code, *given, shares=2)
        assert got.dtype == want.dtype
        assert torch.equal(torch.nan_to_num(got.float()), torch.nan_to_num(want.float()))
        assert torch.equal(torch.isnan(got), torch.isnan(want))


def gelu(x):
    return 0.5 * x * torch.erfc(-x * 0.5**0.5)


def gelu_tanh(x):
    z = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    return x / (1 + torch.exp(-2 * z))


ROUNDED = {
    "exp": (torch.exp, -103, 88.7), "expm1": (torch.expm1, -30, 88.7),
    "log": (torch.log, 0, 3e38), "log1p": (torch.log1p, -0.99, 3e38),
    "tanh": (torch.tanh, -12, 12), "sigmoid": (torch.sigmoid, -100, 100),
    "erf": (torch.erf, -6, 6), "sin": (torch.sin, -48000, 48000),
    "cos": (torch.cos, -48000, 48000), "gelu": (gelu, -13, 14),
    "gelu_tanh": (gelu_tanh, -9, 14), "silu": (F.silu, -100, 100),
    "rsqrt": (torch.rsqrt, 1e-38, 3e38), "sqrt": (torch.sqrt, 0, 3e38),
}  # fmt: skip


def samples(low, high):
    """Floats of every exponent, and many of the range where functions bend."""
    g = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (1 << 18,), dtype=torch.int64, generator=g)
    every = bits.to(torch.int32).view(torch.float32)
    x = torch.cat([every, torch.linspace(max(low, -20), min(high, 20), 1 << 16)])
    return x[(x >= low) & (x <= high)]


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("name", ROUNDED)
def test_errors_are_a_few_units_in_the_last_place(isa, name):
    function, low, high = ROUNDED[name]
    x = samples(low, high)
    got, want = run(isa, f"{name}(a)", x).double(), function(x.double())
    near = want.float().abs()
    unit = (torch.nextafter(near, torch.tensor(torch.inf)).double() - near.double()).abs()
    held = torch.isfinite(want.float())
    limit = 8 if name.startswith("gelu") else 3
    assert bool((((got - want).abs() <= limit * unit) | ~held).all())


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("name", ROUNDED)
def test_functions_of_special_values(isa, name):
    x = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38])
    want = ROUNDED[name][0](x.double()).float()
    if name.startswith("gelu") or name == "silu":
        want[2] = torch.nan  # as PyTorch's formulas have it
    torch.testing.assert_close(
        run(isa, f"{name}(a)", x), want, rtol=1e-6, atol=2e-45, equal_nan=True
    )


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "gelu", "silu", "exp", "rsqrt", "erf"])
def test_functions_of_bf16_round_once(isa, name):
    x = rand(1000, dtype=torch.bfloat16)
    x = x.abs() if name == "rsqrt" else x
    want = torch.ops.forge.elementwise([x.float()], code=f"{name}(a)")
    atol = 6e-7 if name == "gelu" else 1e-30  # PyTorch's own error where 1 + erf cancels
    got = run(isa, f"{name}(a)", x).float()
    torch.testing.assert_close(got, want, rtol=2**-8 + 1e-6, atol=atol)


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("shares", [1, 2, 5])
def test_broadcasting_and_strides(isa, shares):
    a = rand(3, 5, 70)
    operands = {
        "row": rand(70), "column": rand(5, 1), "scalar": rand(), "middle": rand(3, 1, 70),
        "transposed": rand(70, 5, 3).permute(2, 1, 0), "sliced": rand(3, 5, 200)[..., 3:73],
        "stepped": rand(3, 5, 140)[..., ::2], "integers": torch.arange(70),
        "mask": rand(5, 70, dtype=torch.bool), "half": rand(3, 5, 140).bfloat16()[..., 1::2],
    }  # fmt: skip
    for name, b in operands.items():
        for x, y in ((a, b), (b, a)):
            got = run(isa, "add(a, mul(b, 2))", x, y, shares=shares)
            assert torch.equal(got, x + y * 2), name
    for b in (a.permute(1, 2, 0), a.transpose(0, 2)):
        got = run(isa, "neg(a)", b, shares=shares)
        assert got.stride() == torch.neg(b).stride()
        assert torch.equal(got, -b)


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_memory_around_the_result_stays(isa, dtype):
    whole = torch.ones(4, 100, dtype=torch.float32).to(dtype)
    a = rand(4, 33, dtype=dtype)
    out = whole[:, 5:38]
    run(isa, "bitwise_not(a)" if dtype is torch.bool else "neg(a)", a, out=out)
    assert torch.equal(out, ~a if dtype is torch.bool else -a)
    assert bool((whole[:, :5] == 1).all())
    assert bool((whole[:, 38:] == 1).all())


@pytest.mark.parametrize("isa", VARIANTS)
@pytest.mark.parametrize("n", [1, 16, 300, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_the_result_may_be_an_operand(isa, n, dtype):
    a, b = rand(n, dtype=dtype), rand(n, dtype=dtype, seed=1)
    want = (a - b) * a + a
    run(isa, "add(mul(sub(a, b), a), a)", a, b, out=a)
    assert torch.equal(a, want)


@pytest.mark.parametrize("isa", VARIANTS)
def test_empty_operands_and_those_without_axes(isa):
    assert run(isa, "neg(a)", torch.empty(0, 3)).shape == (0, 3)
    assert run(isa, "add(a, 1)", torch.tensor(2.0)).item() == 3.0


@pytest.mark.parametrize("isa", VARIANTS)
def test_integers_wrap_around_and_keep_all_bits(isa):
    a = torch.tensor([2**62 + 1, -(2**63), 7], dtype=torch.int64)
    assert torch.equal(run(isa, "mul(a, 3)", a), a * 3)
    assert torch.equal(run(isa, "add(a, 4611686018427387907)", a), a + 4611686018427387907)
    b = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    assert torch.equal(run(isa, "add(mul(a, a), 1)", b), b * b + 1)


@pytest.mark.parametrize("isa", VARIANTS)
def test_a_chain_at_every_limit(isa):
    operands = [rand(9, 40, seed=s) for s in range(8)]
    code = "add(mul(a, 1.5), add(mul(b, 2.5), add(mul(c, 3.5), add(d, add(e, add(f, add(g, h)))))))"
    got = run(isa, code, *operands, shares=3)
    assert torch.equal(got, torch.ops.forge.elementwise(operands, code=code))
    long = "a"
    for n in range(60):
        long = f"add({long}, 1.0)" if n % 2 else f"bf16({long})"
    x = rand(50)
    assert torch.equal(run(isa, long, x), torch.ops.forge.elementwise([x], code=long))
