"""A module as an ONNX file, for the engines that read those."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import torch

from forge_ugc.evaluation.peers.workload import Workload


def export_onnx(workload: Workload, path: Path) -> Path:
    """Write the file, weights beside it, with `torch.onnx.export(dynamo=True)`; returns its path.

    What the exporter prints goes to standard error.
    """
    with contextlib.redirect_stdout(sys.stderr), torch.no_grad():
        torch.onnx.export(
            workload.module, workload.inputs, str(path), dynamo=True, external_data=True,
            optimize=True, verbose=False,
        )  # fmt: skip
    return path


def folder_bytes(folder: Path) -> int:
    """Size of all files directly in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
