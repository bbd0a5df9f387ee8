"""Keys of what a block can read: equal for equal values, and only for these."""

import functools
import itertools
import threading
from enum import Enum
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from forge_ugc.capture.block_signature import (
    attribute_signature,
    first_difference,
    integers_of,
    sets_globals,
    tensor_signature,
)


class Color(Enum):
    RED = 1
    BLUE = 2


class Slotted:
    __slots__ = ("value",)


class Holder(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value, self.inner = value, nn.Linear(2, 2)

    def method(self):
        return self.value


def key(value):
    return attribute_signature(Holder(value), type)["value"]


def add(n):
    return lambda x: x + n


TENSOR = torch.ones(2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: 3, lambda: 0.5, lambda: float("nan"), lambda: None, lambda: "gelu",
        lambda: torch.float32, lambda: [1, (2, "a")], lambda: {"a": [1]}, lambda: {1, 2},
        lambda: Color.RED, lambda: SimpleNamespace(size=8, inner=SimpleNamespace(x=1)),
        lambda: torch.relu, lambda: add(1), lambda: functools.partial(add, 1), lambda: TENSOR,
        lambda: TENSOR.shape, lambda: torch.device("cpu"),
    ],
)  # fmt: skip
def test_equal_values_have_equal_keys(make):
    assert key(make()) == key(make())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), (0.0, -0.0), ([1], (1,)), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Color.RED, Color.BLUE), (SimpleNamespace(a=1), SimpleNamespace(a=2)), (add(1), add(2)),
        (functools.partial(add, 1), functools.partial(add, 2)), (torch.relu, torch.sigmoid),
        (TENSOR, torch.ones(2)),
    ],
)  # fmt: skip
def test_other_values_have_other_keys(one, other):
    assert key(one) != key(other)


@pytest.mark.parametrize("value", [itertools.count(), threading.Lock(), Slotted(), iter([1])])
def test_what_holds_hidden_state_equals_nothing(value):
    assert key(value) != key(value)


def test_a_cycle_ends():
    def loop():
        value = SimpleNamespace(n=1)
        value.me = value
        return value

    assert key(loop()) == key(loop())


def test_methods_and_modules_of_the_block_itself_are_equal():
    one, other = Holder(0), Holder(0)
    for holder in (one, other):
        holder.value = [holder.method, holder.inner]
    assert attribute_signature(one, type) == attribute_signature(other, type)
    other.value = [one.method, other.inner]
    assert first_difference(attribute_signature(one, type), attribute_signature(other, type)) == (
        "value"
    )


def test_modes_hooks_and_classes_count():
    plain = attribute_signature(Holder(0), type)
    for change in (
        lambda m: m.train(False),
        lambda m: m.inner.register_forward_pre_hook(lambda *a: None),
        lambda m: setattr(m, "inner", nn.Identity()),
        lambda m: setattr(m, "more", None),
    ):
        changed = Holder(0)
        change(changed)
        assert attribute_signature(changed, type) != plain


def test_places_can_be_left_out():
    one, other = (attribute_signature(Holder(n), type, frozenset({"value"})) for n in (1, 2))
    assert one == other
    assert "value" not in one
    assert integers_of(Holder(3))["value"] == 3


def test_layout_and_sharing_of_tensors():
    assert tensor_signature(Holder(0)) == tensor_signature(Holder(0))
    for change in (
        lambda m: m.to(torch.float64),
        lambda m: m.inner.weight.requires_grad_(False),
        lambda m: setattr(m.inner, "weight", nn.Parameter(torch.ones(2, 2).t())),
        lambda m: setattr(m.inner, "bias", nn.Parameter(m.inner.weight.detach()[0])),
        lambda m: setattr(m.inner, "bias", None),
        lambda m: m.register_buffer("extra", torch.ones(1)),
    ):
        changed = Holder(0)
        change(changed)
        assert tensor_signature(changed) != tensor_signature(Holder(0))


COUNT = 0


class Global(nn.Module):
    def forward(self, x):
        global COUNT
        COUNT += 1
        return x


def test_code_that_sets_globals():
    assert sets_globals(Global)
    assert not sets_globals(Holder)
    assert not sets_globals(nn.Linear)
