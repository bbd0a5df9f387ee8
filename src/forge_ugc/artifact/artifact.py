"""Writes and reads `.forge` files."""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
import xxhash

from forge_ugc.artifact.container import Container, ContainerWriter
from forge_ugc.artifact.manifest import Manifest, decode_manifest, encode_manifest
from forge_ugc.artifact.strict_json import Json
from forge_ugc.artifact.weights import MEMBER as WEIGHTS
from forge_ugc.artifact.weights import WeightsWriter, read_weights
from forge_ugc.errors import ArtifactError, VerificationError
from forge_ugc.npuir import lexical
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.program import Program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer

PROGRAM, MANIFEST = "program.npuir", "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """What a `.forge` file holds.

    Attributes:
        program: verified.
        tensors: every constant, views among them, and the initial value of every state, by name.
            Constants lie in a private mapping of the file: they are read when touched, and writing
            to them changes neither the file nor another reading of it. States are copies.
        extra: the caller's own data.
    """

    program: Program
    tensors: Mapping[str, torch.Tensor]
    extra: Mapping[str, Json]


def write_artifact(
    path: str | os.PathLike[str],
    program: Program,
    tensors: Mapping[str, torch.Tensor],
    extra: Mapping[str, Json] | None = None,
) -> None:
    """Write a `.forge` file; an existing one is replaced at once when the new one is complete.

    Weights stream from the given tensors to the file; no second copy is held.

    Args:
        path: the file.
        program: valid.
        tensors: by name every constant that owns its memory and every state, exactly as declared;
            constants that are views may be there and are not stored.
        extra: JSON data to keep beside the program; None is `{}`.

    Raises:
        ArtifactError: a tensor is missing or differs, the data is no JSON, or the disk refuses.
        VerificationError: the program breaks a rule.
    """
    verify(program, infer)
    weights = WeightsWriter(program, tensors)
    text = print_program(program).encode()
    if len(text) > lexical.MAX_TEXT_CHARS:
        raise ArtifactError(
            "the program is too large to save",
            why=f"its text has {len(text)} bytes, the limit is {lexical.MAX_TEXT_CHARS}",
        )
    encode_manifest({}, extra or {})  # refuses what JSON has no form for before anything is written
    target = Path(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            writer = ContainerWriter(file)
            checksums = {
                PROGRAM: writer.add(PROGRAM, len(text), [text]),
                WEIGHTS: writer.add(WEIGHTS, weights.size_bytes, weights.chunks()),
            }
            manifest = encode_manifest(checksums, extra or {})
            writer.add(MANIFEST, len(manifest), [manifest])
            writer.finish()
        partial.replace(target)
    except OSError as error:
        raise ArtifactError(
            "the artifact cannot be written",
            where=str(target),
            why=error.strerror or str(error),
            fix="check the folder, its permissions and the free space",
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def read_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Read a `.forge` file.

    Executes nothing that the file holds. Every byte is checked once, against the manifest's
    checksums; the weights are then mapped, not copied.

    Raises:
        ArtifactError: the file is missing, damaged, inconsistent or of a newer version.
        UnsupportedOperatorError: the program uses an operator that is not registered here.
    """
    try:
        return _read(Path(path))
    except ArtifactError as error:
        where = f"{os.fspath(path)}, {error.where}" if error.where else os.fspath(path)
        raise ArtifactError(error.what, where=where, why=error.why, fix=error.fix) from error


def _read(path: Path) -> Artifact:
    container = Container(path)
    manifest = _read_manifest(container)
    expected = {PROGRAM, WEIGHTS, MANIFEST}
    if container.members.keys() != expected:
        raise ArtifactError(
            "the artifact holds other members than it should",
            why=f"they are {sorted(container.members)}, expected {sorted(expected)}",
            fix="save the model again",
        )
    for name in (PROGRAM, WEIGHTS):
        _check_sum(container, manifest, name)
    program = _read_program(container.data(PROGRAM))
    return Artifact(
        program=program, tensors=read_weights(container, program), extra=manifest.signature
    )


def _read_manifest(container: Container) -> Manifest:
    if MANIFEST not in container.members:
        raise ArtifactError(
            f"the artifact has no {MANIFEST}",
            why=f"its members are {sorted(container.members)}",
            fix="save the model again",
        )
    data = container.data(MANIFEST)
    # Nothing else vouches for the manifest; the zip's own checksum finds accidents.
    if zlib.crc32(data) != container.members[MANIFEST].crc32:
        raise _differs(MANIFEST)
    return decode_manifest(data)


def _check_sum(container: Container, manifest: Manifest, name: str) -> None:
    if xxhash.xxh3_128(container.data(name)).hexdigest() != manifest.checksums.get(name):
        raise _differs(name)


def _read_program(data: memoryview) -> Program:
    if len(data) > lexical.MAX_TEXT_CHARS:
        raise _bad_program(f"it has {len(data)} bytes, the limit is {lexical.MAX_TEXT_CHARS}")
    try:
        program = parse_program(str(data, "utf-8"))
        verify(program, infer)
    except UnicodeDecodeError as error:
        raise _bad_program(f"it is no UTF-8 text at byte {error.start}") from error
    except VerificationError as error:
        raise _bad_program(str(error)) from error
    return program


def _bad_program(why: str) -> ArtifactError:
    return ArtifactError(
        "the program of the artifact is not valid",
        where=PROGRAM,
        why=why,
        fix="save the model again",
    )


def _differs(name: str) -> ArtifactError:
    return ArtifactError(
        "the artifact is damaged",
        where=name,
        why="its checksum is not the one that was saved",
        fix="copy the file again, or save the model again",
    )
