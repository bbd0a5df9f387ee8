"""Builds int8 programs, and runs them on samples while it does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import torch

from forge_ugc.errors import QuantizationError
from forge_ugc.npuir.instruction import (
    Attribute,
    Const,
    Instruction,
    Operand,
    Reg,
    Result,
    SourceLocation,
    ViewOf,
)
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.op import Op
from forge_ugc.ops.core.schema import to_attribute
from forge_ugc.ops.core.torch_types import type_of
from forge_ugc.ops.int8_add import Int8Add
from forge_ugc.ops.int8_attention import Int8Attention
from forge_ugc.ops.int8_linear import Int8Linear
from forge_ugc.ops.int8_pool import Int8Pool
from forge_ugc.ops.int8_softmax import Int8Softmax
from forge_ugc.quantization.attention_factors import AttentionPlan, attention_factors
from forge_ugc.quantization.dyadic import Dyadic, accumulator_factor, common_shift, sum_bound
from forge_ugc.quantization.integer_softmax import (
    distance_factor,
    exponential_table,
    weight_table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A register of the program under construction.

    Attributes:
        step: the real number that one step of the integers stands for.
        sample: what the register holds for the samples, with an axis of samples in front; None
            where there are none.
    """

    reg: Reg
    type: TensorType
    step: float
    sample: torch.Tensor | None = None


