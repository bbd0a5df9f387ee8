"""Shift-round-saturate: every rounding with every saturation, exhaustively where it is small."""

import functools
import itertools
from math import ceil, floor

import numpy as np
import pytest
from aie_programs import run

ROUNDINGS = ("floor", "ceil", "positive_inf", "negative_inf", "symmetric_inf", "symmetric_zero",
             "conv_even", "conv_odd")  # fmt: skip
SATURATIONS = ("none", "saturate", "symmetric")
TYPES = (np.int8, np.uint8, np.int16, np.int32)
LANES = 16


def halves(down, mode):
    """Whether a number half way between down and down + 1 goes up."""
    return {
        "positive_inf": True, "negative_inf": False, "symmetric_inf": down >= 0,
        "symmetric_zero": down < 0, "conv_even": down % 2 == 1, "conv_odd": down % 2 == 0,
    }[mode]  # fmt: skip


@functools.cache
def rounded(value, shift, mode):
    """value / 2**shift as an integer, with exact arithmetic."""
    down, rest = divmod(value, 1 << shift)
    if mode == "floor" or rest == 0:
        return down
    if mode == "ceil":
        return down + 1
    twice = 2 * rest - (1 << shift)
    return down + (twice > 0 or (twice == 0 and halves(down, mode)))


@functools.cache
def saturated(value, dtype, mode):
    info = np.iinfo(dtype)
    low = -info.max if mode == "symmetric" and info.min < 0 else info.min
    if mode == "none":
        return (value - info.min) % (1 << info.bits) + info.min
    return min(max(value, low), info.max)


def wrapped(value, bits):
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def check(architecture, bits_of_lanes, blocks):
    """Narrows blocks of (shift, 16 lanes) in lanes of each width."""
    inputs = []
    for _ in bits_of_lanes:
        inputs.append(np.int32(len(blocks)))
        for shift, lanes in blocks:
            inputs.append(np.int32(shift))
            inputs += [np.frombuffer(lane.to_bytes(16, "little", signed=True), np.uint8)
                       for lane in lanes]  # fmt: skip
    output = run("rounding", *inputs, architecture=architecture)
    for bits, (shift, lanes), dtype in itertools.product(bits_of_lanes, blocks, TYPES):
        held = [wrapped(lane, bits) for lane in lanes]
        want = [
            [saturated(rounded(lane, shift, rounding), dtype, saturation) for lane in held]
            for rounding, saturation in itertools.product(ROUNDINGS, SATURATIONS)
        ]
        got = output.take(dtype, len(want), LANES).tolist()
        assert got == want, (bits, shift, held, dtype)
    output.done()


def test_rounding_here_is_that_of_python():
    for value, shift in itertools.product(range(-40, 40), (1, 2, 3)):
        assert rounded(value, shift, "conv_even") == round(value / (1 << shift))
        assert rounded(value, shift, "floor") == floor(value / (1 << shift))
        assert rounded(value, shift, "ceil") == ceil(value / (1 << shift))


@pytest.mark.parametrize(("architecture", "bits"), [(10, (48, 80)), (20, (32, 64))])
def test_every_small_value_at_every_small_shift(architecture, bits):
    values = list(range(-264, 264))
    blocks = [
        (shift, values[i : i + LANES])
        for shift in (0, 1, 2, 3)
        for i in range(0, len(values), LANES)
    ]
    check(architecture, bits, blocks)


@pytest.mark.parametrize(("architecture", "bits"), [(10, (48, 80)), (20, (32, 64))])
def test_values_at_the_limits_of_lanes_and_shifts(architecture, bits):
    rng = np.random.default_rng(2)
    exponents = (7, 8, 15, 31, 46, 47, 48, 62, 63, 79)
    powers = [sign * (1 << p) + d for p in exponents for d in (-1, 0, 1) for sign in (-1, 1)]
    blocks = []
    for shift in (0, 1, 7, 15, 30, 31, 32, 46, 47, 48, 49, 60, 61, 62, 63):
        for _ in range(4):
            lanes = [int(rng.choice(len(powers))) for _ in range(LANES)]
            # Halves and their neighbours at this shift, too.
            near = (1 << shift) * int(rng.integers(-9, 9)) + (1 << max(shift - 1, 0))
            blocks.append((shift, [*[powers[i] for i in lanes[:13]], near - 1, near, near + 1]))
    check(architecture, bits, blocks)
