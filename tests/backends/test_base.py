"""The backend interface: registration, routing by operand types, kernels of a target's own."""

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.backends import Availability, Backend, No, Yes, base, register, registered
from forge_ugc.backends.host import HostExecutable
from forge_ugc.backends.host_steps import destination
from forge_ugc.errors import InternalError, UnsupportedOperatorError
from forge_ugc.npuir.instruction import Const
from forge_ugc.npuir.types import DType


class Negating(HostExecutable):
    """Computes -(x + y) on the device `odd`: a result that only its own kernel can give."""

    def steps(self, instruction):
        if instruction.device != "odd":
            return super().steps(instruction)
        operands, result = self.operands_of(instruction), instruction.results[0]

        def run(values):
            x, y = operands(values)
            torch.neg(x + y, out=destination(values, result))

        return [run]


class OddBackend(Backend):
    def probe(self):
        return Availability(available=True, reason="for this test")

    def supports(self, instruction, device, types):
        if device == "cpu":
            return Yes()
        if instruction.opcode != "aten.add.Tensor":
            return No("it only adds")
        kinds = [types.get(operand) for operand in instruction.operands]
        if any(kind is None or kind.dtype is not DType.F32 for kind in kinds):
            return No("it only adds f32 tensors")
        return Yes()

    def compile(self, program, tensors, options):
        return Negating(program, tensors)


@pytest.fixture
def odd():
    registered()
    register("odd", devices=("odd", "cpu"))(OddBackend)
    yield "odd"
    del base._REGISTRY["odd"]


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.tensor([1.0, 2.0]))

    def forward(self, x, n):
        return (x + self.w) * 1.5, n + n, x + 3


def test_a_backend_registered_after_the_first_look_up_is_found_and_runs_its_own_kernels(odd):
    x, n = torch.tensor([10.0, 20.0]), torch.tensor([1, 2])
    options = forge_ugc.Options(disable=frozenset({"fuse-elementwise"}))
    compiled = forge_ugc.compile(Sums(), (x, n), target=odd, options=options)
    devices = [(i.opcode, i.operands[1], i.device) for i in compiled.program.instructions]
    assert devices == [
        ("aten.add.Tensor", Const("w"), "odd"),
        ("aten.mul.Tensor", 1.5, "cpu"),
        ("aten.add.Tensor", compiled.program.inputs[1].reg, "cpu"),
        ("aten.add.Tensor", 3, "cpu"),
    ]
    for _ in range(2):
        assert [t.tolist() for t in compiled(x, n)] == [[-16.5, -33.0], [2, 4], [13.0, 23.0]]


def test_there_is_one_instance_of_each_backend(odd):
    assert registered()[odd] is registered()[odd]
    assert [d.name for d in forge_ugc.devices()] == ["aie", "cpu", "null", "odd"]


def test_a_target_that_cannot_run_an_instruction_lists_the_reasons(odd, monkeypatch):
    monkeypatch.setattr(OddBackend, "devices", ("odd",))
    with pytest.raises(UnsupportedOperatorError) as caught:
        forge_ugc.compile(nn.Tanh(), (torch.ones(2),), target=odd)
    assert caught.value.what == "target 'odd' cannot run aten.tanh.default"
    assert caught.value.why == "odd: it only adds"


def test_a_name_is_given_once():
    registered()
    with pytest.raises(InternalError, match="two backends are called 'cpu'"):
        register("cpu", devices=("cpu",))(OddBackend)
