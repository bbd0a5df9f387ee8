"""What a compilation did, as data: every figure of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forge_ugc.backends.floorplan import Floorplan
from forge_ugc.capture.block_report import RepeatedBlocksReport
from forge_ugc.passes.pass_manager import PipelineReport
from forge_ugc.quantization.report import QuantizationReport
from forge_ugc.schedule.linear_scan import BufferStats
from forge_ugc.schedule.scheduler import ScheduleStats


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilationResult:
    """Figures of one compilation.

    Attributes:
        model: class name of the module; `target`: where it runs.
        precision: what `Options.precision` asked for; None where the model's own types stayed.
        phase_seconds: capture, passes, lowering, scheduling, allocation, backend; wall clock.
        captured_operators, optimized_operators: operator calls by name, before and after passes.
        pipeline: per pass and round: seconds, node counts, what fired, what nearly did.
        instructions_by_opcode: of the final program, views included.
        host_instructions: non-view instructions that run through PyTorch operators, by opcode.
        buffers: registers, physical buffers, peak bytes and their lower bound.
        schedule: device transitions before and after.
        constant_bytes: memory of all constants.
        floorplan: where a spatial target put the program; None for any other target.
        quantization: what became of a float model on a target of integers; None for any other.
        runs: what computes the results, where the target has several ways.
        repeated_blocks: which blocks were traced once for several, and which were not and why.
    """

    model: str
    target: str
    phase_seconds: Mapping[str, float]
    captured_operators: Mapping[str, int]
    optimized_operators: Mapping[str, int]
    pipeline: PipelineReport
    instructions_by_opcode: Mapping[str, int]
    host_instructions: Mapping[str, int]
    buffers: BufferStats
    schedule: ScheduleStats
    constant_bytes: int
    precision: str | None = None
    floorplan: Floorplan | None = None
    quantization: QuantizationReport | None = None
    runs: str = ""
    repeated_blocks: RepeatedBlocksReport = field(default_factory=RepeatedBlocksReport)

    @property
    def nodes_before(self) -> int:
        """Operator calls in the captured graph."""
        return sum(self.captured_operators.values())

    @property
    def nodes_after(self) -> int:
        """Operator calls in the optimised graph."""
        return sum(self.optimized_operators.values())

    @property
    def node_reduction(self) -> float:
        """Share of captured operator calls that the passes removed, 0 to 1."""
        return 1 - self.nodes_after / self.nodes_before if self.nodes_before else 0.0

    @property
    def fused_operators(self) -> Mapping[str, int]:
        """Operators of ours in the optimised graph, by name."""
        return {
            name: count
            for name, count in self.optimized_operators.items()
            if "." not in name and name != "getitem"
        }

    @property
    def attention_fused(self) -> int:
        """Fused attention operators in the optimised graph."""
        return self.fused_operators.get("attention", 0)

    @property
    def instructions(self) -> int:
        """Instructions of the final program, views included."""
        return sum(self.instructions_by_opcode.values())

    @property
    def seconds(self) -> float:
        """Wall clock of all phases."""
        return sum(self.phase_seconds.values())
