"""`forge-ugc bench-kernels`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from forge_ugc.cli import models
from forge_ugc.cli.console import emit_json, out, working
from forge_ugc.errors import OptionError

if TYPE_CHECKING:
    from forge_ugc.profiling.bench.runner import Measured
    from forge_ugc.report.document import Json


def bench_kernels(
    containing: Annotated[
        str, typer.Option("--filter", help="Only kernels with this in their name.")
    ] = "",
    isa: Annotated[
        str | None,
        typer.Option(help="Only this instruction set: none, avx2, avx512, ...; default: all."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Default: as many as PyTorch uses.", min=1)
    ] = None,
    seconds: Annotated[float, typer.Option(help="Of measuring for each line.", min=0.0)] = 0.2,
    json: models.AsJson = False,
) -> None:
    """Time every kernel on every instruction set against what this machine can do.

    The machine is measured first. Weights come out of the main memory, as in a model: each run
    has a copy of its own, of more than the caches hold together. Times are those that one run in
    ten stays below.
    """
    import torch

    from forge_ugc import native
    from forge_ugc.profiling import machine as machines
    from forge_ugc.profiling.bench.runner import chosen, measure

    if isa is not None and isa not in native.cpu_isa():
        raise OptionError(
            f"this processor has no {isa!r}", fix=f"choose from {', '.join(native.cpu_isa())}"
        )
    wanted = list(chosen(containing=containing, isa=isa))
    if not wanted:
        raise OptionError(
            f"no kernel has {containing!r} in its name" + (f" and a variant for {isa}" * bool(isa)),
            fix=f"kernels are {', '.join(native.kernel_table())}",
        )
    with working("measuring the machine"):
        machine = machines.probe(threads or torch.get_num_threads())
    found = []
    for number, (kernel, name, case) in enumerate(wanted, 1):
        with working(f"{number}/{len(wanted)} {kernel} {case.shape} {name}"):
            found.append(measure(kernel, name, case, machine, seconds=seconds))
    if json:
        from forge_ugc.profiling.document import machine_document

        rows: list[Json] = [_row(m) for m in found]
        emit_json({"version": 1, "machine": machine_document(machine), "kernels": rows})
    else:
        from forge_ugc.profiling.tables import machine_table

        out.print(machine_table(machine))
        _show(found)


def _row(m: Measured) -> dict[str, Json]:
    return {
        "kernel": m.kernel, "isa": m.isa, "shape": m.case.shape, "precision": m.case.precision,
        "cold": bool(m.case.cold), "flops": m.case.flops, "bytes": m.case.bytes_moved,
        "samples": m.samples, "time_ns": m.time_ns, "median_ns": m.median_ns, "gflops": m.gflops,
        "gbs": m.gbs, "least_ns": m.least_ns, "roofline_share": m.roofline_share,
    }  # fmt: skip


def _show(found: list[Measured]) -> None:
    from forge_ugc.profiling.tables import time_text
    from forge_ugc.report.formatting import percent_text, plain_table

    columns = ("p10", "median", "GFLOP/s", "GB/s", "roofline")
    table = plain_table("Kernels", ("kernel", "shape", "set"), columns)
    last = ""
    for m in found:
        if last not in ("", m.kernel):
            table.add_section()
        name, last = ("" if m.kernel == last else m.kernel), m.kernel
        share = percent_text(m.roofline_share) if m.least_ns else ""
        table.add_row(
            name, m.case.shape, m.isa, time_text(m.time_ns), time_text(m.median_ns),
            f"{m.gflops:,.1f}" if m.case.flops else "", f"{m.gbs:,.1f}", share,
        )  # fmt: skip
    out.print(table)