@dataclass(slots=True)
class Builder:
    """Appends int8 operators to a program; `where` is the layer that they belong to.

    A factor that is not given is chosen so that the samples fill the range: 127 over the largest
    magnitude of the exact sums.

    Raises:
        QuantizationError: by any method: a factor is neither given nor can be measured, or is out
            of range.
        VerificationError: by any method: shapes do not fit.
    """

    name: str
    where: str = ""
    inputs: list[InputDecl] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)

    def input(
        self, name: str, shape: Sequence[int], step: float, sample: torch.Tensor | None = None
    ) -> Value:
        """The i8 input of the program. sample: i8[samples, *shape]."""
        kind = TensorType.of(DType.I8, shape)
        reg = Reg(len(self.inputs) + len(self.instructions))
        self.inputs.append(InputDecl(reg, name, kind))
        return Value(reg=reg, type=kind, step=step, sample=sample)

    def linear(
        self, x: Value, weight: torch.Tensor, bias: torch.Tensor | None, *, weight_step: float,
        relu: bool = False, factor: Dyadic | None = None, part: str = "",
    ) -> Value:  # fmt: skip
        """X @ weight.T + bias. weight: i8[N, K] in steps of weight_step; bias: i32[N].

        Args:
            part: of the layer that it is, for the names of the constants (`query`).
        """
        sum_bound(weight, bias)
        acc_step = x.step * weight_step
        if factor is None:
            sample = self._sample(x)
            acc = (sample.int() @ weight.int().t()).long()
            acc = acc if bias is None else acc + bias.long()
            factor = _filling(acc.clamp(min=0) if relu else acc)
        op = Int8Linear(multiplier=factor.multiplier, shift=factor.shift, relu=relu)
        prefix = f"{self.where}.{part}." if part else f"{self.where}."
        constants = {f"{prefix}weight": weight}
        if bias is not None:
            constants[f"{prefix}bias"] = bias
        return self.append(op, (x,), constants, acc_step / factor.value)

    def attention(self, q: Value, k: Value, v: Value, plan: AttentionPlan) -> Value:
        """Attention with the factors of the plan; those that it leaves open are measured."""
        known = plan.score is not None and plan.context is not None
        samples = None if known else (self._sample(q), self._sample(k), self._sample(v))
        found = attention_factors(plan, samples, (q.step, k.step, v.step), self.where)
        score, context = found.score, found.context
        steps = found.score_steps if plan.softmax == "polynomial" else ()
        exponents = [distance_factor(step) for step in steps]
        op = Int8Attention(
            heads=plan.heads, softmax=plan.softmax,
            score_multipliers=tuple(f.multiplier for f in score),
            score_shifts=tuple(f.shift for f in score),
            context_multipliers=tuple(m for m, _ in context),
            context_shifts=tuple(s for _, s in context),
            exp_multipliers=tuple(f.multiplier for f in exponents),
            exp_shifts=tuple(f.shift for f in exponents),
        )  # fmt: skip
        tables = {}
        if plan.softmax == "table":
            tables[f"{self.where}.table"] = torch.stack(
                [weight_table(s) for s in found.score_steps]
            )
        return self.append(op, (q, k, v), tables, found.step)

    def add(
        self, a: Value, b: Value, *, relu: bool = False,
        factors: tuple[Dyadic, Dyadic] | None = None,
    ) -> Value:  # fmt: skip
        """The sum in real numbers: both are brought to one step."""
        if factors is None:
            real = self._sample(a).double() * a.step + self._sample(b).double() * b.step
            largest = float((real.clamp(min=0) if relu else real.abs()).max())
            step = largest / 127 if largest else max(a.step, b.step)
            scales = (a.step / step, b.step / step)
        else:
            scales = (factors[0].value, factors[1].value)
            step = a.step / scales[0]
        ma, mb, shift = common_shift(*scales)
        op = Int8Add(multiplier_a=ma, multiplier_b=mb, shift=shift, relu=relu)
        return self.append(op, (a, b), {}, step)

    def pool(
        self, x: Value, kind: str, *, relu: bool = False, factor: Dyadic | None = None
    ) -> Value:
        """Mean or maximum over the rows, which stay as an axis of one."""
        rows = x.type.shape[-2] if kind == "mean" else 1
        if factor is None:
            wide = self._sample(x).long()
            acc = wide.sum(-2) if kind == "mean" else wide.amax(-2)
            factor = _filling(acc.clamp(min=0) if relu else acc)
        op = Int8Pool(
            kind=kind, multiplier=factor.multiplier, shift=factor.shift, keepdim=True, relu=relu
        )
        return self.append(op, (x,), {}, x.step / rows / factor.value)

    def softmax(self, x: Value, method: str, score_step: float | None, bits: int = 7) -> Value:
        """Probabilities over the last axis, in steps of 1 / (2**bits - 1)."""
        scale = x.step if score_step is None else score_step
        tables = {}
        if method == "table":
            tables[f"{self.where}.table"] = exponential_table(scale)
            op = Int8Softmax(method=method, bits=bits)
        else:
            found = distance_factor(scale)
            op = Int8Softmax(
                method=method, bits=bits, multiplier=found.multiplier, shift=found.shift
            )
        return self.append(op, (x,), tables, 1 / ((1 << bits) - 1))

    def relu(self, x: Value) -> Value:
        """max(x, 0) as an instruction of its own, where it cannot be part of the one before."""
        result = Result(self._next(), x.type)
        self._add(Instruction(results=(result,), opcode="aten.relu.default", operands=(x.reg,),
                              location=SourceLocation(module=self.where)))  # fmt: skip
        sample = None if x.sample is None else x.sample.clamp(min=0)
        return Value(reg=result.reg, type=x.type, step=x.step, sample=sample)

    def view(self, x: Value, shape: tuple[int, ...]) -> Value:
        """The same elements in another shape; x itself if it has that already."""
        if x.type.shape == shape:
            return x
        kind = TensorType.of(x.type.dtype, shape)
        result = Result(self._next(), kind, view=ViewOf(x.reg, 0))
        self._add(Instruction(
            results=(result,), opcode="aten.view.default", operands=(x.reg,),
            attributes=MappingProxyType({"size": shape}),
            location=SourceLocation(module=self.where),
        ))  # fmt: skip
        sample = None if x.sample is None else x.sample.reshape(len(x.sample), *shape)
        return Value(reg=result.reg, type=kind, step=x.step, sample=sample)

    def append(
        self, op: Op, operands: Sequence[Value], constants: Mapping[str, torch.Tensor], step: float
    ) -> Value:
        """An operator on registers, followed by constants of its own."""
        self.tensors.update(constants)
        kinds = [v.type for v in operands] + [type_of(t) for t in constants.values()]
        kind = op.infer(*kinds)
        if isinstance(kind, tuple):
            raise QuantizationError(f"{op.name} has several results", where=self.where)
        refs: tuple[Operand, ...] = (
            *(v.reg for v in operands), *(Const(name) for name in constants),
        )  # fmt: skip
        result = Result(self._next(), kind)
        self._add(Instruction(
            results=(result,), opcode=op.name, operands=refs, attributes=_attributes(op),
            location=SourceLocation(module=self.where),
        ))  # fmt: skip
        samples = [v.sample for v in operands]
        known = [s for s in samples if s is not None]
        out = None
        if len(known) == len(samples):
            got = op.overload()(*known, *constants.values(), **op.attributes())
            out = got if isinstance(got, torch.Tensor) else None
        return Value(reg=result.reg, type=kind, step=step, sample=out)

    def program(self, target: str, outputs: Sequence[Value]) -> Program:
        """The program, not allocated."""
        declared = tuple(ConstDecl(name, type_of(t)) for name, t in self.tensors.items())
        return Program(
            name=self.name, target=target, inputs=tuple(self.inputs), constants=declared,
            instructions=tuple(self.instructions), outputs=tuple(v.reg for v in outputs),
        )  # fmt: skip

    def _next(self) -> Reg:
        return Reg(len(self.inputs) + len(self.instructions))

    def _add(self, instruction: Instruction) -> None:
        self.instructions.append(instruction)

    def _sample(self, value: Value) -> torch.Tensor:
        if value.sample is None:
            raise QuantizationError(
                f"layer {self.where} has no factor, and there are no samples to measure it on",
                where=self.where,
                fix="give its scale, or calibrate the model",
            )
        return value.sample


def _filling(acc: torch.Tensor) -> Dyadic:
    return accumulator_factor(int(acc.abs().max()) if acc.numel() else 0)


def _attributes(op: Op) -> Mapping[str, Attribute]:
    """Those that differ from their defaults, as programs hold them."""
    defaults = {f.name: f.default for f in dataclasses.fields(cast(Any, op))}
    found = {k: to_attribute(v) for k, v in op.attributes().items() if v != defaults[k]}
    return MappingProxyType(found)
