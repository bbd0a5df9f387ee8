"""compile(): the four phases in order, and the model that comes out."""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import fx, nn

from forge_ugc import backends
from forge_ugc.artifact import read_artifact, write_artifact
from forge_ugc.backends import Backend, Executable
from forge_ugc.capture import CapturedGraph, capture
from forge_ugc.capture.block_report import RepeatedBlocksReport
from forge_ugc.capture.serialize import interface_from_json, interface_to_json
from forge_ugc.capture.signature import Signature
from forge_ugc.capture.structure import Structure, unflatten
from forge_ugc.constants import ConstantStore
from forge_ugc.errors import ForgeError, OptionError
from forge_ugc.lowering import lower
from forge_ugc.lowering.lower import Lowered
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.deferred import load_all
from forge_ugc.ops.core.infer import infer
from forge_ugc.ops.core.postponed import LateTensors, Postponed
from forge_ugc.options import Options
from forge_ugc.passes.graph import calls
from forge_ugc.passes.pass_manager import PassManager, PipelineReport
from forge_ugc.passes.text import operator_of
from forge_ugc.quantization.batches import calibration_batches, refuse_calibration
from forge_ugc.quantization.report import QuantizationReport
from forge_ugc.result import CompilationResult
from forge_ugc.schedule.check_buffers import check_buffers
from forge_ugc.schedule.check_order import check_order
from forge_ugc.schedule.linear_scan import BufferStats, allocate
from forge_ugc.schedule.scheduler import ScheduleStats, schedule

if TYPE_CHECKING:
    from forge_ugc.profiling.profile import Profile

PHASES = (
    "capture", "passes", "lowering", "quantization", "scheduling", "allocation", "backend",
)  # fmt: skip


class CompiledModel:
    """A compiled program: call it like the module it came from.

    Safe to call from several threads. A program with states runs one call at a time.
    """

    def __init__(
        self,
        program: Program,
        tensors: Mapping[str, torch.Tensor],
        signature: Signature,
        output: Structure,
        executable: Executable,
        result: CompilationResult | None,
    ) -> None:
        self._program = program
        self._tensors = ConstantStore(tensors, executable.released)
        self._signature, self._output = signature, output
        self._executable, self._result = executable, result

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - what the module returns
        """Run the program.

        Raises:
            InputError: the arguments differ from the compiled signature.
        """
        inputs = self._signature.flatten(args, kwargs)
        return unflatten(self._output, self._executable.run(inputs))

    def profile(self, *args: object, **kwargs: object) -> Profile:
        """Run with these arguments, 5 times to warm up and 20 that count: where the time goes.

        States keep the values that they had, and so do the arguments. See docs/profiling.md.

        Raises:
            InputError: the arguments differ from the compiled signature.
            OptionError: the target keeps no times.
        """
        return self.profile_calls(args, kwargs)

    def profile_calls(
        self,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        runs: int = 20,
        warmups: int = 5,
    ) -> Profile:
        """As `profile`, with another number of calls. No other thread may call meanwhile."""
        from forge_ugc.profiling.measuring import profile_executable

        inputs = self._signature.flatten(args, kwargs or {})
        states = [self._tensors[state.name] for state in self._program.states]
        return profile_executable(
            self._program, self._executable, inputs, states, runs=runs, warmups=warmups
        )

    @property
    def program(self) -> Program:
        """The scheduled NPUIR program with its buffers; `str` via `print_program`."""
        return self._program

    @property
    def signature(self) -> Signature:
        """The arguments that the program takes."""
        return self._signature

    @property
    def result(self) -> CompilationResult:
        """Figures of the compilation.

        Raises:
            ForgeError: the model was loaded from a file, which keeps no figures.
        """
        if self._result is None:
            raise ForgeError(
                "a loaded model has no compilation result",
                fix="read .result of the model that compile() returned",
            )
        return self._result

    def report(self) -> str:
        """The compilation's figures as text tables."""
        from forge_ugc.report.text import render_report

        return render_report(self.result)

    def report_html(
        self, path: str | Path, *, profile: Profile | None = None, source: str = ""
    ) -> None:
        """Write the compilation's report as one HTML file that needs no network.

        Graphs before and after each pass are in it if `Options.keep_graphs` was set.

        Args:
            path: of the file.
            profile: of this model, for the roofline of its kernels.
            source: one line that says where the model came from.

        Raises:
            ForgeError: the model was loaded from a file, which keeps no figures.
        """
        from forge_ugc.report.page import write_page

        write_page(
            Path(path), self.result, self._program, source=source,
            target_note=backends.get(self._program.target).probe().reason,
            profile=None if profile is None else profile.to_json(),
        )  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write a `.forge` file: program text, weights, signature. See docs/artifact.md."""
        extra = interface_to_json(self._signature, self._output)
        write_artifact(Path(path), self._program, self._tensors, extra)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and deepcopy carry program, weights and current states, but not the figures."""
        text = print_program(self._program)
        return _restore, (text, dict(self._tensors), self._signature, self._output)

    def __repr__(self) -> str:
        name, target = self._program.name, self._program.target
        return f"<CompiledModel {name} for {target}: {self._signature.describe()}>"


