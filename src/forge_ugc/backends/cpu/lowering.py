"""From NPUIR instructions to kernels: the interface of a lowering and how lowerings are found."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from forge_ugc.backends.base import No, Yes
from forge_ugc.errors import InternalError
from forge_ugc.npuir.instruction import Const, Instruction, Ref, Reg, State
from forge_ugc.npuir.types import TensorType

if TYPE_CHECKING:
    from forge_ugc.backends.cpu.emitter import Emitter

Types = Mapping[Ref, TensorType]
_REGISTRY: dict[str, Lowering] = {}
_T = TypeVar("_T", bound="type[Lowering]")


class Lowering(ABC):
    """How the instructions of some opcodes run as kernels. Has no state."""

    opcodes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def supports(self, instruction: Instruction, types: Types) -> Yes | No:
        """Whether the kernels compute this very instruction; if not, it runs through PyTorch.

        Args:
            instruction: not a view, its results with their types.
            types: the type of everything that the instruction reads.
        """

    def packed_constants(self, instruction: Instruction) -> tuple[Const, ...]:
        """Constants that `emit` packs, and that the steps do not read where they are."""
        return ()

    def table_constants(self, instruction: Instruction, types: Types) -> tuple[Const, ...]:
        """Constants that `emit` can read from their packed form, see `Emitter.packed_table`."""
        return ()

    @abstractmethod
    def emit(self, instruction: Instruction, emitter: Emitter) -> None:
        """Append the steps of an instruction that `supports` said Yes to."""


def lowering(*opcodes: str) -> Callable[[_T], _T]:
    """Class decorator: the lowering of these opcodes."""

    def register(cls: _T) -> _T:
        cls.opcodes = opcodes
        instance = cls()
        for opcode in opcodes:
            if opcode in _REGISTRY:
                raise InternalError(f"two lowerings for {opcode}")
            _REGISTRY[opcode] = instance
        return cls

    return register


def operand(instruction: Instruction, position: int) -> Ref | None:
    """The tensor in that place of an operator's schema; None if it is absent."""
    if position >= len(instruction.operands):
        return None
    found = instruction.operands[position]
    if found is None or isinstance(found, Reg | Const | State):
        return found
    raise InternalError(f"operand {position} of {instruction.opcode} is no tensor: {found}")


def native_support(instruction: Instruction, types: Types) -> Yes | No:
    """Whether kernels run an instruction."""
    found = find_lowering(instruction.opcode)
    if found is None:
        return No(f"no kernel for {instruction.opcode}")
    return found.supports(instruction, types)


def find_lowering(opcode: str) -> Lowering | None:
    """The lowering of an opcode, if there is one."""
    _load_all()
    return _REGISTRY.get(opcode)


def lowered_opcodes() -> tuple[str, ...]:
    """All opcodes that have a lowering."""
    _load_all()
    return tuple(sorted(_REGISTRY))


@lru_cache(maxsize=1)
def _load_all() -> None:
    package = importlib.import_module("forge_ugc.backends.cpu.lowerings")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
