"""`AIEModel`: an integer model made of layers, its golden results, and its program."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from forge_ugc.aie.comparison import Comparison, Simulate, compare, locate, located, refuse_vacuous
from forge_ugc.aie.layers import Layer, ReLU, Shape
from forge_ugc.backends.aie.design import Design
from forge_ugc.backends.aie.device import AieDevice, device_named
from forge_ugc.backends.aie.pipeline import build
from forge_ugc.backends.aie.simulation import Simulated, simulate_design
from forge_ugc.backends.aie.simulator import SimulationResult
from forge_ugc.errors import ForgeError, InputError, OptionError, SimulationError
from forge_ugc.npuir.instruction import Reg
from forge_ugc.npuir.program import Program
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.quantization.builder import Builder, Value

Bytes = npt.NDArray[np.int8]
TAKES_RELU = frozenset({"dense", "mha", "add", "pool"})


@dataclass(frozen=True, slots=True)
class Handle:
    """A layer of a model, or its input, as an input of further layers."""

    index: int
    name: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class _Node:
    layer: Layer
    inputs: tuple[Handle, ...]
    handle: Handle


@dataclass(frozen=True, slots=True)
class _Built:
    program: Program
    tensors: Mapping[str, torch.Tensor]
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A simulation whose results are golden.

    Attributes:
        outputs: i8[..., rows, columns].
        result: the account of every tile and port, and timing.
    """

    outputs: Bytes
    comparison: Comparison
    result: SimulationResult

    def __str__(self) -> str:
        lines = [str(self.comparison), f"{len(self.result.kernels)} kernels"]
        for name, cycles in (("latency", self.result.latency_cycles),
                             ("interval", self.result.interval_cycles)):  # fmt: skip
            if cycles is not None:
                seconds = self.result.seconds(cycles)
                lines.append(f"{name}: {cycles:,.0f} cycles, {seconds * 1e6:,.2f} us")
        return "\n".join(lines)


