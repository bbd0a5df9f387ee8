def test_report(forge, model):
    text = forge("compile", model).stdout
    assert "Net from forge_cli_user:build" in text
    for part in ("Net for cpu", "Phases", "Passes", "fuse-operators", "graph nodes"):
        assert part in text


def test_json_and_artifact(forge, model, tmp_path):
    document = forge("compile", model, "-o", tmp_path / "net.forge", "--json")
    assert document["model"] == "Net"
    assert document["target"] == "cpu"
    assert document["output"] == str(tmp_path / "net.forge")
    assert document["nodes"]["after"] < document["nodes"]["before"]
    assert document["fused_operators"]["linear"] == 6
    assert (tmp_path / "net.forge").stat().st_size > 0


def test_passes_and_switches(forge, model):
    names = {p["name"] for p in forge("compile", model, "--passes", "dead-code,layout", "--json")[
        "passes"]}  # fmt: skip
    assert names == {"dead-code", "layout"}
    names = {p["name"] for p in forge("compile", model, "--disable", "layout", "--disable",
                                      "dead-code", "--json")["passes"]}  # fmt: skip
    assert "fuse-operators" in names
    assert not names & {"layout", "dead-code"}
    unfused = forge("compile", model, "--fusion", "0", "--json")
    assert unfused["fused_operators"] == {}
    result = forge("compile", model, "--disable", "nonsense", exit_code=1)
    assert "no pass and no rewrite is called 'nonsense'" in result.stderr


def test_precision(forge, model, tmp_path):
    document = forge(
        "compile", model, "--precision", "int8", "-o", tmp_path / "net.forge", "--json"
    )
    assert document["precision"] == "int8"
    assert document["fused_operators"]["quantize_rows"] == 6
    assert "i8[16,8]" in forge("inspect", tmp_path / "net.forge").stdout
    assert "precision" in forge("compile", model, "--precision", "bf16").stdout
    assert forge("compile", model, "--json")["precision"] is None
    result = forge("compile", model, "--precision", "int4", exit_code=1)
    assert "no precision is called 'int4'" in result.stderr
    assert "fix: choose from fp32, bf16, int8" in result.stderr
    result = forge("run", tmp_path / "net.forge", "--precision", "bf16", exit_code=1)
    assert "--precision bf16 does not apply to a .forge file" in result.stderr


def test_verified_passes_and_dumps(forge, model, tmp_path):
    document = forge("compile", model, "--verify-passes", "--dump-ir", tmp_path / "ir", "--json")
    assert max(run["max_abs_difference"] for run in document["passes"]) < 1e-5
    names = {file.name for file in (tmp_path / "ir").iterdir()}
    assert {"lowered.npuir", "scheduled.npuir"} <= names
    assert len(names) > 4


def test_other_targets(forge, model):
    assert forge("compile", model, "--target", "null", "--json")["target"] == "null"
    result = forge("compile", model, "--target", "tpu", exit_code=1)
    assert "no target is called 'tpu'" in result.stderr


def test_wrong_dtype(forge, model):
    result = forge("compile", model, "--dtype", "int4", exit_code=1)
    assert "no dtype is called 'int4'" in result.stderr


def test_a_model_that_cannot_be_captured(forge, model):
    result = forge("compile", "forge_cli_user:uncapturable", exit_code=1)
    what, where, why, fix = result.stderr.splitlines()[-4:]
    assert what == "CaptureError: the model cannot be captured as one graph"
    assert "forge_cli_user.py" in where
    assert "values of a tensor" in why
    assert "torch.where" in fix


def test_files_that_cannot_be_written(forge, model, tmp_path):
    result = forge("compile", model, "-o", tmp_path / "none" / "net.forge", exit_code=1)
    assert "its folder does not exist" in result.stderr
    (tmp_path / "file").touch()
    result = forge("compile", model, "--dump-ir", tmp_path / "file", exit_code=1)
    assert result.stderr.startswith("FileExistsError: ")
    assert "Traceback" not in result.stderr
