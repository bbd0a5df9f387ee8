"""Programs of int8 operators, with random parameters."""

import numpy as np
import torch

from forge_ugc.npuir.instruction import Const, Instruction, Reg, Result, SourceLocation
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program
from forge_ugc.npuir.types import DType, TensorType


class Int8Program:
    """Builds a program layer by layer; scales keep values well inside int8."""

    def __init__(self, rows, features, seed=0):
        self.random = np.random.default_rng(seed)
        self.rows, self.tensors, self.instructions, self.types = rows, {}, [], {}
        self.input = self._new(features)

    def _new(self, features):
        reg = Reg(len(self.types))
        self.types[reg] = TensorType.of(DType.I8, (self.rows, features))
        return reg

    def _emit(self, opcode, operands, features, name, **attributes):
        reg = self._new(features)
        self.instructions.append(Instruction(
            results=(Result(reg, self.types[reg]),), opcode=opcode, operands=operands,
            attributes=attributes, location=SourceLocation(module=name),
        ))  # fmt: skip
        return reg

    def _constant(self, name, values):
        self.tensors[name] = torch.from_numpy(values)
        return Const(name)

    def dense(self, x, outputs, name, bias=True, relu=False):
        inputs = self.types[x].shape[1]
        w = self.random.integers(-127, 128, (outputs, inputs)).astype(np.int8)
        operands = [x, self._constant(f"{name}.weight", w)]
        if bias:
            b = self.random.integers(-20000, 20000, outputs).astype(np.int32)
            operands.append(self._constant(f"{name}.bias", b))
        shift = 23 + int(np.log2(inputs)) // 2
        return self._emit("int8_linear", tuple(operands), outputs, name, multiplier=20011,
                          shift=shift, relu=relu)  # fmt: skip

    def add(self, a, b, name, relu=False):
        return self._emit("int8_add", (a, b), self.types[a].shape[1], name, multiplier_a=17321,
                          multiplier_b=14983, shift=15, relu=relu)  # fmt: skip

    def attention(self, x, heads, name, softmax="none", bias=True):
        width = self.types[x].shape[1]
        q, k, v = (self.dense(x, width, f"{name}.{part}", bias) for part in "qkv")
        attributes = {
            "heads": heads, "score_multipliers": tuple(20011 + 7 * h for h in range(heads)),
            "score_shifts": (23 + int(np.log2(width // heads)) // 2,) * heads, "softmax": softmax,
        }  # fmt: skip
        if softmax == "none":
            attributes |= {"context_multipliers": tuple(18000 + h for h in range(heads)),
                           "context_shifts": (26,) * heads}  # fmt: skip
        else:
            attributes |= {
                "context_multipliers": tuple((1 << 29) + 999 + h for h in range(heads)),
                "context_shifts": (27,) * heads,
                "exp_multipliers": tuple(30011 - h for h in range(heads)),
                "exp_shifts": (9,) * heads,
            }  # fmt: skip
        y = self._emit("int8_attention", (q, k, v), width, name, **attributes)
        return self.dense(y, width, f"{name}.out", bias)

    def program(self, output, name="model"):
        constants = tuple(
            ConstDecl(
                key, TensorType.of(DType.I32 if t.dtype == torch.int32 else DType.I8, t.shape)
            )
            for key, t in self.tensors.items()
        )
        made = Program(
            name=name, target="aie", inputs=(InputDecl(self.input, "x", self.types[self.input]),),
            constants=constants, instructions=tuple(self.instructions), outputs=(output,),
        )  # fmt: skip
        return made, self.tensors


def jet_tagger(rows=160, width=64, heads=4, blocks=2, softmax="none", bias=True, seed=0):
    """The published model: dense, blocks of attention and two layers, two dense layers."""
    build = Int8Program(rows, 8, seed)
    x = build.dense(build.input, width, "dense0", bias)
    for block in range(blocks):
        name = f"block{block}"
        attended = build.attention(x, heads, f"{name}.attention", softmax, bias)
        y = build.add(attended, x, f"{name}.add1")
        h = build.dense(y, width, f"{name}.ff1", bias, relu=True)
        h = build.dense(h, width, f"{name}.ff2", bias)
        x = build.add(h, y, f"{name}.add2")
    x = build.dense(x, width, "out1", bias, relu=True)
    return build.program(build.dense(x, 8, "out2", bias), "jet_tagger")
