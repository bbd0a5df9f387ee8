"""OpenVINO on its CPU device, from the same exported program."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from forge_ugc.evaluation.peers.engine import (
    Built,
    CannotBuildError,
    Engine,
    Phases,
    engine,
    require_precision,
)
from forge_ugc.evaluation.peers.workload import Workload

_HINTS = {"fp32": "f32", "bf16": "bf16"}
_CALIBRATION_SAMPLES = 8


@engine("openvino")
class OpenVino(Engine):
    """Latency mode, one stream, inputs and outputs shared with NumPy instead of copied.

    `default` leaves the precision to OpenVINO. `int8` is NNCF's static quantisation of weights and
    activations for transformers, `int8-weights` its compression of weights alone, after which
    OpenVINO quantises activations as they come; what remains runs in the default precision.
    """

    packages: ClassVar[tuple[str, ...]] = ("openvino", "nncf", "torch")
    needs: ClassVar[tuple[str, ...]] = ("openvino",)

    def read(self, workload: Workload, folder: Path, phases: Phases) -> Any:  # noqa: ANN401 - openvino's
        """The model in OpenVINO's form, timed as export and convert.

        Args:
            folder: empty, and there until the model is compiled.
        """
        import openvino

        with phases("export"):
            exported = workload.export()
        with phases("convert"):
            return openvino.convert_model(exported)

    def build(self, workload: Workload, precision: str, threads: int) -> Built:
        import openvino

        offered = ("fp32", "bf16", "default", "int8", "int8-weights")
        require_precision(self.name, precision, offered)
        config: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
        }  # fmt: skip
        if precision in _HINTS:
            config["INFERENCE_PRECISION_HINT"] = _HINTS[precision]
        phases = Phases()
        with tempfile.TemporaryDirectory() as folder:
            model = self.read(workload, Path(folder), phases)
            if precision.startswith("int8"):
                with phases("convert"):
                    model = _quantized(model, workload, static=precision == "int8")
            with phases("compile"):
                compiled = openvino.Core().compile_model(model, "CPU", config)
                request = compiled.create_infer_request()
            del model
        return _built(compiled, request, [tensor.numpy() for tensor in workload.inputs], phases)


def _built(
    compiled: Any,  # noqa: ANN401 - openvino's
    request: Any,  # noqa: ANN401 - openvino's
    inputs: list[np.ndarray[Any, Any]],
    phases: Phases,
) -> Built:
    def call() -> Any:  # noqa: ANN401 - arrays, as openvino returns them
        return request.infer(inputs, share_inputs=True, share_outputs=True)

    def output() -> torch.Tensor:
        return torch.from_numpy(np.array(call()[0]))

    def artifact_bytes() -> int:
        stream = io.BytesIO()
        compiled.export_model(stream)
        return stream.getbuffer().nbytes

    details: dict[str, object] = {
        "precision hint": compiled.get_property("INFERENCE_PRECISION_HINT").to_string(),
        "threads": compiled.get_property("INFERENCE_NUM_THREADS"),
    }
    return Built(
        call=call, output=output, details=details, phases=phases.seconds,
        artifact_bytes=artifact_bytes,
    )  # fmt: skip


def _quantized(model: Any, workload: Workload, *, static: bool) -> Any:  # noqa: ANN401 - openvino's
    try:
        import nncf
    except ImportError as error:
        raise CannotBuildError(f"OpenVINO's int8 needs the package nncf: {error}") from error
    if not static:
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
    random = torch.Generator().manual_seed(1)
    samples = [_sample(workload, random) for _ in range(_CALIBRATION_SAMPLES)]
    return nncf.quantize(
        model, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER,
        subset_size=len(samples),
    )  # fmt: skip


def _sample(workload: Workload, random: torch.Generator) -> list[np.ndarray[Any, Any]]:
    """Other inputs of the same shapes: random tokens, and masks as they are."""
    found = []
    for index, tensor in enumerate(workload.inputs):
        if index == 0 and workload.vocabulary is not None:
            tensor = torch.randint(0, workload.vocabulary, tensor.shape, generator=random)
        elif tensor.is_floating_point():
            tensor = torch.randn(tensor.shape, generator=random)
        found.append(tensor.numpy())
    return found
