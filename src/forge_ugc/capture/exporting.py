"""Export of a module with repeated blocks traced once, or as a whole where that fails."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.export import ExportedProgram

from forge_ugc.capture.block_report import RepeatedBlocksReport
from forge_ugc.capture.export import FlatModule, run_export
from forge_ugc.capture.repeated_blocks import RepeatedBlocks
from forge_ugc.errors import ForgeError


def export_module(
    flat: FlatModule, tensors: Sequence[torch.Tensor], *, repeated_blocks: bool
) -> tuple[ExportedProgram, RepeatedBlocksReport]:
    """Export, and tell what became of repeated blocks.

    If anything fails with blocks traced once, the whole model is traced, and the report says why.

    Raises:
        CaptureError: the whole model cannot be captured either.
    """
    if not repeated_blocks:
        return run_export(flat, tensors), RepeatedBlocksReport()
    blocks = RepeatedBlocks(flat.module)
    if not blocks:
        return run_export(flat, tensors), blocks.report()
    try:
        with blocks.installed():
            return run_export(flat, tensors, blocks.expand), blocks.report()
    except ForgeError as error:
        reason = " ".join(str(error).split())
    return run_export(flat, tensors), blocks.report(whole_model=reason)
