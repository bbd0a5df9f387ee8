"""OpenVINO on its CPU device, from PyTorch's ONNX exporter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forge_ugc.evaluation.peers.engine import Phases, engine
from forge_ugc.evaluation.peers.engines.openvino import OpenVino
from forge_ugc.evaluation.peers.onnx_file import export_onnx
from forge_ugc.evaluation.peers.workload import Workload


@engine("openvino_onnx")
class OpenVinoOnnx(OpenVino):
    """As `openvino`, but the model goes through an ONNX file, as in the published baseline."""

    packages = ("openvino", "nncf", "onnx", "onnxscript", "torch")
    needs = ("openvino", "onnx", "onnxscript")

    def read(self, workload: Workload, folder: Path, phases: Phases) -> Any:  # noqa: ANN401 - openvino's
        import openvino

        with phases("export"):
            path = export_onnx(workload, folder / "model.onnx")
        with phases("convert"):
            return openvino.convert_model(str(path))
