"""Orders of elements are those of NumPy's indexing, and reductions wrap."""

import numpy as np
from aie_programs import integers, run

ROUNDS = 4


def amounts(a, b):
    """What the six shuffles by n give."""
    lanes = len(a)
    for n in (0, 1, lanes // 2, lanes - 1):
        both_up, both_down = np.concatenate([b, a]), np.concatenate([a, b])
        index = np.arange(lanes)
        yield np.roll(a, n)
        yield a[np.maximum(index - n, 0)]
        yield both_up[lanes - n : 2 * lanes - n]
        yield np.roll(a, -n)
        yield a[np.minimum(index + n, lanes - 1)]
        yield both_down[n : n + lanes]


def check_steps(output, a, b):
    dtype, lanes, step = a.dtype, len(a), 1
    while step <= lanes // 2:
        if a.nbytes >= 32:
            blocks = a.reshape(-1, 2, step)
            for parity in (0, 1):
                want = blocks[:, parity].ravel()
                np.testing.assert_array_equal(output.take(dtype, lanes // 2), want)
        zipped = np.stack([a.reshape(-1, step), b.reshape(-1, step)], axis=1).ravel()
        np.testing.assert_array_equal(output.take(dtype, 2 * lanes), zipped)
        both = np.concatenate([a, b]).reshape(-1, 2, step)
        for parity in (0, 1):
            np.testing.assert_array_equal(output.take(dtype, lanes), both[:, parity].ravel())
        assert output.take(bool, 2).all()
        step *= 2


def check_shuffles(output, a, b):
    dtype, lanes = a.dtype, len(a)
    for want in [a[::-1], *amounts(a, b)]:
        np.testing.assert_array_equal(output.take(dtype, lanes), want)
    check_steps(output, a, b)
    rows = 1
    while rows <= lanes:
        want = a.reshape(rows, -1).T.ravel()
        np.testing.assert_array_equal(output.take(dtype, lanes), want)
        rows *= 2
    half = lanes // 2
    grown = np.concatenate([np.zeros(half, dtype), a[half:]])
    for want in [grown, np.roll(a, half), np.concatenate([b[:1], a[:-1]]), a.view(np.int8), b]:
        np.testing.assert_array_equal(output.take(want.dtype, len(want)), want)


def check_reductions(output, a):
    dtype, lanes = a.dtype, len(a)
    total = a.astype(np.int64).sum().astype(dtype)
    for want in (total, a.min(), a.max()):
        assert output.take(dtype, 1)[0] == want
    index = np.arange(lanes)
    ramp = (int(a[0]) + index * int(a[1])).astype(dtype)
    for want in (ramp, np.full(lanes, a[2]), np.zeros(lanes, dtype)):
        np.testing.assert_array_equal(output.take(dtype, lanes), want)


def test_orders_and_reductions():
    rng = np.random.default_rng(4)
    inputs, checks = [np.int32(ROUNDS)], []
    for _ in range(ROUNDS):
        for dtype, lanes in [(np.int8, 32), (np.int16, 32), (np.int32, 8)]:
            inputs += [integers(rng, dtype, lanes), integers(rng, dtype, lanes)]
            checks.append((check_shuffles, *inputs[-2:]))
        for dtype, lanes in [(np.int8, 64), (np.int16, 16), (np.int32, 4)]:
            inputs.append(integers(rng, dtype, lanes))
            checks.append((check_reductions, inputs[-1]))
    output = run("shuffle", *inputs)
    for check, *values in checks:
        check(output, *values)
    output.done()
