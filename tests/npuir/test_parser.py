"""The printer and parser: exact round trip, errors with a caret, hostile text."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings

from forge_ugc.errors import ParseError, VerificationError
from forge_ugc.npuir import lexical
from forge_ugc.npuir.instruction import (
    Const,
    Device,
    External,
    Instruction,
    Reg,
    Result,
    Slot,
    SourceLocation,
    State,
    Symbol,
    ViewOf,
)
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program, StateDecl, Store
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.npuir.verifier import verify

from .strategies import programs

TEXT = """\
npuir.program @mlp target(cpu) arena(1572864 B) {
  input  %0 "x" : f32[1,128,768]
  const  @w1 : f32[3072,768]
  const  @w1_view : f32[768,3072]{1,768} view(@w1, 0 B)
  const  @"weird name" : f32[]
  state  $cache : f32[1,4]
  %1, %2 = merged_linear(%0, [@w1, @w1], [@b1, none]) {activation = "gelu_tanh"} : \
f32[1,128,3072], f32[1,128,3072] device(cpu) buffer(0 @ 0, 1572864 B), buffer(output) \
loc("model.py":41 "layers.0")
  %3 = aten.transpose.int(%1) {dim0 = 1, dim1 = 2} : f32[1,3072,128]{3072,1,3072} device(cpu) \
view(%1, 0 B)
  %4, %5 = "output"(2, 2.0, true, -inf) {a = [], b = [1], c = [[f32], none], d = -0.0} : i64[], \
bool[0] _, buffer(1 @ 64, 8 B)
  aten._assert(%4)
  store  $cache, %3
  store  %0, @w1
  output %1, $cache, %1
}
"""


def exact(value: object) -> str:
    """Tells 1, 1.0 and True apart, as well as 0.0 and -0.0, and shows mappings in sorted order."""
    if isinstance(value, Program):
        rows = [replace(i, attributes={}) for i in value.instructions]
        sorted_attributes = [sorted(i.attributes.items()) for i in value.instructions]
        return repr((replace(value, instructions=tuple(rows)), sorted_attributes))
    return repr(value)


@given(programs)
@settings(deadline=None, max_examples=400)
def test_parse_inverts_print(program: Program) -> None:
    text = print_program(program)
    parsed = parse_program(text)
    assert exact(parsed) == exact(program)
    assert print_program(parsed) == text
    if "nan" not in text:
        assert parsed == program


def test_text_form() -> None:
    f32 = TensorType.of(DType.F32, (1, 128, 3072))
    program = Program(
        name="mlp",
        target="cpu",
        arena_bytes=1572864,
        inputs=(InputDecl(Reg(0), "x", TensorType.of(DType.F32, (1, 128, 768))),),
        constants=(
            ConstDecl("w1", TensorType.of(DType.F32, (3072, 768))),
            ConstDecl(
                "w1_view",
                TensorType.of(DType.F32, (768, 3072), (1, 768)),
                ViewOf(Const("w1"), 0),
            ),
            ConstDecl("weird name", TensorType.of(DType.F32, ())),
        ),
        states=(StateDecl("cache", TensorType.of(DType.F32, (1, 4))),),
        instructions=(
            Instruction(
                (
                    Result(Reg(1), f32, place=Slot(0, 0, 1572864)),
                    Result(Reg(2), f32, place=External()),
                ),
                "merged_linear",
                (Reg(0), (Const("w1"), Const("w1")), (Const("b1"), None)),
                {"activation": "gelu_tanh"},
                Device("cpu"),
                SourceLocation("model.py", 41, "layers.0"),
            ),
            Instruction(
                (
                    Result(
                        Reg(3),
                        TensorType.of(DType.F32, (1, 3072, 128), (3072, 1, 3072)),
                        view=ViewOf(Reg(1), 0),
                    ),
                ),
                "aten.transpose.int",
                (Reg(1),),
                {"dim1": 2, "dim0": 1},
                Device("cpu"),
            ),
            Instruction(
                (
                    Result(Reg(4), TensorType.of(DType.I64, ())),
                    Result(Reg(5), TensorType.of(DType.BOOL, (0,)), place=Slot(1, 64, 8)),
                ),
                "output",
                (2, 2.0, True, float("-inf")),
                {"d": -0.0, "c": ((Symbol("f32"),), None), "b": (1,), "a": ()},
            ),
            Instruction((), "aten._assert", (Reg(4),)),
        ),
        stores=(Store(State("cache"), Reg(3)), Store(Reg(0), Const("w1"))),
        outputs=(Reg(1), State("cache"), Reg(1)),
    )
    assert print_program(program) == TEXT
    assert exact(parse_program(TEXT)) == exact(program)


def test_places_and_locations_can_be_left_out() -> None:
    text = print_program(parse_program(TEXT), places=False, locations=False)
    assert "buffer" not in text
    assert "view(" not in text
    assert "arena" not in text
    assert "loc(" not in text
    assert "device(cpu)" in text
    assert print_program(parse_program(text)) == text


def test_comments_blank_lines_and_spacing_do_not_matter() -> None:
    loose = "# head\n\n" + TEXT.replace("\n", '  # note "x\n\n').replace(", ", " ,\t")
    assert parse_program(loose + "\r\n# tail") == parse_program(TEXT)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "%1 = relu(%0 {a = 1} : f32[2]",
            "expected ',' or ')', found '{'\n"
            "  at: line 2, column 14\n"
            "    %1 = relu(%0 {a = 1} : f32[2]\n"
            "                 ^",
        ),
        (
            '%1 = relu(%0) {a = "x} : f32[2]',
            "the string is not closed on its line\n"
            "  at: line 2, column 20\n"
            '    %1 = relu(%0) {a = "x} : f32[2]\n'
            "                       ^",
        ),
        (
            "%1 = relu(%0)",
            "expected ':', found the end of the line\n"
            "  at: line 2, column 14\n"
            "    %1 = relu(%0)\n"
            "                 ^",
        ),
    ],
)
def test_error_shows_line_and_caret(line: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_program(f"npuir.program @p target(cpu) {{\n{line}\n}}\n")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("%1 = relu(%0) : f33[2]", "expected an element type (f64, f32, f16, bf16, i64, i32, i16, "
         "i8, u8, bool, c64, c128), found 'f33[2]'"),
        ("%1 = relu(%0) : f32", "expected a type such as f32[2,3], found 'f32'"),
        ("%1 = relu(%0) : f32[-1]", "expected sizes and strides of 0 or more, below 10^18, "
         "found 'f32[-1]'"),
        ("%1 = relu(%0) : f32[2]{1,2}", "expected 1 strides for 1 dimensions, "
         "found 'f32[2]{1,2}'"),
        ("%1, %2 = relu(%0) : f32[2]", "expected ',', found the end of the line"),
        ("%1 = relu(%0) : f32[2] buffer(0 @ 0, 1.5 B)", "expected a whole number, found '1.5'"),
        ("%1 = relu(%0) {a = 1, a = 2} : f32[2]", "expected each attribute once, found 'a'"),
        ("%1 = relu(%0) {a = 1e999} : f32[2]",
         "expected a number within the range of f64, found '1e999'"),
        ("%1 = relu([[%0]]) : f32[2]", "expected an operand: %register, @constant, $state, "
         "number, none or list, found '['"),
        ("%1000000000000000000 = relu() : f32[2]",
         "expected a register number below 10^18, found '%1000000000000000000'"),
        ("%1 = relu(²) : f32[2]", "expected an operand: %register, @constant, $state, number, "
         "none or list, found '²'"),
        ('%1 = relu(@"\\q") : f32[2]', "the escape \\q is unknown"),
        ('%1 = relu(@"\\u{110000}") : f32[2]', "\\u{110000} is no character"),
        ("output %0\noutput %0", "expected no output line after the output line, found 'output'"),
        ("output %0\n%1 = relu(%0) : f32[2]",
         "expected no instruction after the output line, found '%1'"),
        ("store @x, %0", "expected a state or an input to store to, found '@x'"),
        ("input %0 : f32[2]", "expected the input's name as a string, found ':'"),
        ("} }", "expected the end of the line, found '}'"),
        ("}", "expected the end of the text after '}', found '}'"),
    ],
)  # fmt: skip
def test_errors_say_what_is_expected(line: str, what: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_program(f"npuir.program @p target(cpu) {{\n{line}\n}}\n")
    assert caught.value.what == what


@pytest.mark.parametrize("text", ["", "\n# only\n", "npuir.program @p target(cpu) {\n"])
def test_missing_parts_are_named(text: str) -> None:
    with pytest.raises(ParseError, match="found the end of the text"):
        parse_program(text)


@pytest.mark.parametrize(
    "value",
    [
        "[" * 100_000,
        "[" * 40 + "]" * 40,
        "9" * 100_000,
        "-" * 100_000,
        '"' + '\\"' * 100_000,
        '"' * 100_001,
        " " * 200_000,
        "a" * 200_000 + "[",
        "a." * 100_000,
        "f32[" * 50_000,
        "{" * 100_000,
    ],
    ids=lambda value: value[:4],
)
def test_hostile_values_are_refused(value: str) -> None:
    with pytest.raises(ParseError):
        parse_program(f"npuir.program @p target(cpu) {{\n%0 = f() {{a = {value}\n}}\n")


def test_too_long_text_is_refused() -> None:
    with pytest.raises(ParseError, match="the limit is 33554432"):
        parse_program(" " * (lexical.MAX_TEXT_CHARS + 1))


def test_what_has_no_text_form_is_refused_when_printing() -> None:
    nested: tuple[object, ...] = ()
    for _ in range(lexical.MAX_NESTING):
        nested = (nested,)
    for value in (nested, 10**700):
        instruction = Instruction((), "f", (), {"a": value})  # type: ignore[dict-item]
        with pytest.raises(VerificationError, match="no text form"):
            print_program(Program("p", "cpu", instructions=(instruction,)))


def test_mutated_text_parses_or_raises_parse_error() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    pieces = [*'%@$"\\[]{}(), \n_²\x00#!', "-1", "1e9", "inf", "none", "f32[2]", "%0", "9" * 30]
    pieces += ["view", "buffer", "output", "loc", ""]
    accepted = 0
    for _ in range(3000):
        text = TEXT
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(text))
            stop = start + rng.choice((0, 1, 1, 3, 40))
            text = text[:start] + rng.choice(pieces) + text[stop:]
        try:
            program = parse_program(text)
            accepted += 1
            assert exact(parse_program(print_program(program))) == exact(program)
            verify(program)
        except VerificationError:  # ParseError included; anything else fails the test
            continue
    assert accepted > 20
