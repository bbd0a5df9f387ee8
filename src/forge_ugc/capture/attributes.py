"""Refuses models that keep tensors from call to call in plain attributes, which programs lack."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any, cast

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from forge_ugc.errors import CaptureError

_STANDARD = frozenset(vars(nn.Module()))


class Kept:
    """The paths of tensors that a traced call put into attributes, in the order of its outputs.

    `running` while that call lasts. torch.export puts a module's own attributes back after the
    trace, but not what they refer to.
    """

    paths: tuple[str, ...] = ()
    running = False


class Attributes:
    """What the plain attributes of a module and its children hold before it runs."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._before = {key: _tensors(value) for key, value in _plain(module)}

    def kept(self) -> dict[str, torch.Tensor]:
        """By path: tensors that replaced others, by code that reads the attribute first.

        Where nothing was before, the first call takes a branch that does not read it.
        """
        found = {}
        modules = dict(self._module.named_modules())
        for (path, name), value in _plain(self._module):
            known = {id(t) for t in self._before.get((path, name), ())}
            new = [t for t in _tensors(value) if id(t) not in known]
            if new and known and _reads_first(type(modules[path]), name):
                found[f"{path}.{name}" if path else name] = new[0]
        return found


def refuse_kept(exported: ExportedProgram, paths: Sequence[str]) -> None:
    """Take the last outputs, the tensors that were kept, off the program, in place.

    Raises:
        CaptureError: one of them depends on the inputs. What depends on weights alone is the same
            in every call: a table that is computed once.
    """
    if not paths:
        return
    specs = exported.graph_signature.output_specs
    output = exported.graph.output_node()
    values = list(cast(Any, output.args[0]))
    user = [i for i, s in enumerate(specs) if s.kind is OutputKind.USER_OUTPUT][-len(paths) :]
    inputs = {
        s.arg.name for s in exported.graph_signature.input_specs if s.kind is InputKind.USER_INPUT
    }
    depends = {n for n in exported.graph.nodes if n.op == "placeholder" and n.name in inputs}
    for node in exported.graph.nodes:
        if any(n in depends for n in node.all_input_nodes):
            depends.add(node)
    for path, index in zip(paths, user, strict=True):
        if values[index] in depends:
            raise CaptureError(
                f"the model keeps a tensor from call to call in its attribute {path}",
                why="a program has no attributes, the next call would not see it (state, mutation)",
                fix="register a buffer of fixed size, and write to it",
            )
    output.args = (tuple(v for i, v in enumerate(values) if i not in user),)
    for index in reversed(user):
        del specs[index]
    exported.graph_module.recompile()


def _plain(module: nn.Module) -> Iterator[tuple[tuple[str, str], object]]:
    for path, m in module.named_modules():
        for name, value in list(vars(m).items()):
            if name not in _STANDARD:
                yield (path, name), value


def _tensors(value: object) -> list[torch.Tensor]:
    if not isinstance(value, torch.Tensor | list | tuple | dict):
        return []
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _reads_first(cls: type[nn.Module], name: str) -> bool:
    """True if a method reads `self.name` before it sets it, or fills it without ever setting it."""
    orders = [order for f in _methods(cls) if (order := _accesses(f, name))]
    sets = any(True in order for order in orders)
    return any(not order[0] and (True in order or not sets) for order in orders)


def _methods(cls: type[nn.Module]) -> Iterator[FunctionType]:
    for base in cls.__mro__[: cls.__mro__.index(nn.Module)]:
        for name, function in vars(base).items():
            if isinstance(function, FunctionType) and name != "__init__":
                yield function


def _accesses(function: FunctionType, name: str) -> list[bool]:
    """For each access to an attribute of this name, in order: is it set?"""
    codes = {"STORE_ATTR": True, "LOAD_ATTR": False, "LOAD_METHOD": False}
    return [
        codes[i.opname]
        for i in dis.get_instructions(function)
        if i.opname in codes and i.argval == name
    ]
