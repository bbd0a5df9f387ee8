"""Conversions that wait for a reader."""

import torch
from torch import fx

from forge_ugc.ops.core.postponed import Conversion, LateTensors, Postponed, postponed_of


def stand_in(*shape):
    return torch.empty(shape, device="meta")


def counted(value, calls):
    def make():
        calls.append(1)
        return value

    return Conversion(make)


def test_a_conversion_is_taken_once():
    postponed, meta, value = Postponed(), stand_in(2), torch.ones(2)
    postponed.add(meta, counted(value, []))
    assert postponed.take(torch.ones(2)) is None
    assert postponed.take(stand_in(2)) is None
    conversion = postponed.take(meta)
    assert conversion.make() is value
    assert postponed.take(meta) is None


def test_a_look_up_makes_the_data_once():
    postponed, calls, plain = Postponed(), [], torch.zeros(3)
    late, other = stand_in(2), stand_in(4)
    postponed.add(late, counted(torch.ones(2), calls))
    postponed.add(other, counted(torch.ones(4), calls))
    tensors = LateTensors({"plain": plain, "late": late, "other": other}, postponed)
    made = tensors.made_but({"other"})
    assert made["plain"] is plain
    assert made["other"] is other
    assert made["late"] is tensors["late"]
    assert tensors["late"].tolist() == [1, 1]
    assert len(calls) == 1
    assert tensors["other"].tolist() == [1] * 4
    assert len(calls) == 2


def test_a_graph_finds_what_was_attached():
    graph_module = fx.GraphModule({}, fx.Graph())
    assert postponed_of(graph_module) is None
    postponed = Postponed()
    postponed.attach(graph_module)
    assert postponed_of(graph_module) is postponed
