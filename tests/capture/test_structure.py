"""Nesting of inputs and outputs survives flatten and unflatten."""

import json
import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
import torch

from forge_ugc.capture.serialize import structure_from_json, structure_to_json
from forge_ugc.capture.structure import Flattener, Record, leaves, unflatten
from forge_ugc.errors import ArtifactError, CaptureError

Pair = namedtuple("Pair", "left right")


@dataclass
class Out:
    logits: torch.Tensor
    loss: float | None = None


def flat(value, merge=True):
    flattener = Flattener(merge=merge)
    return flattener.walk(value, "output"), flattener.tensors


def nested():
    a, b = torch.zeros(2), torch.ones(3)
    return {
        "list": [a, (b, None)],
        "pair": Pair(a, 7),
        "out": Out(b, 0.5),
        "ordered": OrderedDict(x=a, y="text"),
        "flag": True,
        "dtype": torch.float16,
        3: -0.0,
    }


def test_round_trip_keeps_types_objects_and_duplicates():
    value = nested()
    structure, tensors = flat(value)
    assert len(tensors) == 2
    back = unflatten(structure, tensors)
    assert back.keys() == value.keys()
    assert back["list"][0] is value["list"][0]
    assert isinstance(back["list"][1], tuple)
    assert back["pair"] == value["pair"]
    assert type(back["pair"]) is Pair
    assert type(back["out"]) is Out
    assert back["out"].loss == 0.5
    assert type(back["ordered"]) is OrderedDict
    assert back["ordered"]["y"] == "text"
    assert back["flag"] is True
    assert back["dtype"] is torch.float16
    assert str(back[3]) == "-0.0"


def test_without_merging_every_leaf_has_its_own_number():
    a = torch.zeros(1)
    structure, tensors = flat((a, a), merge=False)
    assert [leaf.index for _, leaf in leaves(structure)] == [0, 1]
    assert len(tensors) == 2


def test_json_round_trip_gives_records_for_unknown_classes():
    value = nested()
    structure, tensors = flat(value)
    back = unflatten(structure_from_json(structure_to_json(structure)), tensors)
    assert isinstance(back["out"], Record)
    assert back["out"].logits is value["out"].logits
    assert back["out"].type_name.endswith("Out")
    assert back["dtype"] is torch.float16
    with pytest.raises(AttributeError, match="has no field 'absent'"):
        _ = back["out"].absent


def test_json_uses_classes_that_the_caller_gives():
    structure, tensors = flat(Out(torch.zeros(1)))
    back = unflatten(structure_from_json(structure_to_json(structure), [Out]), tensors)
    assert type(back) is Out
    assert back.loss is None


def test_transformers_outputs_come_back_as_themselves():
    from transformers.modeling_outputs import CausalLMOutput

    structure, tensors = flat(CausalLMOutput(logits=torch.zeros(1)))
    back = unflatten(structure_from_json(structure_to_json(structure)), tensors)
    assert type(back) is CausalLMOutput
    assert back.logits is tensors[0]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"tensor": -1},
        {"tensor": "0"},
        {"kind": "exec", "type": "os.system", "keys": [], "items": []},
        {"kind": "tuple", "type": "builtins.tuple", "keys": [0], "items": []},
        {"value": {"pickle": "x"}},
        {"value": {"float": "xyz"}},
    ],
)
def test_damaged_json_is_refused(data):
    with pytest.raises(ArtifactError, match="the artifact is damaged"):
        structure_from_json(data)


def test_deep_json_is_refused():
    data = {"value": 1}
    for _ in range(200):
        data = {"kind": "list", "type": "builtins.list", "keys": [0], "items": [data]}
    with pytest.raises(ArtifactError, match="nested too deeply"):
        structure_from_json(data)


def test_an_opaque_object_is_named_with_its_path():
    class Cache:
        pass

    with pytest.raises(CaptureError) as caught:
        flat({"past": [Cache()]})
    assert str(caught.value).startswith("output.past[0] is a ")
    assert "use_cache=False" in str(caught.value)


def test_named_tuples_and_sizes_come_back_as_tuples():
    top = torch.ones(3).topk(2)
    value = {"pair": Pair(torch.ones(1), None), "size": torch.Size([2, 3]), "top": top}
    flattener = Flattener(merge=False)
    written = json.loads(json.dumps(structure_to_json(flattener.walk(value, "out"))))
    read = pickle.loads(pickle.dumps(structure_from_json(written)))
    back = unflatten(read, flattener.tensors)
    assert type(back["pair"]).__name__ == "Pair"
    assert back["pair"] == value["pair"]
    assert back["pair"].left is value["pair"].left
    assert back["size"] == value["size"]
    assert type(back["size"]) is torch.Size
    assert type(back["top"]) is type(top)
    assert back["top"].indices is top.indices


def test_fields_that_are_no_names_are_damage():
    flattener = Flattener(merge=False)
    written = structure_to_json(flattener.walk(Pair(1, 2), "out"))
    with pytest.raises(ArtifactError, match="damaged"):
        structure_from_json({**written, "keys": ["left", "import os"]})
