"""A simulation as a trace for Perfetto or chrome://tracing."""

from __future__ import annotations

from forge_ugc.backends.aie.simulator.result import SimulationResult

Event = dict[str, str | int | float | dict[str, str | float]]


def chrome_trace(found: SimulationResult) -> dict[str, list[Event]]:
    """Trace events: one row a kernel, one span an iteration; microseconds of modelled time."""
    events: list[Event] = []
    for row, kernel in enumerate(found.kernels):
        place = "" if kernel.tile is None else f" on tile {kernel.tile[0]},{kernel.tile[1]}"
        events.append({
            "ph": "M", "name": "thread_name", "pid": 0, "tid": row,
            "args": {"name": kernel.name + place},
        })  # fmt: skip
        for number, (start, end) in enumerate(kernel.spans):
            events.append({
                "ph": "X", "name": f"iteration {number}", "cat": "kernel", "pid": 0, "tid": row,
                "ts": found.seconds(start) * 1e6, "dur": found.seconds(end - start) * 1e6,
                "args": {"cycles": end - start},
            })  # fmt: skip
    for row, plio in enumerate(found.plios, len(found.kernels)):
        events.append({
            "ph": "M", "name": "thread_name", "pid": 0, "tid": row,
            "args": {"name": f"PLIO {plio.name}"},
        })  # fmt: skip
        if plio.first_cycle >= 0:
            events.append({
                "ph": "X", "name": f"{plio.words} words", "cat": "plio", "pid": 0, "tid": row,
                "ts": found.seconds(plio.first_cycle) * 1e6,
                "dur": found.seconds(plio.last_cycle - plio.first_cycle) * 1e6,
            })  # fmt: skip
    return {"traceEvents": events}
