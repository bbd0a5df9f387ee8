"""The outer layer of a `.forge` file: a zip in one fixed form, members stored and aligned."""

from __future__ import annotations

import errno
import mmap
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import xxhash

from forge_ugc.errors import ArtifactError

ALIGNMENT_BYTES = 64

# PKWARE APPNOTE 6.3.10, sections 4.3.7 to 4.3.16. Always ZIP64, so that there is one form only: the
# 32-bit fields are all ones, and the sizes stand in the extra fields.
_LOCAL = struct.Struct("<4s5H3I2H")
_LOCAL_EXTRA = struct.Struct("<2H2Q")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_CENTRAL_EXTRA = struct.Struct("<2H3Q")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
_TAIL_BYTES = _END64.size + _LOCATOR.size + len(_END)
_VERSION, _ONES, _DATE, _MODE = 45, 0xFFFFFFFF, 0x21, 0o100644 << 16  # 1980-01-01
_UNIX = 3 << 8
_PADDING_ID = 0xD935
_MAX_MEMBERS = 16
_MAX_NAME_BYTES = 64
_MAX_COMMENT_BYTES = 0xFFFF


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the zip: `offset` is where its header begins."""

    name: str
    offset: int
    size_bytes: int
    crc32: int

    def header(self) -> bytes:
        """The local header, padded so that the data after it is aligned."""
        name = self.name.encode()
        start = self.offset + _LOCAL.size + len(name) + _LOCAL_EXTRA.size + 4
        padding = -start % ALIGNMENT_BYTES
        fixed = _LOCAL.pack(
            b"PK\3\4", _VERSION, 0, 0, 0, _DATE, self.crc32, _ONES, _ONES,
            len(name), _LOCAL_EXTRA.size + 4 + padding,
        )  # fmt: skip
        sizes = _LOCAL_EXTRA.pack(1, 16, self.size_bytes, self.size_bytes)
        return fixed + name + sizes + struct.pack("<2H", _PADDING_ID, padding) + bytes(padding)

    def directory_entry(self) -> bytes:
        """What the central directory says about the member."""
        name = self.name.encode()
        fixed = _CENTRAL.pack(
            b"PK\1\2", _VERSION | _UNIX, _VERSION, 0, 0, 0, _DATE, self.crc32, _ONES, _ONES,
            len(name), _CENTRAL_EXTRA.size, 0, 0, 0, _MODE, _ONES,
        )  # fmt: skip
        extra = _CENTRAL_EXTRA.pack(1, 24, self.size_bytes, self.size_bytes, self.offset)
        return fixed + name + extra


class ContainerWriter:
    """Writes members one after another, each as a stream.

    Args:
        file: empty, seekable, open for writing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._members: list[Member] = []
        self._at = 0

    def add(self, name: str, size_bytes: int, chunks: Iterable[bytes | memoryview]) -> str:
        """Write a member and return its xxh3_128 checksum in hexadecimal.

        Raises:
            ArtifactError: the chunks do not add up to the size.
        """
        blank = Member(name, self._at, size_bytes, 0)
        self._file.write(blank.header())
        digest, crc, total = xxhash.xxh3_128(), 0, 0
        for chunk in chunks:
            digest.update(chunk)
            crc = zlib.crc32(chunk, crc)
            total += len(chunk)
            self._file.write(chunk)
        if total != size_bytes:
            raise ArtifactError(
                f"{name} changed while it was written", why=f"{total} bytes, not {size_bytes}"
            )
        member = Member(name, self._at, size_bytes, crc)
        self._file.seek(self._at)
        self._file.write(member.header())
        self._at = self._file.seek(0, 2)
        self._members.append(member)
        return digest.hexdigest()

    def finish(self) -> None:
        """Write the directory; nothing can be added any more."""
        directory = b"".join(m.directory_entry() for m in self._members)
        self._file.write(directory + _tail(len(self._members), len(directory), self._at))


