"""Parameters and buffers of blocks that are not traced, kept from torch.export."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

from forge_ugc.capture.block_candidates import Block
from forge_ugc.capture.export import FlatModule

_Named = dict[str, torch.Tensor | None]


class _Needed(Exception):
    """Something looked at a hidden tensor."""


class HiddenTensors:
    """Hides the tensors of all but the first block of each group while a module is exported.

    torch.export spends about as long on a parameter as on an operator. `complete` gives the
    exported program the inputs that it would have for them.

    Attributes:
        needed: something looked at one while the model ran; the export is of no use then.
    """

    def __init__(self, flat: FlatModule, blocks: Sequence[Block]) -> None:
        self.needed = False
        self._flat = flat
        self._blocks: list[tuple[Block, Block]] = []
        self._paths: set[str] = set()
        first: dict[int, Block] = {}
        paths = {block.path for block in blocks}
        for block in blocks:
            if any(path in paths for path in _above(block.path)):
                continue  # a block inside of a block is traced or hidden with it
            if first.setdefault(block.group, block) is not block:
                self._blocks.append((block, first[block.group]))
                self._paths.add(block.path)
        # As torch.export orders its inputs.
        self._order = [
            *(name for name, _ in flat.named_parameters(remove_duplicate=False)),
            *(name for name, _ in flat.named_buffers(remove_duplicate=False)),
        ] if self._blocks else []  # fmt: skip
        self._specs: dict[str, tuple[str, InputKind, bool, torch.Tensor]] = {}

    @contextmanager
    def out_of_sight(self) -> Iterator[None]:
        """Modules seem to have no tensors; whatever asks for one while the model runs fails."""
        swapped: list[tuple[nn.Module, str, _Named]] = []
        try:
            for block, first in self._blocks:
                for path, module in block.module.named_modules():
                    inner = f"{path}." if path else ""
                    for store in ("_parameters", "_buffers"):
                        named: _Named = vars(module)[store]
                        self._note(module, store, named, f"module.{block.path}.{inner}",
                                   f"module.{first.path}.{inner}")  # fmt: skip
                        swapped.append((module, store, named))
                        vars(module)[store] = _Hidden(named, self)
            yield
        finally:
            for module, store, named in swapped:
                vars(module)[store] = named

    def hides(self, block: Block) -> bool:
        """True if the tensors of this block are out of sight."""
        return block.path in self._paths

    def look(self, *, at_one: bool) -> None:
        """Called when a hidden tensor is asked for by name, or all of a module are listed."""
        if at_one or self._flat.kept.running:
            self.needed = True
            raise _Needed("a parameter of a block that is not traced is needed")

    def _note(self, module: nn.Module, store: str, named: _Named, prefix: str, twin: str) -> None:
        kind = InputKind.PARAMETER if store == "_parameters" else InputKind.BUFFER
        for name, tensor in named.items():
            if tensor is not None:
                persistent = name not in module._non_persistent_buffers_set
                self._specs[prefix + name] = (twin + name, kind, persistent, tensor)

    def complete(self, exported: ExportedProgram) -> None:
        """Add the inputs that the hidden tensors would have, in their order, in place."""
        if not self._blocks:
            return
        graph, signature = exported.graph, exported.graph_signature
        held = {InputKind.PARAMETER, InputKind.BUFFER}
        nodes = {n.name: n for n in graph.nodes if n.op == "placeholder"}
        known = {str(s.target): nodes[s.arg.name] for s in signature.input_specs if s.kind in held}
        by_name = {s.arg.name: s for s in signature.input_specs}
        later = (nodes[s.arg.name] for s in signature.input_specs if s.kind not in held)
        anchor = next(later, None) or next(n for n in graph.nodes if n.op != "placeholder")
        for name in reversed(self._order):
            if name in known:
                anchor = known[name]
            elif name in self._specs:
                twin, kind, persistent, tensor = self._specs[name]
                anchor = _placeholder(graph, anchor, name, known[twin])
                by_name[anchor.name] = InputSpec(
                    kind, TensorArgument(anchor.name), name,
                    persistent if kind is InputKind.BUFFER else None,
                )  # fmt: skip
                if kind is InputKind.BUFFER and not persistent:
                    exported.constants[name] = tensor
                else:
                    exported.state_dict[name] = tensor
        signature.input_specs[:] = [by_name[n.name] for n in graph.nodes if n.op == "placeholder"]


def _above(path: str) -> Iterator[str]:
    """`a.b` and `a` for `a.b.c`."""
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _placeholder(graph: fx.Graph, before: fx.Node, name: str, twin: fx.Node) -> fx.Node:
    clean = "p_" + name.replace(".", "_")
    with graph.inserting_before(before):
        node = graph.create_node("placeholder", clean)
    node.target = node.name
    node.meta = {"val": twin.meta.get("val")}
    return node


class _Hidden(dict[str, Any]):
    """Stands for a module's dict of tensors: looks empty, and notices whoever looks for one."""

    def __init__(self, hidden: _Named, owner: HiddenTensors) -> None:
        super().__init__()
        self._hidden, self._owner = hidden, owner

    def __contains__(self, name: object) -> bool:
        if name in self._hidden:
            self._owner.look(at_one=True)
        return False

    def __getitem__(self, name: str) -> NoReturn:
        self._owner.look(at_one=name in self._hidden)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as dict's
        """As of an empty dict."""
        return default if name not in self else None

    def __iter__(self) -> Iterator[str]:
        self._owner.look(at_one=False)
        return super().__iter__()

    def __len__(self) -> int:
        self._owner.look(at_one=False)
        return 0

    def items(self) -> Any:  # noqa: ANN401 - as dict's
        """As of an empty dict."""
        self._owner.look(at_one=False)
        return super().items()

    def values(self) -> Any:  # noqa: ANN401 - as dict's
        """As of an empty dict."""
        self._owner.look(at_one=False)
        return super().values()

    def keys(self) -> Any:  # noqa: ANN401 - as dict's
        """As of an empty dict."""
        self._owner.look(at_one=False)
        return super().keys()
