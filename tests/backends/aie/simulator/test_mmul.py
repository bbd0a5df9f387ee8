"""aie::mmul multiplies matrices of every shape that the architectures have, and of no other."""

import numpy as np
import pytest
from aie_programs import integers, refusal, run

ROUNDS = 3
# By architecture and operand types: the tables of "Matrix Multiplication" in UG1529.
SHAPES = {
    10: {
        "int8 int8": "4x8x4 4x16x4 8x8x4 2x8x8 4x8x8 1x16x8 2x16x8 4x16x8",
        "uint8 int8": "4x8x4 4x8x8",
        "int16 int8": "4x4x4 8x4x4 4x8x4 4x4x8",
        "int8 int16": "4x4x8 4x4x4 8x8x1",
        "int16 int16": "4x4x4 2x4x8 4x4x8 4x2x8 8x8x1",
        "int32 int16": "2x4x8 4x4x4 4x2x4 2x2x4 2x4x4 4x4x2 2x2x8",
        "int16 int32": "4x2x2 2x4x8 4x4x4",
        "int32 int32": "4x2x4 2x2x2 2x4x2 2x8x2 4x2x2 4x4x2 2x4x4 4x4x1",
        "float float": "4x2x4 2x2x2 2x4x2 2x8x2 4x2x2 4x4x2 2x4x4 4x4x1",
        "cint16 cint16": "2x2x2 2x4x2 2x8x2 2x4x4 4x2x2 4x4x2 4x2x4 4x4x1",
        "cint16 int16": "2x2x4 2x2x8 2x4x4 2x4x8 4x2x4 4x4x2 4x4x4",
        "int16 cint32": "2x4x2 2x4x4 2x8x2 4x4x2 4x4x1",
        "cint32 cint32": "1x2x2 2x2x1",
    },
    20: {
        "int8 int8": "4x8x4 4x16x4 8x8x4 2x8x8 4x8x8 8x8x8 1x16x8 2x16x8 4x16x8",
        "int16 int8": "4x4x4 8x4x4 4x8x4 4x4x8 8x4x8 2x8x8",
        "int16 int16": "4x4x4 2x4x8 4x4x8 4x2x8 8x2x8 8x1x8",
        "int32 int16": "2x4x8 4x4x8 4x4x4 4x2x4 4x1x8",
        "int32 int32": "4x2x4 4x4x4 8x2x4 4x1x8 8x1x8",
        "bfloat16 bfloat16": "4x8x4 8x8x4 4x16x8 8x8x8",
        "cint32 cint16": "1x2x4 1x2x8 2x2x8 1x4x8 2x4x8",
    },
}
SMALL_FLOATS = np.arange(-8, 9, dtype=np.float32)  # sums are exact in any order


def cases(architecture):
    for types, shapes in SHAPES[architecture].items():
        for shape in shapes.split():
            yield (*types.split(), *map(int, shape.split("x")))


def random(rng, name, rows, columns):
    """What the program reads, and the matrix as exact numbers."""
    if name.startswith("cint"):
        raw = integers(rng, name[1:], rows, columns, 2)
        # Floats of 64 bits would round; Python's complex numbers would too.
        return raw, raw[..., 0].astype(object), raw[..., 1].astype(object)
    if name == "bfloat16":
        values = rng.choice(SMALL_FLOATS, (rows, columns))
        return (values.view(np.uint32) >> 16).astype(np.uint16), values, 0 * values
    if name == "float":
        values = rng.choice(SMALL_FLOATS, (rows, columns))
        return values, values, 0 * values
    raw = integers(rng, name, rows, columns)
    return raw, raw.astype(object), 0 * raw.astype(object)


def bits_of(name):
    return int("".join(c for c in name if c.isdigit()) or 32)


def check(output, architecture, name_a, name_b, a, b):
    real = a[0] @ b[0] - a[1] @ b[1]
    imag = a[0] @ b[1] + a[1] @ b[0]
    is_complex = "c" in name_a[0] + name_b[0]
    want = np.stack([real, imag], axis=-1) if is_complex else real[..., None]
    if "float" in name_a:
        got = output.take(np.float32, *want.shape)
    elif architecture == 10 and bits_of(name_a) == bits_of(name_b) == 32:
        raw = output.take(np.uint8, *want.shape, 16)
        got = np.array([int.from_bytes(x.tobytes(), "little", signed=True)
                        for x in raw.reshape(-1, 16)], object).reshape(want.shape)  # fmt: skip
    else:
        got = output.take(np.int64, *want.shape)
        want = (2 * want + 2**63) % 2**64 - 2**63
        np.testing.assert_array_equal(got, want, err_msg=f"{name_a} {name_b} {real.shape}")
        return
    np.testing.assert_array_equal(got, 2 * want, err_msg=f"{name_a} {name_b} {real.shape}")


@pytest.mark.parametrize("architecture", [10, 20])
def test_every_shape(architecture):
    rng = np.random.default_rng(5)
    every = list(cases(architecture))
    calls = [f"multiply<{m}, {k}, {n}, {a}, {b}>();" for a, b, m, k, n in every]
    inputs, checks = [np.int32(ROUNDS)], []
    for _ in range(ROUNDS):
        for name_a, name_b, m, k, n in every:
            raw_a, *a = random(rng, name_a, m, k)
            raw_b, *b = random(rng, name_b, k, n)
            inputs += [raw_a, raw_b]
            checks.append((name_a, name_b, a, b))
    output = run("mmul", *inputs, architecture=architecture, generated="\n".join(calls))
    for case in checks:
        check(output, architecture, *case)
    output.done()


def test_a_shape_that_the_architecture_lacks_is_refused_by_name():
    source = '#include "aie_api/aie.hpp"\naie::mmul<4, 9, 8, int8, int8> product;\n'
    said = refusal(source)
    assert "aie::mmul<4, 9, 8, signed char, signed char>" in said
    assert (
        "aie::mmul: AIE has no such shape M x K x N (see M, K, N of this instantiation); of int8 x "
        "int8 it has 4x8x4 4x16x4 8x8x4 2x8x8 4x8x8 1x16x8 2x16x8 4x16x8" in said
    )


def test_types_that_the_architecture_does_not_multiply_are_refused():
    said = refusal('#include "aie_api/aie.hpp"\naie::mmul<4, 8, 4, bfloat16, bfloat16> product;\n')
    assert "aie::mmul: this architecture multiplies no matrices of these types" in said
