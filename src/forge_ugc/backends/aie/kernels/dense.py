"""The kernel of a linear layer (`forge_aie/dense.h`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forge_ugc.backends.aie.design import Array, ConfigValue, KernelInstance, Link, Work
from forge_ugc.backends.aie.device import AieDevice
from forge_ugc.backends.aie.kernels.instance import (
    FRAME_BYTES,
    Label,
    block_bytes,
    costs,
    first_rows,
    port,
)
from forge_ugc.backends.aie.kernels.layout import I8, I32, bias_rows, padded, tile_weights
from forge_ugc.backends.aie.kernels.layout import pad as pad_array
from forge_ugc.backends.aie.kernels.products import product_loops, results_loop

PROGRAM_BYTES = 3584


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """y = relu(requantise(x @ weight.T + bias)), for `rows` rows of x in one invocation.

    Attributes:
        rows: a multiple of 8.
        weight: i8[N, K]; bias: i32[N]. Both are padded with zeros to multiples of 8.
        second_inputs: how many of the K inputs, the last ones, come from a second stream; both
            shares are then multiples of 8.
        transposed: y leaves as transposed tiles: keys for `scores`.
    """

    rows: int
    weight: I8
    bias: I32 | None = None
    multiplier: int
    shift: int
    relu: bool = False
    transposed: bool = False
    second_inputs: int = 0
    input_link: Link = Link.STREAM
    output_link: Link = Link.STREAM

    def instance(self, label: Label, device: AieDevice) -> KernelInstance:
        """The kernel on one tile."""
        outputs, inputs = (padded(size) for size in self.weight.shape)
        first = inputs - self.second_inputs
        arrays = self._arrays(outputs, inputs)
        needed = first_rows(self.rows, outputs)
        ports = [port("x", self.input_link, self.rows, first, needed)]
        if self.second_inputs:
            ports.append(port("x2", self.input_link, self.rows, self.second_inputs, needed))
        return KernelInstance(
            name=label.name, template="dense", layer=label.layer, instructions=label.instructions,
            config=self._config(outputs, first), arrays=arrays, inputs=tuple(ports),
            outputs=(port("y", self.output_link, self.rows, outputs),),
            data_bytes=sum(array.nbytes for array in arrays.values()),
            stack_bytes=FRAME_BYTES + block_bytes(self.input_link, inputs),
            work=self._work(device, outputs, inputs, len(ports)), comment=self._comment(),
        )  # fmt: skip

    def _config(self, outputs: int, first: int) -> dict[str, ConfigValue]:
        return {
            "rows": self.rows,
            "inputs": first,
            **({"second_inputs": self.second_inputs} if self.second_inputs else {}),
            "outputs": outputs,
            "multiplier": self.multiplier,
            "shift": self.shift,
            "relu": self.relu,
            "transposed": self.transposed,
            "has_bias": self.bias is not None,
        }

    def _arrays(self, outputs: int, inputs: int) -> dict[str, Array]:
        weights: Array = tile_weights(pad_array(self.weight, outputs, inputs))
        if self.bias is None:
            return {"weights": weights}
        return {
            "weights": weights,
            "bias": bias_rows(pad_array(self.bias.astype(np.int32), outputs)),
        }

    def _work(self, device: AieDevice, outputs: int, inputs: int, ports: int) -> Work:
        extra = costs(device).transpose if self.transposed else 0.0
        loops = product_loops(
            device, rows=self.rows, depth=inputs, columns=outputs, link=self.input_link, ports=ports
        )
        results = results_loop(
            device, rows=self.rows, columns=outputs, link=self.output_link, extra=extra
        )
        return Work(
            loops=(*loops, results), first_output_fraction=64 / (self.rows * outputs),
            program_bytes=PROGRAM_BYTES,
        )  # fmt: skip

    def _comment(self) -> str:
        outputs, inputs = self.weight.shape
        bias = "" if self.bias is None else " + b"
        relu = ", then ReLU" if self.relu else ""
        form = " as transposed tiles" if self.transposed else ""
        return (
            f"y = (x @ w.T{bias}) * {self.multiplier} / 2^{self.shift}{relu}: "
            f"x i8[{self.rows}, {inputs}], w i8[{outputs}, {inputs}], "
            f"y i8[{self.rows}, {outputs}]{form}"
        )
