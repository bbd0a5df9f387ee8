"""The weights of a `.forge` file: a safetensors file whose tensors are aligned for mapping."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from forge_ugc.artifact import strict_json
from forge_ugc.artifact.container import ALIGNMENT_BYTES, Container
from forge_ugc.constants import ConstantStore
from forge_ugc.errors import ArtifactError
from forge_ugc.npuir.instruction import Const
from forge_ugc.npuir.program import ConstDecl, Program, StateDecl
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.ops.core.torch_types import to_torch, type_of

MEMBER = "weights.safetensors"
_PADDING = "__padding__."
_CHUNK_BYTES = 8 * 1024 * 1024
# safetensors has no complex numbers everywhere: they are stored as pairs of floats.
_STORED = {
    DType.F64: ("F64", ()), DType.F32: ("F32", ()), DType.F16: ("F16", ()),
    DType.BF16: ("BF16", ()), DType.I64: ("I64", ()), DType.I32: ("I32", ()),
    DType.I16: ("I16", ()), DType.I8: ("I8", ()), DType.U8: ("U8", ()), DType.BOOL: ("BOOL", ()),
    DType.C64: ("F32", (2,)), DType.C128: ("F64", (2,)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor of the file.

    Attributes:
        dtype: safetensors' name of the element type; `shape` as stored.
        start: first byte after the header's end; `end` the one past the last.
    """

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def stored_types(program: Program) -> dict[str, TensorType]:
    """Constants that own their memory and states, by name.

    Raises:
        ArtifactError: a name occurs twice or cannot be stored.
    """
    found: dict[str, TensorType] = {}
    taken: set[str] = set()
    declarations: list[ConstDecl | StateDecl] = [*program.constants, *program.states]
    for declared in declarations:
        name, why = declared.name, ""
        if name in taken:
            why = "a constant and a state share it"
        elif name == "__metadata__" or name.startswith(_PADDING):
            why = "the file format reserves it"
        elif any("\ud800" <= c <= "\udfff" for c in name):
            why = "it is no Unicode text"
        if why:
            raise ArtifactError(
                f"the name {name!r} cannot be stored", why=why, fix="rename the parameter"
            )
        taken.add(name)
        if isinstance(declared, StateDecl) or declared.view is None:
            found[name] = declared.type
    return found


class WeightsWriter:
    """Lays out the tensors of a program, then streams them.

    A tensor that is row-major is stored with its shape, another one as the flat run of memory that
    its strides span. Tensors whose size is a multiple of the alignment come first; between others
    lie padding tensors of bytes, since safetensors allows no gaps.

    Raises:
        ArtifactError: a tensor is missing or differs from its declaration.
    """

    def __init__(self, program: Program, tensors: Mapping[str, torch.Tensor]) -> None:
        types = stored_types(program)
        views = {c.name for c in program.constants if c.view is not None}
        for name in tensors:
            if name not in types and name not in views:
                raise ArtifactError(f"the tensor {name!r} is not declared by the program")
        self._order = sorted(types, key=lambda n: types[n].size_bytes % ALIGNMENT_BYTES != 0)
        self._tensors, self._types = tensors, types
        for name in self._order:
            if not (isinstance(tensors, ConstantStore) and tensors.is_rebuilt(name)):
                _checked(name, types[name], tensors)
        entries: dict[str, Stored] = {}
        at = 0
        for name in self._order:
            if padding := -at % ALIGNMENT_BYTES:
                label = f"{_PADDING}{len(entries)}"
                entries[label] = Stored("U8", (padding,), at, at + padding)
                at += padding
            dtype, shape = _stored_as(types[name])
            end = at + types[name].size_bytes
            entries[name] = Stored(dtype, shape, at, end)
            at = end
        self._header = _header(entries)
        self.size_bytes = len(self._header) + at

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The file in pieces; a tensor is never copied as a whole, save from another device."""
        yield self._header
        written = 0
        for name in self._order:
            padding = -written % ALIGNMENT_BYTES
            yield bytes(padding)
            data = _bytes_of(_checked(name, self._types[name], self._tensors))
            for at in range(0, len(data), _CHUNK_BYTES):
                yield data[at : at + _CHUNK_BYTES]
            written += padding + len(data)


def read_weights(container: Container, program: Program) -> dict[str, torch.Tensor]:
    """Constants, views among them, and states by name.

    Constants lie in the container's private mapping, states are copies.

    Raises:
        ArtifactError: the file breaks the format or differs from the declarations.
    """
    types = stored_types(program)
    member = container.data(MEMBER)
    entries, header_bytes = _read_header(member)
    missing = sorted(types.keys() - entries.keys())
    extra = sorted(entries.keys() - types.keys())
    if missing or extra:
        verb = "is missing" if missing else "is not declared by the program"
        raise _bad(f"the tensor {(missing or extra)[0]!r} {verb}")
    base = container.span(MEMBER)[0] + header_bytes
    found: dict[str, torch.Tensor] = {}
    for name, kind in types.items():
        _check_entry(name, kind, entries[name])
        found[name] = _mapped(container, kind, base + entries[name].start)
    for state in program.states:
        found[state.name] = _copy(found[state.name])
    roots = program.roots()
    for const in program.constants:
        root = roots[Const(const.name)]
        if const.view is not None and isinstance(root.base, Const):
            found[const.name] = _view(found[root.base.name], const.type, root.offset_bytes)
    return found


def _checked(name: str, kind: TensorType, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    tensor = tensors.get(name)
    if tensor is None:
        raise ArtifactError(f"the tensor {name!r} is declared by the program, but not given")
    if tensor.is_meta:
        raise ArtifactError(
            f"the tensor {name!r} has no values",
            why="it is on the meta device",
            fix="load the model's weights before saving",
        )
    if type_of(tensor) != kind:
        raise ArtifactError(
            f"the tensor {name!r} differs from its declaration",
            why=f"it is {type_of(tensor)}, declared is {kind}",
        )
    return tensor


def _stored_as(kind: TensorType) -> tuple[str, tuple[int, ...]]:
    dtype, inner = _STORED[kind.dtype]
    flat = (kind.size_bytes // kind.dtype.size_bytes,)
    return dtype, (kind.shape if kind.is_contiguous else flat) + inner


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    kind = type_of(tensor)
    if not kind.numel:
        return memoryview(b"")
    plain = tensor.detach().resolve_conj().resolve_neg().cpu()
    span = kind.size_bytes // kind.dtype.size_bytes
    flat = torch.as_strided(plain, (span,), (1,), plain.storage_offset())
    return flat.view(torch.uint8).numpy().data


def _header(entries: Mapping[str, Stored]) -> bytes:
    fields = {
        name: {"dtype": e.dtype, "shape": e.shape, "data_offsets": (e.start, e.end)}
        for name, e in entries.items()
    }
    text = json.dumps(fields, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT_BYTES)
    if len(text) > strict_json.MAX_BYTES:
        raise ArtifactError(
            "the program has too many constants to save",
            why=f"their list takes {len(text)} bytes, the limit is {strict_json.MAX_BYTES}",
        )
    return len(text).to_bytes(8, "little") + text


def _read_header(member: memoryview) -> tuple[dict[str, Stored], int]:
    """Tensors by name without padding, and the header's size in bytes."""
    length = int.from_bytes(member[:8], "little")
    if len(member) < 8 or length > len(member) - 8:
        raise _bad("its header is cut short", f"{length} bytes of {len(member)}")
    try:
        fields = strict_json.decode(member[8 : 8 + length])
    except ValueError as error:
        raise _bad("its header is malformed", str(error)) from error
    if not isinstance(fields, dict):
        raise _bad("its header is no JSON object")
    entries = {name: _entry(name, value) for name, value in fields.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda pair: (pair[1].start, pair[1].end)):
        if entry.start != end or entry.end < entry.start:
            raise _bad(
                f"the tensor {name!r} overlaps another or leaves a gap",
                f"it covers bytes {entry.start} to {entry.end}, the one before ends at {end}",
            )
        end = entry.end
    if end != len(member) - 8 - length:
        raise _bad("its tensors do not fill it", f"{end} bytes of {len(member) - 8 - length}")
    return {n: e for n, e in entries.items() if not n.startswith(_PADDING)}, 8 + length


