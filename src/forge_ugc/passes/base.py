"""The pass interface: what a pass is, what it reports, how it is found."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, TypeVar

from torch import fx
from torch._ops import OpOverload, OpOverloadPacket

from forge_ugc.errors import InternalError, OptionError
from forge_ugc.npuir.instruction import SourceLocation
from forge_ugc.options import Options
from forge_ugc.passes.graph import calls, location
from forge_ugc.passes.text import operator_of
from forge_ugc.plugins import load_plugins

_REGISTRY: dict[str, type[GraphPass]] = {}
_T = TypeVar("_T", bound="type[GraphPass]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """One rewrite that happened: rule, the node that now stands there, and what it replaced."""

    rule: str
    node: str
    what: str
    location: SourceLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """One rewrite that almost happened, with the reason it did not."""

    rule: str
    node: str
    reason: str
    location: SourceLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """What one run of a pass did. `changed` counts rewrites; 0 means the graph is as it was."""

    changed: int
    details: tuple[Fired, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()


class GraphPass(ABC):
    """A pass: keeps the graph runnable as plain PyTorch with the same results.

    Subclasses are one file of `forge_ugc/passes/`, decorated with `@graph_pass(name)`. A pass keeps
    `meta["type"]` of every node it makes (use `graph.emit`) and leaves no dead node of its own.
    """

    name: ClassVar[str]
    approximates: ClassVar[bool] = False
    """Whether results may change by more than rounding explains; verification then only tells."""

    @abstractmethod
    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        """Transform in place. Linear in the number of nodes."""


@dataclass(frozen=True, slots=True)
class No:
    """A rewrite's refusal: the reason, and the node where it shows (the anchor if None)."""

    reason: str
    at: fx.Node | None = None


class Rewrite(ABC):
    """A local rewrite, tried at every call of one of its `anchors`.

    `apply` returns None where the pattern is absent, `No(reason)` where it is a near miss worth
    telling the user, and the replacing node where it fired; it then has already replaced all uses
    of the old result and erased the nodes that became dead. `meta["note"]` of that node is told to
    the user.
    `tier` is the smallest fusion_aggressiveness at which the rewrite runs.
    """

    name: ClassVar[str]
    tier: ClassVar[float] = 0.2
    anchors: ClassVar[tuple[OpOverload | OpOverloadPacket, ...]]

    @abstractmethod
    def apply(self, node: fx.Node) -> fx.Node | No | None:
        """Try to rewrite around `node`. Looks at a bounded neighbourhood."""


class RewritePass(GraphPass):
    """A pass that tries a list of rewrites at every node, in topological order.

    A pass with `stages` walks the graph once a stage, so that a later stage meets what the stages
    before it have made; `rewrites` then holds all of them.
    """

    rewrites: ClassVar[tuple[type[Rewrite], ...]]
    stages: ClassVar[tuple[tuple[type[Rewrite], ...], ...]] = ()

    def run(self, graph_module: fx.GraphModule, options: Options) -> PassResult:
        fired: list[Fired] = []
        missed: list[NearMiss] = []
        for stage in self.stages or (self.rewrites,):
            by_target = _table(stage, options)
            for node in calls(graph_module.graph):
                for rewrite in by_target.get(node.target, ()):
                    if node._erased:
                        break
                    _try(rewrite, node, fired, missed)
        return PassResult(changed=len(fired), details=tuple(fired), near_misses=tuple(missed))


def _try(rewrite: Rewrite, node: fx.Node, fired: list[Fired], missed: list[NearMiss]) -> None:
    outcome = rewrite.apply(node)
    if isinstance(outcome, No):
        at = outcome.at or node
        missed.append(
            NearMiss(rule=rewrite.name, node=at.name, reason=outcome.reason, location=location(at))
        )
    elif outcome is not None:
        note = outcome.meta.get("note")
        what = f"{node.name} -> {operator_of(outcome)}" + (f" ({note})" if note else "")
        fired.append(
            Fired(rule=rewrite.name, node=outcome.name, what=what, location=location(node))
        )


def _table(rewrites: Sequence[type[Rewrite]], options: Options) -> dict[object, list[Rewrite]]:
    table: dict[object, list[Rewrite]] = {}
    for cls in rewrites:
        off = cls.name in options.disable or cls.tier > options.fusion_aggressiveness
        if off or options.fusion_aggressiveness == 0.0:
            continue
        rewrite = cls()
        for anchor in cls.anchors:
            for target in _overloads(anchor):
                table.setdefault(target, []).append(rewrite)
    return table


@lru_cache(maxsize=1024)
def _overloads(anchor: OpOverload | OpOverloadPacket) -> tuple[OpOverload, ...]:
    if isinstance(anchor, OpOverload):
        return (anchor,)
    return tuple(getattr(anchor, name) for name in anchor.overloads())


def graph_pass(name: str) -> Callable[[_T], _T]:
    """Class decorator that registers a pass under its command-line name."""

    def register(cls: _T) -> _T:
        if name in _REGISTRY:
            raise InternalError(f"two passes are called {name!r}")
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return register


def registered() -> dict[str, type[GraphPass]]:
    """All passes by name: those of `forge_ugc.passes`, and any that other code has registered."""
    _load_all()
    return dict(sorted(_REGISTRY.items()))


@lru_cache(maxsize=1)
def _load_all() -> None:
    """Import every file of `forge_ugc.passes`, which registers the passes in them."""
    package = importlib.import_module("forge_ugc.passes")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"forge_ugc.passes.{module.name}")
    load_plugins()


def build(names: Sequence[str]) -> list[GraphPass]:
    """Instances of the named passes in that order.

    Raises:
        OptionError: no pass has that name.
    """
    known = registered()
    for name in names:
        if name not in known:
            raise OptionError(f"no pass is called {name!r}", fix=f"choose from {', '.join(known)}")
    return [known[name]() for name in names]
