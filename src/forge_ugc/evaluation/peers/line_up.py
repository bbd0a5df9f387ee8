"""Which engines run beside which, in which precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What a model takes in memory while engines hold it, in copies of its float32 weights.
_COPIES_AN_ENGINE = 2
_BYTES_AN_ENGINE = 512 << 20
_USABLE_SHARE = 0.8


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """An engine in one of its precisions."""

    engine: str
    precision: str

    @property
    def label(self) -> str:
        """As tables name it."""
        return self.engine if self.engine == "forge" else f"{self.engine} {self.precision}"


def _entries(*texts: str) -> tuple[Entry, ...]:
    return tuple(Entry(*text.split()) for text in texts)


# By the precision of ours. OpenVINO's default is bf16 where the processor has instructions for it.
PEERS: dict[str, tuple[Entry, ...]] = {
    "fp32": _entries("openvino fp32", "onnxruntime fp32", "eager fp32", "inductor fp32"),
    "bf16": _entries("openvino bf16", "openvino default", "eager bf16", "inductor bf16"),
    "int8": _entries(
        "openvino default", "openvino int8", "openvino int8-weights", "onnxruntime int8"
    ),
}


# Beside ours in the same precision, in the order of tables.
ENGINES = ("openvino", "openvino_onnx", "onnxruntime", "eager", "inductor")


def groups(
    ours: Entry, peers: Sequence[Entry], *, weight_bytes: int, available_bytes: int
) -> Iterator[tuple[Entry, ...]]:
    """All in one group, or ours with one peer at a time where memory does not hold all.

    Args:
        weight_bytes: of the model in float32.
        available_bytes: memory that may be used.
    """
    count = len(peers) + 1
    needed = count * (_COPIES_AN_ENGINE * weight_bytes + _BYTES_AN_ENGINE)
    if needed <= _USABLE_SHARE * available_bytes:
        yield (ours, *peers)
        return
    for peer in peers:
        yield ours, peer


def available_bytes() -> int:
    """Memory that the system could give to new processes."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    raise OSError("/proc/meminfo has no MemAvailable: this needs Linux")
