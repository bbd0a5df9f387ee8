"""Running torch.export, and turning its failures into errors that name place and way out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.export import ExportedProgram

from forge_ugc.capture.assignments import Assignments, sharing
from forge_ugc.capture.attributes import Attributes, Kept, refuse_kept
from forge_ugc.capture.shared_buffers import merge_buffers
from forge_ugc.capture.source_lines import failing_line
from forge_ugc.capture.structure import Flattener, Structure, unflatten
from forge_ugc.errors import CaptureError, ForgeError

_CAUSES = (
    (
        ("expected compiled_fn to be graphmodule",),
        "it writes to a buffer that shares memory with other buffers (aliased states)",
        "give each buffer a tensor of its own, or make them views of one buffer that holds it all",
    ),
    (
        ("data-dependent", "data dependent", "guard on data", "is_nonzero", "local_scalar_dense"),
        "it branches on, or takes a size from, values of a tensor (data-dependent control flow)",
        "replace the condition by torch.where or torch.cond, or move it out of the model",
    ),
    (
        ("numpy", ".data_ptr", "cannot access data pointer"),
        "it leaves PyTorch (NumPy or raw memory) while it runs",
        "express the computation in PyTorch operators",
    ),
)


class _ModelFailed(Exception):
    """The module's own code raised while it was traced; the cause is chained."""


class FlatModule(nn.Module):
    """The user's module behind a flat list of tensors, for torch.export.

    The module is registered as a child, never changed.
    """

    def __init__(
        self,
        module: nn.Module,
        structure: Structure,
        call: Callable[[nn.Module, object], object],
        keep: Callable[[Structure], None],
    ) -> None:
        super().__init__()
        self.module = module
        # `keep` takes the output's nesting out: torch.export restores a module's own attributes.
        self._structure, self._call, self._keep = structure, call, keep
        self._sharing = sharing(module)
        self.kept = Kept()

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the module on the unflattened tensors; keeps the nesting of what it returned."""
        flattener, assignments = Flattener(merge=True), Assignments(self.module, self._sharing)
        attributes = Attributes(self.module)
        self.kept.running = True
        try:
            with assignments.watched():
                returned = self._call(self.module, unflatten(self._structure, tensors))
            self._keep(flattener.walk(returned, "output"))
            kept = attributes.kept()
            self.kept.paths = tuple(kept)
            return tuple(assignments.settle([*flattener.tensors, *kept.values()]))
        except Exception as error:
            # Under any other type torch.export prints the half-made graph before it passes it on.
            raise _ModelFailed from error
        finally:
            self.kept.running = False


def run_export(
    flat: FlatModule,
    tensors: Sequence[torch.Tensor],
    expand: Callable[[ExportedProgram], None] | None = None,
) -> ExportedProgram:
    """Export on the training IR, functional: in-place operators are replaced if there are any.

    Args:
        expand: called with the program as torch.export made it, to complete it in place.

    Raises:
        CaptureError: with module path, source line, cause and way out.
    """
    try:
        with torch.no_grad(), warnings.catch_warnings():
            # torch.export deep-copies its own tree specs, and warns its user about it.
            warnings.filterwarnings("ignore", "`isinstance\\(treespec, LeafSpec", FutureWarning)
            exported = torch.export.export(flat, tuple(tensors), strict=False)
            if expand is not None:
                expand(exported)
            refuse_kept(exported, flat.kept.paths)
            if _needs_retrace(exported):
                merge_buffers(exported)  # recompiles
                exported = exported.run_decompositions({})
    except ForgeError:
        raise
    except Exception as error:  # noqa: BLE001 - torch.export raises whatever it likes
        cause = error.__cause__ if isinstance(error, _ModelFailed) else None
        if isinstance(cause, ForgeError):
            raise cause from None
        reason = cause if isinstance(cause, Exception) else error
        raise _explain(flat.module, reason) from reason
    return exported


def _needs_retrace(exported: ExportedProgram) -> bool:
    """True if operators write in place, or calls are left that are not operators (torch.func)."""
    for module in exported.graph_module.modules():
        graph = getattr(module, "graph", None)
        for node in graph.nodes if graph is not None else ():
            if node.op != "call_function":
                continue
            schema = getattr(node.target, "_schema", None)
            if schema is not None and schema.is_mutable:
                return True
            if getattr(node.target, "__module__", "").startswith("torch._functorch"):
                return True
    return False


def _explain(module: nn.Module, error: Exception) -> CaptureError:
    where = failing_line(module, error)
    text = str(error)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    low = f"{type(error).__name__} {text}".lower()
    for words, why, fix in _CAUSES:
        if any(word in low for word in words):
            return CaptureError("the model cannot be captured as one graph", where=where,
                                why=f"{why}: {first}", fix=fix)  # fmt: skip
    return CaptureError(
        "the model cannot be captured as one graph",
        where=where,
        why=f"{type(error).__name__}: {first}",
        fix="call the model eagerly with these arguments; if that works, simplify the named line, "
        "or use torch.compile(model, backend='forge_ugc'), which compiles around such places",
    )