def compile(
    module: nn.Module,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    target: str = "cpu",
    options: Options | None = None,
    weights: Callable[[str], torch.Tensor] | None = None,
    calibration: Iterable[object] | None = None,
) -> CompiledModel:
    """Compile a module for inference with the shapes and dtypes of example arguments.

    Args:
        module: on the cpu, usually in eval mode; it is not changed. Weights that kernels pack are
            copied, others shared with it; buffers that it writes to become states of the program.
        args, kwargs: example arguments of `module.forward`.
        target: name of a backend, see `devices()`.
        options: see `Options`.
        weights: for a module on the meta device, which holds no data: returns the cpu tensor of a
            parameter or buffer by its name in the module (the first one, if several share it). Each
            is asked for once, when it is converted, and dropped before the next; what no
            `Options.precision` converts becomes a constant of the program as it is.
        calibration: for a target of integers, `aie`: batches that its ranges are measured on, each
            what the module is called with: a tensor, or a tuple of its arguments.

    Raises:
        CaptureError, UnsupportedOperatorError, BackendUnavailableError, OptionError,
        QuantizationError: each says what failed, where, and what to do.
    """
    if not isinstance(options, Options | None):
        raise OptionError(
            f"options is a {type(options).__name__}, expected Options",
            fix="options=forge_ugc.Options(max_rounds=2)",
        )
    return compile_module(
        module, args, kwargs or {}, target=target, options=options, weights=weights,
        calibration=calibration,
    )  # fmt: skip


def compile_module(
    module: nn.Module,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    target: str,
    options: Options | None,
    share_states: bool = False,
    weights: Callable[[str], torch.Tensor] | None = None,
    calibration: Iterable[object] | None = None,
) -> CompiledModel:
    """As `compile`; with `share_states` the program writes to the module's own buffers."""
    chosen = options or Options()
    clock = _Clock(chosen.progress)
    backend = backends.get(target)  # what it refuses, at once
    if chosen.passes is None and backend.passes is not None:
        chosen = replace(chosen, passes=backend.passes)
    manager = PassManager(chosen)
    refuse_calibration(backend, given=calibration is not None)
    if weights is not None and chosen.verify_passes:
        raise OptionError(
            "verify_passes runs the graph before its weights are there",
            fix="leave out verify_passes, or compile a module with weights of its own",
        )
    with _no_garbage_collection():
        with clock("capture"):
            captured = capture(
                module, args, kwargs, share_states=share_states, weights=weights,
                repeated_blocks=chosen.repeated_blocks,
            )  # fmt: skip
        batches = calibration_batches(
            captured.signature, () if calibration is None else calibration
        )
        example = (args, kwargs)
        return compile_captured(
            captured, type(module).__name__, backend, manager, clock, example, batches
        )


