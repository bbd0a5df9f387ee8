"""Published cycle counts of kernels, and the form of those kernels whose loops are known."""

from __future__ import annotations

from dataclasses import dataclass

from forge_ugc.backends.aie.cycles.published import dense
from forge_ugc.backends.aie.design import Loop, Work

REFERENCE = "KastnerRG/particle_transformer_aie, README"
VITIS = "Xilinx/Vitis-Tutorials"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published figure.

    Attributes:
        cycles: measured, for one invocation, or for one part of it where `per` is above 1.
        work: of the invocation; None if the loops are not known, and no estimate can be made.
        per: the estimate is divided by this: output tiles of the invocation, or elements.
        gave: the figure of the model that was taken from this kernel; such a row tests nothing.
        device: `aie1` or `aie-ml`.
    """

    name: str
    source: str
    device: str
    cycles: float
    work: Work | None = None
    per: int = 1
    gave: str = ""


def _product(
    blocks: int, steps: int, vector: float, loads: float, stores: float, entries: int = 1
) -> Work:
    """Blocks of output tiles: `steps` pipelined steps each, then the stores of its tiles."""
    return Work(loops=(
        Loop(name="multiply", trips=blocks * steps, entries=entries, vector=vector, loads=loads),
        Loop(name="store", trips=blocks, entries=0, stores=stores),
    ))  # fmt: skip


_DENSE_TILES = 40 * 8
_MEAN = Work(loops=(Loop(name="sum", trips=1024, vector=2, loads=1),))

# In the order of the figures' list in the project's notes on AI Engines. The form of a kernel is
# that of its source or its documentation, written down before anything was fitted.
ROWS: tuple[Row, ...] = (
    Row(name="dense 160x64x64, one 4x8 tile", source=REFERENCE, device="aie1", cycles=57,
        work=dense(64, 64), per=_DENSE_TILES),
    Row(name="dense + bias, one 4x8 tile", source=REFERENCE, device="aie1", cycles=1785,
        work=dense(64, 64, bias=True), per=_DENSE_TILES, gave="element_arithmetic"),
    Row(name="dense + softmax, one 4x8 tile", source=REFERENCE, device="aie1", cycles=272 * 32,
        work=dense(64, 64, softmax=True), per=_DENSE_TILES, gave="scalar softmax"),
    # A step of mmul 4x16x8 is 512 products, two cycles; four loads of B and two of A.
    Row(name="matmul 64x64x64 int8 to int32", source=f"{VITIS} AIE-ML 01", device="aie-ml",
        cycles=2092, work=_product(128, 4, 2, 6, 4)),
    Row(name="matmul 64x64x64 int8 to int16", source=f"{VITIS} AIE-ML 01", device="aie-ml",
        cycles=2089, work=_product(128, 4, 2, 6, 2)),
    Row(name="same, two tiles at once, int32", source=f"{VITIS} AIE-ML 01", device="aie-ml",
        cycles=1750, work=_product(64, 4, 4, 8, 8)),
    Row(name="same, two tiles at once, int16", source=f"{VITIS} AIE-ML 01", device="aie-ml",
        cycles=1121, work=_product(64, 4, 4, 8, 4)),
    # Blocks of two by two tiles of 4x8: eight blocks, sixteen steps of k = 8.
    Row(name="MaxEVA 32x128x32 int8 to int32", source="enyac-group/MaxEVA", device="aie1",
        cycles=1327, work=_product(8, 16, 8, 6, 16, entries=8)),
    # 4,096 products, eight a cycle, in 16 blocks of 8 sums.
    Row(name="GEMM 16x32x8 int32", source=f"{VITIS} GEMM", device="aie1", cycles=569,
        work=_product(16, 32, 1, 1.5, 1)),
    # 16,384 elements, 16 at a time, each added to the sum before: two cycles.
    Row(name="mean of 256x64 bf16", source=f"{VITIS} AIE-ML 13", device="aie-ml", cycles=2088,
        work=_MEAN),
    Row(name="deviation of 256x64 bf16", source=f"{VITIS} AIE-ML 13", device="aie-ml", cycles=4921),
    Row(name="scale of 256x64 bf16", source=f"{VITIS} AIE-ML 13", device="aie-ml", cycles=3296),
    Row(name="softmax of 2,048 fp32", source=f"{VITIS} AIE 19", device="aie1", cycles=25306),
    Row(name="softmax of 2,048 bf16", source=f"{VITIS} AIE-ML 05", device="aie-ml", cycles=8083),
)  # fmt: skip


def known() -> tuple[Row, ...]:
    """Rows whose kernels' form is known."""
    return tuple(row for row in ROWS if row.work is not None)


def fitted() -> tuple[Row, ...]:
    """What figures come from: rows that gave one, and every other of the rest, from the first."""
    rest = [row for row in known() if not row.gave]
    return tuple(row for row in known() if row.gave or row in rest[::2])


def held_out() -> tuple[Row, ...]:
    """The other half of the rest, on which the error is reported."""
    return tuple(row for row in known() if row not in fitted())
