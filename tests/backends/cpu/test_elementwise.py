"""Elementwise operators as kernels: no instruction of these programs runs through PyTorch."""

import pytest
import torch
import torch.nn.functional as F

import forge_ugc
from forge_ugc.backends.base import No, Yes
from forge_ugc.backends.cpu.lowering import native_support
from forge_ugc.npuir.instruction import Instruction, Reg, Result, Symbol
from forge_ugc.npuir.types import DType, TensorType


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


FUNCTIONS = {
    "residual": lambda x, y: x + y * 0.246,
    "alpha": lambda x, y: torch.add(x, y, alpha=2),
    "reversed": lambda x, y: 1 - x * y,
    "where": lambda x, y: torch.where(x > y, x, -1.5),
    "masked": lambda x, y: (x * 2).masked_fill(y > 0, float("-inf")),
    "casts": lambda x, y: x.to(torch.int64) + y.bool(),
    "clamps": lambda x, y: x.clamp(-1) * y.clamp(max=0.3) + y.clamp(-1, 1),
    "activations": lambda x, y: F.gelu(x) + F.gelu(y, approximate="tanh") * F.silu(x),
    "copies": lambda x, y: (x.clone(), y.t().contiguous()),
    "powers": lambda x, y: x**2 + y**3 + (x.abs() + 1) ** 1.7,
    "divisions": lambda x, y: x / (y.abs() + 1) / 4,
    "bf16": lambda x, y: (x.bfloat16() * y.bfloat16() + 0.1).float(),
    "broadcast": lambda x, y: x[:, :1] * y.t()[None] - x[0],
    "logic": lambda x, y: ((x > 0) & ~(y > 0)) | (x == y),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_eager_without_host_instructions(name):
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(17, 17, generator=g), torch.randn(17, 17, generator=g)
    module = Function(FUNCTIONS[name])
    compiled = forge_ugc.compile(module, (x, y))
    assert not compiled._executable.host_instructions
    torch.testing.assert_close(compiled(x, y), module(x, y), rtol=1e-6, atol=1e-6)


def ask(opcode, attributes, *operands, dtype=None):
    types = {Reg(i): o for i, o in enumerate(operands)}
    result = operands[0] if dtype is None else operands[0].with_dtype(dtype)
    instruction = Instruction((Result(Reg(9), result),), opcode, tuple(types), attributes)
    return native_support(instruction, types)


def kind(dtype, *shape):
    return TensorType.of(dtype, shape)


def test_what_the_kernel_cannot_do_is_refused_with_the_reason():
    f32, f64 = kind(DType.F32, 4), kind(DType.F64, 4)
    assert ask("aten.add.Tensor", {}, f32, f32) == Yes()
    assert ask("aten.add.Tensor", {}, f64, f64) == No("elementwise: the kernel has no f64")
    assert ask("aten.to.dtype", {"dtype": Symbol("f64")}, f32, dtype=DType.F64) == No(
        "elementwise: the kernel has no f64"
    )
    assert ask("aten.sub.Tensor", {"alpha": 2}, f32, f32) == No(
        "aten.sub.Tensor has a kernel for its plain form alone"
    )
    assert ask("aten.to.dtype", {"dtype": Symbol("i8")}, f32, dtype=DType.I8) == No(
        "aten.to.dtype has a kernel for its plain form alone"
    )
    i64 = kind(DType.I64, 4)
    assert ask("aten.pow.Tensor_Scalar", {"exponent": 5}, i64) == No(
        "elementwise: pow of i64 has no step"
    )


def test_more_loops_than_the_kernel_has_are_refused():
    outer = TensorType.of(DType.F32, (2, 2, 2, 2, 2, 2), (1000, 300, 100, 30, 10, 3))
    dense = kind(DType.F32, 2, 2, 2, 2, 2, 2)
    types = {Reg(0): outer}
    instruction = Instruction((Result(Reg(1), dense),), "aten.neg.default", (Reg(0),))
    assert native_support(instruction, types) == No("elementwise: 6 nested loops, at most 5 fit")
