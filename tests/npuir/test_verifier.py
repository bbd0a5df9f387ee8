"""One refused program per rule of the verifier, with the whole message."""

from __future__ import annotations

import random
import re
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forge_ugc.errors import UnsupportedOperatorError, VerificationError
from forge_ugc.npuir.instruction import Attribute
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.npuir.verifier import TypedOperand, verify
from forge_ugc.ops.core.infer import infer


def program(body: str, arena: str = " arena(1024 B)") -> Program:
    rows = textwrap.indent(textwrap.dedent(body).strip(), "  ")
    return parse_program(f"npuir.program @p target(cpu){arena} {{\n{rows}\n}}\n")


def refused(body: str, arena: str = " arena(1024 B)") -> str:
    with pytest.raises(VerificationError) as caught:
        verify(program(body, arena), infer)
    return "\n" + str(caught.value) + "\n"


VALID = """
    input %0 "x" : f32[4,8]
    const @w : f32[8,8]
    const @wt : f32[8,8]{1,8} view(@w, 0 B)
    const @row : f32[8] view(@wt, 32 B)
    state $cache : f32[4,8]
    %1 = linear(%0, @w, @row) : f32[4,8] device(cpu) buffer(0 @ 0, 128 B)
    %2 = aten.relu.default(%1) : f32[4,8] device(cpu) buffer(0 @ 0, 128 B)
    %3 = aten.t.default(%2) : f32[8,4]{1,8} device(cpu) view(%2, 0 B)
    %4 = aten.slice.Tensor(%3) {start = 2, end = 4} : f32[2,4]{1,8} device(cpu) view(%3, 8 B)
    %5 = aten.slice.Tensor(%4) {start = 2, end = 4} : f32[0,4] device(cpu) view(%4, 8 B)
    %6 = aten.mul.Tensor(%4, 2.0) : f32[2,4] device(cpu) buffer(1 @ 128, 32 B)
    %7 = aten.mul.Tensor(%2, %2) : f32[4,8] device(cpu) buffer(output)
    store $cache, %7
    store %0, $cache
    output %7, %0, @w, $cache, %7
"""


def test_valid_program_passes() -> None:
    verify(program(VALID), infer)
    verify(program(VALID.replace("buffer(0 @ 0, 128 B)", "buffer(output)")), infer)


def test_undefined() -> None:
    assert (
        refused("%0 = aten.relu.default(@w) : f32[4]")
        == """
@w is not defined
  at: instruction 0: %0 = aten.relu.default(@w) : f32[4]
"""
    )


