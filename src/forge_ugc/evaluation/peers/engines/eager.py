"""PyTorch itself, without any compilation."""

from __future__ import annotations

import torch

from forge_ugc.evaluation.peers.engine import Built, Engine, engine, require_precision
from forge_ugc.evaluation.peers.workload import Workload, cast_parameters


@engine("eager")
class Eager(Engine):
    """The module called under `inference_mode`; bf16 has all parameters in bfloat16."""

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        require_precision("eager", precision, ("fp32", "bf16"))
        module, inputs = workload.module, workload.inputs
        if precision == "bf16":
            cast_parameters(module, torch.bfloat16)
            inputs = tuple(t.bfloat16() if t.is_floating_point() else t for t in inputs)

        def call() -> torch.Tensor:
            with torch.inference_mode():
                result: torch.Tensor = module(*inputs)
            return result

        return Built(call=call, output=call)
