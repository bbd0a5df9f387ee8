"""Tracing of equal blocks once: what happens at the call of a block while a model is exported."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from torch import fx, nn
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from forge_ugc.capture.block_candidates import Block, find_blocks
from forge_ugc.capture.block_report import RepeatedBlocksReport, StampedBlocks, TracedBlock
from forge_ugc.capture.block_signature import (
    Signature,
    attribute_signature,
    first_difference,
)
from forge_ugc.capture.block_tracing import (
    Region,
    Unprovable,
    arguments_of,
    check_own,
    finish_region,
    own_nodes,
    state_of_torch,
)
from forge_ugc.capture.hidden_tensors import HiddenTensors
from forge_ugc.capture.index_reads import IndexReads
from forge_ugc.capture.opaque import BEGIN, mark, new_number, stand_in
from forge_ugc.capture.quiet_subclass import quiet_subclass
from forge_ugc.capture.stamping import StampedCall, expand
from forge_ugc.capture.structure import unflatten


class RepeatedBlocks:
    """The blocks of one module while it is exported.

    The first block of its kind runs as ever, between two marks. A later call of an equal block with
    inputs of the same kind does not run: one operator stands for it, with results of the same
    shapes. `expand` puts copies of the first block's operators in the place of these.

    Two calls are of one kind if everything agrees that the block's forward can read: classes, modes
    and plain attributes of all its modules by value, layout of parameters and buffers, nesting,
    numbers and tensor metadata of its arguments, and PyTorch's modes. An integer that differs in
    every block of a list, such as its index, may differ if the trace never read it. What the first
    run did must be expressed by its operators alone: see `finish_region`.
    """

    def __init__(self, module: nn.Module) -> None:
        self._start(*find_blocks(module))

    def again(self) -> RepeatedBlocks:
        """The same blocks for another export."""
        made = object.__new__(RepeatedBlocks)
        made._start(self.blocks, self._alone)
        return made

    def _start(self, blocks: Sequence[Block], alone: Sequence[TracedBlock]) -> None:
        self._alone = alone
        # By the attributes' dict, which stand-ins of torch.export share with the module.
        self._blocks = {id(vars(block.module)): block for block in blocks}
        self._thread = threading.get_ident()
        self._classes: dict[int, type[nn.Module]] = {}
        self._tracer: object = None
        self._inside = False
        self._hidden: HiddenTensors | None = None
        self._regions: dict[object, Region] = {}
        self._calls: dict[int, StampedCall] = {}
        self._traced: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._blocks)

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks that have an equal, in order."""
        return tuple(self._blocks.values())

    @contextmanager
    def installed(self, hidden: HiddenTensors) -> Iterator[None]:
        """Watch the calls of blocks. Their classes are replaced by subclasses meanwhile."""
        self._hidden = hidden
        watching: dict[type[nn.Module], type[nn.Module]] = {}
        try:
            for block in self._blocks.values():
                cls = type(block.module)
                if cls not in watching:
                    watching[cls] = self._watching(cls)
                try:
                    block.module.__class__ = watching[cls]
                except TypeError as error:  # memory of its own beside the attributes' dict
                    self._traced[block.path] = str(error)
                else:
                    self._classes[id(block.module)] = cls
            with hidden.out_of_sight():
                yield
        finally:
            for block in self._blocks.values():
                block.module.__class__ = self._classes.get(id(block.module), type(block.module))

    def expand(self, exported: ExportedProgram) -> None:
        """Put the copies into an exported program, see `stamping.expand`."""
        if self._hidden is not None:
            self._hidden.complete(exported)
        regions = {r.number: r.path for r in self._regions.values() if r.refused is None}
        expand(exported, regions, self._calls)

    def report(self, whole_model: str | None = None) -> RepeatedBlocksReport:
        """What was stamped and what was traced; `whole_model` says why the former was for nothing.

        A list of blocks that the model never calls does not appear.
        """
        copies: dict[str, list[str]] = {}
        for call in self._calls.values():
            copies.setdefault(call.traced, []).append(call.path)
        traced = [*self._alone, *(TracedBlock(path=p, reason=r) for p, r in self._traced.items())]
        stamped = () if whole_model else tuple(
            StampedBlocks(traced=path, copies=tuple(paths)) for path, paths in copies.items()
        )  # fmt: skip
        return RepeatedBlocksReport(stamped=stamped, traced=tuple(traced), whole_model=whole_model)

    def _watching(self, cls: type[nn.Module]) -> type[nn.Module]:
        original = cast(Callable[..., object], cls.forward)

        @functools.wraps(original)
        def forward(module: nn.Module, *args: object, **kwargs: object) -> object:
            return self._call(module, functools.partial(original, module), args, kwargs)

        return quiet_subclass(cls, {"forward": forward})

    def _call(
        self, module: nn.Module, run: Callable[..., object], args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> object:  # fmt: skip
        block = self._blocks.get(id(vars(module)))
        tracer = self._tracer_of_export()
        if block is None or tracer is None or self._inside:
            return run(*args, **kwargs)
        try:
            with torch._C.DisableTorchFunction():  # looking at tensors is no part of the trace
                hidden = self._hidden is not None and self._hidden.hides(block)
                own = {} if hidden else own_nodes(block.module, tracer)
                given = arguments_of(args, kwargs, tracer, own)
        except Unprovable as error:
            self._traced[block.path] = str(error)
            return run(*args, **kwargs)
        attributes = attribute_signature(block.module, self._class_of, block.indices)
        key = (block.group, tuple(attributes.items()), given.key, state_of_torch())
        region = self._regions.get(key)
        if region is None:
            region = self._regions[key] = Region(new_number(), block.path, given)
            return self._trace(block, region, own, run, (args, kwargs), attributes)
        if region.refused is not None:
            self._traced[block.path] = region.refused
            return run(*args, **kwargs)
        return self._stamp(block, region, given.tensors)

    def _tracer_of_export(self) -> Any:  # noqa: ANN401 - private class of PyTorch
        """The tracer, None where a call of this thread is not part of the export."""
        mode = get_proxy_mode()
        if mode is None or threading.get_ident() != self._thread or torch.is_grad_enabled():
            return None
        if self._tracer is None:
            self._tracer = mode.tracer
        return mode.tracer if mode.tracer is self._tracer else None

    def _class_of(self, module: nn.Module) -> type:
        return self._classes.get(id(module), type(module))

    def _trace(
        self, block: Block, region: Region, own: Mapping[int, fx.Node], run: Callable[..., object],
        given: tuple[Sequence[object], Mapping[str, object]], before: Signature,
    ) -> object:  # fmt: skip
        """Run a block between marks, and see whether its trace may serve for others."""
        begin = mark(BEGIN, region.arguments.tensors, region.number, self._tracer)
        region.begin = begin
        with ExitStack() as stack:
            reads = stack.enter_context(IndexReads(block.module, block.indices))
            stack.callback(setattr, self, "_inside", False)
            self._inside = True
            returned = run(*given[0], **given[1])
        try:
            if reads.places:
                raise Unprovable(f"its forward reads {reads.places[0]}, which differs in each")
            if reads.written:
                raise Unprovable(f"its forward changes {reads.written[0]} of its class")
            after = attribute_signature(block.module, self._class_of, block.indices)
            changed = first_difference(before, after)
            if changed is not None:
                raise Unprovable(f"its forward changes {changed}")
            with torch._C.DisableTorchFunction():
                check_own(block.module, own)
                finish_region(region, own, self._tracer, begin, given, returned)
        except Unprovable as error:
            region.refused = str(error)
            self._traced[block.path] = region.refused
        return returned

    def _stamp(self, block: Block, region: Region, tensors: list[torch.Tensor]) -> object:
        number = new_number()
        self._calls[number] = StampedCall(region.number, region.path, block.path)
        moved = [tensors[at] for at in region.moved]
        like = cast(fx.Node, region.begin)
        made = stand_in(tensors, number, region.results, moved, like, self._tracer)
        given = {"made": made, "input": tensors}
        return unflatten(region.output, [given[kind][at] for kind, at in region.output_tensors])
