"""The manifest of a `.forge` file: versions, checksums, the caller's own data."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from forge_ugc.artifact import strict_json
from forge_ugc.artifact.strict_json import Json
from forge_ugc.errors import ArtifactError

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What `manifest.json` says.

    Attributes:
        written_by: version of forge-ugc; `torch_version` that of PyTorch.
        checksums: xxh3_128 in hexadecimal of each other member.
        signature: the caller's own data.
    """

    written_by: str
    torch_version: str
    checksums: Mapping[str, str]
    signature: Mapping[str, Json]


def own_version() -> str:
    """Version of the installed forge-ugc, or `unknown` in a source tree."""
    try:
        return importlib.metadata.version("forge-ugc")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def encode_manifest(checksums: Mapping[str, str], signature: Mapping[str, Json]) -> bytes:
    """The text of `manifest.json`.

    Raises:
        ArtifactError: the signature has no JSON form.
    """
    fields: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "forge_ugc": own_version(),
        "torch": str(torch.__version__),
        "xxh3_128": dict(checksums),
        "signature": signature,
    }
    try:
        return strict_json.encode(fields)
    except ValueError as error:
        raise ArtifactError(
            "the data to save beside the program has no JSON form",
            why=str(error),
            fix="pass numbers, strings, lists and objects only, nested less deep",
        ) from error


def decode_manifest(data: memoryview) -> Manifest:
    """The manifest of a file.

    Raises:
        ArtifactError: it is malformed, or of a newer format.
    """
    try:
        fields = strict_json.decode(data)
    except ValueError as error:
        raise _bad(str(error)) from error
    if not isinstance(fields, dict):
        raise _bad("it is no JSON object")
    version = fields.get("format_version")
    if type(version) is not int or version < 1:
        raise _bad("format_version is no version number")
    if version > FORMAT_VERSION:
        raise ArtifactError(
            "the artifact was written by a newer version of Forge-UGC",
            where="manifest.json",
            why=f"its format has version {version}, this version reads up to {FORMAT_VERSION}",
            fix="upgrade forge-ugc, or save the model again with this version",
        )
    expected = {"format_version", "forge_ugc", "torch", "xxh3_128", "signature"}
    if fields.keys() != expected:
        raise _bad(f"its keys are {sorted(fields)}, expected {sorted(expected)}")
    written_by, torch_version = fields["forge_ugc"], fields["torch"]
    checksums = fields["xxh3_128"]
    if not isinstance(written_by, str) or not isinstance(torch_version, str):
        raise _bad("forge_ugc and torch are no strings")
    signature = fields["signature"]
    if not isinstance(checksums, dict) or not isinstance(signature, dict):
        raise _bad("xxh3_128 and signature are no JSON objects")
    return Manifest(
        written_by=written_by,
        torch_version=torch_version,
        checksums={name: str(value) for name, value in checksums.items()},
        signature=signature,
    )


def _bad(why: str) -> ArtifactError:
    return ArtifactError(
        "the artifact's manifest is malformed",
        where="manifest.json",
        why=why,
        fix="save the model again",
    )
