"""The `torch.compile(model, backend="forge_ugc")` backend."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import fx, nn
from torch.multiprocessing.reductions import StorageWeakRef

from forge_ugc.errors import CaptureError, OptionError
from forge_ugc.options import Options

log = logging.getLogger(__name__)

MAX_SPECIALIZATIONS = 16


def forge_ugc(
    graph_module: fx.GraphModule,
    example_inputs: Sequence[object],
    *,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile one graph that TorchDynamo found; graph breaks stay eager in between.

    Weights become constants; if one is changed or replaced later, the graph is compiled again at
    the next call. Sizes that Dynamo leaves symbolic are compiled one by one as they appear, up to
    `MAX_SPECIALIZATIONS` programs a graph, the oldest goes first.

    Args:
        graph_module: with torch-level calls; weights are among its inputs.
        example_inputs: tensors (weights marked by Dynamo), integers or symbolic integers.
        options: what torch.compile was given; keys `target` and fields of `Options`.

    Raises:
        CaptureError: gradients are asked for: Forge-UGC compiles for inference.
        OptionError: an unknown option.
    """
    given = dict(options or {})
    target = given.pop("target", "cpu")
    try:
        chosen = Options(**given)
    except TypeError as error:
        raise OptionError(f"torch.compile(options=...): {error}") from error
    if torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs
    ):
        raise CaptureError(
            "backend 'forge_ugc' compiles for inference, but gradients are recorded here",
            why="grad mode is on and a weight or an input requires gradients",
            fix="call the model under torch.no_grad() or torch.inference_mode()",
        )
    static = [
        i for i, x in enumerate(example_inputs)
        if isinstance(x, nn.Parameter) or getattr(x, "_dynamo_static_input_type", None)
    ]  # fmt: skip
    numbers = _unwrap_numbers(graph_module)
    return cast(
        Callable[..., Any],
        torch.compiler.disable(_Specializer(graph_module, static, numbers, target, chosen)),
    )


def _unwrap_numbers(graph_module: fx.GraphModule) -> frozenset[int]:
    """Positions of the inputs that are Python floats wrapped in tensors.

    Dynamo passes a float that changed between calls as a scalar tensor, and the graph reads it with
    `.item()`. Here the input becomes the number itself, and each value gets a program of its own.
    """
    found = set()
    placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
    for index, node in enumerate(placeholders):
        users = list(node.users)
        if users and all(u.op == "call_method" and u.target == "item" for u in users):
            for user in users:
                user.replace_all_uses_with(node)
                graph_module.graph.erase_node(user)
            found.add(index)
    if found:
        graph_module.recompile()
    return frozenset(found)


class _Bound(nn.Module):
    """The graph with its weights bound as parameters and buffers, the other inputs left open."""

    def __init__(self, graph: fx.GraphModule, bound: dict[int, torch.Tensor]) -> None:
        super().__init__()
        self.graph = graph
        self._names: dict[int, str] = {}
        for index, tensor in bound.items():
            name = self._names[index] = f"bound_{index}"
            if isinstance(tensor, nn.Parameter):
                self.register_parameter(name, tensor)
            else:
                self.register_buffer(name, tensor)

    def forward(self, *rest: object) -> object:
        """Run the graph; `rest` are the open inputs in order."""
        open_inputs = iter(rest)
        total = len(rest) + len(self._names)
        return self.graph(
            *(getattr(self, self._names[i]) if i in self._names else next(open_inputs)
              for i in range(total))
        )  # fmt: skip


class _Specializer:
    def __init__(
        self, graph: fx.GraphModule, static: Sequence[int], numbers: frozenset[int], target: str,
        options: Options,
    ) -> None:  # fmt: skip
        self._graph, self._static, self._numbers = graph, frozenset(static), numbers
        self._target, self._options = target, options
        self._programs: OrderedDict[object, Callable[..., Any]] = OrderedDict()
        self._seen: tuple[object, ...] = ()
        self._storages: list[StorageWeakRef] = []
        self._written: frozenset[int] = frozenset()

    def __call__(self, *inputs: Any) -> Any:  # noqa: ANN401 - what the graph returns
        seen = self._identity(inputs)
        if seen != self._seen:
            self._programs.clear()
            self._seen = seen
            # A weak reference lets the memory go, but keeps the storage's identity from being
            # given to another one, so that `seen` cannot match weights that came later.
            self._storages = [StorageWeakRef(inputs[i].untyped_storage()) for i in self._static]
        rest = [
            x.item() if i in self._numbers and isinstance(x, torch.Tensor) else _plain(x)
            for i, x in enumerate(inputs)
            if i not in self._static
        ]
        key = tuple(
            (tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else repr(x) for x in rest
        )
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._compile(inputs, rest)
            self._seen = self._identity(inputs)
            if len(self._programs) > MAX_SPECIALIZATIONS:
                self._programs.popitem(last=False)
        return program(*rest)

    def _identity(self, inputs: Sequence[Any]) -> tuple[object, ...]:
        """Changes whenever a weight is replaced or written to by someone else."""
        return tuple(
            (
                inputs[i].untyped_storage()._cdata,
                inputs[i].data_ptr(),
                None if i in self._written else inputs[i]._version,
            )
            for i in self._static
        )

    def _compile(self, inputs: Sequence[Any], rest: Sequence[object]) -> Callable[..., Any]:
        from forge_ugc.compiler import compile_module

        bound = {i: inputs[i] for i in self._static}
        compiled = compile_module(
            _Bound(self._graph, bound), tuple(rest), {}, target=self._target,
            options=self._options, share_states=True,
        )  # fmt: skip
        states = {s.name for s in compiled.program.states}
        self._written = frozenset(i for i in bound if f"bound_{i}" in states)
        log.debug("compiled %s for %s", compiled.program.name, compiled.signature.describe())
        return compiled


def _plain(value: object) -> object:
    """Symbolic numbers of Dynamo arrive as their concrete values."""
    if isinstance(value, torch.SymInt):
        return int(value)
    return float(value) if isinstance(value, torch.SymFloat) else value
