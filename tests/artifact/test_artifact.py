"""Saving and loading `.forge` files: exact round trip, mapping, refusals when saving."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import safetensors.torch
import torch

from forge_ugc.artifact import read_artifact, write_artifact
from forge_ugc.artifact.artifact import MANIFEST, PROGRAM
from forge_ugc.artifact.weights import MEMBER as WEIGHTS
from forge_ugc.errors import ArtifactError, VerificationError
from forge_ugc.npuir.parser import parse_program

from .samples import EXTRA, TEXT, tensors


def same(got: Mapping[str, torch.Tensor], want: Mapping[str, torch.Tensor]) -> bool:
    return all(
        got[name].dtype == tensor.dtype
        and got[name].stride() == tensor.stride()
        and torch.equal(got[name].nan_to_num(7.0), tensor.nan_to_num(7.0))
        for name, tensor in want.items()
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "mlp.forge"
    write_artifact(target, parse_program(TEXT), tensors(), EXTRA)
    return target


def test_round_trip(path: Path) -> None:
    artifact = read_artifact(path)
    assert artifact.program == parse_program(TEXT)
    assert artifact.extra == EXTRA
    want = tensors()
    assert same(artifact.tensors, want)
    assert torch.equal(artifact.tensors["w_row"], want["w"][1])
    assert torch.equal(artifact.tensors["w_bits"], want["w"][1, 2:4].view(torch.int32))
    assert artifact.tensors["empty_view"].shape == (2, 0)
    assert artifact.tensors.keys() == {*want, "w_row", "w_bits", "empty_view"}


def test_only_owners_are_stored(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [PROGRAM, WEIGHTS, MANIFEST]
        assert archive.testzip() is None
        assert archive.read(PROGRAM).decode() == TEXT
        stored = safetensors.torch.load(archive.read(WEIGHTS))
        manifest = json.loads(archive.read(MANIFEST))
    real = {name for name in stored if not name.startswith("__padding__.")}
    assert real == tensors().keys() - {"w_t"}
    assert torch.equal(stored["w"], tensors()["w"])
    assert torch.equal(torch.view_as_complex(stored["zz"]), tensors()["zz"])
    assert manifest["format_version"] == 1
    assert manifest["signature"] == EXTRA


def test_weights_are_mapped_aligned_private_and_writable(path: Path) -> None:
    before = path.read_bytes()
    one, two = read_artifact(path), read_artifact(path)
    for name in ("w", "odd name", "gaps", "half", "flag", "scalar", "index", "z", "zz"):
        assert one.tensors[name].data_ptr() % 64 == 0
    one.tensors["w"].fill_(3.0)
    assert torch.equal(one.tensors["w_row"], torch.full((8,), 3.0))
    assert same(two.tensors, tensors())
    assert path.read_bytes() == before


def test_states_are_no_part_of_the_mapping(path: Path) -> None:
    artifact = read_artifact(path)
    lowest = min(artifact.tensors[n].data_ptr() for n in ("w", "odd name", "gaps", "half"))
    state = artifact.tensors["cache"].data_ptr()
    assert not lowest - 4096 <= state <= lowest + path.stat().st_size


def test_large_weights_are_not_copied(tmp_path: Path) -> None:
    def resident_mib() -> int:
        rows = Path("/proc/self/status").read_text().splitlines()
        return next(int(r.split()[1]) for r in rows if r.startswith("RssAnon")) // 1024

    text = "npuir.program @p target(cpu) {\n  const  @w : f32[64,1048576]\n  output @w\n}\n"
    weights = {"w": torch.ones(64, 1048576)}
    before = resident_mib()
    write_artifact(tmp_path / "p.forge", parse_program(text), weights)
    artifact = read_artifact(tmp_path / "p.forge")
    assert torch.equal(artifact.tensors["w"], weights["w"])
    assert resident_mib() - before < 64


def test_saving_over_the_file_that_is_mapped(path: Path) -> None:
    artifact = read_artifact(path)
    write_artifact(path, artifact.program, artifact.tensors, artifact.extra)
    assert same(artifact.tensors, tensors())
    assert same(read_artifact(path).tensors, tensors())


def test_failed_save_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    before = path.read_bytes()
    bad = tensors()
    bad["w"] = torch.zeros(3, 7)
    with pytest.raises(ArtifactError):
        write_artifact(path, parse_program(TEXT), bad, EXTRA)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("w"), "the tensor 'w' is declared by the program, but not given"),
        (lambda t: t.update(v=t["w"]), "the tensor 'v' is not declared by the program"),
        (lambda t: t.update(w=t["w"].double()), "the tensor 'w' differs from its declaration\n"
         "  why: it is f64[3,8], declared is f32[3,8]"),
        (lambda t: t.update(cache=t["cache"].contiguous()),
         "the tensor 'cache' differs from its declaration\n"
         "  why: it is f32[8,3], declared is f32[8,3]{1,8}"),
        (lambda t: t.update(w=t["w"].to("meta")), "the tensor 'w' has no values\n"
         "  why: it is on the meta device\n  fix: load the model's weights before saving"),
    ],
)  # fmt: skip
def test_tensors_must_fit_the_program(
    tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], object], message: str
) -> None:
    changed = tensors()
    change(changed)
    with pytest.raises(ArtifactError) as caught:
        write_artifact(tmp_path / "p.forge", parse_program(TEXT), changed)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("__metadata__", "the file format reserves it"),
        ("__padding__.0", "the file format reserves it"),
        ("\\u{d800}", "it is no Unicode text"),
    ],
)
def test_names_that_cannot_be_stored(tmp_path: Path, name: str, why: str) -> None:
    program = parse_program(f'npuir.program @p target(cpu) {{\nconst @"{name}" : f32[]\n}}\n')
    with pytest.raises(ArtifactError) as caught:
        write_artifact(tmp_path / "p.forge", program, {})
    assert caught.value.why == why


def test_constant_and_state_of_one_name(tmp_path: Path) -> None:
    text = "npuir.program @p target(cpu) {\nconst @a : f32[]\nstate $a : f32[]\n}\n"
    with pytest.raises(ArtifactError) as caught:
        write_artifact(tmp_path / "p.forge", parse_program(text), {"a": torch.zeros(())})
    assert str(caught.value) == (
        "the name 'a' cannot be stored\n"
        "  why: a constant and a state share it\n  fix: rename the parameter"
    )


@pytest.mark.parametrize(
    "extra", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}, {(1, 2): 3}]
)
def test_extra_must_be_json(tmp_path: Path, extra: object) -> None:
    program = parse_program("npuir.program @p target(cpu) {\n}\n")
    with pytest.raises(ArtifactError, match="has no JSON form"):
        write_artifact(tmp_path / "p.forge", program, {}, extra)  # type: ignore[arg-type]


def test_invalid_program_is_not_saved(tmp_path: Path) -> None:
    program = parse_program("npuir.program @p target(cpu) {\noutput %0\n}\n")
    with pytest.raises(VerificationError, match="%0 is not defined"):
        write_artifact(tmp_path / "p.forge", program, {})


def test_folder_that_does_not_exist(tmp_path: Path) -> None:
    program = parse_program("npuir.program @p target(cpu) {\n}\n")
    target = tmp_path / "no" / "p.forge"
    with pytest.raises(ArtifactError) as caught:
        write_artifact(target, program, {})
    assert str(caught.value) == (
        f"the artifact cannot be written\n  at: {target}\n  why: No such file or directory\n"
        "  fix: check the folder, its permissions and the free space"
    )
