"""A compilation result with figures that are easy to recognise."""

import pytest

from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.passes.base import Fired, NearMiss
from forge_ugc.passes.pass_manager import PassRun, PipelineReport
from forge_ugc.result import CompilationResult
from forge_ugc.schedule.linear_scan import BufferStats
from forge_ugc.schedule.scheduler import ScheduleStats


def fired(layer, rule="rms-norm"):
    place = SourceLocation(file="model.py", line=7, module=f"model.layers.{layer}.norm")
    return Fired(rule=rule, node=f"rms_norm_{layer}", what=f"mul_{layer} -> rms_norm",
                 location=place)  # fmt: skip


def missed(layer, reason="the mask is [float]"):
    place = SourceLocation(file="model.py", line=9, module=f"model.layers.{layer}.attn")
    return NearMiss(rule="sdpa", node=f"sdpa_{layer}", reason=reason, location=place)


def pass_run(name, number, before, after, *, near_misses=(), details=(), difference=None):
    return PassRun(
        name=name, round=number, seconds=0.25, before=before, after=after,
        changed=len(details), details=details, near_misses=near_misses,
        max_abs_difference=difference,
    )  # fmt: skip


@pytest.fixture
def make_result():
    def make(*, near_misses=(), difference=None):
        before, after = (("aten.mul.Tensor", 8), ("aten.relu.default", 2)), (("rms_norm", 4),)
        runs = (
            pass_run("dead-code", 1, before, before),
            pass_run("fuse-operators", 1, before, after, near_misses=tuple(near_misses),
                     details=tuple(fired(i) for i in range(3)), difference=difference),
            pass_run("dead-code", 2, after, after),
        )  # fmt: skip
        return CompilationResult(
            model="Net",
            target="cpu",
            phase_seconds={"capture": 3.0, "passes": 1.0},
            captured_operators=dict(before),
            optimized_operators={"rms_norm": 4},
            pipeline=PipelineReport(rounds=2, runs=runs),
            instructions_by_opcode={"rms_norm": 4, "aten.view.default": 2},
            host_instructions={"rms_norm": 4},
            buffers=BufferStats(registers=6, buffers=2, external_buffers=1, peak_bytes=105000,
                                lower_bound_bytes=100000, reused_in_place=1,
                                strategy="linear-scan"),
            schedule=ScheduleStats(transitions_before=5, transitions_after=3, moved=2),
            constant_bytes=3 << 20,
        )  # fmt: skip

    return make


@pytest.fixture
def events():
    class Events:
        fired = staticmethod(fired)
        missed = staticmethod(missed)

    return Events
