"""Text, steps and size of elementwise expressions."""

import math

import pytest

from forge_ugc.ops.core.expression import Call, Constant, Operand, calls, live, parse, steps, text


@pytest.mark.parametrize(
    "code",
    [
        "add(a, mul(b, 0.246))",
        "where(b, -inf, a)",
        "clamp(add(a, b), -1, 1e-05)",
        "eq(b, logical_not(bool(a)))",
        "logical_and(a, ne(b, true))",
    ],
)
def test_text_survives_reading(code):
    assert text(parse(code, 2)) == code


def test_numbers_keep_their_kind():
    found = [parse(f"add(a, {n})", 1).arguments[1].value for n in ("2", "2.", "-2", "true", "nan")]
    assert found[:4] == [2, 2.0, -2, True]
    assert [type(n) for n in found] == [int, float, int, bool, float]
    assert math.isnan(found[4])


def test_equal_numbers_of_different_kinds_are_different():
    assert calls(parse("mul(add(a, 1), add(a, 1.0))", 1)) == 3
    assert calls(parse("mul(div(a, 0.0), div(a, -0.0))", 1)) == 3


def test_equal_parts_are_one_step():
    found = parse("mul(exp(a), exp(a))", 1)
    exp = Call("exp", (Operand(0),))
    assert list(steps(found)) == [Operand(0), exp, Call("mul", (exp, exp))]
    assert calls(found) == 2


def test_results_take_the_place_of_what_they_are_made_of():
    assert live(parse("neg(exp(sin(a)))", 1)) == 1
    assert live(parse("add(a, mul(b, 2.0))", 2)) == 3
    assert live(Call("add", (Operand(0), Constant("1")))) == 2
