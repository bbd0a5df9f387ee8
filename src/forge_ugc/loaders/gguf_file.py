"""The GGUF container: metadata and raw tensors, with every bound checked.

Source: ggml's docs/gguf.md, versions 2 and 3, little-endian. The reader of the `gguf` package gives
the same contents, but spends seconds on the vocabulary of a small model.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forge_ugc.errors import ArtifactError

Scalar = bool | int | float | str
Value = Scalar | list["Value"]
Bytes = npt.NDArray[np.uint8]

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_FORMATS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_MAX_DIMS = 4
_MAX_NESTING = 4


@dataclass(frozen=True, slots=True)
class RawTensor:
    """One tensor as it lies in the file.

    Attributes:
        shape: row-major, outermost dimension first (the file stores it reversed).
        kind: number of its ggml type.
        offset: first byte in the file.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """Contents of a file; `data` maps the whole file and is read only where it is used."""

    path: Path
    metadata: Mapping[str, Value]
    tensors: Mapping[str, RawTensor]
    data: Bytes


def read(path: Path) -> GgufFile:
    """Read metadata and tensor table.

    Raises:
        ArtifactError: not a GGUF file, another version, or truncated; says at which byte.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise ArtifactError(f"cannot read {path}", why=str(error)) from error
    cursor = _Cursor(path, data.data)
    if cursor.take(4) != _MAGIC:
        raise cursor.damaged("it does not start with GGUF")
    version = cursor.number("<I")
    if version not in _VERSIONS:
        raise cursor.damaged(f"version is {version}, this reader knows {_VERSIONS}")
    tensor_count, pair_count = cursor.number("<Q"), cursor.number("<Q")
    metadata: dict[str, Value] = {}
    for _ in range(pair_count):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.number("<I"))
    entries = [cursor.tensor() for _ in range(tensor_count)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise cursor.damaged(f"general.alignment is {alignment}")
    start = -(-cursor.position // alignment) * alignment
    tensors = {
        name: RawTensor(name, shape, kind, start + offset) for name, shape, kind, offset in entries
    }
    if len(tensors) != tensor_count:
        raise cursor.damaged("two tensors have one name")
    return GgufFile(path, metadata, tensors, data)


def tensor_bytes(file: GgufFile, tensor: RawTensor, size_bytes: int) -> Bytes:
    """The bytes of one tensor, mapped.

    Raises:
        ArtifactError: they reach past the end of the file.
    """
    end = tensor.offset + size_bytes
    if end > file.data.size:
        raise ArtifactError(
            f"{file.path} is damaged",
            where=f"tensor {tensor.name}",
            why=f"it ends at byte {end:,}, the file has {file.data.size:,}",
            fix="download the file again",
        )
    return file.data[tensor.offset : end]


class _Cursor:
    """A position in the file that cannot leave it."""

    def __init__(self, path: Path, view: memoryview) -> None:
        self.path, self.view, self.position = path, view, 0

    def damaged(self, why: str) -> ArtifactError:
        return ArtifactError(
            f"{self.path} is not a readable GGUF file",
            where=f"byte {self.position:,}",
            why=why,
            fix="download the file again",
        )

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self.view):
            raise self.damaged(f"{count:,} bytes are due, {len(self.view) - self.position:,} left")
        taken = bytes(self.view[self.position : end])
        self.position = end
        return taken

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def string(self) -> str:
        raw = self.take(self.number("<Q"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.damaged(f"a string is not UTF-8: {error}") from error

    def value(self, kind: int, nesting: int = 0) -> Value:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array(nesting)
        form = self._form(kind)
        found: Scalar = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return found

    def _array(self, nesting: int) -> list[Value]:
        if nesting == _MAX_NESTING:
            raise self.damaged(f"arrays are nested more than {_MAX_NESTING} deep")
        kind, count = self.number("<I"), self.number("<Q")
        if kind in (_STRING, _ARRAY):
            # Each element takes at least 8 bytes: refuse a count that the file cannot hold.
            if count * 8 > len(self.view) - self.position:
                raise self.damaged(f"an array of {count:,} elements does not fit into the file")
            read: Callable[[], Value] = (
                self.string if kind == _STRING else lambda: self._array(nesting + 1)
            )
            return [read() for _ in range(count)]
        form = self._form(kind)
        raw = self.take(count * struct.calcsize(form))
        return list(struct.unpack(f"<{count}{form[1]}", raw))

    def _form(self, kind: int) -> str:
        if kind not in _FORMATS:
            raise self.damaged(f"a value has the unknown type {kind}")
        return _FORMATS[kind]

    def tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self.string()
        rank = self.number("<I")
        if not 1 <= rank <= _MAX_DIMS:
            raise self.damaged(f"tensor {name!r} has {rank} dimensions")
        sizes = [self.number("<Q") for _ in range(rank)]
        return name, tuple(reversed(sizes)), self.number("<I"), self.number("<Q")
