import os

from forge_ugc.evaluation.peers import interleave as module
from forge_ugc.evaluation.peers.interleave import interleave
from forge_ugc.evaluation.peers.workers import WorkerError


class Fake:
    """A worker whose calls take 1, 2, 3 ... nanoseconds."""

    def __init__(self, name, log, fails_after=None):
        self.name, self.log, self.left = name, log, fails_after
        self.pid = os.getpid()
        self.time = 0

    def run(self, count):
        self.log.append(f"{self.name}{count}")
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise WorkerError("out of memory")
        self.time += count
        return list(range(self.time - count + 1, self.time + 1))


def test_workers_take_turns_and_the_first_call_of_a_block_is_left_out(monkeypatch):
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    log = []
    found = interleave({n: Fake(n, log) for n in "AB"}, runs=5, warm_ups=3, block=2)
    assert log == ["A3", "B3", "A3", "B3", "A3", "B3", "A2", "B2"]
    assert found["A"].nanoseconds == found["B"].nanoseconds == [5, 6, 8, 9, 11]
    assert found["A"].failure is None


def test_a_worker_that_fails_is_left_out_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    log = []
    workers = {"A": Fake("A", log, fails_after=2), "B": Fake("B", log), "C": Fake("C", log, 0)}
    found = interleave(workers, runs=4, warm_ups=1, block=2)
    assert log == ["A1", "B1", "C1", "A3", "B3", "A3", "B3"]
    assert (found["A"].failure, found["C"].failure) == ("out of memory", "out of memory")
    assert len(found["B"].nanoseconds) == 4
