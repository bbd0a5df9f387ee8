import mmap
import time
from pathlib import Path

import numpy as np
import pytest

from forge_ugc.evaluation.peers.process_memory import PeakMemory, processor_seconds
from forge_ugc.evaluation.peers.workers import Job, Worker, WorkerError, environment

SUPPORT = Path(__file__).parents[2] / "support"


@pytest.fixture(autouse=True)
def _fake_engines_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))


def job(engine, **settings):
    return Job(engine=engine, model="fake_engines:model", precision="fp32", threads=1, **settings)


def test_a_worker_builds_runs_and_answers(tmp_path):
    said = []
    with Worker(job("fake_engines:Doubling"), said.append) as worker:
        assert worker.ready["details"] == {"threads": 1}
        assert worker.ready["parameters"] == 8 * 16 + 16 + 16 * 4 + 4
        assert worker.ready["versions"]["torch"].startswith("2.")
        assert [type(ns) for ns in worker.run(3)] == [int, int, int]
        assert worker.ask(f"output {tmp_path / 'out.npy'}") == {"shape": [1, 3, 4]}
        assert worker.ask("linears") == [[3, 8, 16], [3, 16, 4]]
        memory = worker.ask("memory")
        assert 0 <= memory["growth_bytes"] < memory["peak_bytes"]
        before = processor_seconds(worker.pid)
        time.sleep(0.3)
        assert processor_seconds(worker.pid) - before < 0.1  # it waits without spinning
        with pytest.raises(WorkerError, match="ValueError: no command is called 'dance'"):
            worker.ask("dance")
    assert said[:3] == ["building a tiny model first", "loading", "building"]
    import fake_engines

    module, args = fake_engines.model()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), 2 * module(*args).numpy())


def test_an_engine_that_refuses_is_reported_with_its_message():
    with pytest.raises(WorkerError, match=r"^CannotBuildError: no fp32 here$"):
        Worker(job("fake_engines:Refusing"), lambda text: None)


def test_a_worker_that_dies_is_reported_with_its_last_words():
    with Worker(job("fake_engines:Dying"), lambda text: None) as worker:
        message = "the process ended with signal SIGKILL; its last words: last words"
        with pytest.raises(WorkerError, match=message):
            worker.run(5)
        with pytest.raises(WorkerError, match=message):
            worker.run(1)


def test_a_worker_that_does_not_answer_is_ended():
    with pytest.raises(WorkerError, match="no answer within 0 s"):
        Worker(job("fake_engines:Doubling"), lambda text: None, patience_seconds=0.0)


def test_the_command_carries_every_setting():
    command = job("eager", layers=2, empty=True, tokens=16, within_memory=True).command()
    assert command[3:] == [
        "eager", "fake_engines:model", "fp32", "--tokens", "16", "--threads", "1",
        "--layers", "2", "--empty", "--within-memory",
    ]  # fmt: skip


def test_foreign_settings_do_not_reach_a_worker(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    found = environment()
    assert "OPENBLAS_CORETYPE" not in found
    assert found["MALLOC_ARENA_MAX"] == "1"
    assert found["PYTHONPATH"].split(":")[-1] == str(SUPPORT)


def test_growth_counts_memory_that_was_let_go():
    memory = PeakMemory()
    memory.start()
    # Straight from the system: np.ones may be given what the heap has kept.
    taken = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(0, len(taken), mmap.PAGESIZE):
        taken[page] = 1
    taken.close()
    assert memory.peak_bytes - memory.start_bytes > 48 << 20
