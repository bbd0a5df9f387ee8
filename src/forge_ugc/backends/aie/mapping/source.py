"""What mappings read of a program: attributes with defaults, arrays, users, places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.instruction import Const, Instruction, Reg
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.types import DType, TensorType

Value = TypeVar("Value", int, bool, str)


class Source:
    """A program with its tensors, as mappings read it."""

    def __init__(self, program: Program, tensors: Mapping[str, torch.Tensor]) -> None:
        self.program = program
        self.types = program.types()
        self._tensors = tensors
        self._maker = {
            result.reg: index
            for index, instruction in enumerate(program.instructions)
            for result in instruction.results
        }
        self._users: dict[Reg, list[int]] = {}
        for index, instruction in enumerate(program.instructions):
            for ref in instruction.refs():
                if isinstance(ref, Reg):
                    self._users.setdefault(ref, []).append(index)

    def instruction(self, index: int) -> Instruction:
        """Instruction number `index`."""
        return self.program.instructions[index]

    def maker(self, reg: Reg) -> int | None:
        """The instruction that makes a register; None for an input."""
        return self._maker.get(reg)

    def users(self, reg: Reg) -> list[Instruction]:
        """The instructions that read a register, once for each time that they do."""
        return [self.program.instructions[index] for index in self._users.get(reg, ())]

    def result(self, index: int) -> Reg:
        """The only result of an instruction."""
        return self.instruction(index).results[0].reg

    def register(self, index: int, operand: int) -> Reg:
        """An operand that has to be a register.

        Raises:
            UnsupportedOperatorError: it is a constant.
        """
        ref = self.instruction(index).operands[operand]
        if not isinstance(ref, Reg):
            raise self.unsupported(index, f"operand {operand} is a constant, {ref}")
        return ref

    def array(self, index: int, operand: int) -> npt.NDArray[np.generic] | None:
        """A constant operand; None if it is left out.

        Raises:
            UnsupportedOperatorError: it is computed by the program.
        """
        operands = self.instruction(index).operands
        ref = operands[operand] if operand < len(operands) else None
        if ref is None:
            return None
        if not isinstance(ref, Const):
            raise self.unsupported(index, f"operand {operand} is not a constant")
        return self._tensors[ref.name].detach().cpu().numpy()

    def attribute(self, index: int, name: str, default: Value) -> Value:
        """An attribute, which programs leave out at its default."""
        value = self.instruction(index).attributes.get(name, default)
        if not isinstance(value, type(default)):
            raise self.unsupported(index, f"attribute {name} is {value!r}")
        return value

    def integers(self, index: int, name: str) -> tuple[int, ...]:
        """An attribute that is a tuple of integers."""
        value = self.instruction(index).attributes.get(name, ())
        return (
            tuple(int(v) for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()
        )

    def layer(self, index: int) -> str:
        """The model's layer that an instruction is of, or the opcode with its number."""
        location = self.instruction(index).location
        if location is not None and location.module:
            return location.module
        return f"{self.instruction(index).opcode.split('.')[-1]}_{index}"

    def matrix(self, kind: TensorType, where: str) -> tuple[int, int]:
        """(rows, columns) of an activation of one jet; a vector is one row.

        Raises:
            UnsupportedOperatorError: it is not i8, or holds several jets.
        """
        rows, columns = (1, *kind.shape)[-2:] if kind.rank else (1, 1)
        if kind.numel != rows * columns or kind.dtype not in (DType.I8, DType.U8):
            raise UnsupportedOperatorError(
                f"the aie target cannot pass {kind} between kernels",
                where=where,
                why="a kernel works on one i8 matrix [rows, columns] an iteration",
                fix="compile for a batch of one; further jets are further iterations",
            )
        return rows, columns

    def unsupported(self, index: int, why: str) -> UnsupportedOperatorError:
        """The error for an instruction that a mapping cannot take."""
        return UnsupportedOperatorError(
            f"the aie target cannot map {self.instruction(index).opcode}",
            where=f"layer {self.layer(index)}, instruction {index}",
            why=why,
            fix="encoders of linear layers, attention, sums, ReLU, softmax and pooling are mapped",
        )
