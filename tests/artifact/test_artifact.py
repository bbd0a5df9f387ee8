"""Saving and loading `.forge` files: exact round trip, mapping, every kind of damage."""

from __future__ import annotations

import json
import random
import struct
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import safetensors.torch
import torch

from forge_ugc.artifact import Artifact, read_artifact, write_artifact
from forge_ugc.artifact.artifact import MANIFEST, PROGRAM
from forge_ugc.artifact.container import ContainerWriter
from forge_ugc.artifact.manifest import encode_manifest
from forge_ugc.artifact.weights import MEMBER as WEIGHTS
from forge_ugc.errors import ArtifactError, UnsupportedOperatorError, VerificationError
from forge_ugc.npuir.parser import parse_program

TEXT = """\
npuir.program @mlp target(cpu) arena(128 B) {
  input  %0 "x" : f32[4,8]
  const  @w : f32[3,8]
  const  @w_t : f32[8,3]{1,8} view(@w, 0 B)
  const  @w_row : f32[8] view(@w_t, 32 B)
  const  @w_bits : i32[2] view(@w_row, 8 B)
  const  @"odd name" : f32[8,3]{1,8}
  const  @gaps : f32[2,2]{4,1}
  const  @spread : f32[4,2]{0,1}
  const  @half : bf16[5]
  const  @flag : bool[3]
  const  @scalar : f64[]
  const  @index : i64[1]
  const  @empty : f32[0,4]
  const  @empty_view : f32[2,0] view(@w, 4096 B)
  const  @z : c64[3]
  const  @zz : c128[2,2]
  state  $cache : f32[8,3]{1,8}
  %1 = aten.mm.default(%0, @w_t) : f32[4,3] device(cpu) buffer(0 @ 0, 48 B)
  %2 = aten.relu.default(%1) : f32[4,3] device(cpu) buffer(output) loc("model.py":3 "relu")
  store  $cache, @"odd name"
  output %2
}
"""
EXTRA = {"inputs": ["x", None, 1.5, True], "naïve": {}}


def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    w = torch.randn(3, 8)
    return {
        "w": w,
        "w_t": w.t(),
        "odd name": torch.randn(3, 8).t(),
        "gaps": torch.randn(4, 4)[:2, :2],
        "spread": torch.randn(2).expand(4, 2),
        "half": torch.randn(5).bfloat16(),
        "flag": torch.tensor([True, False, True]),
        "scalar": torch.tensor(float("nan"), dtype=torch.float64),
        "index": torch.tensor([-(2**63)]),
        "empty": torch.empty(0, 4),
        "z": torch.randn(3, dtype=torch.complex64).conj(),
        "zz": torch.randn(2, 2, dtype=torch.complex128),
        "cache": torch.randn(3, 8).t(),
    }


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


# ---------------------------------------------------------------------- damage


def refused(path: Path) -> str:
    with pytest.raises(ArtifactError) as caught:
        read_artifact(path)
    assert str(path) in str(caught.value)
    return str(caught.value).replace(str(path), "PATH")


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


# ---------------------------------------------------------------------- crafted files


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
