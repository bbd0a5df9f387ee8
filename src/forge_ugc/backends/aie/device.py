"""AI Engine devices: the limits that mapping, checks and timing read."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from forge_ugc.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class AieDevice:
    """What one device offers. Sources: AM009 and DS957 (AIE), AM020 (AIE-ML), UG1079, UG1603.

    Attributes:
        architecture: `aie1` or `aie-ml`.
        columns, rows: of compute tiles.
        interface_columns: array columns that reach the programmable logic.
        clock_hz: of the array; `pl_clock_hz`: of the programmable logic, at most half of it.
        data_bytes, program_bytes: memory of one compute tile.
        stream_inputs, stream_outputs: 32-bit ports of a compute tile to the stream network.
        int8_macs_per_cycle: multiply-accumulates of i8 by i8 in one vector instruction.
        cascade_bits: width of the cascade stream.
        cascade_snakes: the cascade runs along a row and turns its direction with each row.
        plio_inputs_per_column, plio_outputs_per_column: 64-bit interface channels of a column.
        dma_fifo_words: a stream FIFO deeper than `switch_fifo_words` is held in tile memory by a
            DMA, in multiples of 4 words and below this.
    """

    name: str
    part: str
    architecture: str
    columns: int
    rows: int
    interface_columns: int
    clock_hz: float
    pl_clock_hz: float
    data_bytes: int
    program_bytes: int
    stream_inputs: int
    stream_outputs: int
    int8_macs_per_cycle: int
    cascade_bits: int
    cascade_snakes: bool
    plio_inputs_per_column: int = 8
    plio_outputs_per_column: int = 6
    dma_fifo_words: int = 8192
    switch_fifo_words: int = 40

    @property
    def tiles(self) -> int:
        """Number of compute tiles."""
        return self.columns * self.rows


VCK190 = AieDevice(
    name="vck190", part="xcvc1902-vsva2197-2MP-e-S", architecture="aie1", columns=50, rows=8,
    interface_columns=39, clock_hz=1.25e9, pl_clock_hz=312.5e6, data_bytes=32 << 10,
    program_bytes=16 << 10, stream_inputs=2, stream_outputs=2, int8_macs_per_cycle=128,
    cascade_bits=384, cascade_snakes=True,
)  # fmt: skip
VEK280 = AieDevice(
    name="vek280", part="xcve2802-vsvh1760-2MP-e-S", architecture="aie-ml", columns=38, rows=8,
    interface_columns=38, clock_hz=1.25e9, pl_clock_hz=312.5e6, data_bytes=64 << 10,
    program_bytes=16 << 10, stream_inputs=1, stream_outputs=1, int8_macs_per_cycle=256,
    cascade_bits=512, cascade_snakes=False,
)  # fmt: skip
DEVICES = MappingProxyType({device.name: device for device in (VCK190, VEK280)})


def device_named(name: str) -> AieDevice:
    """The device of that name.

    Raises:
        OptionError: there is none.
    """
    if name not in DEVICES:
        raise OptionError(
            f"no AI Engine device is called {name!r}", fix=f"one of {', '.join(sorted(DEVICES))}"
        )
    return DEVICES[name]
