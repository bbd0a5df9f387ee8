"""Programs of reductions run without PyTorch, and agree with the interpreter."""

import pytest
import torch
from native_checks import assert_native, assert_on_host


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def program(instruction, kind, output="%9"):
    return (
        f'npuir.program @p target(cpu) {{\n  input  %0 "x" : {kind}\n'
        f"  {instruction}\n  output {output}\n}}\n"
    )


def check(opcode, x, attributes, out, **tolerance):
    shown = f" {{{attributes}}}" if attributes else ""
    assert_native(program(f"%9 = aten.{opcode}(%0){shown} : {out}", x), **tolerance)


@pytest.mark.parametrize("opcode", ["sum.dim_IntList", "mean.dim", "amax.default", "amin.default"])
@pytest.mark.parametrize(
    ("x", "attributes", "out"),
    [
        ("f32[2,5,33]", "dim = [-1]", "f32[2,5]"),
        ("f32[2,5,33]", "dim = [-1], keepdim = true", "f32[2,5,1]"),
        ("f32[2,5,33]", "dim = [1]", "f32[2,33]"),
        ("f32[2,5,33]", "dim = [0], keepdim = true", "f32[1,5,33]"),
        ("f32[2,5,33]", "dim = [1,2]", "f32[2]"),
        ("f32[2,5,33]", "dim = [2,-2,0]", "f32[]"),
        ("f32[2,3,5,7]", "dim = [1]", "f32[2,5,7]"),
        ("f32[2,3,5,7]", "dim = [1,2], keepdim = true", "f32[2,1,1,7]"),
        ("f32[5,33]{1,5}", "dim = [-1]", "f32[5]"),
        ("f32[5,33]{1,5}", "dim = [0]", "f32[33]"),
        ("f32[2,5,33]{165,1,5}", "dim = [1,2]", "f32[2]"),
        ("f32[1,1,1]", "dim = [1]", "f32[1,1]"),
        ("f32[7]", "dim = [0]", "f32[]"),
    ],
)
def test_axes(opcode, x, attributes, out):
    check(opcode, x, attributes, out)


@pytest.mark.parametrize(
    ("opcode", "x", "attributes", "out"),
    [
        ("sum.default", "f32[2,5,7]", "", "f32[]"),
        ("mean.default", "f32[2,5,7]", "", "f32[]"),
        ("prod.default", "f32[2,5]", "", "f32[]"),
        ("prod.dim_int", "f32[2,5]", "dim = 1", "f32[2]"),
        ("max.default", "f32[2,5]{1,2}", "", "f32[]"),
        ("min.default", "i64[2,5]", "", "i64[]"),
        ("sum.dim_IntList", "i64[2,5,3]", "dim = [1]", "i64[2,3]"),
        ("sum.dim_IntList", "bool[2,5,3]", "dim = [-1]", "i64[2,5]"),
        ("amax.default", "i64[2,5]", "dim = [0]", "i64[5]"),
        ("any.dim", "bool[2,5]", "dim = -1", "bool[2]"),
        ("any.default", "bool[2,5]", "", "bool[]"),
        ("all.dim", "bool[2,5]", "dim = 0, keepdim = true", "bool[1,5]"),
        ("all.default", "bool[2,5]", "", "bool[]"),
        ("sum.dim_IntList", "f32[]", "dim = [0]", "f32[]"),
        ("sum.dim_IntList", "f32[2,0,3]", "dim = [1]", "f32[2,3]"),
        ("sum.dim_IntList", "bf16[2,5]", "dim = [1], dtype = f32", "f32[2]"),
    ],
)
def test_kinds_and_types(opcode, x, attributes, out):
    check(opcode, x, attributes, out)


@pytest.mark.parametrize("opcode", ["sum.dim_IntList", "mean.dim", "amax.default"])
def test_bfloat16(opcode):
    check(opcode, "bf16[2,5,40]", "dim = [1]", "bf16[2,40]", rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("extremum", ["max", "min"])
@pytest.mark.parametrize(
    ("x", "attributes", "shape"),
    [
        ("f32[2,5,33]", "dim = -1", "[2,5]"),
        ("f32[2,5,33]", "dim = 1, keepdim = true", "[2,1,33]"),
        ("bf16[2,5,33]", "dim = 0", "[5,33]"),
        ("i64[5,33]{1,5}", "dim = 1", "[5]"),
        ("f32[1]", "dim = 0", "[]"),
    ],
)
def test_places(extremum, x, attributes, shape):
    check(f"arg{extremum}.default", x, attributes, f"i64{shape}")
    dtype = x.split("[")[0]
    both = f"%8, %9 = aten.{extremum}.dim(%0) {{{attributes}}} : {dtype}{shape}, i64{shape}"
    assert_native(program(both, x, "%8, %9"))
    assert_native(program(both, x))


def test_place_among_all_elements():
    check("argmax.default", "f32[2,5,33]", "", "i64[]")
    text = "%9 = aten.argmax.default(%0) {keepdim = true} : i64[1,1]"
    assert_native(program(text, "f32[5,33]"))


@pytest.mark.parametrize(
    ("opcode", "x", "attributes", "out"),
    [
        ("sum.dim_IntList", "f64[2,5]", "dim = [1]", "f64[2]"),
        ("sum.dim_IntList", "i32[2,5]", "dim = [1]", "i64[2]"),
        ("sum.dim_IntList", "f32[2,5]", "dim = [1], dtype = bf16", "bf16[2]"),
        ("sum.dim_IntList", "f32[2,5,7]", "dim = [0,2]", "f32[5]"),
        ("sum.dim_IntList", "f32[2,3,5,7,2]{525,7,105,1,21}", "dim = [1]", "f32[2,5,7,2]"),
        ("any.dim", "f32[2,5]", "dim = 1", "bool[2]"),
        ("amax.default", "bool[2,5]", "dim = [1]", "bool[2]"),
        ("argmax.default", "f32[5,33]{1,5}", "", "i64[]"),
        ("argmax.default", "i32[5,33]", "dim = 1", "i64[5]"),
    ],
)
def test_refusals(opcode, x, attributes, out):
    shown = f" {{{attributes}}}" if attributes else ""
    assert_on_host(program(f"%9 = aten.{opcode}(%0){shown} : {out}", x), f"aten.{opcode}")
