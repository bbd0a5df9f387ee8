import struct

import gguf
import numpy as np
import pytest

from forge_ugc.errors import ArtifactError
from forge_ugc.loaders.gguf_file import read, tensor_bytes


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_uint32("a.u32", 7)
    writer.add_int32("a.i32", -7)
    writer.add_float32("a.f32", 0.5)
    writer.add_bool("a.bool", True)
    writer.add_string("a.text", "grüße")
    writer.add_array("a.strings", ["x", "yz", ""])
    writer.add_array("a.numbers", [1, -2, 3])
    writer.add_array("a.floats", [0.5, 2.0])
    writer.add_tensor("t", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("u", np.ones(5, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_metadata_and_tensors_as_written(file):
    found = read(file)
    wanted = {
        "general.architecture": "llama", "a.u32": 7, "a.i32": -7, "a.f32": 0.5, "a.bool": True,
        "a.text": "grüße", "a.strings": ["x", "yz", ""], "a.numbers": [1, -2, 3],
        "a.floats": [0.5, 2.0],
    }  # fmt: skip
    assert dict(found.metadata) == wanted
    assert found.metadata["a.bool"] is True
    assert {t.name: t.shape for t in found.tensors.values()} == {"t": (2, 3), "u": (5,)}
    raw = tensor_bytes(found, found.tensors["t"], 24)
    assert raw.view(np.float32).tolist() == [0, 1, 2, 3, 4, 5]


def test_every_truncation_is_refused_or_harmless(file, tmp_path):
    whole = file.read_bytes()
    cut = tmp_path / "cut.gguf"
    table_end = read(file).tensors["t"].offset
    for size in range(0, len(whole), 7):
        cut.write_bytes(whole[:size])
        if size < table_end - 32:
            with pytest.raises(ArtifactError):
                read(cut)
    cut.write_bytes(whole[: table_end + 8])
    found = read(cut)
    with pytest.raises(ArtifactError) as error:
        tensor_bytes(found, found.tensors["t"], 24)
    assert str(error.value) == (
        f"{cut} is damaged\n  at: tensor t\n"
        f"  why: it ends at byte {table_end + 24:,}, the file has {table_end + 8:,}\n"
        "  fix: download the file again"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cannot read"),
        (b"GGML" + bytes(40), "does not start with GGUF"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(40), "version is 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62), "bytes are due"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<I", 77), "type 77"),
        (
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 8, 1 << 40),
            "does not fit",
        ),
        (
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<I", 9)
            + struct.pack("<IQ", 9, 1) * 8 + bytes(64),
            "nested",
        ),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"\xff", "not UTF-8"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 1) + b"t" + struct.pack("<I", 9), "9 dimensions"),
    ],
)  # fmt: skip
def test_malformed_contents_are_refused_with_the_reason(tmp_path, content, why):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=why):
        read(path)


def test_missing_file(tmp_path):
    with pytest.raises(ArtifactError, match="cannot read"):
        read(tmp_path / "none.gguf")
