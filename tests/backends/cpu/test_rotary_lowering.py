"""Programs of rotary embeddings run without PyTorch, and agree with the interpreter."""

import pytest
import torch
from native_checks import assert_native, assert_on_host

from forge_ugc.backends.cpu.loops import Axis, loops, padded


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def program(x, table, out, attributes="", sin=None):
    return (
        f'npuir.program @p target(cpu) {{\n  input  %0 "x" : {x}\n  const  @cos : {table}\n'
        f"  const  @sin : {sin or table}\n  %9 = rotary(%0, @cos, @sin){attributes} : {out}\n"
        "  output %9\n}\n"
    )


@pytest.mark.parametrize("interleaved", ["", "interleaved = true"])
@pytest.mark.parametrize(
    ("table", "out"),
    [
        ("f32[5,32]", "f32[2,3,5,32]{480,32,96,1}"),
        ("f32[1,1,5,32]", "f32[2,3,5,32]{480,32,96,1}"),
        ("f32[2,1,5,32]", "f32[2,3,5,32]{480,32,96,1}"),
        ("f32[2,3,5,32]", "f32[2,3,5,32]{480,32,96,1}"),
        ("f32[5,16]", "f32[2,3,5,32]"),
    ],
)
def test_heads_before_positions(table, out, interleaved):
    attributes = f" {{{interleaved}}}" if interleaved else ""
    assert_native(program("f32[2,3,5,32]{480,32,96,1}", table, out, attributes), rtol=0, atol=0)


@pytest.mark.parametrize("table", ["f32[5,12]", "f32[5,6]"])
def test_elements_that_pass_through(table):
    text = program("f32[2,3,5,32]", table, "f32[2,3,5,32]", " {rotary_dim = 12}")
    assert_native(text, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("x", "table", "out"),
    [
        ("bf16[2,3,5,32]", "bf16[5,32]", "bf16[2,3,5,32]"),
        ("bf16[2,3,5,32]", "f32[5,32]", "f32[2,3,5,32]"),
        ("f32[2,3,5,32]", "bf16[5,32]", "f32[2,3,5,32]"),
    ],
)
def test_types(x, table, out):
    # PyTorch rounds both products and the sum, of numbers of a few units, to bfloat16.
    assert_native(program(x, table, out), rtol=2**-7, atol=2**-4 if "bf16" in out else 1e-5)


@pytest.mark.parametrize("x", ["f32[32]", "f32[0,32]", "f32[1,1,1,32]"])
def test_few_rows(x):
    assert_native(program(x, "f32[32]", x), rtol=0, atol=0)


def test_heads_of_a_merged_projection():
    text = """npuir.program @p target(cpu) {
  input  %0 "x" : f32[1,5,288]
  const  @cos : f32[5,32]
  const  @sin : f32[5,32]
  %1 = aten.slice.Tensor(%0) {dim = 2, end = 192, start = 96} : KEYS view(%0, 384 B)
  %2 = aten.view.default(%1) {size = [1,5,3,32]} : f32[1,5,3,32]{1440,288,32,1} view(%1, 0 B)
  %3 = aten.transpose.int(%2) {dim0 = 1, dim1 = 2} : f32[1,3,5,32]{1440,32,288,1} view(%2, 0 B)
  %9 = rotary(%3, @cos, @sin) : f32[1,3,5,32]{480,32,96,1}
  output %9
}
"""
    text = text.replace("KEYS", "f32[1,5,96]{1440,288,1}")
    assert_native(text, rtol=0, atol=0)


def test_refusals():
    for x, table in [("f64[5,32]", "f64[32]"), ("f32[5,32]{1,5}", "f32[32]")]:
        assert_on_host(program(x, table, x), "rotary")
    x, table = "f32[2,3,5,32]", "bf16[32]"
    assert_on_host(program(x, table, x, sin="f32[32]"), "rotary")
    many = "f32[2,3,2,3,8]"
    tables = "f32[2,1,2,1,8]"
    assert_on_host(program(many, tables, many), "rotary")


def test_loops_are_merged_in_memory_order():
    assert loops((2, 3, 4), (12, 4, 1), (12, 4, 1)) == [Axis(24, (1, 1))]
    assert loops((2, 3, 4), (12, 4, 1), (4, 8, 1)) == [
        Axis(2, (12, 4)),
        Axis(3, (4, 8)),
        Axis(4, (1, 1)),
    ]
    assert loops((3, 4), (1, 3), (4, 1)) == [Axis(4, (3, 1)), Axis(3, (1, 4))]
    assert loops((2, 3, 4), (0, 4, 1), (0, 4, 1)) == [Axis(12, (1, 1)), Axis(2, (0, 0))]
    assert loops((1, 1), (7, 9), (5, 3)) == []
    assert padded([Axis(4, (1, 1))], 2, 2) == [Axis(1, (0, 0)), Axis(4, (1, 1))]
