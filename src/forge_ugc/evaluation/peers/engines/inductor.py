"""torch.compile with weights frozen into the program."""

from __future__ import annotations

import torch

from forge_ugc.evaluation.peers.engine import Built, Engine, Phases, engine, require_precision
from forge_ugc.evaluation.peers.workload import Workload, cast_parameters


@engine("inductor")
class Inductor(Engine):
    """Inductor with `freezing`, which packs the weights for oneDNN; static shapes, C++ code.

    It does all its work in the first call.
    """

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        import torch._inductor.config

        require_precision("inductor", precision, ("fp32", "bf16"))
        torch._inductor.config.freezing = True
        torch._inductor.config.fx_graph_cache = False
        torch._dynamo.reset()
        inputs = workload.inputs
        if precision == "bf16":
            cast_parameters(workload.module, torch.bfloat16)
            inputs = tuple(t.bfloat16() if t.is_floating_point() else t for t in inputs)
        compiled = torch.compile(workload.module, dynamic=False)

        def call() -> torch.Tensor:
            with torch.no_grad():  # freezing does not happen under inference_mode
                result: torch.Tensor = compiled(*inputs)
            return result

        phases = Phases()
        with phases("first call"):
            call()
        return Built(call=call, output=call, phases=phases.seconds)
