"""The kernels in C++, with types, checks and errors of this package."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, cast

from forge_ugc.errors import BackendUnavailableError, InputError, OptionError

_missing: ImportError | None = None
try:
    from forge_ugc import _native
except ImportError as error:
    _missing = error

if TYPE_CHECKING:
    import torch


def missing() -> str | None:
    """Why the compiled extension cannot be loaded; None if it can."""
    return None if _missing is None else str(_missing)


def cpu_isa() -> tuple[str, ...]:
    """Instruction sets that this processor executes and the system enabled, best first.

    The names are those of FORGE_ISA: `amx`, `avx512_bf16`, `avx512_vnni`, `avx512`, `avx2` and
    `none`, which is portable code and always the last.

    Raises:
        BackendUnavailableError: the extension is not built.
    """
    require_extension()
    return tuple(_native.cpu_isa())


def isa_cap() -> str:
    """The best set that kernels are chosen for: that of the processor, or less by FORGE_ISA.

    The environment variable is read once, at the first call of this function or of a kernel.

    Raises:
        BackendUnavailableError: the extension is not built.
        OptionError: FORGE_ISA names no instruction set.
    """
    require_extension()
    try:
        return _native.isa_cap()
    except ValueError as error:
        raise OptionError(str(error), fix="unset FORGE_ISA, or set one of these names") from None


def kernel_table() -> dict[str, tuple[str, ...]]:
    """For every kernel the instruction sets it was written for, best first.

    Raises:
        BackendUnavailableError: the extension is not built.
    """
    require_extension()
    return {op: tuple(variants) for op, variants in _native.kernel_table().items()}


def run_kernel(
    name: str,
    *,
    isa: str | None = None,
    shares: int = 1,
    parallel: bool = False,
    **fields: object,
) -> None:
    """Run one kernel on the fields of its arguments, as its `args.h` describes them.

    Shapes and strides are believed: a wrong one reads or writes memory that it should not. Programs
    are checked before they come here; this entry is for tests and benchmarks of kernels.

    Args:
        name: a key of `kernel_table()`.
        isa: run this variant; None chooses the best.
        shares: computed in that many parts: one after another, or by the threads of the process
            if `parallel`.
        fields: tensors or addresses for pointers (None or absent for null), numbers, and lists of
            them for arrays. `scratch` is provided.

    Raises:
        BackendUnavailableError: the extension is not built.
        InputError: no such kernel, variant or field; a tensor of another dtype or device.
        OptionError: FORGE_ISA names no instruction set.
    """
    isa_cap()
    kinds = {field: element for field, _, element, _ in _fields(name)}
    values = {field: _plain(name, field, kinds, value) for field, value in fields.items()}
    try:
        _native.run_kernel(name, values, shares, parallel, isa)
    except ValueError as error:
        raise InputError(str(error)) from None


@lru_cache(maxsize=256)
def _fields(name: str) -> list[tuple[str, str, str, int]]:
    try:
        return _native.kernel_fields(name)
    except ValueError as error:
        raise InputError(str(error)) from None


def _plain(kernel: str, field: str, kinds: dict[str, str], value: object) -> object:
    """Addresses in place of tensors."""
    if isinstance(value, list | tuple):
        return [_plain(kernel, field, kinds, item) for item in value]
    if not hasattr(value, "data_ptr"):
        return value
    tensor = cast("torch.Tensor", value)
    found = _ELEMENTS.get(str(tensor.dtype).removeprefix("torch."), "none")
    wanted = kinds.get(field, "any")
    if tensor.device.type != "cpu" or wanted not in (found, "any"):
        raise InputError(f"{kernel}: {field} is {_describe(tensor)}, expected {wanted} on cpu")
    return tensor.data_ptr()


_ELEMENTS = {
    "float32": "f32", "bfloat16": "bf16", "int8": "i8", "uint8": "u8", "bool": "u8",
    "int32": "i32", "int64": "i64",
}  # fmt: skip


def linear_packed_bytes(element_bytes: int, columns: int, depth: int) -> int:
    """Bytes of a weight of [columns, depth] that `linear_pack_*` packs, whatever the variant.

    Raises:
        BackendUnavailableError: the extension is not built.
    """
    require_extension()
    return _native.linear_packed_bytes(element_bytes, columns, depth)


def _describe(value: object) -> str:
    dtype, device = getattr(value, "dtype", None), getattr(value, "device", "cpu")
    if dtype is None:
        return type(value).__name__
    flags = getattr(value, "flags", None)
    read_only = flags is not None and not flags.writeable
    return f"{dtype} on {device}" + (" (read-only)" if read_only else "")


def require_extension() -> None:
    """Raise BackendUnavailableError if the extension cannot be loaded."""
    if _missing is not None:
        raise BackendUnavailableError(
            "the compiled extension forge_ugc._native cannot be loaded",
            why=str(_missing),
            fix="run `make venv` in a clone, or reinstall forge-ugc with a C++20 compiler",
        ) from _missing
