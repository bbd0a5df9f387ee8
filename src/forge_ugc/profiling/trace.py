"""A recorded call in the trace-event format of Chrome, which Perfetto opens as well.

Format: "Trace Event Format" of the Chromium project, complete events (`ph` = `X`) with times in
microseconds, and metadata events (`ph` = `M`) that name the tracks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from forge_ugc.backends.recording import Visit
from forge_ugc.npuir.instruction import Instruction

if TYPE_CHECKING:
    from forge_ugc.profiling.profile import Profile
    from forge_ugc.report.document import Json

_PROCESS = 1
_CALLER = 0
"""The track of the calling thread from Python's side; engine thread i is track i + 1."""


def write_trace(profile: Profile, path: Path) -> None:
    """Write the profile's recording as a JSON document."""
    path.write_text(json.dumps(trace_document(profile)), encoding="utf-8")


def trace_document(profile: Profile) -> dict[str, Json]:
    """The whole document: events by track and time."""
    recording = profile.recording
    events = _Events(profile)
    for call in recording.calls:
        events.add(_CALLER, "native engine", "call", call.began, call.ended, {})
    for step in recording.host:
        category = "view" if step.instruction.is_view else "host"
        details = events.details(step.instruction)
        events.add(_CALLER, step.instruction.opcode, category, step.began, step.ended, details)
    for kernel in recording.kernels:
        details = {
            **events.details(kernel.instruction, kernel.kernel), "instruction_set": kernel.isa
        }  # fmt: skip
        for thread, visit in enumerate(kernel.visits):
            events.add_visit(thread + 1, kernel.kernel, visit, details)
    ordered = [event for _, event in sorted(events.made, key=lambda made: made[0])]
    return {
        "displayTimeUnit": "ns",
        "otherData": {"model": profile.program.name, "threads": profile.threads},
        "traceEvents": [*_names(profile), *ordered],
    }


class _Events:
    """Collects events, with times from the start of the call."""

    def __init__(self, profile: Profile) -> None:
        self.made: list[tuple[tuple[int, int], dict[str, Json]]] = []  # by track and time
        self._start = profile.recording.began
        self._by_index = {i.index: i for i in profile.instructions}
        self._index = {
            id(instruction): index for index, instruction in enumerate(profile.program.instructions)
        }

    def details(self, instruction: Instruction, kernel: str = "") -> dict[str, Json]:
        """What a reader wants to know of an instruction."""
        found = self._by_index.get(self._index.get(id(instruction), -1))
        made: dict[str, Json] = {"opcode": instruction.opcode}
        if kernel:
            made["kernel"] = kernel
        if found is not None:
            made |= {
                "instruction": found.index, "shapes": found.text, "precision": found.precision,
                "flops": found.rates.flops, "bytes": found.rates.bytes_moved,
            }  # fmt: skip
        if instruction.location is not None:
            made["location"] = str(instruction.location)
        return made

    def add(
        self, track: int, name: str, category: str, began: int, ended: int, args: dict[str, Json]
    ) -> None:
        """One complete event."""
        event: dict[str, Json] = {
            "name": name, "cat": category, "ph": "X", "pid": _PROCESS, "tid": track,
            "ts": (began - self._start) / 1e3, "dur": (ended - began) / 1e3, "args": args,
        }  # fmt: skip
        self.made.append(((track, began), event))

    def add_visit(self, track: int, name: str, visit: Visit, args: dict[str, Json]) -> None:
        """A kernel on one thread, and its wait in the barrier before."""
        if visit.started - visit.arrived >= _SHOWN_WAIT_NS:
            self.add(track, "barrier", "barrier", visit.arrived, visit.started, {})
        self.add(track, name, "kernel", visit.started, visit.ended, args)


_SHOWN_WAIT_NS = 100
"""Two readings of the clock without a barrier between them are less apart."""


def _names(profile: Profile) -> list[Json]:
    tracks = {_CALLER: "caller"} | {i + 1: f"engine thread {i}" for i in range(profile.threads)}
    made: list[Json] = [
        {"name": "process_name", "ph": "M", "pid": _PROCESS, "tid": 0, "ts": 0,
         "args": {"name": f"forge-ugc: {profile.program.name}"}}
    ]  # fmt: skip
    for track, name in tracks.items():
        made.append({"name": "thread_name", "ph": "M", "pid": _PROCESS, "tid": track, "ts": 0,
                     "args": {"name": name}})  # fmt: skip
    return made
