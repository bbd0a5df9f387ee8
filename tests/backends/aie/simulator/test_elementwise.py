"""Operations on each element are NumPy's, with wrapping and saturation as the hardware has them."""

import numpy as np
from aie_programs import integers, run

ROUNDS = 40
TYPES = [(np.int8, 32), (np.uint8, 64), (np.int16, 16), (np.uint16, 8), (np.int32, 16),
         (np.uint32, 4)]  # fmt: skip
PACKS = [(np.int16, np.int8, 32), (np.int16, np.uint8, 16), (np.int32, np.int16, 16)]


def limits(dtype, mode):
    info = np.iinfo(dtype)
    return (-info.max if mode == "symmetric" and info.min < 0 else info.min), info.max


def saturated(values, dtype, mode):
    return (values if mode == "none" else np.clip(values, *limits(dtype, mode))).astype(dtype)


def check_shared(output, a, b):
    dtype, lanes = a.dtype, len(a)
    with np.errstate(over="ignore"):
        values = [a + b, a - b, np.minimum(a, b), np.maximum(a, b), -a, np.where(a < 0, -a, a),
                  a + b[0], b[0] - a]  # fmt: skip
    for want in values:
        np.testing.assert_array_equal(output.take(dtype, lanes), want)
    for want in [a < b, a <= b, a > b, a >= b, a == b, a != b]:
        np.testing.assert_array_equal(output.take(bool, lanes), want)
    np.testing.assert_array_equal(output.take(dtype, lanes), np.where(a < b, b, a))
    assert output.take(bool, 1)[0] == (a == b).all()
    assert output.take(bool, 1)[0]


def check_integers(output, a, b):
    check_shared(output, a, b)
    dtype, lanes = a.dtype, len(a)
    unsigned = a.view(f"u{dtype.itemsize}")
    values = [np.where(a > b, a - b, dtype.type(0)), a & b, a | b, a ^ b, ~a, a << 3, a >> 3,
              (unsigned >> 3).view(dtype)]  # fmt: skip
    for want in values:
        np.testing.assert_array_equal(output.take(dtype, lanes), want)
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    for mode in ("none", "saturate", "symmetric"):
        for want in (wide_a + wide_b, wide_a - wide_b):
            np.testing.assert_array_equal(
                output.take(dtype, lanes), saturated(want, dtype, mode), err_msg=mode
            )


def test_every_operation_on_random_and_extreme_values():
    rng = np.random.default_rng(1)
    inputs, checks = [np.int32(ROUNDS)], []
    for _ in range(ROUNDS):
        for dtype, lanes in TYPES:
            pair = [integers(rng, dtype, lanes) for _ in range(2)]
            inputs += pair
            checks.append((check_integers, *pair))
        for dtype, narrow, lanes in PACKS:
            inputs.append(integers(rng, dtype, lanes))
            checks.append((check_pack, inputs[-1], narrow))
        pair = [rng.standard_normal(8).astype(np.float32) for _ in range(2)]
        inputs += pair
        checks.append((check_shared, *pair))
    output = run("elementwise", *inputs)
    for check, *values in checks:
        check(output, *values)
    output.done()


def check_pack(output, a, narrow):
    for mode in ("none", "saturate", "symmetric"):
        want = saturated(a.astype(np.int64), narrow, mode)
        np.testing.assert_array_equal(output.take(narrow, len(a)), want, err_msg=mode)
    np.testing.assert_array_equal(output.take(a.dtype, len(a)), want.astype(a.dtype))
