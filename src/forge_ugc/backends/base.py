"""The backend interface: what a target says about itself and how it takes a program."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, TypeVar

import torch

from forge_ugc.backends.floorplan import Floorplan
from forge_ugc.backends.recording import Recording
from forge_ugc.errors import BackendUnavailableError, InternalError, OptionError
from forge_ugc.npuir.instruction import Device, Instruction, Ref
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import TensorType
from forge_ugc.options import Options
from forge_ugc.plugins import load_plugins
from forge_ugc.quantization.report import Quantized

_REGISTRY: dict[str, type[Backend]] = {}
_T = TypeVar("_T", bound="type[Backend]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether a target can run here, and why (not)."""

    available: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Yes:
    """A device runs an instruction."""


@dataclass(frozen=True, slots=True)
class No:
    """A device cannot run an instruction; `fix` is what the user can do, if it is special."""

    reason: str
    fix: str = ""


class Executable(ABC):
    """A program made ready to run.

    Attributes:
        host_instructions: how many instructions run through PyTorch operators, by opcode.
        released: constants that were taken out of the tensors that `compile` got, since the
            executable holds them in a form of its own, by name; the function gives them back.
        floorplan: where a spatial target put the program; None for any other target.
        runs: what computes the results, where a target has several ways.
    """

    runs: str = ""
    host_instructions: Mapping[str, int] = MappingProxyType({})
    released: Mapping[str, Callable[[], torch.Tensor]] = MappingProxyType({})
    floorplan: Floorplan | None = None

    @abstractmethod
    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The program's outputs for flat inputs of the declared types. Safe from many threads.

        States and stored inputs are written in place. An output that is an input or a constant of
        the program is that very tensor; any other is new memory of its own. If an instruction
        raises, nothing has been written.
        """

    def record(self, inputs: Sequence[torch.Tensor]) -> Recording:
        """Run as `run` does, and say when every step ran.

        Raises:
            OptionError: this target keeps no times.
        """
        raise OptionError(
            f"{type(self).__name__} keeps no times of its steps", fix="profile for target 'cpu'"
        )


class Backend(ABC):
    """A target: `devices` in order of preference, the first that says Yes gets the instruction.

    Attributes:
        passes: names of the pipeline that the target needs; None for the default one.
        quantizes: whether `quantize` has to make an integer program of a lowered one.
        makes_late: whether `compile` reads constants by `tensors[name]` or `LateTensors` alone, so
            that those in another precision are made when it does, and not all before.
    """

    name: ClassVar[str]
    devices: ClassVar[tuple[Device, ...]]
    makes_late: ClassVar[bool] = False
    passes: ClassVar[tuple[str, ...] | None] = None
    quantizes: ClassVar[bool] = False

    @abstractmethod
    def probe(self) -> Availability:
        """Whether the target can run on this machine. Never raises."""

    @abstractmethod
    def supports(
        self, instruction: Instruction, device: Device, types: Mapping[Ref, TensorType]
    ) -> Yes | No:
        """The only legality test: may `device` run this instruction?

        Never asked about views, which only describe memory.

        Args:
            instruction: lowered, without a device.
            device: one of `devices`.
            types: the type of every register, constant and state that the instruction reads.
        """

    def quantize(
        self, program: Program, tensors: Mapping[str, torch.Tensor],
        batches: Sequence[Sequence[torch.Tensor]], options: Options,
    ) -> Quantized:  # fmt: skip
        """The integer program of a lowered one, if the target `quantizes`.

        Args:
            program: without places; `tensors`: its constants.
            batches: calibration data, each the flat inputs of one call.

        Raises:
            UnsupportedOperatorError, QuantizationError: it cannot be made; names the layer.
        """
        raise InternalError(f"target {self.name!r} computes in the model's own types")

    @abstractmethod
    def compile(
        self, program: Program, tensors: dict[str, torch.Tensor], options: Options
    ) -> Executable:
        """Make a scheduled, allocated program ready to run.

        Args:
            program: with a place for every result that is not a view.
            tensors: constants and initial states by name; states are owned by the executable. It
                may remove constants, one by one as it packs them, see `Executable.released`.
            options: of the compilation, or of the loading of a file: number of threads.
        """


def register(name: str, devices: Sequence[str]) -> Callable[[_T], _T]:
    """Class decorator that registers a backend under its target name."""

    def wrap(cls: _T) -> _T:
        if name in _REGISTRY:
            raise InternalError(f"two backends are called {name!r}")
        cls.name, cls.devices = name, tuple(Device(d) for d in devices)
        _REGISTRY[name] = cls
        return cls

    return wrap


def registered() -> dict[str, Backend]:
    """All backends by target name: those of the package, and any that other code has registered.

    There is one instance of each.
    """
    _load_all()
    return {name: _instance(cls) for name, cls in sorted(_REGISTRY.items())}


@lru_cache(maxsize=1)
def _load_all() -> None:
    """Import the `backend.py` of every folder of `forge_ugc.backends`, which registers it."""
    package = importlib.import_module("forge_ugc.backends")
    for module in pkgutil.iter_modules(package.__path__):
        name = f"forge_ugc.backends.{module.name}.backend"
        if module.ispkg and importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
    load_plugins()


@lru_cache(maxsize=64)
def _instance(cls: type[Backend]) -> Backend:
    return cls()


def get(target: str) -> Backend:
    """The backend of a target that is available on this machine.

    Raises:
        OptionError: no target has that name.
        BackendUnavailableError: it cannot run here; says why.
    """
    known = registered()
    if target not in known:
        raise OptionError(f"no target is called {target!r}", fix=f"choose from {', '.join(known)}")
    availability = known[target].probe()
    if not availability.available:
        raise BackendUnavailableError(
            f"target {target!r} cannot be used on this machine", why=availability.reason
        )
    return known[target]
