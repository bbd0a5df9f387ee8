"""Damaged `.forge` files: missing, foreign, cut, flipped, repacked."""

from __future__ import annotations

import random
import time
import zipfile
from pathlib import Path

import pytest

from forge_ugc.artifact import Artifact, read_artifact, write_artifact
from forge_ugc.errors import ArtifactError
from forge_ugc.npuir.parser import parse_program

from .samples import EXTRA, TEXT, refused, tensors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "mlp.forge"
    write_artifact(target, parse_program(TEXT), tensors(), EXTRA)
    return target


def test_missing_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.forge") == (
        "the artifact cannot be read\n  at: PATH\n  why: No such file or directory\n"
        "  fix: check the path and the file's permissions"
    )
    assert "not a regular file" in refused(tmp_path)


def test_empty_and_foreign_files(tmp_path: Path) -> None:
    target = tmp_path / "p.forge"
    target.write_bytes(b"")
    assert "the artifact is damaged: the file is empty" in refused(target)
    target.write_bytes(b"GGUF" + bytes(1000))
    assert refused(target) == (
        "the file is no artifact\n  at: PATH\n  why: it does not begin like a zip file"
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_repacked_zip(path: Path, method: int) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert refused(path) == (
        "the file is a zip, but not one that Forge-UGC wrote\n  at: PATH\n"
        "  why: its members may be compressed or laid out in another way\n"
        "  fix: use the file as it was saved, without packing it again"
    )


def test_truncated_at_every_interesting_point(path: Path) -> None:
    whole = path.read_bytes()
    ends = {0, 1, 3, 4, 22, 29, 30, 98, len(whole) - 1, len(whole) - 22, len(whole) - 98}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            ends |= {info.header_offset + d for d in (0, 1, 64, 72, 128)}
    for end in sorted(ends - {len(whole)}):
        path.write_bytes(whole[:end])
        refused(path)
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(path) == (
        "the artifact is damaged\n  at: PATH\n"
        f"  why: the file is cut short: it ends after {len(whole) // 2} bytes\n"
        "  fix: copy the file again, or save the model again"
    )


def test_bytes_after_the_end_or_before_the_start(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 7)
    assert refused(path) == (
        "the artifact is damaged: 7 bytes follow the end of the artifact\n  at: PATH\n"
        "  fix: copy the file again, or save the model again"
    )
    path.write_bytes(b"PK\3\4" + whole)
    assert "damaged" in refused(path)


def test_bit_flips(path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        starts = [i.header_offset for i in archive.infolist()]
        directory = archive.start_dir
    positions = [rng.randrange(len(whole)) for _ in range(300)]
    for start in (*starts, directory, len(whole) - 98):
        positions += range(start, min(start + 98, len(whole)))
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            artifact = read_artifact(path)
        except ArtifactError:
            continue
        raise AssertionError(f"flip at {position} of {len(whole)} went unnoticed: {artifact}")


def test_which_member_is_damaged(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    at = whole.index(b"npuir.program @mlp")
    whole[at + 15] ^= 1
    path.write_bytes(whole)
    assert refused(path) == (
        "the artifact is damaged\n  at: PATH, program.npuir\n"
        "  why: its checksum is not the one that was saved\n"
        "  fix: copy the file again, or save the model again"
    )


def test_crafted_directories(path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        directory = archive.start_dir
    deadline = time.monotonic() + 3.0
    while time.monotonic() < deadline:
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            width = rng.choice((1, 2, 4, 8))
            at = rng.randrange(directory, len(whole) - width)
            value = rng.choice((0, 1, 2**15, 2**16 - 1, 2**32 - 1, 2**63, 2**64 - 1))
            damaged[at : at + width] = (value % 256**width).to_bytes(width, "little")
        path.write_bytes(damaged)
        try:
            artifact = read_artifact(path)
        except ArtifactError:
            continue
        assert isinstance(artifact, Artifact)
        assert damaged == whole
