import time

import pytest
import torch

from forge_ugc.evaluation.peers import line_up, worker
from forge_ugc.evaluation.peers.engine import Built, CannotBuildError
from forge_ugc.evaluation.peers.workload import tiny_workload


def built(call, **settings):
    return Built(call=call, output=lambda: torch.zeros(1), **settings)


def test_the_first_call_counts_with_what_it_takes_longer_than_the_next():
    calls = []

    def call():
        calls.append(1)
        time.sleep(0.05 if len(calls) == 1 else 0.01)

    got = worker._cold(built(call, phases={"export": 2.0, "compile": 1.0}))
    assert list(got["phases"]) == ["export", "compile", "first call"]
    assert 0.02 < got["phases"]["first call"] < 0.3
    assert got["seconds"] == pytest.approx(sum(got["phases"].values()))
    assert got["call_seconds"] >= 0.01
    assert len(calls) == 4


def test_a_first_call_that_the_engine_made_itself_is_not_made_again():
    calls = []
    got = worker._cold(built(lambda: calls.append(1), phases={"first call": 7.0}))
    assert got["phases"]["first call"] == pytest.approx(7.0, abs=0.01)
    assert len(calls) == 3


def test_a_build_that_memory_cannot_hold_is_refused(monkeypatch):
    monkeypatch.setattr(line_up, "available_bytes", lambda: 1 << 30)
    with pytest.raises(CannotBuildError, match=r"may take 1\.0 GiB of memory .* 1\.0 GiB are left"):
        worker._require_memory(tiny_workload())
    monkeypatch.setattr(line_up, "available_bytes", lambda: 2 << 30)
    worker._require_memory(tiny_workload())


def test_sizes_that_an_engine_has_not_are_null():
    assert worker._obey("artifact", "", built(lambda: None), None) is None
    assert worker._obey("artifact", "", built(lambda: None, artifact_bytes=lambda: 7), None) == 7
