"""A trace is what the trace-event format asks for, and no event overlaps another of its track."""

import json
from itertools import pairwise

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import native
from forge_ugc.profiling.machine import probe

REQUIRED = {"name", "ph", "pid", "tid", "ts"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(16, 32), nn.Linear(32, 16)

        def forward(self, x):
            return self.two(torch.cumsum(self.one(x), 0)).transpose(0, 1)

    probe(2, seconds=0.2)
    x = torch.randn(4, 16)
    compiled = forge_ugc.compile(Model().eval(), (x,), options=forge_ugc.Options(threads=2))
    profile = compiled.profile_calls((x,), runs=3, warmups=1)
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    profile.save_trace(path)
    return json.loads(path.read_text(encoding="utf-8"))


def tracks(trace):
    found = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"]), []).append(event)
    return found


def test_every_event_has_the_keys_of_the_format(trace):
    for event in trace["traceEvents"]:
        assert event.keys() >= REQUIRED
        assert event["ph"] in {"X", "M"}
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["ts"] >= 0
            assert event["cat"] in {"kernel", "barrier", "host", "view", "call"}


def test_there_is_a_named_track_for_each_thread_and_the_caller(trace):
    names = {
        e["tid"]: e["args"]["name"]
        for e in trace["traceEvents"]
        if e["ph"] == "M" and e["name"] == "thread_name"
    }
    assert names == {0: "caller", 1: "engine thread 0", 2: "engine thread 1"}
    assert {tid for _, tid in tracks(trace)} == set(names)


def test_events_of_a_track_are_in_order_and_do_not_overlap(trace):
    for events in tracks(trace).values():
        for before, after in pairwise(events):
            # A microsecond has three digits of nanoseconds: no rounding but that of the sum.
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-6


def test_kernels_and_host_instructions_say_what_they_are(trace):
    events = [event for on_track in tracks(trace).values() for event in on_track]
    kernels = [e for e in events if e["cat"] == "kernel"]
    assert {e["name"] for e in kernels} >= {"linear_f32"}
    linear = next(e for e in kernels if e["name"] == "linear_f32")
    assert "f32[4,16]" in linear["args"]["shapes"]
    assert linear["args"]["location"].startswith("one (")
    assert linear["args"]["instruction_set"] in native.cpu_isa()
    host = [e for e in events if e["cat"] == "host"]
    assert {e["name"] for e in host} <= {"aten.cumsum.default"}
    assert all(e["tid"] == 0 for e in host)
