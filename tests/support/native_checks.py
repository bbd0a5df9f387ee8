"""Runs the text of a program on the native engine and on the reference interpreter."""

import copy

import torch

from forge_ugc.backends.cpu.executable import NativeExecutable
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.types import TensorType
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.ops.core.torch_types import empty
from forge_ugc.schedule.linear_scan import allocate
from forge_ugc.schedule.scheduler import schedule


def filled(kind: TensorType) -> torch.Tensor:
    """A tensor of that type and layout with random values."""
    made = empty(kind)
    if made.is_floating_point():
        return made.copy_(torch.randn(kind.shape))
    return made.copy_(torch.randint(0, 2 if made.dtype == torch.bool else 100, kind.shape))


def both(text, inputs=None, threads=2):
    """(host instructions by opcode, outputs of the engine, outputs of the interpreter)."""
    program, _ = allocate(schedule(parse_program(text))[0])
    named = {c.name: filled(c.type) for c in program.constants}
    inputs = [filled(i.type) for i in program.inputs] if inputs is None else inputs
    executable = NativeExecutable(program, copy.deepcopy(named), threads=threads)
    got = executable.run(copy.deepcopy(inputs))
    want = interpret(program, copy.deepcopy(named), copy.deepcopy(inputs))
    return dict(executable.host_instructions), got, want


def assert_native(text, inputs=None, *, rtol=1e-5, atol=1e-5):
    """Every instruction has a kernel, whose results are the interpreter's."""
    host, got, want = both(text, inputs)
    assert host == {}
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
        axes = [axis for axis, size in enumerate(one.shape) if size != 1]
        assert [one.stride(axis) for axis in axes] == [other.stride(axis) for axis in axes]


def assert_on_host(text, opcode):
    """The kernels refuse that instruction; PyTorch computes it."""
    host, got, want = both(text)
    assert host == {opcode: 1}
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, equal_nan=True)
