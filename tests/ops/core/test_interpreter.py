"""The reference interpreter: results, checks, and what stores mean."""

from __future__ import annotations

import pytest
import torch

from forge_ugc.errors import InputError, VerificationError
from forge_ugc.npuir.parser import parse_program
from forge_ugc.ops.core.interpreter import interpret


def run(
    body: str, inputs: list[torch.Tensor] | None = None, **tensors: torch.Tensor
) -> list[torch.Tensor]:
    text = f"""npuir.program @p target(cpu) {{
  input  %0 "x" : f32[2,3]
  const  @w : f32[2,3]
  const  @row : f32[3] view(@w, 12 B)
  state  $s : f32[2,3]
  state  $t : f32[2,3]
  {body}
}}
"""
    named = {"w": numbers(), "s": numbers(), "t": numbers()} | tensors
    return interpret(parse_program(text), named, [numbers()] if inputs is None else inputs)


def numbers(factor: float = 1.0) -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3) * factor


def test_operators_numbers_lists_and_several_results() -> None:
    outputs = run(
        """%1 = aten.mul.Tensor(%0, 2) : f32[2,3]
  %2 = aten.cat.default([%1, @w], ) {dim = 1} : f32[2,6]
  %3, %4 = aten.max.dim(%2) {dim = 1} : f32[2], i64[2]
  %5 = rms_norm(%0, @row) {eps = 0.5} : f32[2,3]
  output %3, %4, %5, @row""".replace("], )", "])")
    )
    x = numbers()
    want, where = torch.cat([x * 2, x], 1).max(1)
    norm = x / (x.pow(2).mean(-1, keepdim=True) + 0.5).sqrt() * torch.tensor([3.0, 4.0, 5.0])
    assert torch.equal(outputs[0], want)
    assert torch.equal(outputs[1], where)
    torch.testing.assert_close(outputs[2], norm)
    assert outputs[3].tolist() == [3.0, 4.0, 5.0]


def test_a_result_gets_the_layout_of_its_type() -> None:
    (out,) = run("%1 = aten.relu.default(%0) : f32[2,3]{1,2}\n  output %1")
    assert out.stride() == (1, 2)
    assert torch.equal(out, numbers())


def test_inputs_of_another_layout_are_read_as_declared() -> None:
    turned = numbers().t().contiguous().t()
    body = "%1 = aten.view.default(%0) {size = [6]} : f32[6] view(%0, 0 B)\n  output %1"
    (out,) = run(body, [turned])
    assert out.tolist() == [0, 1, 2, 3, 4, 5]


def test_instructions_see_a_state_as_it_was() -> None:
    s = numbers()
    (out,) = run(
        """%1 = aten.add.Tensor($s, %0) : f32[2,3]
  %2 = aten.add.Tensor($s, $s) : f32[2,3]
  store  $s, %1
  output %2""",
        s=s,
    )
    assert torch.equal(out, numbers(2))
    assert torch.equal(s, numbers(2))


def test_all_values_are_taken_before_the_first_store() -> None:
    s, t, x = numbers(10), numbers(100), numbers()
    outputs = run(
        """%1 = aten.detach.default($s) : f32[2,3] view($s, 0 B)
  %2 = aten.select.int($t) {dim = 0, index = 1} : f32[3] view($t, 12 B)
  store  $s, $t
  store  $t, %1
  store  %0, $s
  output $s, %2, %0""",
        [x],
        s=s,
        t=t,
    )
    assert torch.equal(s, numbers(100))  # swapped through a view
    assert torch.equal(t, numbers(10))
    assert torch.equal(x, numbers(10))
    assert torch.equal(outputs[0], numbers(10))  # outputs show the old values
    assert torch.equal(outputs[1], numbers(100)[1])
    assert outputs[2] is x  # an output that names an input is the caller's tensor


def test_a_result_that_pytorch_aliases_is_taken_before_the_store() -> None:
    x = numbers()
    (out,) = run(
        """%1 = aten.contiguous.default(%0) : f32[2,3]
  %2 = aten.neg.default(%0) : f32[2,3]
  store  %0, %2
  output %1""",
        [x],
    )
    assert torch.equal(out, numbers())
    assert torch.equal(x, -numbers())


def test_a_stored_input_of_another_layout_is_written_in_place() -> None:
    x = numbers().t().contiguous().t()
    run("%1 = aten.neg.default(%0) : f32[2,3]\n  store  %0, %1\n  output %1", [x])
    assert torch.equal(x, -numbers())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "p takes 1 inputs, got 0"),
        ([torch.zeros(3, 2)], "input 'x' is f32[3,2], expected f32[2,3]\n  at: p: %0"),
        ([torch.zeros(2, 3).double()], "input 'x' is f64[2,3], expected f32[2,3]\n  at: p: %0"),
    ],
)
def test_other_inputs_are_refused(inputs: list[torch.Tensor], message: str) -> None:
    with pytest.raises(InputError) as caught:
        run("output %0", inputs)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "%1 = aten.relu.default(%0) : f32[3,2]",
            "%1 is f32[2,3], declared as f32[3,2]\n  at: instruction 0: %1 = aten.relu.default",
        ),
        (
            "%1 = aten.relu.default(%0) : f64[2,3]",
            "%1 is f32[2,3], declared as f64[2,3]\n  at: instruction 0: %1 = aten.relu.default",
        ),
        (
            "%1 = aten.max.dim(%0) {dim = 0} : f32[3]",
            "aten.max.dim returned 2 results, declared are 1\n"
            "  at: instruction 0: %1 = aten.max.dim",
        ),
        (
            "%1 = aten.select.int(%0) {dim = 0, index = 1} : f32[3] view(%0, 0 B)",
            "%1 is f32[3] at byte 12 of %0, declared as f32[3] at byte 0\n"
            "  at: instruction 0: %1 = aten.select.int",
        ),
        (
            "%1 = aten.neg.default(%0) : f32[2,3] view(%0, 0 B)",
            "declared as f32[2,3] at byte 0\n  at: instruction 0: %1 = aten.neg.default",
        ),
    ],
)
def test_results_that_differ_from_their_declaration_are_refused(line: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        run(f"{line}\n  output %1")
    assert str(caught.value).endswith(message)


def test_a_missing_or_wrong_constant_is_named() -> None:
    with pytest.raises(VerificationError, match=r"'w' is f32\[2\], declared as f32\[2,3\]"):
        run("output @w", w=torch.zeros(2))
    program = parse_program("npuir.program @p target(cpu) {\n  const  @w : f32[2]\n}\n")
    with pytest.raises(VerificationError, match="no tensor is given for 'w'"):
        interpret(program, {}, [])
