"""Profiles add up, count the work of every instruction once, and leave states as they were."""

import json

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.backends.recording import HostRun, KernelRun, NativeCall, Recording, Visit
from forge_ugc.errors import OptionError
from forge_ugc.npuir.instruction import Instruction
from forge_ugc.profiling.machine import MachineProbe, probe
from forge_ugc.profiling.measuring import profile_of


class Block(nn.Module):
    """Kernels, a PyTorch operator between them, a view."""

    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(24, 48), nn.Linear(48, 24), nn.LayerNorm(24)

    def forward(self, x):
        y = x + self.down(nn.functional.gelu(self.up(x)))
        return self.norm(torch.cumsum(y, 1)), y.transpose(0, 1)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(1)
        x.mul_(2)
        return x + self.count


@pytest.fixture(scope="module")
def compiled():
    options = forge_ugc.Options(threads=2)
    return forge_ugc.compile(Block().eval(), (torch.randn(2, 5, 24),), options=options)


@pytest.fixture(scope="module")
def profile(compiled):
    probe(2, seconds=0.2)
    return compiled.profile_calls((torch.randn(2, 5, 24),), runs=5, warmups=1)


def test_parts_add_up_to_the_whole(profile):
    t = profile.totals
    parts = [t.kernels_ns, t.barriers_ns, t.calls_ns, t.host_ns, t.python_ns]
    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(t.wall_ns)
    assert t.wall_ns <= sum(sorted(profile.wall_ns)[:3]) / 3 + 1
    by_instruction = sum(i.busy_ns for i in profile.instructions)
    assert by_instruction == pytest.approx(t.kernels_ns + t.host_ns)
    assert by_instruction == pytest.approx(sum(k.busy_ns for k in profile.kernels))
    assert sum(i.wait_ns for i in profile.instructions) == pytest.approx(t.barriers_ns)


def test_steps_of_a_thread_follow_each_other_within_the_call(profile):
    recording = profile.recording
    for thread in range(recording.threads):
        last = recording.began
        for kernel in recording.kernels:
            visit = kernel.visits[thread]
            assert last <= visit.arrived <= visit.started <= visit.ended
            last = visit.ended
        assert last <= recording.ended


def test_every_instruction_has_its_work_and_its_kernels(profile):
    found = {i.opcode: i for i in profile.instructions}
    assert len(profile.instructions) == sum(not i.is_view for i in profile.program.instructions)
    linear = [i for i in profile.instructions if i.opcode == "linear"]
    assert sum(i.rates.flops for i in linear) >= 2 * 2 * 10 * 24 * 48
    assert all(i.kernels == ("linear_f32",) for i in linear)
    assert found["aten.cumsum.default"].kernels in ((), ("cumsum",))
    flops = sum(i.rates.flops for i in profile.instructions)
    assert flops == sum(k.rates.flops for k in profile.kernels)
    assert all(i.text.startswith("f32[") for i in profile.instructions)
    assert any("test_profile.py" in i.location for i in profile.instructions)


def test_the_document_is_json_and_holds_every_figure(profile):
    document = json.loads(json.dumps(profile.to_json(), allow_nan=False))
    assert document["version"] == 1
    assert len(document["wall_ns"]) == 5
    assert len(document["instructions"]) == len(profile.instructions)
    assert document["machine"]["threads"] == 2
    row = document["instructions"][0]
    assert row["gflops"] == pytest.approx(row["flops"] / row["time_ns"])


def test_the_table_names_parts_kernels_and_the_machine(profile):
    text = profile.table()
    for part in ("barriers", "linear_f32", "aten.cumsum.default", "reading memory", "roofline"):
        assert part in text


def test_states_and_inputs_keep_their_values():
    module, x = Counter().eval(), torch.randn(3)
    compiled = forge_ugc.compile(module, (x.clone(),))
    first = compiled(x.clone())
    profiled = x.clone()
    compiled.profile_calls((profiled,), runs=3, warmups=2)
    assert torch.equal(profiled, x)
    assert torch.equal(compiled(x.clone()), first + 1)


def test_a_program_without_the_native_engine_is_all_host():
    options = forge_ugc.Options(native=False)
    x = torch.randn(2, 5, 24)
    compiled = forge_ugc.compile(Block().eval(), (x,), options=options)
    profile = compiled.profile(x)
    assert len(profile.wall_ns) == 20
    assert profile.totals.kernels_ns == profile.totals.calls_ns == 0
    assert profile.totals.host_ns > 0
    assert {k.isa for k in profile.kernels} == {"host"}


def test_a_program_that_does_nothing_has_a_profile():
    x = torch.randn(3)
    compiled = forge_ugc.compile(nn.Identity(), (x,))
    profile = compiled.profile_calls((x,), runs=1, warmups=0)
    assert profile.instructions == profile.kernels == ()
    assert "Python" in profile.table()


def test_no_runs_are_refused(compiled):
    with pytest.raises(OptionError, match="0 runs after 5 warm-ups, expected at least 1 after 0"):
        compiled.profile_calls((torch.randn(2, 5, 24),), runs=0)


def test_a_target_that_keeps_no_times_says_so():
    x = torch.randn(3)
    compiled = forge_ugc.compile(nn.ReLU(), (x,))

    class Silent(forge_ugc.backends.Executable):
        def run(self, inputs):
            return list(inputs)

    compiled._executable = Silent()
    with pytest.raises(OptionError, match="Silent keeps no times of its steps"):
        compiled.profile(x)


def test_known_times_make_known_figures(compiled):
    """Two threads, one kernel and one PyTorch operator."""
    kernel, host = [i for i in compiled.program.instructions if i.opcode == "linear"][:2]
    assert isinstance(kernel, Instruction)
    recording = Recording(
        began=0, ended=1000, threads=2,
        kernels=(KernelRun(instruction=kernel, kernel="k", isa="none",
                           visits=(Visit(100, 110, 310), Visit(100, 120, 220))),),
        host=(HostRun(instruction=host, began=400, ended=700),),
        calls=(NativeCall(began=50, ended=350),),
    )  # fmt: skip
    machine = MachineProbe(
        threads=2, gflops={"f32": {"none": 100.0}}, read_gbs=1e9, read_one_gbs=1e9, barrier_ns=1.0,
        call_ns=1.0, cold_bytes=0,
    )  # fmt: skip
    profile = profile_of(compiled.program, [recording], machine)
    t = profile.totals
    assert (t.wall_ns, t.kernels_ns, t.barriers_ns, t.calls_ns, t.host_ns, t.python_ns) == (
        1000, 150, 15, 135, 300, 400,
    )  # fmt: skip
    by_name = {k.name: k for k in profile.kernels}
    flops = by_name["k"].rates.flops
    assert by_name["k"].rates.time_ns == 200
    assert by_name["k"].rates.gflops == flops / 200
    assert by_name["k"].rates.roofline_share == pytest.approx(flops / 100 / 200)
    assert by_name["linear"].isa == "host"
