"""Export of a module with repeated blocks traced once, or as a whole where that fails."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.export import ExportedProgram

from forge_ugc.capture.block_report import RepeatedBlocksReport
from forge_ugc.capture.export import FlatModule, run_export
from forge_ugc.capture.hidden_tensors import HiddenTensors
from forge_ugc.capture.repeated_blocks import RepeatedBlocks
from forge_ugc.errors import ForgeError, InternalError


def export_module(
    flat: FlatModule, tensors: Sequence[torch.Tensor], *, repeated_blocks: bool
) -> tuple[ExportedProgram, RepeatedBlocksReport]:
    """Export, and tell what became of repeated blocks.

    If something looks at the parameters of a block that was not to be traced, the export starts
    again with them in sight. If anything fails with blocks traced once, the whole model is traced,
    and the report says why.

    Raises:
        CaptureError: the whole model cannot be captured either.
    """
    blocks = RepeatedBlocks(flat.module) if repeated_blocks else None
    if not blocks:
        report = RepeatedBlocksReport() if blocks is None else blocks.report()
        return run_export(flat, tensors), report
    for hidden in (HiddenTensors(flat, blocks.blocks), HiddenTensors(flat, ())):
        try:
            with blocks.installed(hidden):
                exported = run_export(flat, tensors, blocks.expand)
        except ForgeError as error:
            failed = " ".join(str(error).split())
            if not hidden.needed:
                return run_export(flat, tensors), blocks.report(whole_model=failed)
        else:
            if not hidden.needed:
                return exported, blocks.report()
        blocks = blocks.again()
    raise InternalError("nothing is hidden, and something hidden was needed")
