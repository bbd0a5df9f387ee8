"""Collects kernels, ports to the outside and connections into a design."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge_ugc.backends.aie.design import Design, End, KernelInstance, Link, Net, Plio
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.layout import TILE, padded
from forge_ugc.backends.aie.mapping.fifos import with_fifos
from forge_ugc.backends.aie.mapping.names import Names

PLIO_BITS = 128


@dataclass(slots=True)
class Wiring:
    """A design under construction. Kernels are added in the order in which data flow."""

    name: str
    device: AieDevice
    mapping: str
    names: Names = field(default_factory=Names)
    kernels: list[KernelInstance] = field(default_factory=list)
    plios: list[Plio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _sinks: dict[End, list[End]] = field(default_factory=dict)
    _links: dict[End, Link] = field(default_factory=dict)
    _bytes: dict[End, int] = field(default_factory=dict)

    def input(self, name: str, rows: int, columns: int) -> End:
        """A PLIO for the i8 matrix [rows, columns], padded to whole tiles."""
        return self._plio(name, rows, columns, is_input=True)

    def output(self, name: str, source: End, rows: int, columns: int) -> None:
        """A PLIO that takes an i8 matrix, padded to whole tiles, from a kernel."""
        self._sinks[source].append(self._plio(name, rows, columns, is_input=False))

    def add(self, kernel: KernelInstance, *sources: End) -> End:
        """Connect a kernel's inputs, in their order; its first output."""
        self.kernels.append(kernel)
        for index, source in enumerate(sources):
            self._sinks[source].append(End(kernel.name, index))
        for index, port in enumerate(kernel.outputs):
            self._declare(End(kernel.name, index), port.link, port.bytes_per_jet)
        return End(kernel.name)

    def design(self) -> Design:
        """The whole, with the FIFOs that it needs."""
        nets = [
            Net(source=source, sinks=tuple(sinks), link=self._links[source],
                bytes_per_jet=self._bytes[source])
            for source, sinks in self._sinks.items()
        ]  # fmt: skip
        return with_fifos(Design(
            name=self.name, device=self.device, mapping=self.mapping, kernels=tuple(self.kernels),
            plios=tuple(self.plios), nets=tuple(nets), notes=tuple(self.notes),
        ))  # fmt: skip

    def _declare(self, source: End, link: Link, size_bytes: int) -> None:
        self._sinks[source], self._links[source] = [], link
        self._bytes[source] = size_bytes

    def _plio(self, wish: str, rows: int, columns: int, *, is_input: bool) -> End:
        name = self.names.unique(wish)
        shape = (padded(rows), padded(columns))
        self.plios.append(Plio(
            name=name, is_input=is_input, bits=PLIO_BITS, shape=shape, tile_rows=TILE,
            tile_columns=TILE, file=f"data/{name}.txt",
        ))  # fmt: skip
        if is_input:
            self._declare(End(name), Link.STREAM, shape[0] * shape[1])
        return End(name)