def compile_captured(
    captured: CapturedGraph,
    name: str,
    backend: Backend,
    manager: PassManager,
    clock: _Clock,
    example: tuple[Sequence[object], Mapping[str, object]],
    batches: Sequence[Sequence[torch.Tensor]] = (),
) -> CompiledModel:
    """Phases 2 to 4 and the backend, on a captured graph. Changes the graph.

    With FORGE_VERIFY=1 in the environment the program is checked after each phase.
    """
    options = manager.options
    checked = os.environ.get("FORGE_VERIFY", "0") not in {"", "0"}
    postponed = Postponed()
    if backend.makes_late and not options.verify_passes:  # which runs the graph
        postponed.attach(captured.graph_module)
    with clock("passes"):
        flat = captured.signature.flatten(*example) if options.verify_passes else None
        pipeline = manager.run(captured.graph_module, flat, recompile=False)
        load_all(captured.graph_module)
    with clock("lowering"):
        lowered = lower(captured, backend, name)
    _dump(options, "lowered", lowered.program)
    if checked:
        verify(lowered.program, infer)
    quantization: QuantizationReport | None = None
    if backend.quantizes:
        with clock("quantization"):
            made = backend.quantize(lowered.program, lowered.tensors, batches, options)
        lowered, quantization = Lowered(made.program, dict(made.tensors)), made.report
        _dump(options, "quantized", lowered.program)
        if checked:
            verify(lowered.program, infer)
    with clock("scheduling"):
        ordered, order_stats = schedule(lowered.program, affinity=options.affinity)
    with clock("allocation"):
        program, buffer_stats = allocate(ordered)
    _dump(options, "scheduled", program)
    if checked:
        check_order(lowered.program, ordered)
        check_buffers(program)
        verify(program, infer)
    optimized = dict(Counter(map(operator_of, calls(captured.graph_module.graph))))
    _drop_tensors(captured.graph_module)  # so that the backend can free what it packs
    tensors = LateTensors(lowered.tensors, postponed)
    lowered.tensors.clear()
    with clock("backend"):
        executable = backend.compile(program, tensors, options)
    counts = (dict(captured.nodes_by_operator), optimized)
    result = _result(
        counts, program, clock, pipeline, order_stats, buffer_stats, executable, options.precision,
        captured.repeated_blocks, quantization,
    )  # fmt: skip
    return CompiledModel(program, tensors, captured.signature, captured.output, executable, result)


def load(
    path: str | Path,
    *,
    output_types: Sequence[type[Any]] = (),
    options: Options | None = None,
) -> CompiledModel:
    """Load a `.forge` file; weights are mapped from disk, no code of the file runs.

    Args:
        path: the file.
        output_types: classes to rebuild outputs with (`CausalLMOutputWithPast`); a class that is
            not given, and not part of an already imported transformers, becomes a `Record` with
            the same fields.
        options: how to run it: `native`, `threads`, `pin_threads`; the others have no effect.

    Raises:
        ArtifactError: the file is damaged, inconsistent or of a newer version.
        BackendUnavailableError: its target cannot be used here.
    """
    artifact = read_artifact(Path(path))
    backend = backends.get(artifact.program.target)
    signature, output = interface_from_json(artifact.extra, artifact.program, output_types)
    tensors = dict(artifact.tensors)
    executable = backend.compile(artifact.program, tensors, options or Options())
    return CompiledModel(artifact.program, tensors, signature, output, executable, None)


def _restore(
    text: str, tensors: Mapping[str, torch.Tensor], signature: Signature, output: Structure
) -> CompiledModel:
    program = parse_program(text)
    tensors = dict(tensors)
    executable = backends.get(program.target).compile(program, tensors, Options())
    return CompiledModel(program, tensors, signature, output, executable, None)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keep Python's cyclic collector from scanning the graphs over and over while they grow."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Clock:
    """Wall clock of each phase; reports progress."""

    def __init__(self, progress: Callable[[str, int, int], None] | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        if self._progress:
            self._progress(phase, PHASES.index(phase), len(PHASES))
        start = time.perf_counter()
        yield
        self.seconds[phase] = time.perf_counter() - start


def _dump(options: Options, stage: str, program: Program) -> None:
    if options.dump_ir is not None:
        options.dump_ir.mkdir(parents=True, exist_ok=True)
        (options.dump_ir / f"{stage}.npuir").write_text(print_program(program), encoding="utf-8")


def _drop_tensors(graph_module: fx.GraphModule) -> None:
    """Constants and states live on in the lowered program; this graph only had borrowed them."""
    for node in graph_module.graph.nodes:
        if node.op == "get_attr" and hasattr(graph_module, str(node.target)):
            delattr(graph_module, str(node.target))


def _result(
    operators: tuple[dict[str, int], dict[str, int]], program: Program, clock: _Clock,
    pipeline: PipelineReport, order: ScheduleStats, buffers: BufferStats, executable: Executable,
    precision: str | None, repeated_blocks: RepeatedBlocksReport,
    quantization: QuantizationReport | None,
) -> CompilationResult:  # fmt: skip
    return CompilationResult(
        model=program.name, target=program.target, phase_seconds=dict(clock.seconds),
        captured_operators=operators[0], optimized_operators=operators[1],
        pipeline=pipeline,
        instructions_by_opcode=dict(Counter(i.opcode for i in program.instructions)),
        host_instructions=dict(executable.host_instructions), buffers=buffers, schedule=order,
        constant_bytes=sum(c.type.size_bytes for c in program.constants if c.view is None),
        precision=precision, floorplan=executable.floorplan, repeated_blocks=repeated_blocks,
        quantization=quantization, runs=executable.runs,
    )  # fmt: skip
