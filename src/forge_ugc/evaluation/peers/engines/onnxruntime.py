"""ONNX Runtime on its CPU provider, from PyTorch's ONNX exporter."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from forge_ugc.evaluation.peers.engine import Built, Engine, Phases, engine, require_precision
from forge_ugc.evaluation.peers.onnx_file import export_onnx, folder_bytes
from forge_ugc.evaluation.peers.workload import Workload

_TRIALS = 5


@engine("onnxruntime")
class OnnxRuntime(Engine):
    """`torch.onnx.export(dynamo=True)`, all graph optimisations, outputs bound or returned.

    Whichever of the two ways to run is faster when the model is built is the one measured. `int8`
    is `quantize_dynamic` with int8 weights, one scale a column, after its own preprocessing.
    """

    packages = ("onnxruntime", "onnx", "onnxscript", "torch")
    needs = ("onnxruntime", "onnx", "onnxscript")

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        import onnxruntime

        require_precision("onnxruntime", precision, ("fp32", "int8"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        phases = Phases()
        session, size = _session(workload, precision, options, phases)
        names = [item.name for item in session.get_inputs()]
        tensors = [tensor.contiguous() for tensor in workload.inputs]
        feeds = {name: t.numpy() for name, t in zip(names, tensors, strict=True)}
        result = session.get_outputs()[0]

        def plain() -> Any:  # noqa: ANN401 - arrays, as onnxruntime returns them
            return session.run([result.name], feeds)

        with phases("first call"):
            shape = plain()[0].shape
        out = torch.empty(shape, dtype=torch.float32)
        bound = _bound(session, dict(zip(names, tensors, strict=True)), result.name, out)
        seconds = {"bound": _fastest(bound), "plain": _fastest(plain)}
        way = min(seconds, key=lambda name: seconds[name])

        def output() -> torch.Tensor:
            bound()
            return out.clone()

        return Built(
            call=bound if way == "bound" else plain, output=output, details={"runs": way},
            phases=phases.seconds, artifact_bytes=lambda: size,
        )  # fmt: skip


def _session(
    workload: Workload,
    precision: str,
    options: Any,  # noqa: ANN401 - onnxruntime's
    phases: Phases,
) -> tuple[Any, int]:
    """The session and the bytes of the model that it was made from."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with phases("export"):
            path = export_onnx(workload, place / "model.onnx")
        if precision == "int8":
            with phases("convert"):
                path = _quantized(path)
        size = folder_bytes(path.parent)
        with phases("compile"):
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
    return session, size


def _quantized(path: Path) -> Path:
    """Fold transposed weights first: only a product with a constant is quantised."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    small = path.parent / "int8" / "model.onnx"
    small.parent.mkdir()
    ready = path.with_name("ready.onnx")
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
    session: Any,  # noqa: ANN401 - onnxruntime's
    inputs: dict[str, torch.Tensor],
    name: str,
    out: torch.Tensor,
) -> Callable[[], None]:
    binding = session.io_binding()
    for key, tensor in inputs.items():
        binding.bind_cpu_input(key, tensor.numpy())
    binding.bind_output(name, "cpu", 0, out.numpy().dtype, tuple(out.shape), out.data_ptr())

    def call(_memory: object = (inputs, out)) -> None:  # the binding holds addresses alone
        session.run_with_iobinding(binding)

    return call


def _fastest(call: Callable[[], object]) -> float:
    times = []
    for _ in range(_TRIALS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
