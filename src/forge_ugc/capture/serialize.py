"""Signatures and nestings as JSON, read back without running or importing any code."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch

from forge_ugc.capture.signature import Parameter, Signature
from forge_ugc.capture.structure import (
    Container,
    StaticLeaf,
    Structure,
    TensorLeaf,
    is_torch_tuple,
    leaves,
    named_tuple,
)
from forge_ugc.errors import ArtifactError
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.torch_types import from_torch, to_torch

Json = Any  # parsed JSON: checked field by field below
_KINDS = {"list", "tuple", "dict", "namedtuple", "dataclass", "pytree"}
_BUILTIN: dict[tuple[str, str], type[Any]] = {
    ("list", "builtins.list"): list, ("tuple", "builtins.tuple"): tuple,
    ("dict", "builtins.dict"): dict, ("dict", "collections.OrderedDict"): OrderedDict,
    ("tuple", "torch.Size"): torch.Size,
    **{("tuple", f"torch.return_types.{c.__name__}"): c
       for c in vars(torch.return_types).values() if isinstance(c, type) and is_torch_tuple(c)},
}  # fmt: skip
_MAX_DEPTH = 64


def structure_to_json(structure: Structure) -> Json:
    """Encode a nesting; classes by name."""
    if isinstance(structure, TensorLeaf):
        return {"tensor": structure.index}
    if isinstance(structure, StaticLeaf):
        return {"value": _static_to_json(structure.value)}
    return {
        "kind": structure.kind,
        "type": structure.type_name,
        "keys": list(structure.keys),
        "items": [structure_to_json(item) for item in structure.items],
    }


def structure_from_json(data: Json, classes: Sequence[type[Any]] = ()) -> Structure:
    """Decode a nesting. Unknown classes become `Record`s, or named tuples of the same fields.

    Raises:
        ArtifactError: the data has another form.
    """
    known = {f"{c.__module__}.{c.__qualname__}": c for c in classes}
    try:
        return _structure(data, known, 0)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"a nesting of values: {error}") from error


def _structure(data: Json, known: Mapping[str, type[Any]], depth: int) -> Structure:
    if depth > _MAX_DEPTH:
        raise ValueError("nested too deeply")
    if "tensor" in data:
        if type(data["tensor"]) is not int or data["tensor"] < 0:
            raise ValueError(f"tensor number {data['tensor']!r}")
        return TensorLeaf(data["tensor"])
    if "value" in data:
        return StaticLeaf(_static_from_json(data["value"]))
    kind, name, keys = data["kind"], data["type"], data["keys"]
    if kind not in _KINDS or not isinstance(name, str) or len(keys) != len(data["items"]):
        raise ValueError(f"container {kind!r}")
    if not all(isinstance(k, str | int) for k in keys):
        raise ValueError("container keys")
    items = tuple(_structure(item, known, depth + 1) for item in data["items"])
    cls = _BUILTIN.get((kind, name)) or _class(name, known)
    if kind == "namedtuple" and cls is None:
        named_tuple(name, tuple(keys))  # raises if these are no names of fields
    if len(keys) != getattr(cls, "n_sequence_fields", len(keys)):
        raise ValueError(f"{name} of {len(keys)} items")
    if kind == "pytree":
        kind, cls = "dataclass", None
    return Container(kind, name, tuple(keys), items, cls)


def _class(name: str, known: Mapping[str, type[Any]]) -> type[Any] | None:
    """A class the caller gave, or a transformers output class that is imported already."""
    if name in known:
        return known[name]
    module, _, attribute = name.rpartition(".")
    if not module.startswith("transformers.") or module not in sys.modules:
        return None
    found = getattr(sys.modules[module], attribute, None)
    if not isinstance(found, type) or not issubclass(found, Mapping):
        return None
    return cast(type[Any], found) if dataclasses.is_dataclass(found) else None


def _static_to_json(value: object) -> Json:
    if isinstance(value, torch.dtype):
        return {"dtype": from_torch(value).value}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def _static_from_json(value: Json) -> Any:  # noqa: ANN401 - one of the static types
    if isinstance(value, dict):
        ((kind, held),) = value.items()
        if kind == "dtype":
            return to_torch(DType(held))
        if kind == "device":
            return torch.device(held)
        if kind == "complex":
            return complex(float.fromhex(held[0]), float.fromhex(held[1]))
        if kind == "float":
            return float.fromhex(held)
        raise ValueError(f"value of kind {kind!r}")
    if value is None or isinstance(value, bool | int | str):
        return value
    raise ValueError(f"value {value!r}")


def interface_to_json(signature: Signature, output: Structure) -> Json:
    """What an artifact keeps beside its program: the signature and the nesting of outputs."""
    return {"signature": signature_to_json(signature), "output": structure_to_json(output)}


def interface_from_json(
    data: Json, program: Program, classes: Sequence[type[Any]]
) -> tuple[Signature, Structure]:
    """Decode `interface_to_json` and check it against the program.

    Raises:
        ArtifactError: the data has another form, or does not fit the program.
    """
    if not isinstance(data, dict) or {"signature", "output"} - set(data):
        raise _damaged("a signature and a nesting of outputs")
    signature = signature_from_json(data["signature"])
    output = structure_from_json(data["output"], classes)
    if signature.types != tuple(d.type for d in program.inputs):
        raise _damaged("a signature that fits the program's inputs")
    for structure, count in ((signature.structure, len(signature.types)),
                             (output, len(program.outputs))):  # fmt: skip
        numbers = {leaf.index for _, leaf in leaves(structure) if isinstance(leaf, TensorLeaf)}
        if numbers != set(range(count)):
            raise _damaged("each tensor of the program's inputs and outputs once")
    return signature, output


def signature_to_json(signature: Signature) -> Json:
    """Encode a signature."""
    return {
        "parameters": [
            [p.name, p.kind, p.required, _static_to_json(p.default)] for p in signature.parameters
        ],
        "structure": structure_to_json(signature.structure),
        "names": list(signature.names),
        "types": [[t.dtype.value, t.shape, t.strides] for t in signature.types],
    }


def signature_from_json(data: Json) -> Signature:
    """Decode a signature.

    Raises:
        ArtifactError: the data has another form.
    """
    try:
        parameters = tuple(
            Parameter(str(n), str(k), bool(r), _static_from_json(d))
            for n, k, r, d in data["parameters"]
        )
        names = tuple(str(n) for n in data["names"])
        types = tuple(_type(*row) for row in data["types"])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"the signature: {error}") from error
    if len(names) != len(types):
        raise _damaged("the signature: names and types differ in number")
    return Signature(parameters, structure_from_json(data.get("structure")), names, types)


def _type(dtype: str, shape: Sequence[int], strides: Sequence[int]) -> TensorType:
    numbers = [*shape, *strides]
    if len(shape) != len(strides) or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"type {dtype} {shape} {strides}")
    return TensorType.of(DType(dtype), shape, strides)


def _damaged(what: str) -> ArtifactError:
    return ArtifactError(
        f"the artifact is damaged: it does not hold {what}", fix="save the model again"
    )
