"""Why a simulated graph did not finish, as an error that names kernels, ports and lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from forge_ugc.backends.aie.simulator.diagnostics import is_ours, shown
from forge_ugc.backends.aie.simulator.parsing import Fields
from forge_ugc.backends.aie.simulator.toolchain import CompilerError, Toolchain
from forge_ugc.errors import OptionError, SimulationError

_PLACE = re.compile(r"^(?P<file>.+):(?P<line>\d+)(?: \(discriminator \d+\))?$")


class Lines:
    """Source lines of addresses in a program."""

    def __init__(self, toolchain: Toolchain, program: Path) -> None:
        self.toolchain, self.program = toolchain, program

    def users(self, calls: Iterable[object]) -> str:
        """The innermost line of the user's among return addresses; "" if there is none."""
        addresses = [hex(call) for call in calls if isinstance(call, int)]
        if not addresses:
            return ""
        try:
            text = self.toolchain.run("addr2line", "-ie", self.program, *addresses)
        except CompilerError:
            return ""  # the report does without the line
        for line in text.splitlines():
            match = _PLACE.match(line.strip())
            if match is None:
                continue
            file = os.path.normpath(match["file"])
            if is_ours(file) or file.startswith("/usr/") or "/simulator/runtime/" in file:
                continue
            return f"{shown(file)}:{match['line']}"
        return ""


def failed(document: Fields, lines: Lines) -> SimulationError:
    """A kernel did what it must not."""
    actor = document.get("actor", str)
    where = lines.users(document.get("calls", list)) or document.get("source", str)
    named = f"kernel {actor} failed" if actor else "the host code of the graph failed"
    return SimulationError(named, where=where, why=document.get("what", str))


def rejected(document: Fields) -> SimulationError | OptionError:
    """The graph says what cannot be simulated."""
    place = document.get("file", str)
    where = f"{shown(place)}:{document.get('line', int)}" if place else ""
    what = document.get("what", str)
    if what.startswith("PLIO ") and "which is in none of" in what:
        what, _, folders = what.partition(", which is in none of: ")
        return OptionError(
            f"{what}, which was not found", where=where, why=f"it is in none of {folders}",
            fix="give the folder with data_dir or --data",
        )  # fmt: skip
    return SimulationError(what, where=where)


def stopped(document: Fields, lines: Lines) -> SimulationError:
    """The wait cycle of a deadlock, or the chain of waits that ends where data end."""
    chain = document.items("chain")
    rows = [_wait_row(waiter, lines) for waiter in chain]
    if document.get("cycle", bool):
        count = len(chain)
        what = f"the graph deadlocked: {count} of its parts wait for each other in a circle"
        if count == 1:
            what = f"the graph deadlocked: {chain[0].get('actor', str)} waits for itself"
        fix = _deepen_text(document)
    else:
        what = f"{chain[0].get('actor', str)} waits for data that will never come"
        fix = _end_text(chain[-1])
    return SimulationError(what, why="\n       ".join(rows), fix=fix)


def _wait_row(waiter: Fields, lines: Lines) -> str:
    wait, unit = waiter.get("wait", str), waiter.get("unit", str)
    producer, consumer = waiter.get("producer", str), waiter.get("consumer", str)
    fill, depth = waiter.get("fill", int), waiter.get("depth", int)
    line = lines.users(waiter.get("calls", list)) if waiter.get("kernel", bool) else ""
    actor = waiter.get("actor", str)
    at = f" (at {line})" if line else ""
    iteration = waiter.get("iteration", int)
    during = f", iteration {iteration}" if iteration >= 0 and wait in {"data", "room"} else ""
    net = f"{shown(waiter.get('file', str))}:{waiter.get('line', int)}"
    if wait == "room":
        return (
            f"{actor}{at}{during}, waits to write {producer}: the net to {consumer} is full, "
            f"{fill} of {depth} {unit} ({net})"
        )
    if wait == "data":
        return (
            f"{actor}{at}{during}, waits to read {consumer}: the net from {producer} holds "
            f"{fill} of {depth} {unit} ({net})"
        )
    return f"{actor} {_LEAVES.get(wait, 'has ended')}{waiter.get('detail', str)}"


_LEAVES = {
    "file_end": "has sent its whole file",
    "runs": "has finished all its iterations",
    "update": "waits for graph.update of its run-time parameter ",
    "host_data": "waits for the host to start a transfer",
    "limit": "was stopped at the cycle that graph.wait or graph.end gives",
}


def _deepen_text(document: Fields) -> str:
    deeper = [
        f"fifo_depth of the net {net.get('producer', str)} -> {net.get('consumer', str)} "
        f"({shown(net.get('file', str))}:{net.get('line', int)}) from {net.get('from', int)} to "
        f"{net.get('to', int)}"
        for net in document.items("deepened")
    ]
    resolved = document.get("resolved", bool)
    if deeper and resolved:
        return f"raise {', and '.join(deeper)}: with that the graph runs to its end"
    if deeper:
        return (
            f"deeper FIFOs alone do not help (tried: {', '.join(deeper)}); "
            "the kernels must read and write in another order"
        )
    return "no stream FIFO of the circle is full: the kernels must read and write in another order"


def _end_text(last: Fields) -> str:
    return {
        "file_end": "run fewer iterations, or give a longer input file",
        "runs": "the kernels' data rates differ: let each write what the next one reads",
        "update": "call graph.update before graph.wait, or connect the parameter with async()",
        "host_data": "start the transfer with gm2aie_nb or aie2gm_nb before waiting",
    }.get(last.get("wait", str), "")
