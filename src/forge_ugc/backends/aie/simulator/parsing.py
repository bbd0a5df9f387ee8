"""The JSON of the simulating program, read strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from forge_ugc.backends.aie.simulator.result import KernelAccount, PlioAccount, PortAccount
from forge_ugc.errors import SimulationError

VERSION = 1
SLOTS = ("vector", "load", "store", "scalar", "move")
T = TypeVar("T")


class Fields:
    """An object of the document; asking for what it lacks is an error that names the path."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise _bad(path, "an object", value)
        self._values: Mapping[str, object] = value
        self.path = path

    def get(self, name: str, kind: type[T]) -> T:
        """A field of that type; a whole number is also a float."""
        value = self._values.get(name)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise _bad(f"{self.path}.{name}", kind.__name__, value)
        return value

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._values.get(name) is not None

    def items(self, name: str) -> list[Fields]:
        """The objects of a list."""
        values = self.get(name, list)
        return [Fields(v, f"{self.path}.{name}[{i}]") for i, v in enumerate(values)]

    def numbers(self, name: str) -> tuple[float, ...]:
        """The numbers of a list."""
        return _numbers(self.get(name, list), f"{self.path}.{name}")


def _numbers(values: object, path: str) -> tuple[float, ...]:
    if not isinstance(values, list):
        raise _bad(path, "a list", values)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _bad(path, "a list of numbers", value)
    return tuple(float(value) for value in values)


def _bad(path: str, wanted: str, value: object) -> SimulationError:
    return SimulationError(
        f"the result of the simulation is damaged: {path} is not {wanted}", why=repr(value)[:200],
        fix="report this with the graph",
    )  # fmt: skip


def read_document(path: Path) -> Fields | None:
    """The result that a program wrote; None if it wrote none.

    Raises:
        SimulationError: it is no document of this version.
    """
    text = path.read_text(encoding="utf-8")
    if not text:
        return None
    try:
        found = Fields(json.loads(text), "result")
    except ValueError as error:
        raise SimulationError("the result of the simulation is damaged", why=str(error)) from error
    if found.get("version", int) != VERSION:
        raise _bad("result.version", str(VERSION), found.get("version", int))
    return found


def kernel_of(fields: Fields) -> KernelAccount:
    """One entry of `kernels`."""
    slots = Fields(fields.get("slots", dict), f"{fields.path}.slots")
    tile = fields.numbers("tile") if fields.has("tile") else ()
    spans = [_numbers(span, f"{fields.path}.spans") for span in fields.get("spans", list)]
    return KernelAccount(
        name=fields.get("name", str),
        source=fields.get("source", str),
        tile=(int(tile[0]), int(tile[1])) if tile else None,
        runtime_ratio=fields.get("ratio", float),
        iterations=fields.get("iterations", int),
        start_cycle=fields.get("start", float),
        end_cycle=fields.get("end", float),
        stalled_cycles=fields.get("stalled", float),
        slots={slot: slots.get(slot, float) for slot in SLOTS},
        prologue_cycles=fields.get("prologue", float),
        loops=int(fields.get("loops", float)),
        macs=fields.get("macs", float),
        narrowed_in_default_modes=fields.get("narrowed_in_default_modes", float),
        stack_bytes=fields.get("stack_bytes", int),
        ports=tuple(_port_of(port) for port in fields.items("ports")),
        spans=tuple((span[0], span[1]) for span in spans),
    )


def _port_of(fields: Fields) -> PortAccount:
    return PortAccount(
        port=fields.get("port", str), peer=fields.get("peer", str), unit=fields.get("unit", str),
        count=int(fields.get("count", float)), stall_cycles=fields.get("stall", float),
    )  # fmt: skip


def plio_of(fields: Fields) -> PlioAccount:
    """One entry of `plios`."""
    return PlioAccount(
        name=fields.get("name", str),
        file=fields.get("file", str),
        is_input=fields.get("input", bool),
        bits=fields.get("bits", int),
        words=fields.get("words", int),
        total_words=fields.get("total_words", int),
        first_cycle=fields.get("first", float),
        last_cycle=fields.get("last", float),
        iteration_ends=fields.numbers("iteration_ends"),
    )
