"""A profile as rich tables."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from forge_ugc.profiling.profile import Profile, Rates
from forge_ugc.report.formatting import percent_text, plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from forge_ugc.profiling.machine import MachineProbe

_ROWS = 20
"""Instructions that a table shows at most; the document of a profile has all."""
_PARTS = {
    "kernels_ns": "kernels", "barriers_ns": "barriers", "calls_ns": "waking threads, last barrier",
    "host_ns": "host instructions (PyTorch)", "python_ns": "Python",
}  # fmt: skip
_COLUMNS = ("time", "share", "GFLOP/s", "GB/s", "roofline")


def profile_tables(profile: Profile) -> list[RenderableType]:
    """Totals, kernels, instructions, and the machine they are held against."""
    tables: list[RenderableType] = [
        _totals(profile), _kernels(profile), _instructions(profile),
    ]  # fmt: skip
    if profile.machine is not None:
        tables.append(machine_table(profile.machine))
    return tables


def _totals(profile: Profile) -> Table:
    totals = profile.totals
    title = (
        f"{profile.program.name}: {time_text(profile.median_ns)} a call "
        f"(median of {len(profile.wall_ns)}), {profile.threads} threads"
    )
    table = plain_table(title, ("part of a call",), ("time", "share"))
    for field, name in _PARTS.items():
        part: float = getattr(totals, field)
        table.add_row(name, time_text(part), percent_text(part / totals.wall_ns))
    table.add_section()
    table.add_row("all, mean of the faster half", time_text(totals.wall_ns), "")
    return table


def _kernels(profile: Profile) -> Table:
    table = plain_table("Kernels", ("kernel", "set"), ("steps", "wait", *_COLUMNS))
    for k in profile.kernels:
        table.add_row(
            escape(k.name), k.isa, str(k.steps), time_text(k.wait_ns), *_figures(profile, k.rates)
        )
    return table


def _instructions(profile: Profile) -> Table:
    """The longest, those of equal shapes as one."""
    groups: dict[tuple[str, tuple[str, ...]], list[Rates]] = defaultdict(list)
    for i in profile.instructions:
        groups[i.text, i.kernels].append(i.rates)
    merged = {key: _sum(rates) for key, rates in groups.items()}
    longest = sorted(merged, key=lambda key: -merged[key].time_ns)
    left = max(0, len(longest) - _ROWS)
    title = "Instructions" + (f" ({left} groups of shorter ones not shown)" if left else "")
    table = plain_table(title, ("instruction",), ("count", *_COLUMNS))
    for key in longest[:_ROWS]:
        table.add_row(escape(key[0]), str(len(groups[key])), *_figures(profile, merged[key]))
    return table


def _sum(rates: list[Rates]) -> Rates:
    least = [r.least_ns for r in rates if r.least_ns is not None]
    return Rates(
        time_ns=sum(r.time_ns for r in rates), flops=sum(r.flops for r in rates),
        bytes_moved=sum(r.bytes_moved for r in rates), least_ns=sum(least) if least else None,
    )  # fmt: skip


def _figures(profile: Profile, rates: Rates) -> list[str]:
    share = rates.roofline_share
    return [
        time_text(rates.time_ns), percent_text(rates.time_ns / profile.totals.wall_ns),
        f"{rates.gflops:,.1f}", f"{rates.gbs:,.1f}", "" if share is None else percent_text(share),
    ]  # fmt: skip


def machine_table(machine: MachineProbe) -> Table:
    """The measured limits, one a line."""
    table = plain_table(f"This machine, {machine.threads} threads", ("limit",), ("measured",))
    for precision, by_isa in machine.gflops.items():
        for isa, rate in by_isa.items():
            table.add_row(f"{precision} arithmetic, {isa}", f"{rate:,.0f} GFLOP/s")
    table.add_row("reading memory", f"{machine.read_gbs:,.1f} GB/s")
    table.add_row("reading memory, one thread", f"{machine.read_one_gbs:,.1f} GB/s")
    table.add_row("barrier", time_text(machine.barrier_ns))
    table.add_row("empty call", time_text(machine.call_ns))
    return table


def time_text(nanoseconds: float) -> str:
    """`812 ns`, `12.3 us`, `4.56 ms`, `1.23 s`."""
    if nanoseconds < 1e3:
        return f"{nanoseconds:.0f} ns"
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.1f} us"
    return f"{nanoseconds / 1e6:.2f} ms" if nanoseconds < 1e9 else f"{nanoseconds / 1e9:.2f} s"
