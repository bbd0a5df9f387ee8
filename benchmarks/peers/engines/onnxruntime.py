"""ONNX Runtime on its CPU provider, from PyTorch's ONNX exporter."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.engine import Built, Engine, engine, require_precision
from benchmarks.peers.workload import Workload

_TRIALS = 5


@engine("onnxruntime")
class OnnxRuntime(Engine):
    """`torch.onnx.export(dynamo=True)`, all graph optimisations, outputs bound or returned.

    Whichever of the two ways to run is faster when the model is built is the one measured. `int8`
    is `quantize_dynamic` with int8 weights, one scale a column, after its own preprocessing.
    """

    packages = ("onnxruntime", "onnx", "onnxscript", "torch")

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        import onnxruntime

        require_precision("onnxruntime", precision, ("fp32", "int8"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        with tempfile.TemporaryDirectory() as folder:
            path = _export(workload, Path(folder) / "model.onnx")
            if precision == "int8":
                path = _quantized(path)
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        names = [item.name for item in session.get_inputs()]
        tensors = [tensor.contiguous() for tensor in workload.inputs]
        feeds = {name: t.numpy() for name, t in zip(names, tensors, strict=True)}
        result = session.get_outputs()[0]

        def plain() -> Any:
            return session.run([result.name], feeds)

        shape = plain()[0].shape
        out = torch.empty(shape, dtype=torch.float32)
        bound = _bound(session, dict(zip(names, tensors, strict=True)), result.name, out)
        seconds = {"bound": _fastest(bound), "plain": _fastest(plain)}
        way = min(seconds, key=lambda name: seconds[name])

        def output() -> torch.Tensor:
            bound()
            return out.clone()

        call = bound if way == "bound" else plain
        return Built(call=call, output=output, details={"runs": way})


def _export(workload: Workload, path: Path) -> Path:
    with contextlib.redirect_stdout(sys.stderr), torch.no_grad():
        torch.onnx.export(
            workload.module, workload.inputs, str(path), dynamo=True, external_data=True,
            optimize=True, verbose=False,
        )  # fmt: skip
    return path


def _quantized(path: Path) -> Path:
    """Fold transposed weights first: only a product with a constant is quantised."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    ready, small = path.with_name("ready.onnx"), path.with_name("int8.onnx")
    quant_pre_process(
        str(path), str(ready), skip_symbolic_shape=True, save_as_external_data=True,
        all_tensors_to_one_file=True,
    )  # fmt: skip
    quantize_dynamic(
        str(ready), str(small), weight_type=QuantType.QInt8, per_channel=True,
        use_external_data_format=True,
    )  # fmt: skip
    return small


def _bound(
    session: Any,
    inputs: dict[str, torch.Tensor],
    name: str,
    out: torch.Tensor,
) -> Callable[[], None]:
    binding = session.io_binding()
    for key, tensor in inputs.items():
        binding.bind_cpu_input(key, tensor.numpy())
    binding.bind_output(name, "cpu", 0, out.numpy().dtype, tuple(out.shape), out.data_ptr())
    memory = (inputs, out)  # the binding holds addresses alone

    def call() -> None:
        session.run_with_iobinding(binding)
        assert memory

    return call


def _fastest(call: Callable[[], object]) -> float:
    times = []
    for _ in range(_TRIALS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
