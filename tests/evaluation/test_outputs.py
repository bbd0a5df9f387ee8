from collections import OrderedDict
from dataclasses import dataclass

import torch

from forge_ugc.evaluation.outputs import named_tensors


@dataclass
class Output:
    logits: torch.Tensor
    hidden: tuple


def names(value):
    return [name for name, _ in named_tensors(value)]


def test_paths():
    t = torch.ones(1)
    assert names(t) == ["output"]
    assert names((t, [t, None, 3])) == ["output[0]", "output[1][0]"]
    assert names({"a": t, "b": {"c": (t, t)}}) == ["a", "b.c[0]", "b.c[1]"]
    assert names(Output(logits=t, hidden=(t,))) == ["logits", "hidden[0]"]
    assert names(OrderedDict(z=t, a=t)) == ["z", "a"]
    assert names(None) == []


def test_values_are_the_tensors_themselves():
    t = torch.ones(2)
    ((_, found),) = named_tensors({"a": t})
    assert found is t
