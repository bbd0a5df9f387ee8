"""A profile as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge_ugc.profiling.machine import MachineProbe
    from forge_ugc.profiling.profile import Profile, Rates
    from forge_ugc.report.document import Json

VERSION = 1


def profile_document(profile: Profile) -> dict[str, Json]:
    """Every figure. Times are in nanoseconds, rates in 10^9 a second."""
    return {
        "version": VERSION,
        "model": profile.program.name,
        "threads": profile.threads,
        "wall_ns": list(profile.wall_ns),
        "median_ns": profile.median_ns,
        "totals": dict(asdict(profile.totals)),
        "kernels": [
            {
                "name": k.name, "isa": k.isa, "steps": k.steps, "busy_ns": k.busy_ns,
                "wait_ns": k.wait_ns, **_rates(k.rates),
            }
            for k in profile.kernels
        ],
        "instructions": [
            {
                "index": i.index, "opcode": i.opcode, "text": i.text, "location": i.location,
                "kernels": list(i.kernels), "precision": i.precision, "busy_ns": i.busy_ns,
                "wait_ns": i.wait_ns, **_rates(i.rates),
            }
            for i in profile.instructions
        ],
        "machine": None if profile.machine is None else machine_document(profile.machine),
    }  # fmt: skip


def machine_document(machine: MachineProbe) -> dict[str, Json]:
    """The measured limits."""
    return {
        "threads": machine.threads,
        "gflops": {kind: dict(by_isa) for kind, by_isa in machine.gflops.items()},
        "read_gbs": machine.read_gbs,
        "read_one_gbs": machine.read_one_gbs,
        "barrier_ns": machine.barrier_ns,
        "call_ns": machine.call_ns,
        "cold_bytes": machine.cold_bytes,
    }


def _rates(rates: Rates) -> dict[str, Json]:
    return {
        "time_ns": rates.time_ns, "flops": rates.flops, "bytes": rates.bytes_moved,
        "gflops": rates.gflops, "gbs": rates.gbs, "least_ns": rates.least_ns,
        "roofline_share": rates.roofline_share,
    }  # fmt: skip
