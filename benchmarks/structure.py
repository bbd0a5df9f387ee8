"""Graph, buffers and schedule of published architectures, without running them."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

import forge_ugc
from benchmarks.core.benchmark import Benchmark, Settings, benchmark
from benchmarks.core.measurement import Ask, Measurement, Subject
from forge_ugc import CompiledModel, Options
from forge_ugc.errors import VerificationError
from forge_ugc.loaders.load import load_model
from forge_ugc.npuir.instruction import External
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer
from forge_ugc.schedule.check_buffers import check_buffers
from forge_ugc.schedule.check_order import check_order

_FEWER_NODES = Ask("at least 30% fewer nodes than captured", at_least=0.30)
_ALL_FUSED = Ask("attention fused in every layer", at_least=1.0)
_TIGHT = Ask("arena within 5% of the largest live set", at_most=1.05)
_FEWER_BUFFERS = Ask("at least 60% fewer buffers than registers", at_least=0.60)
_CHECKED = Ask("parse(print(p)) == p, verifier and independent checkers pass", at_least=1.0)
_SAME_PROGRAM = Ask("eager attention ends in the same program as SDPA", at_least=1.0)


@dataclass(frozen=True, slots=True)
class Published:
    """A line of the tables in arXiv 2604.16498v1."""

    nodes: tuple[int, int]
    buffers: tuple[int, int]
    transitions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """An architecture of `load_model("shape:NAME")`, with its published figures."""

    name: str
    published: Published
    dtype: torch.dtype = torch.float32


_LFM2 = Published((1068, 834), (834, 478), (248, 104))
_SHAPES = (
    Shape("gpt2", Published((403, 333), (333, 218), (86, 50))),
    Shape("granite-350m", Published((782, 636), (636, 412), (168, 87))),
    Shape("qwen2-0.5b", Published((804, 652), (652, 418), (174, 89))),
    Shape("llama-3.2-1b", Published((562, 468), (468, 324), (126, 70))),
    Shape("lfm2-2.6b", _LFM2),
    Shape("lfm2-default", _LFM2),
    Shape("llama-3.1-8b", Published((1124, 896), (896, 468), (264, 93)), torch.bfloat16),
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled model, its program before scheduling, and how many attention layers it has."""

    model: CompiledModel
    lowered: str
    attention_layers: int


@benchmark("structure")
class Structure(Benchmark):
    """Seven architectures at full size with unwritten weights, batch 1, 128 tokens.

    Nodes are operator calls; registers are the results of all instructions, views included;
    buffers count those outside the arena too. The published counts are of the authors' captures,
    which differ from those of this PyTorch. `lfm2-2.6b` is the released model, `lfm2-default` the
    hyperparameters of the published table; both stand beside the one published line.
    Transitions are neighbouring instructions on different devices, views left out; where scheduling
    finds no fewer, the graph's own order already has the fewest that its data flow allows.
    `llama-3.1-8b` is in bfloat16, the others in float32.
    """

    title = "Graph and memory structure"

    def run(self, settings: Settings) -> Iterator[Measurement]:
        for shape in _SHAPES[: settings.pick(len(_SHAPES), 1)]:
            host = _compile(shape, "cpu")
            yield from _graph(shape, host)
            yield from _memory(shape, host)
            same = _same_program(shape, "cpu", host)
            accelerator = _compile(shape, "null")
            yield from _schedule(shape, accelerator)
            yield from _checks(shape, {"cpu": host, "null": accelerator})
            same = same and _same_program(shape, "null", accelerator)
            eager = Subject("Checks", shape.name)
            yield eager.measure("eager attention: same text", "yes/no", same, ask=_SAME_PROGRAM)
            result = host.model.result
            settings.say(f"{shape.name}: {result.nodes_before} -> {result.nodes_after} nodes")
            del host, accelerator
            gc.collect()


def _compile(shape: Shape, target: str, attention: str | None = None) -> Compiled:
    loaded = load_model(f"shape:{shape.name}", empty=True, dtype=shape.dtype, attention=attention)
    config = loaded.module.config
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    with tempfile.TemporaryDirectory() as folder:
        options = Options(dump_ir=Path(folder))
        model = forge_ugc.compile(
            loaded.module, loaded.args, loaded.kwargs, target=target, options=options
        )
        lowered = (Path(folder) / "lowered.npuir").read_text(encoding="utf-8")
    return Compiled(model, lowered, sum(kind.endswith("attention") for kind in kinds))