def test_used_before_definition() -> None:
    body = """
        %0 = aten.relu.default(%1) : f32[4]
        %1 = aten.relu.default(%0) : f32[4]
    """
    assert (
        refused(body)
        == """
%1 is used before it is defined
  at: instruction 0: %0 = aten.relu.default(%1) : f32[4]
"""
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('input %0 "x" : f32[4]\ninput %0 "y" : f32[4]',
         '%0 is defined twice\n  at: input  %0 "y" : f32[4]'),
        ('input %0 "x" : f32[4]\ninput %1 "x" : f32[4]',
         'two inputs are called "x"\n  at: input  %1 "x" : f32[4]'),
        ("const @w : f32[4]\nconst @w : f32[2]", "@w is defined twice\n  at: const  @w : f32[2]"),
        ("state $c : f32[4]\nstate $c : f32[2]", "$c is defined twice\n  at: state  $c : f32[2]"),
        ('input %0 "x" : f32[4]\n%0 = aten.relu.default(%0) : f32[4]',
         "%0 is defined twice\n  at: instruction 0: %0 = aten.relu.default(%0) : f32[4]"),
        ("%0, %0 = aten.topk.default() : f32[4], f32[4]",
         "%0 is defined twice\n  at: instruction 0: "
         "%0, %0 = aten.topk.default() : f32[4], f32[4]"),
    ],
)  # fmt: skip
def test_defined_twice(body: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        verify(program(body))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("store $c, @w", "$c is not defined\n  at: store  $c, @w"),
        ("const @w : f32[4]\noutput @w, %3", "%3 is not defined\n  at: output %3"),
        ('input %0 "x" : f32[4]\nstate $c : f32[4]\nstore $c, %1',
         "%1 is not defined\n  at: store  $c, %1"),
        ('input %0 "x" : f32[4]\nstate $c : f32[4]\nstore $c, %0\nstore $c, %0',
         "$c is stored to twice\n  at: store  $c, %0"),
        ('input %0 "x" : f32[4]\n%1 = aten.relu.default(%0) : f32[4] buffer(output)\nstore %1, %0',
         "%1 is stored to, but is neither an input nor a state\n  at: store  %1, %0"),
        ('input %0 "x" : f32[4]\nstate $c : f16[4]\nstore $c, %0',
         "$c is f16[4], the value stored to it is f32[4]\n  at: store  $c, %0"),
    ],
)  # fmt: skip
def test_stores_and_outputs(body: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        verify(program(body))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("const @v : f32[4] view(@w, 0 B)",
         "@w is not defined\n  at: const  @v : f32[4] view(@w, 0 B)"),
        ("const @v : f32[4] view(@w, 0 B)\nconst @w : f32[4]",
         "@w is used before it is defined\n  at: const  @v : f32[4] view(@w, 0 B)"),
        ('input %0 "x" : f32[4]\nconst @v : f32[4] view(%0, 0 B)',
         "a constant is a view of %0, which is no constant\n"
         "  at: const  @v : f32[4] view(%0, 0 B)"),
        ("const @w : f32[4]\nconst @v : f32[3] view(@w, 8 B)",
         "the view @v leaves the memory of @w\n  at: const  @v : f32[3] view(@w, 8 B)\n"
         "  why: it covers bytes 8 to 20 of 16"),
        ("const @w : f32[4]\nconst @v : f32[2] view(@w, -4 B)",
         "the view @v leaves the memory of @w\n  at: const  @v : f32[2] view(@w, -4 B)\n"
         "  why: it covers bytes -4 to 4 of 16"),
        ("const @w : f32[4]\nconst @v : f32[2] view(@w, 2 B)",
         "the view @v is not aligned to its elements\n  at: const  @v : f32[2] view(@w, 2 B)\n"
         "  why: it starts at byte 2 of @w, its elements have 4 bytes"),
        ('input %0 "x" : f32[4]\n%1 = f.a.b(%0) : f32[2] view(%1, 0 B)',
         "%1 is used before it is defined\n"
         "  at: instruction 0: %1 = f.a.b(%0) : f32[2] view(%1, 0 B)"),
        ('input %0 "x" : f32[4]\n%1 = f.a.b(%0) : f32[2] view(%0, 0 B) buffer(output)',
         "%1 is a view and has a place of its own\n"
         "  at: instruction 0: %1 = f.a.b(%0) : f32[2] view(%0, 0 B) buffer(output)\n"
         "  why: its memory is that of %0"),
        ('input %0 "x" : f32[4]\n%1 = f.a.b(%0) : f32[2] view(%0, 8 B)\n'
         "%2 = f.a.b(%1) : f32[3] view(%1, -4 B)\n%3 = f.a.b(%2) : f32[2] view(%2, 8 B)",
         "the view %3 leaves the memory of %0\n"
         "  at: instruction 2: %3 = f.a.b(%2) : f32[2] view(%2, 8 B)\n"
         "  why: it covers bytes 12 to 20 of 16"),
        ("const @w : f32[999999999999,99999999]",
         "@w is larger than 2^63 bytes\n  at: const  @w : f32[999999999999,99999999]"),
        ("const @w : f32[2,2]{999999999999999999,999999999999999999}\n"
         "const @v : f32[1] view(@w, 9000000000000000000 B)",
         "the view @v leaves the memory of @w\n"
         "  at: const  @v : f32[1] view(@w, 9000000000000000000 B)\n"
         "  why: it covers bytes 9000000000000000000 to 9000000000000000004 of "
         "7999999999999999996"),
    ],
)  # fmt: skip
def test_views(body: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        verify(program(body))
    assert str(caught.value) == message


SLOTS = """
    input %0 "x" : f32[32]
    %1 = aten.relu.default(%0) : f32[32] buffer(0 @ 0, 128 B)
    {}
    output %1
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%2 = f.a.b(%0) : f32[32] buffer(1 @ 1024, 128 B)",
         "the buffer of %2 leaves the arena\n"
         "  at: instruction 1: %2 = f.a.b(%0) : f32[32] buffer(1 @ 1024, 128 B)\n"
         "  why: it covers bytes 1024 to 1152 of 1024"),
        ("%2 = f.a.b(%0) : f32[32] buffer(1 @ -64, 128 B)",
         "the buffer of %2 has a negative number, offset or size\n"
         "  at: instruction 1: %2 = f.a.b(%0) : f32[32] buffer(1 @ -64, 128 B)"),
        ("%2 = f.a.b(%0) : f32[32] buffer(1 @ 160, 128 B)",
         "the buffer of %2 starts at byte 160\n"
         "  at: instruction 1: %2 = f.a.b(%0) : f32[32] buffer(1 @ 160, 128 B)\n"
         "  why: offsets are multiples of 64"),
        ("%2 = f.a.b(%0) : f32[32] buffer(1 @ 128, 64 B)",
         "the buffer of %2 is too small\n"
         "  at: instruction 1: %2 = f.a.b(%0) : f32[32] buffer(1 @ 128, 64 B)\n"
         "  why: it has 64 bytes, f32[32] needs 128"),
        ("%2 = f.a.b(%0) : f32[32] buffer(1 @ 64, 128 B)",
         "the buffers of %1 and %2 overlap while both are live\n"
         "  at: instruction 1: %2 = f.a.b(%0) : f32[32] buffer(1 @ 64, 128 B)\n"
         "  why: %1 lives until the end in bytes 0 to 128, %2 covers 64 to 192"),
        ("%2, %3 = f.a.b(%0) : f32[16], f32[8] buffer(1 @ 128, 64 B), buffer(2 @ 128, 32 B)",
         "the buffers of %2 and %3 overlap while both are live\n"
         "  at: instruction 1: %2, %3 = f.a.b(%0) : f32[16], f32[8] "
         "buffer(1 @ 128, 64 B), buffer(2 @ 128, 32 B)\n"
         "  why: %2 lives until instruction 1 in bytes 128 to 192, %3 covers 128 to 160"),
    ],
)  # fmt: skip
def test_slots(line: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        verify(program(SLOTS.format(line)))
    assert str(caught.value) == message


def test_slot_without_arena() -> None:
    assert (
        refused("%0 = aten.zeros.default() {size = [2]} : f32[2] buffer(0 @ 0, 8 B)", "")
        == """
%0 has a buffer, but the program has no arena
  at: instruction 0: %0 = aten.zeros.default() {size = [2]} : f32[2] buffer(0 @ 0, 8 B)
"""
    )


def test_negative_arena() -> None:
    assert (
        refused("# nothing", " arena(-1 B)")
        == """
the arena has -1 bytes
  at: npuir.program @p
"""
    )


CHAIN = """
    input %0 "x" : f32[4,4]
    %1 = aten.relu.default(%0) : f32[4,4] buffer(0 @ 0, 64 B)
    %2 = aten.t.default(%1) : f32[4,4]{{1,4}} view(%1, 0 B)
    {}
    output %0
"""


@pytest.mark.parametrize(
    "line",
    [
        "%3 = f.a.b(%1) : f32[4,4] buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%1, %1) : f32[4,4] buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%2) : f32[4,4]{1,4} buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%0) : f32[4,4] buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%1) : f32[0] buffer(0 @ 0, 0 B)",
    ],
    ids=["in place", "twice", "through a view", "already dead", "empty"],
)
def test_slot_may_be_taken_over(line: str) -> None:
    verify(program(CHAIN.format(line)))


@pytest.mark.parametrize(
    "line",
    [
        "%3 = f.a.b(%2) : f32[4,4] buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%1, %2) : f32[4,4] buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%1) : f32[2,8] buffer(0 @ 0, 64 B)",
        "%9, %3 = f.a.b(%1) : f32[1], f32[4,4] buffer(output), buffer(0 @ 0, 64 B)",
        "%3 = f.a.b(%1) : f32[4,4] buffer(0 @ 0, 64 B)\n    %4 = f.a.b(%2) : f32[1]",
        "%3 = f.a.b([%1, %2]) : f32[4,4] buffer(0 @ 0, 64 B)",
    ],
    ids=["other layout", "two layouts", "other type", "second result", "view lives on", "list"],
)
def test_slot_may_not_be_taken_over(line: str) -> None:
    message = "the buffers of %1 and %3 overlap while both are live"
    with pytest.raises(VerificationError, match=message):
        verify(program(CHAIN.format(line)))


def test_value_stored_at_the_end_keeps_its_slot() -> None:
    body = """
        state $c : f32[16]
        %1 = aten.relu.default($c) : f32[16] buffer(0 @ 0, 64 B)
        %2 = aten.relu.default($c) : f32[16] buffer(0 @ 0, 64 B)
        store $c, %1
    """
    assert (
        refused(body)
        == """
the buffers of %1 and %2 overlap while both are live
  at: instruction 1: %2 = aten.relu.default($c) : f32[16] buffer(0 @ 0, 64 B)
  why: %1 lives until the end in bytes 0 to 64, %2 covers 0 to 64
"""
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%1 = aten.relu.default(%0) : f32[4,3]",
         "%1 is declared as f32[4,3]\n"
         "  at: instruction 0: %1 = aten.relu.default(%0) : f32[4,3]\n"
         "  why: the type rule of aten.relu.default gives f32[4,8]"),
        ("%1 = aten.relu.default(%0) : f16[4,8]",
         "%1 is declared as f16[4,8]\n"
         "  at: instruction 0: %1 = aten.relu.default(%0) : f16[4,8]\n"
         "  why: the type rule of aten.relu.default gives f32[4,8]"),
        ("%1 = aten.t.default(%0) : f32[8,4] view(%0, 0 B)",
         "%1 is declared as f32[8,4]\n"
         "  at: instruction 0: %1 = aten.t.default(%0) : f32[8,4] view(%0, 0 B)\n"
         "  why: the type rule of aten.t.default gives f32[8,4]{1,8}"),
        ("%1 = aten.topk.default(%0) {k = 2} : f32[4,2]",
         "aten.topk.default has 2 results, the instruction 1\n"
         "  at: instruction 0: %1 = aten.topk.default(%0) {k = 2} : f32[4,2]"),
        ("%1 = rms_norm(%0, %0) : f32[4,8]",
         "weight is f32[4,8], expected [8]\n"
         "  at: instruction 0: %1 = rms_norm(%0, %0) : f32[4,8]"),
    ],
)  # fmt: skip
def test_types(line: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        verify(program(f'input %0 "x" : f32[4,8]\n{line}'), infer)
    assert str(caught.value) == message


def test_type_rule_sees_numbers_with_their_types() -> None:
    body = """
        input %0 "x" : i64[4]
        %1 = aten.mul.Tensor(%0, 2) : i64[4]
        %2 = aten.mul.Tensor(%0, 2.0) : f32[4]
        %3 = aten.full.default() {size = [2], fill_value = 1} : i64[2]
        %4 = aten.full.default() {size = [2], fill_value = true} : bool[2]
    """
    verify(program(body), infer)


def test_strides_of_a_result_with_its_own_memory_are_free() -> None:
    verify(program('input %0 "x" : f32[4,8]\n%1 = aten.relu.default(%0) : f32[4,8]{1,4}'), infer)


def test_unknown_operator_is_named_with_its_instruction() -> None:
    with pytest.raises(UnsupportedOperatorError) as caught:
        verify(program("%0 = my.special.op() : f32[4]"), infer)
    assert str(caught.value) == (
        "no operator is registered under the opcode 'my.special.op'\n"
        "  at: instruction 0: %0 = my.special.op() : f32[4]\n"
        "  fix: import the Python package that registers it before loading the program"
    )


@pytest.mark.parametrize(
    "line",
    [
        "%1 = linear(%0) : f32[4,8]",
        "%1 = linear(%0, none) : f32[4,8]",
        "%1 = linear(%0, %0, %0, %0, %0) : f32[4,8]",
        "%1 = rms_norm(%0) {nonsense = 3} : f32[4,8]",
        '%1 = rms_norm(%0) {eps = "x"} : f16[4,8]',
        "%1 = rms_norm([%0]) : f32[4,8]",
        "%1 = aten.relu.default([%0]) : f32[4,8]",
        "%1 = aten.relu.default(%0) {nonsense = 3} : f32[4,8]",
        "%1 = aten.cat.default(%0) : f32[4,8]",
        "%1 = aten.permute.default(%0) {dims = [[[1]]]} : f32[4,8]",
        '%1 = aten.to.dtype(%0) {dtype = "f32"} : f32[4,8]',
        "%1 = aten.to.dtype(%0) {dtype = nonsense} : f32[4,8]",
        '%1 = aten.to.dtype(%0) {dtype = !"\\u{0}"} : f32[4,8]',
        "%1 = aten.view.default(%0) {size = [99999999999999999999999]} : f32[4,8]",
        "%1 = a.b.c.d.e(%0) : f32[4,8]",
        '%1 = ""(%0) : f32[4,8]',
        "%1 = aten.relu.default.extra(%0) : f32[4,8]",
        "%1 = aten.relu_.default(%0) : f32[4,8]",
        '%1 = "."(%0) : f32[4,8]',
        '%1 = "a b.\\n.c"(%0) : f32[4,8]',
        '%1 = "__class__.x.default"(%0) : f32[4,8]',
        "%1 = aten.__class__.default(%0) : f32[4,8]",
        "%1 = aten.relu.__class__(%0) : f32[4,8]",
    ],
)
def test_hostile_instructions_end_in_a_forge_error(line: str) -> None:
    with pytest.raises((VerificationError, UnsupportedOperatorError)):
        verify(program(f'input %0 "x" : f32[4,8]\n{line}'), infer)


@pytest.mark.parametrize(
    "line",
    [
        'aten.save.default(%0) {{filename = "{path}"}}',
        '%1 = aten.from_file.default() {{filename = "{path}", shared = true, size = 4}} : f32[4]',
    ],
    ids=["save", "from_file"],
)
def test_operators_that_reach_outside_are_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "written"
    with pytest.raises(UnsupportedOperatorError):
        verify(program(f'input %0 "x" : f32[4,8]\n{line.format(path=path)}'), infer)
    assert not path.exists()


def test_type_rule_is_called_once_for_equal_instructions() -> None:
    calls: list[str] = []

    def rule(
        opcode: str, operands: Sequence[TypedOperand], attributes: Mapping[str, Attribute]
    ) -> tuple[TensorType, ...]:
        calls.append(f"{opcode} {operands} {dict(attributes)}")
        return infer(opcode, operands, attributes)

    rows = ['input %0 "x" : f32[4]']
    rows += [f"%{i} = aten.add.Tensor(%{i - 1}, {i % 2}) : f32[4]" for i in range(1, 50)]
    verify(program("\n".join(rows)), rule)
    assert len(calls) == 2


def test_mutated_programs_verify_or_raise_a_forge_error() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    text = print_program(program(VALID))
    words = sorted(set(re.findall(r"[%@$]?[\w.]+", text)))
    outcomes = set()
    deadline = time.monotonic() + 4.0
    while time.monotonic() < deadline:
        mutated = text
        for _ in range(rng.randint(1, 3)):
            found = rng.choice(list(re.finditer(r"[%@$]?[\w.]+", mutated)))
            mutated = mutated[: found.start()] + rng.choice(words) + mutated[found.end() :]
        try:
            verify(parse_program(mutated), infer)
            outcomes.add("valid")
        except (VerificationError, UnsupportedOperatorError) as error:
            outcomes.add(type(error).__name__)
    assert outcomes >= {"valid", "ParseError", "VerificationError"}