class AIEModel:
    """A dataflow graph of integer layers over one i8 matrix, for an AI Engine device.

    Factors of requantisation that a layer does not give are measured: `calibrate` runs the layers
    one after the other on samples and lets each fill 8 bits. All results are exact integers;
    docs/aie.md says which.

    Args:
        shape: (rows, columns) of the input: particles and features.
        device: name of an AI Engine device, see `forge_ugc.backends.aie.device`.
        name: of the model, a C++ identifier.
        input_step: the real number that one step of the input stands for; matters where a softmax
            or a sum of two branches depends on it.

    Raises:
        OptionError: no such device, or a shape or name that is none.
    """

    def __init__(
        self, *, shape: Shape, device: str = "vck190", name: str = "model", input_step: float = 1.0
    ) -> None:
        self.device: AieDevice = device_named(device)
        rows, columns = shape
        if rows < 1 or columns < 1:
            raise OptionError(f"shape is {rows} x {columns}, expected 1 x 1 or more")
        if not (math.isfinite(input_step) and input_step > 0):
            raise OptionError(f"input_step is {input_step}, expected a positive number")
        self.name, self.input_step = _identifier(name, "the model"), input_step
        self.input = Handle(-1, "input", (rows, columns))
        self._nodes: list[_Node] = []
        self._built: _Built | None = None

    def add_layer(self, layer: Layer, inputs: Sequence[Handle] | None = None) -> Handle:
        """Append a layer.

        Args:
            inputs: handles of this model; by default the layer before, or the model's input.

        Returns:
            The layer's handle, for the layers that read it.

        Raises:
            OptionError: number or shapes of inputs, heads, weights or a name do not fit.
            QuantizationError: weights or biases are no integers that fit.
        """
        last = self._nodes[-1].handle if self._nodes else self.input
        given = tuple(inputs) if inputs is not None else (last,)
        count = sum(node.layer.kind == layer.kind for node in self._nodes)
        name = _identifier(layer.name or f"{layer.kind}_{count}", "a layer")
        if name in {"input", *(node.handle.name for node in self._nodes)}:
            raise OptionError(f"two layers are called {name!r}", fix="give each a name of its own")
        if len(given) != layer.arity:
            raise OptionError(
                f"layer {name} takes {layer.arity} inputs, got {len(given)}",
                fix="add_layer(layer, inputs=[...]) with the handles that it reads",
            )
        for handle in given:
            if handle != self.input and handle not in [node.handle for node in self._nodes]:
                raise OptionError(f"layer {name} reads {handle.name!r}, which is not of this model")
        with _at(name):
            shape = layer.shape([handle.shape for handle in given])
        handle = Handle(len(self._nodes), name, shape)
        self._nodes.append(_Node(layer, given, handle))
        self._built = None
        return handle

    @property
    def output(self) -> Handle:
        """The layer added last: the model's result.

        Raises:
            OptionError: there is no layer, or one that nothing reads.
        """
        if not self._nodes:
            raise OptionError(f"model {self.name} has no layers", fix="add_layer(Dense(...))")
        read = {handle.index for node in self._nodes for handle in node.inputs}
        for node in self._nodes[:-1]:
            if node.handle.index not in read:
                raise OptionError(
                    f"nothing reads layer {node.handle.name}",
                    fix="leave it out, or add what reads it; the last layer is the result",
                )
        return self._nodes[-1].handle

    def calibrate(self, x: npt.ArrayLike | torch.Tensor) -> None:
        """Measure every factor that the layers leave open on samples: i8[..., rows, columns].

        Raises:
            InputError: the samples have another shape or type.
            QuantizationError: a factor is out of range.
        """
        self._built = self._build(torch.from_numpy(self._jets(x)))

    @property
    def program(self) -> Program:
        """The int8 program: `int8_linear` and so on, each with its layer as location.

        Raises:
            QuantizationError: a factor is open, and `calibrate` has not been called.
        """
        return self._ready().program

    @property
    def tensors(self) -> Mapping[str, torch.Tensor]:
        """Weights, biases and tables of the program by name."""
        return self._ready().tensors

    @property
    def steps(self) -> Mapping[str, float]:
        """The real number that one step of each layer's result stands for."""
        return {name: value.step for name, value in self._ready().values.items()}

    @property
    def registers(self) -> Mapping[str, Reg]:
        """The register that holds each layer's result; a ReLU shares that of the layer it is in."""
        return {name: value.reg for name, value in self._ready().values.items()}

    def golden(self, x: npt.ArrayLike | torch.Tensor) -> Bytes:
        """The exact result: i8[..., rows, columns] of the output for i8[..., rows, columns].

        Raises:
            InputError: the input has another shape or type.
        """
        jets = self._jets(x)
        shape = np.shape(x)[:-2]
        return run_golden(self.program, self.tensors, jets).reshape(*shape, *self.output.shape)

    def verify(self, x: npt.ArrayLike | torch.Tensor, simulate: Simulate) -> Comparison:
        """Compare what `simulate` makes of the model with the golden results, bit for bit.

        If anything differs the model is simulated up to each of its layers, to name the first.

        Args:
            x: i8[..., rows, columns]; factors that are open are measured on it first.
            simulate: runs an int8 program on jets, i8[jets, rows, columns].

        Raises:
            SimulationError: the comparison would say nothing: all golden values are 0, saturated or
                alike.
        """
        jets = self._jets(x)
        if self._built is None:
            self.calibrate(jets)
        program, tensors, name = self.program, self.tensors, self.output.name
        golden = run_golden(program, tensors, jets)
        refuse_vacuous(golden, self.name)
        found = compare(golden, simulate(program, tensors, jets), layer=name, model=self.name)
        if found.matches:
            return found
        layers = {layer: reg for layer, reg in self.registers.items() if layer != "input"}
        return located(found, locate(program, tensors, layers, jets, simulate, run_golden))

    def compile(self, folder: str | Path, *, mapping: str = "auto") -> Design:
        """Write the model's project: C++ kernels, the graph, parameters, files to build it.

        Raises:
            OptionError: no such mapping.
            QuantizationError: a factor is open, and `calibrate` has not been called.
            UnsupportedOperatorError, ResourceError: a layer has no kernel, or fits no tile.
        """
        return build(
            self.program, self.tensors, device=self.device, mapping=mapping, folder=Path(folder)
        )

    def forward(
        self, x: npt.ArrayLike | torch.Tensor, *, folder: str | Path | None = None,
        mapping: str = "auto",
    ) -> Run:  # fmt: skip
        """Write the project, simulate it on x, and compare with the golden results bit for bit.

        Args:
            x: i8[..., rows, columns]; factors that are open are measured on it first.
            folder: of the project; by default one that is removed again.

        Raises:
            SimulationError: the results differ (names layer, tile and lane of the first
                difference), the comparison would say nothing, or the simulation fails.
            BackendUnavailableError: there is no C++ compiler.
            OptionError, UnsupportedOperatorError, ResourceError: as `compile`.
        """
        simulated: list[Simulated] = []

        def simulate(
            program: Program, tensors: Mapping[str, torch.Tensor], jets: Bytes, place: Path
        ) -> Bytes:
            design = build(program, tensors, device=self.device, mapping=mapping, folder=place)
            kind = program.types()[program.outputs[0]]
            shape = (kind.shape[-2], kind.shape[-1])
            simulated.append(simulate_design(design, place, jets, [shape]))
            return simulated[-1].outputs[0]

        with _folder(folder) as place:
            found = self.verify(
                x, lambda p, t, j: simulate(p, t, j, place if p is self.program else place / "part")
            )
        if not found.matches:
            raise SimulationError(
                f"the kernels of model {self.name} differ from its golden results",
                where=str(found.first), why=str(found).splitlines()[0],
                fix="report this with the model",
            )  # fmt: skip
        shape = np.shape(x)[:-2]
        outputs = simulated[0].outputs[0].reshape(*shape, *self.output.shape)
        return Run(outputs=outputs, comparison=found, result=simulated[0].result)

    def _ready(self) -> _Built:
        if self._built is None:
            self._built = self._build(None)
        return self._built

    def _jets(self, x: npt.ArrayLike | torch.Tensor) -> Bytes:
        array = np.asarray(x)
        wanted = self.input.shape
        if array.shape[-2:] != wanted or array.size == 0:
            raise InputError(
                f"the input of model {self.name} is {list(array.shape)}, expected "
                f"[..., {wanted[0]}, {wanted[1]}]"
            )
        if array.dtype.kind not in "iu" or array.min() < -128 or array.max() > 127:
            raise InputError(
                f"the input of model {self.name} holds {array.dtype}, expected integers of -128 "
                "to 127",
                fix="quantise it: round(x / input_step)",
            )
        return np.ascontiguousarray(array.reshape(-1, *wanted), dtype=np.int8)

    def _build(self, samples: torch.Tensor | None) -> _Built:
        output = self.output
        builder = Builder(name=self.name)
        shape = self.input.shape
        values = {"input": builder.input("input", shape, self.input_step, samples)}
        folded = self._folded()
        for node in self._nodes:
            builder.where = node.handle.name
            inputs = [values[handle.name] for handle in node.inputs]
            if node.handle.index in folded:
                values[node.handle.name] = inputs[0]
                continue
            relu = any(folded.get(n.handle.index) == node.handle.index for n in self._nodes)
            with _at(node.handle.name):
                values[node.handle.name] = node.layer.build(builder, inputs, relu)
        program = builder.program("aie", [values[output.name]])
        kept = {name: replace(value, sample=None) for name, value in values.items()}
        return _Built(program, dict(builder.tensors), kept)

    def _folded(self) -> dict[int, int]:
        """Index of every ReLU that is part of the layer before it, with that layer's index."""
        readers: dict[int, int] = {}
        for node in self._nodes:
            for handle in node.inputs:
                readers[handle.index] = readers.get(handle.index, 0) + 1
        found = {}
        for node in self._nodes:
            source = node.inputs[0].index
            if isinstance(node.layer, ReLU) and source >= 0 and readers[source] == 1:
                if self._nodes[source].layer.kind in TAKES_RELU:
                    found[node.handle.index] = source
        return found


def run_golden(program: Program, tensors: Mapping[str, torch.Tensor], jets: Bytes) -> Bytes:
    """The reference interpreter's result for each jet: i8[jets, ...]."""
    results = [interpret(program, tensors, [torch.from_numpy(jet)])[0] for jet in jets]
    return torch.stack(results).numpy()


@contextmanager
def _at(layer: str) -> Iterator[None]:
    """Name the layer in errors that do not name a place."""
    try:
        yield
    except ForgeError as error:
        where = error.where or f"layer {layer}"
        raise type(error)(error.what, where=where, why=error.why, fix=error.fix) from None


@contextmanager
def _folder(given: str | Path | None) -> Iterator[Path]:
    if given is not None:
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="forge_ugc_aie_") as made:
        yield Path(made)


def _identifier(name: str, what: str) -> str:
    if not (name.isidentifier() and name.isascii()):
        raise OptionError(
            f"{what} is called {name!r}, which is not a C++ identifier",
            fix="letters, digits and _ only, no digit in front",
        )
    return name