def _graph(shape: Shape, compiled: Compiled) -> Iterator[Measurement]:
    result = compiled.model.result
    before, after = shape.published.nodes
    row = Subject("Graph", shape.name)
    yield row.measure("nodes captured", "count", result.nodes_before, published=before)
    yield row.measure("nodes after passes", "count", result.nodes_after, published=after)
    reduction, published = result.node_reduction, 1 - after / before
    yield row.measure("fewer", "share", reduction, published=published, ask=_FEWER_NODES)
    yield row.measure("attention layers", "count", compiled.attention_layers)
    yield row.measure("fused attention", "count", result.attention_fused)
    fused = result.attention_fused == compiled.attention_layers
    yield row.measure("all fused", "yes/no", fused, ask=_ALL_FUSED)


def _memory(shape: Shape, compiled: Compiled) -> Iterator[Measurement]:
    stats = compiled.model.result.buffers
    registers, buffers = shape.published.buffers
    row = Subject("Memory, target cpu", shape.name)
    held = stats.buffers + stats.external_buffers
    yield row.measure("registers", "count", stats.registers, published=registers)
    yield row.measure("buffers", "count", held, published=buffers)
    published = 1 - buffers / registers
    yield row.measure("fewer", "share", stats.rho, published=published, ask=_FEWER_BUFFERS)
    yield row.measure("arena", "bytes", stats.peak_bytes)
    yield row.measure("largest live set", "bytes", stats.lower_bound_bytes)
    over = stats.peak_bytes / stats.lower_bound_bytes
    yield row.measure("arena / live set", "ratio", over, ask=_TIGHT)
    yield row.note("placed by", stats.strategy)
    outside = sum(
        result.type.size_bytes
        for result in compiled.model.program.results()
        if isinstance(result.place, External)
    )
    yield row.measure("outputs, outside the arena", "bytes", outside)


def _schedule(shape: Shape, compiled: Compiled) -> Iterator[Measurement]:
    result = compiled.model.result
    before, after = shape.published.transitions
    row = Subject("Schedule and memory, target null (accelerator and cpu)", shape.name)
    order = result.schedule
    yield row.measure("transitions in graph order", "count", order.transitions_before,
                      published=before)  # fmt: skip
    yield row.measure("transitions scheduled", "count", order.transitions_after, published=after)
    fewer = 1 - order.transitions_after / max(order.transitions_before, 1)
    yield row.measure("fewer", "share", fewer, published=1 - after / before)
    over = result.buffers.peak_bytes / result.buffers.lower_bound_bytes
    yield row.measure("arena / live set", "ratio", over, ask=_TIGHT)
    yield row.measure("fewer buffers than registers", "share", result.buffers.rho,
                      ask=_FEWER_BUFFERS)  # fmt: skip


def _checks(shape: Shape, targets: dict[str, Compiled]) -> Iterator[Measurement]:
    row = Subject("Checks", shape.name)
    for target, compiled in targets.items():
        faults = _faults(compiled)
        yield row.measure(f"{target}: program valid", "yes/no", not faults, ask=_CHECKED)
        if faults:
            yield row.note(f"{target}: faults", "; ".join(faults))


def _faults(compiled: Compiled) -> list[str]:
    """What the printer, parser, verifier or a checker has against a program."""
    program, found = compiled.model.program, []
    if parse_program(print_program(program)) != program:
        found.append("parse(print(p)) != p")
    try:
        verify(program, infer)
        check_buffers(program)
        check_order(parse_program(compiled.lowered), program)
    except VerificationError as error:
        found.append(str(error).splitlines()[0])
    return found


def _same_program(shape: Shape, target: str, compiled: Compiled) -> bool:
    """True if the model with eager attention ends in the same text, source locations aside."""
    eager = _compile(shape, target, attention="eager")
    texts = [print_program(c.model.program, locations=False) for c in (compiled, eager)]
    return texts[0] == texts[1]