def _entry(name: str, value: strict_json.Json) -> Stored:
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise _bad(f"the entry of {name!r} is malformed")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    numbers = [n for part in (shape, offsets) if isinstance(part, list) for n in part]
    if (
        not isinstance(dtype, str)
        or not isinstance(shape, list)
        or not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(type(n) is int and 0 <= n < 2**63 for n in numbers)
    ):
        raise _bad(f"the entry of {name!r} is malformed")
    return Stored(dtype, tuple(shape), offsets[0], offsets[1])


def _check_entry(name: str, kind: TensorType, entry: Stored) -> None:
    dtype, shape = _stored_as(kind)
    if (entry.dtype, entry.shape) != (dtype, shape):
        raise _bad(
            f"the tensor {name!r} differs from the program's declaration",
            f"stored are {entry.dtype} {list(entry.shape)}, {kind} needs {dtype} {list(shape)}",
        )
    if entry.end - entry.start != kind.size_bytes:
        raise _bad(
            f"the tensor {name!r} has {entry.end - entry.start} bytes, {kind} {kind.size_bytes}"
        )
    if entry.start % ALIGNMENT_BYTES and kind.size_bytes:
        raise _bad(f"the tensor {name!r} is not aligned to {ALIGNMENT_BYTES} bytes")


def _mapped(container: Container, kind: TensorType, offset: int) -> torch.Tensor:
    dtype = to_torch(kind.dtype)
    if not kind.numel:
        return torch.empty_strided(kind.shape, kind.strides, dtype=dtype)
    count = kind.size_bytes // kind.dtype.size_bytes
    flat = torch.frombuffer(container.memory, dtype=dtype, count=count, offset=offset)
    return flat.as_strided(kind.shape, kind.strides)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides, gaps and overlaps in memory included."""
    kind = type_of(tensor)
    span = kind.size_bytes // kind.dtype.size_bytes
    return tensor.as_strided((span,), (1,)).clone().as_strided(kind.shape, kind.strides)


def _view(owner: torch.Tensor, kind: TensorType, offset_bytes: int) -> torch.Tensor:
    if not kind.numel:
        return torch.empty_strided(kind.shape, kind.strides, dtype=to_torch(kind.dtype))
    made = torch.empty(0, dtype=to_torch(kind.dtype))
    offset = offset_bytes // kind.dtype.size_bytes
    return made.set_(owner.untyped_storage(), offset, kind.shape, kind.strides)


def _bad(what: str, why: str = "") -> ArtifactError:
    return ArtifactError(
        f"the weights of the artifact are malformed: {what}",
        where=MEMBER,
        why=why,
        fix="save the model again",
    )