class Container:
    """A mapped file whose layout has been checked.

    The mapping is private: writing to it changes memory, never the file.

    Attributes:
        memory: the whole file.
        members: by name; their data do not overlap and fill the file.
    """

    def __init__(self, path: Path) -> None:
        try:
            if path.exists() and not path.is_file():  # opening a pipe would wait for a writer
                raise OSError(errno.EINVAL, "it is not a regular file")
            with path.open("rb") as file:
                self._size = file.seek(0, 2)
                if self._size == 0:
                    raise _damaged("the file is empty")
                self.memory = mmap.mmap(file.fileno(), self._size, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise ArtifactError(
                "the artifact cannot be read",
                why=error.strerror or str(error),
                fix="check the path and the file's permissions",
            ) from error
        self.members: dict[str, Member] = {}
        for member in self._directory():
            if member.name in self.members:
                raise _damaged(f"two members are called {member.name!r}")
            self.members[member.name] = member

    def data(self, name: str) -> memoryview:
        """The bytes of a member, not copied."""
        start, end = self.span(name)
        return memoryview(self.memory)[start:end]

    def span(self, name: str) -> tuple[int, int]:
        """First byte of a member's data in the file, and the one past the last."""
        member = self.members[name]
        start = member.offset + len(member.header())
        return start, start + member.size_bytes

    def _directory(self) -> list[Member]:
        count, start, stop = self._read_tail()
        members: list[Member] = []
        at, end_of_last = start, 0
        for _ in range(count):
            member, at = self._entry(at, stop)
            header = member.header()
            data = member.offset + len(header)
            if member.offset != end_of_last or self.memory[member.offset : data] != header:
                raise _damaged(f"the header of {member.name} and the directory differ")
            end_of_last = data + member.size_bytes
            if end_of_last > start:
                raise _damaged(
                    f"{member.name} is larger than the file",
                    f"it claims bytes {data} to {end_of_last}, the directory begins at {start}",
                )
            members.append(member)
        if at != stop or end_of_last != start:
            raise _damaged("bytes lie between the members and the directory")
        return members

    def _read_tail(self) -> tuple[int, int, int]:
        """Number of members, first byte of the directory and the one past its last."""
        if self.memory[:4] != b"PK\3\4":
            raise ArtifactError("the file is no artifact", why="it does not begin like a zip file")
        if self.memory[-len(_END) :] != _END:
            raise self._bad_end()
        stop = self._size - _TAIL_BYTES
        if stop < 0:
            raise _damaged("the file is too short for its directory")
        fields = _END64.unpack_from(self.memory, stop)
        count, size, start = fields[6], fields[8], fields[9]
        if self.memory[stop:] != _tail(count, size, start) or start + size != stop:
            raise _damaged("its end record is damaged")
        if count > _MAX_MEMBERS:
            raise _damaged(f"the directory lists {count} members")
        return count, start, stop

    def _bad_end(self) -> ArtifactError:
        found = self.memory.rfind(b"PK\5\6", max(0, self._size - _MAX_COMMENT_BYTES - len(_END)))
        if found < 0:
            return _damaged("the file is cut short", f"it ends after {self._size} bytes")
        if found + len(_END) < self._size:
            extra = self._size - found - len(_END)
            return _damaged(f"{extra} bytes follow the end of the artifact")
        return ArtifactError(
            "the file is a zip, but not one that Forge-UGC wrote",
            why="its members may be compressed or laid out in another way",
            fix="use the file as it was saved, without packing it again",
        )

    def _entry(self, at: int, stop: int) -> tuple[Member, int]:
        """The directory's entry at this offset, and where the next one begins."""
        if at + _CENTRAL.size > stop:
            raise _damaged("the directory is cut short")
        fields = _CENTRAL.unpack_from(self.memory, at)
        flags, method, crc, name_bytes = fields[3], fields[4], fields[7], fields[10]
        name_end = at + _CENTRAL.size + name_bytes
        end = name_end + _CENTRAL_EXTRA.size
        if name_bytes > _MAX_NAME_BYTES or end > stop:
            raise _damaged("the directory is cut short")
        if method or flags:
            raise _damaged("a member is compressed or encrypted", f"its method is {method}")
        name = self.memory[at + _CENTRAL.size : name_end].decode("ascii", "replace")
        _, _, size, _, offset = _CENTRAL_EXTRA.unpack_from(self.memory, name_end)
        member = Member(name, offset, size, crc)
        if not name.isascii() or self.memory[at:end] != member.directory_entry():
            raise _damaged("the directory is damaged")
        return member, end


def _tail(count: int, directory_bytes: int, directory_offset: int) -> bytes:
    stop = directory_offset + directory_bytes
    try:
        end64 = _END64.pack(
            b"PK\6\6", _END64.size - 12, _VERSION | _UNIX, _VERSION, 0, 0, count, count,
            directory_bytes, directory_offset,
        )  # fmt: skip
        return end64 + _LOCATOR.pack(b"PK\6\7", 0, stop, 1) + _END
    except struct.error as error:
        raise _damaged("its end record is damaged") from error


def _damaged(what: str, why: str = "") -> ArtifactError:
    return ArtifactError(
        "the artifact is damaged" if why else f"the artifact is damaged: {what}",
        why=f"{what}: {why}" if why else "",
        fix="copy the file again, or save the model again",
    )
