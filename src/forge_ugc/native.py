"""The kernels in C++, with types, checks and errors of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from forge_ugc.errors import BackendUnavailableError, InputError, OptionError

_missing: ImportError | None = None
try:
    from forge_ugc import _native
except ImportError as error:
    _missing = error

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    Array: TypeAlias = npt.NDArray[np.float32] | torch.Tensor


def cpu_isa() -> tuple[str, ...]:
    """Instruction sets that this processor executes and the system enabled, best first.

    The names are those of FORGE_ISA: `avx512_bf16`, `avx512_vnni`, `avx512`, `avx2` and `none`,
    which is portable code and always the last.

    Raises:
        BackendUnavailableError: the extension is not built.
    """
    _require_extension()
    return tuple(_native.cpu_isa())


def isa_cap() -> str:
    """The best set that kernels are chosen for: that of the processor, or less by FORGE_ISA.

    The environment variable is read once, at the first call of this function or of a kernel.

    Raises:
        BackendUnavailableError: the extension is not built.
        OptionError: FORGE_ISA names no instruction set.
    """
    _require_extension()
    try:
        return _native.isa_cap()
    except ValueError as error:
        raise OptionError(str(error), fix="unset FORGE_ISA, or set one of these names") from None


def kernel_table() -> dict[str, tuple[str, ...]]:
    """For every kernel the instruction sets it was written for, best first.

    Raises:
        BackendUnavailableError: the extension is not built.
    """
    _require_extension()
    return {op: tuple(variants) for op, variants in _native.kernel_table().items()}


def rms_norm(x: Array, w: Array | None, eps: float, *, out: Array, isa: str | None = None) -> None:
    """Write `x / sqrt(mean(x * x, -1) + eps) * w` into `out`, computed in float32.

    Args:
        x: f32[..., D] in CPU memory; elements of the last axis adjacent, the other strides free.
        w: f32[D], or None for a weight of one.
        eps: added to the mean of the squares.
        out: f32 of the shape of x. May be x itself; otherwise it must not overlap x or w.
        isa: run this variant of `kernel_table()["rms_norm"]`; None chooses the best.

    Raises:
        BackendUnavailableError: the extension is not built.
        InputError: an argument has another dtype, shape, stride or device, or overlaps.
        OptionError: FORGE_ISA names no instruction set.
    """
    isa_cap()
    try:
        _native.rms_norm(x, w, eps, out, isa)
    except ValueError as error:
        raise InputError(f"rms_norm: {error}") from None
    except TypeError:
        given = {"x": x, "w": w, "eps": eps, "out": out}
        raise InputError(
            "rms_norm takes float32 arrays in CPU memory, of which out can be written",
            why=", ".join(f"{name} is {_describe(value)}" for name, value in given.items()),
        ) from None


def _describe(value: object) -> str:
    dtype, device = getattr(value, "dtype", None), getattr(value, "device", "cpu")
    if dtype is None:
        return type(value).__name__
    flags = getattr(value, "flags", None)
    read_only = flags is not None and not flags.writeable
    return f"{dtype} on {device}" + (" (read-only)" if read_only else "")


def _require_extension() -> None:
    if _missing is not None:
        raise BackendUnavailableError(
            "the compiled extension forge_ugc._native cannot be loaded",
            why=str(_missing),
            fix="run `make venv` in a clone, or reinstall forge-ugc with a C++20 compiler",
        ) from _missing
