"""Forged `.forge` files: right on the outside, wrong within."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from forge_ugc.artifact import read_artifact
from forge_ugc.artifact.artifact import MANIFEST, PROGRAM
from forge_ugc.artifact.container import ContainerWriter
from forge_ugc.artifact.manifest import encode_manifest
from forge_ugc.artifact.weights import MEMBER as WEIGHTS
from forge_ugc.errors import UnsupportedOperatorError

from .samples import refused


def craft(
    path: Path,
    *,
    text: bytes = b"npuir.program @p target(cpu) {\n  const  @w : f32[2]\n}\n",
    weights: bytes = b"",
    manifest: Callable[[dict[str, str]], bytes] = lambda sums: encode_manifest(sums, {}),
    extra_member: bool = False,
) -> Path:
    with path.open("wb") as file:
        writer = ContainerWriter(file)
        sums = {
            PROGRAM: writer.add(PROGRAM, len(text), [text]),
            WEIGHTS: writer.add(WEIGHTS, len(weights), [weights]),
        }
        if extra_member:
            writer.add("run.py", 1, [b"x"])
        data = manifest(sums)
        writer.add(MANIFEST, len(data), [data])
        writer.finish()
    return path


def tensor_file(header: object, data: int = 8) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


def entry(dtype: str = "F32", shape: object = (2,), offsets: object = (0, 8)) -> object:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_crafted_file_that_is_right(tmp_path: Path) -> None:
    header = json.dumps({"w": entry()}).encode()
    header += b" " * (-(8 + len(header)) % 64)
    artifact = read_artifact(craft(tmp_path / "p.forge", weights=tensor_file(header)))
    assert torch.equal(artifact.tensors["w"], torch.zeros(2))


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (b"", "its header is cut short"),
        (b"\0" * 7, "its header is cut short"),
        (struct.pack("<Q", 2**63) + bytes(64), "its header is cut short"),
        (tensor_file(b"[" * 100_000), "its header is malformed"),
        (tensor_file(b'{"w":' * 100_000), "its header is malformed"),
        (tensor_file(b"[" * 900 + b"]" * 900), "it nests deeper than 64"),
        (tensor_file(b"\xff\xfe"), "its header is malformed"),
        (tensor_file(b'{"w": NaN}'), "NaN is no JSON"),
        (tensor_file(b'{"w": ' + b"9" * 10_000 + b"}"), "its header is malformed"),
        (tensor_file(b'{"w":{}, "w":{}}'), "a key occurs twice in one object"),
        (tensor_file(b" " * (17 * 2**20)), "the limit is 16777216"),
        (tensor_file([]), "its header is no JSON object"),
        (tensor_file({}, 0), "the tensor 'w' is missing"),
        (tensor_file({"w": entry(), "v": entry("F32", [0], [8, 8])}),
         "the tensor 'v' is not declared by the program"),
        (tensor_file({"w": 3}), "the entry of 'w' is malformed"),
        (tensor_file({"w": entry(shape=[2.0])}), "the entry of 'w' is malformed"),
        (tensor_file({"w": entry(shape=[True])}), "the entry of 'w' is malformed"),
        (tensor_file({"w": entry(offsets=[0, 2**64])}), "the entry of 'w' is malformed"),
        (tensor_file({"w": entry(offsets=[0])}), "the entry of 'w' is malformed"),
        (tensor_file({"w": entry(offsets=[-8, 8])}), "the entry of 'w' is malformed"),
        (tensor_file({"w": entry(offsets=[0, 2**40])}), "its tensors do not fill it"),
        (tensor_file({"w": entry(offsets=[4, 8])}), "overlaps another or leaves a gap"),
        (tensor_file({"w": entry()}, 16), "its tensors do not fill it"),
        (tensor_file({"w": entry("F16")}), "stored are F16 [2], f32[2] needs F32 [2]"),
        (tensor_file({"w": entry(shape=[1, 2])}), "stored are F32 [1, 2], f32[2] needs F32 [2]"),
        (tensor_file({"w": entry(offsets=[0, 4])}, 4), "has 4 bytes, f32[2] 8"),
        (tensor_file({"__padding__.0": entry("U8", [4], [0, 4]), "w": entry(offsets=[4, 12])}, 12),
         "is not aligned to 64 bytes"),
    ],
)  # fmt: skip
def test_crafted_weights(tmp_path: Path, weights: bytes, text: str) -> None:
    message = refused(craft(tmp_path / "p.forge", weights=weights))
    assert text in message
    assert "PATH, weights.safetensors" in message


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "Expecting value"),
        (b"[]", "it is no JSON object"),
        (b"[" * 100_000, "it nests deeper than 64"),
        (b"{}", "format_version is no version number"),
        (b'{"format_version": true}', "format_version is no version number"),
        (b'{"format_version": 1}', "its keys are ['format_version'], expected"),
        (b'{"format_version": 2, "new": 3}', "upgrade forge-ugc"),
        (b'{"format_version": 1, "forge_ugc": "", "torch": "", "xxh3_128": {}, "signature": 3}',
         "xxh3_128 and signature are no JSON objects"),
        (b'{"format_version": 1, "forge_ugc": "", "torch": 3, "xxh3_128": {}, "signature": {}}',
         "forge_ugc and torch are no strings"),
    ],
)  # fmt: skip
def test_crafted_manifest(tmp_path: Path, data: bytes, text: str) -> None:
    message = refused(craft(tmp_path / "p.forge", manifest=lambda sums: data))
    assert text in message
    assert "PATH, manifest.json" in message


def test_newer_version(tmp_path: Path) -> None:
    def newer(sums: dict[str, str]) -> bytes:
        return encode_manifest(sums, {}).replace(b'"format_version": 1', b'"format_version": 2')

    assert refused(craft(tmp_path / "p.forge", manifest=newer, extra_member=True)) == (
        "the artifact was written by a newer version of Forge-UGC\n"
        "  at: PATH, manifest.json\n"
        "  why: its format has version 2, this version reads up to 1\n"
        "  fix: upgrade forge-ugc, or save the model again with this version"
    )


def test_unexpected_member(tmp_path: Path) -> None:
    assert refused(craft(tmp_path / "p.forge", extra_member=True)) == (
        "the artifact holds other members than it should\n  at: PATH\n"
        "  why: they are ['manifest.json', 'program.npuir', 'run.py', 'weights.safetensors'], "
        "expected ['manifest.json', 'program.npuir', 'weights.safetensors']\n"
        "  fix: save the model again"
    )


def test_invalid_program_is_refused(tmp_path: Path) -> None:
    text = b"npuir.program @p target(cpu) {\n  output %0\n}\n"
    assert refused(craft(tmp_path / "p.forge", text=text)) == (
        "the program of the artifact is not valid\n  at: PATH, program.npuir\n"
        "  why: %0 is not defined\n  at: output %0\n  fix: save the model again"
    )
    message = refused(craft(tmp_path / "p.forge", text=b"\xff"))
    assert "it is no UTF-8 text at byte 0" in message
    message = refused(craft(tmp_path / "p.forge", text=b"npuir.program @p target(cpu) {\n%1"))
    assert "expected '=', found the end of the line" in message


def test_loading_cannot_write_files(tmp_path: Path) -> None:
    target = tmp_path / "written"
    text = f"""npuir.program @p target(cpu) {{
  const  @w : f32[2]
  aten.save.default(@w) {{filename = "{target}"}}
}}
"""
    with pytest.raises(UnsupportedOperatorError):
        read_artifact(craft(tmp_path / "p.forge", text=text.encode()))
    assert not target.exists()
