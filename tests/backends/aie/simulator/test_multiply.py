"""Products and sums of accumulators are exact, modulo the width of the hardware's lanes."""

import numpy as np
import pytest
from aie_programs import integers, run

ROUNDS = 12
COMPLEX = {"c2": np.int16, "c4": np.int32}
PAIRS = [("i1", "i1", 32), ("i2", "i1", 16), ("i1", "i2", 16), ("i2", "i2", 32), ("i4", "i2", 8),
         ("i4", "i4", 16), ("u1", "i1", 16), ("c2", "c2", 8), ("c2", "i2", 8), ("c4", "c2", 4),
         ("c4", "c4", 4)]  # fmt: skip


def width(architecture, a, b):
    """Bits of the default accumulator (UG1529, types of multiplications)."""
    wide = [int(name[1]) == 4 for name in (a, b)]
    if architecture == 10:
        return 80 if all(wide) else 48
    return 64 if any(wide) or "c" in a + b else 32


def random(rng, name, lanes):
    """Raw array and exact Gaussian integers as pairs of Python integers."""
    if name in COMPLEX:
        raw = integers(rng, COMPLEX[name], lanes, 2)
        return raw, [tuple(map(int, row)) for row in raw]
    raw = integers(rng, np.dtype(name), lanes)
    return raw, [(int(value), 0) for value in raw]


def times(x, y):
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def plus(x, y, sign=1):
    return x[0] + sign * y[0], x[1] + sign * y[1]


def expected(a, b, is_complex):
    """Lists of lanes in the order of the program."""
    scalar = b[1]
    ab = [times(x, y) for x, y in zip(a, b, strict=True)]
    neg = [plus((0, 0), p, -1) for p in ab]
    mac = [plus(plus(p, p), times(x, scalar)) for p, x in zip(ab, a, strict=True)]
    msc = [plus(m, p) for m, p in zip(mac, ab, strict=True)]
    yield ab
    yield neg
    yield mac
    yield msc
    yield [plus(m, x) for m, x in zip(msc, a, strict=True)]
    yield [plus(m, times(scalar, x), -1) for m, x in zip(msc, a, strict=True)]
    yield [plus((0, 0), m, -1) for m in msc]
    if is_complex:
        yield [times((x[0], -x[1]), y) for x, y in zip(a, b, strict=True)]
    yield [(x[0] << 7, x[1] << 7) for x in a]
    yield [(x[0] << 16, x[1] << 16) for x in a]


def wrapped(value, bits):
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def take_sums(output, lanes, parts):
    raw = output.take(np.uint8, lanes, parts, 16)
    return [tuple(int.from_bytes(part.tobytes(), "little", signed=True) for part in lane)
            for lane in raw]  # fmt: skip


@pytest.mark.parametrize("architecture", [10, 20])
def test_products_and_sums(architecture):
    rng = np.random.default_rng(3)
    inputs, checks = [np.int32(ROUNDS)], []
    for _ in range(ROUNDS):
        for name_a, name_b, lanes in PAIRS:
            (raw_a, a), (raw_b, b) = random(rng, name_a, lanes), random(rng, name_b, lanes)
            inputs += [raw_a, raw_b]
            checks.append((name_a, name_b, a, b))
    output = run("multiply", *inputs, architecture=architecture)
    for name_a, name_b, a, b in checks:
        bits, is_complex = width(architecture, name_a, name_b), name_a in COMPLEX
        for index, want in enumerate(expected(a, b, is_complex)):
            got = take_sums(output, len(a), 2 if is_complex else 1)
            held = [tuple(wrapped(v, bits) for v in lane)[: len(got[0])] for lane in want]
            assert got == held, (name_a, name_b, index)
    output.done()
