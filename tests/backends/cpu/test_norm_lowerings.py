"""Programs of normalisations and softmax run without PyTorch, and agree with the interpreter."""

import pytest
import torch
from native_checks import assert_native, assert_on_host

BF16 = {"rtol": 2**-7, "atol": 2**-8}  # PyTorch rounds to bfloat16 between the steps of rms_norm


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def program(instructions, inputs, output="%9"):
    declared = "\n".join(f"  {line}" for line in inputs)
    return f"npuir.program @p target(cpu) {{\n{declared}\n  {instructions}\n  output {output}\n}}\n"


def unary(instruction, kind, constants=()):
    return program(instruction, [f'input  %0 "x" : {kind}', *constants])


@pytest.mark.parametrize("shape", ["[2,5,32]", "[33]", "[0,32]", "[3,0]", "[4,3,2,7]"])
def test_rms_norm(shape):
    dim = shape.strip("[]").split(",")[-1]
    constants = [f"const  @w : f32[{dim}]"]
    assert_native(unary(f"%9 = rms_norm(%0, @w) : f32{shape}", f"f32{shape}", constants))
    assert_native(unary(f"%9 = rms_norm(%0) {{eps = 0.1}} : f32{shape}", f"f32{shape}"))


@pytest.mark.parametrize(
    ("x", "w", "out", "cast_first"),
    [
        ("bf16", "bf16", "bf16", True),
        ("bf16", "f32", "f32", True),
        ("bf16", "f32", "bf16", False),
        ("f32", "bf16", "f32", True),
    ],
)
def test_rms_norm_types(x, w, out, cast_first):
    attributes = f"{{cast_before_weight = {str(cast_first).lower()}, weight_offset = 1.0}}"
    text = unary(
        f"%9 = rms_norm(%0, @w) {attributes} : {out}[2,5,40]",
        f"{x}[2,5,40]",
        [f"const  @w : {w}[40]"],
    )
    assert_native(text, **BF16)


def test_rms_norm_in_place():
    text = unary(
        "%8 = rms_norm(%0, @w) : f32[5,40]\n  %7 = rms_norm(%8, @w) : f32[5,40]\n"
        "  %9 = rms_norm(%7) : f32[5,40]",
        "f32[5,40]",
        ["const  @w : f32[40]"],
    )
    assert_native(text)


def test_rms_norm_of_rows_that_are_part_of_a_matrix():
    view = "%1 = aten.slice.Tensor(%0) {dim = 1, end = 9, start = 3} : f32[5,6]{16,1}"
    view += " view(%0, 12 B)"
    assert_native(
        unary(f"{view}\n  %9 = rms_norm(%1, @w) : f32[5,6]", "f32[5,16]", ["const  @w : f32[6]"])
    )


@pytest.mark.parametrize("instruction", ["rms_norm(%0)", "aten.softmax.int(%0) {dim = -1}"])
@pytest.mark.parametrize(
    "kind", ["f32[1,4,6,16]{384,16,64,1}", "f32[3,2,4,5]{5,60,15,1}", "f32[5,1,6]{6,9,1}"]
)
def test_axes_of_any_order(instruction, kind):
    assert_native(unary(f"%9 = {instruction} : {kind}", kind))


def test_rms_norm_refusals():
    assert_on_host(unary("%9 = rms_norm(%0) : f64[5,6]", "f64[5,6]"), "rms_norm")
    assert_on_host(unary("%9 = rms_norm(%0) : f32[5,6]{1,5}", "f32[5,6]{1,5}"), "rms_norm")


PARAMETERS = {
    "(%0, @w, @b)": ["const  @w : f32[32]", "const  @b : f32[32]"],
    "(%0, @w)": ["const  @w : f32[32]"],
    "(%0, none, @b)": ["const  @b : f32[32]"],
    "(%0)": [],
}


@pytest.mark.parametrize("operands", PARAMETERS)
@pytest.mark.parametrize("shape", ["[2,5,32]", "[32]", "[0,32]"])
def test_layer_norm(operands, shape):
    text = unary(
        f"%9 = aten.layer_norm.default{operands} {{normalized_shape = [32]}} : f32{shape}",
        f"f32{shape}",
        PARAMETERS[operands],
    )
    assert_native(text)


def test_layer_norm_over_two_axes():
    text = unary(
        "%9 = aten.layer_norm.default(%0, @w) {eps = 0.1, normalized_shape = [5,7]} : f32[2,5,7]",
        "f32[2,5,7]",
        ["const  @w : f32[5,7]"],
    )
    assert_native(text)


def test_layer_norm_in_bfloat16():
    text = unary(
        "%9 = aten.layer_norm.default(%0, @w, @b) {normalized_shape = [32]} : bf16[2,5,32]",
        "bf16[2,5,32]",
        ["const  @w : bf16[32]", "const  @b : bf16[32]"],
    )
    assert_native(text, **BF16)


def test_native_layer_norm_with_its_moments():
    text = program(
        "%7, %8, %9 = aten.native_layer_norm.default(%0, @w) {eps = 0.001, normalized_shape = [32]}"
        " : f32[2,5,32], f32[2,5,1], f32[2,5,1]",
        ['input  %0 "x" : f32[2,5,32]', "const  @w : f32[32]"],
        output="%7, %8, %9",
    )
    assert_native(text)


def test_layer_norm_refusals():
    attributes = "{normalized_shape = [6]}"
    for kind in ("f64[5,6]", "f32[5,6]{1,5}"):
        result = kind.replace("{1,5}", "")
        text = unary(f"%9 = aten.layer_norm.default(%0) {attributes} : {result}", kind)
        assert_on_host(text, "aten.layer_norm.default")


@pytest.mark.parametrize("opcode", ["softmax.int", "log_softmax.int"])
@pytest.mark.parametrize(("shape", "dim"), [("[2,5,32]", -1), ("[2,5,33]", 2), ("[7]", 0)])
def test_softmax(opcode, shape, dim):
    assert_native(unary(f"%9 = aten.{opcode}(%0) {{dim = {dim}}} : f32{shape}", f"f32{shape}"))


@pytest.mark.parametrize("opcode", ["_softmax.default", "_log_softmax.default"])
def test_decomposed_softmax(opcode):
    attributes = "{dim = -1, half_to_float = false}"
    assert_native(unary(f"%9 = aten.{opcode}(%0) {attributes} : f32[5,9]", "f32[5,9]"))


def test_softmax_in_bfloat16():
    assert_native(unary("%9 = aten.softmax.int(%0) {dim = -1} : bf16[5,9]", "bf16[5,9]"), **BF16)
    text = "%9 = aten.softmax.int(%0) {dim = -1, dtype = f32} : f32[5,9]"
    assert_native(unary(text, "bf16[5,9]"))


def test_softmax_refusals():
    for attributes, source, result in [
        ("{dim = 0}", "f32[5,6]", "f32[5,6]"),
        ("{dim = -1}", "f64[5,6]", "f64[5,6]"),
        ("{dim = -1, dtype = bf16}", "f32[5,6]", "bf16[5,6]"),
        ("{dim = -1}", "f32[5,6]{1,5}", "f32[5,6]{1,5}"),
    ]:
        text = unary(f"%9 = aten.softmax.int(%0) {attributes} : {result}", source)
        assert_on_host(text, "aten.softmax.int")
