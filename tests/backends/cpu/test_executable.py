"""The native engine: segments, threads, outputs, forks, and PyTorch in between."""

from __future__ import annotations

import gc
import os
import threading

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.backends.cpu.executable import NativeExecutable
from forge_ugc.errors import OptionError


class Mixed(nn.Module):
    """Linear layers and norms, with an operator between that has no kernel."""

    def __init__(self, host: bool) -> None:
        super().__init__()
        self.host = host
        self.first, self.second = nn.Linear(48, 64), nn.Linear(64, 48)
        self.norm = nn.RMSNorm(48)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(self.first(x))
        if self.host:
            y = torch.special.i0(y)
        y = self.norm(self.second(y) + x)
        return y, y[0]


def compiled(
    module: nn.Module, x: torch.Tensor, **options: object
) -> tuple[forge_ugc.CompiledModel, NativeExecutable]:
    model = forge_ugc.compile(module, (x,), options=Options(**options))
    executable = model._executable
    assert isinstance(executable, NativeExecutable)
    return model, executable


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("host", [False, True])
def test_results_do_not_depend_on_the_number_of_threads(threads: int, host: bool) -> None:
    torch.manual_seed(0)
    module, x = Mixed(host).eval(), torch.randn(7, 48)
    model, executable = compiled(module, x, threads=threads)
    alone, _ = compiled(module, x, threads=1)
    assert executable.native_program.threads == threads
    assert dict(model.result.host_instructions) == ({"aten.special_i0.default": 1} if host else {})
    with torch.no_grad():
        torch.testing.assert_close(model(x), module(x))
    for got, want in zip(model(x), alone(x), strict=True):
        assert torch.equal(got, want)


def test_a_view_of_an_output_is_a_view() -> None:
    module, x = Mixed(False).eval(), torch.randn(3, 48)
    model, _ = compiled(module, x)
    whole, row = model(x)
    assert row.data_ptr() == whole.data_ptr()
    row.zero_()
    assert whole[0].abs().sum() == 0


def test_every_call_returns_memory_of_its_own_and_gets_back_what_is_dropped() -> None:
    module, x = nn.Linear(64, 8192).eval(), torch.randn(64, 64)
    model, _ = compiled(module, x)
    first, second = model(x), model(x)
    assert first.data_ptr() != second.data_ptr()
    assert torch.equal(first, second)
    dropped = second.data_ptr()
    del second
    third = model(x)
    assert third.data_ptr() == dropped
    assert torch.equal(first, third)


def test_outputs_outlive_the_model() -> None:
    module, x = nn.Linear(64, 8192).eval(), torch.randn(64, 64)
    model, executable = compiled(module, x)
    got = model(x)
    want = got.clone()
    del model, executable
    gc.collect()
    assert torch.equal(got, want)


@pytest.mark.parametrize("host", [False, True])
def test_many_threads_on_two_programs_give_the_same_bits(host: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(9, 48)
    models = [compiled(Mixed(host).eval(), x, threads=2)[0] for _ in range(2)]
    inputs = [torch.randn(9, 48) for _ in range(4)]
    want = [[m(i)[0].clone() for i in inputs] for m in models]
    wrong: list[str] = []

    def work(index: int) -> None:
        for round_ in range(50):
            which = (index + round_) % 2
            if not torch.equal(models[which](inputs[index])[0], want[which][index]):
                wrong.append(f"thread {index}, round {round_}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_runs_the_program_with_threads_of_its_own() -> None:
    module, x = Mixed(False).eval(), torch.randn(3, 48)
    model, _ = compiled(module, x, threads=3)
    want = model(x)[0]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        same = torch.equal(model(x)[0], want)
        os.write(write, b"y" if same else b"n")
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"y"
    os.waitpid(child, 0)


def test_an_idle_pool_costs_no_processor_time() -> None:
    module, x = Mixed(False).eval(), torch.randn(3, 48)
    model, _ = compiled(module, x, threads=4)
    model(x)
    threading.Event().wait(0.05)
    before = os.times()
    threading.Event().wait(0.5)
    after = os.times()
    assert after.user + after.system - before.user - before.system < 0.1


def test_without_the_engine_every_instruction_runs_through_pytorch() -> None:
    module, x = Mixed(False).eval(), torch.randn(3, 48)
    model = forge_ugc.compile(module, (x,), options=Options(native=False))
    assert sum(model.result.host_instructions.values()) == 3
    with torch.no_grad():
        assert torch.equal(model(x)[0], module(x)[0])


def test_one_thread_is_the_least() -> None:
    with pytest.raises(OptionError, match="threads is 0, expected at least 1"):
        Options(threads=0)
