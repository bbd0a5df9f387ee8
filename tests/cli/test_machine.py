def test_devices(forge):
    found = {row["name"]: row for row in forge("devices", "--json")}
    assert found["cpu"]["available"] is True
    assert found["cpu"]["devices"] == ["cpu"]
    assert found["cpu"]["reason"]
    assert "cpu" in forge("devices").stdout


def test_doctor(forge, monkeypatch):
    import platform

    import torch

    monkeypatch.setenv("FORGE_ISA", "avx2")
    document = forge("doctor", "--json")
    sections = document["sections"]
    assert sections["Packages"]["python"] == platform.python_version()
    assert sections["Packages"]["torch"] == torch.__version__
    assert sections["System"]["FORGE_ISA"] == "avx2"
    assert set(sections) == {"System", "Packages", "Native engine", "Extras"}
    text = forge("doctor").stdout
    for part in ("Native engine", "torch", "Extras", "transformers"):
        assert part in text


def test_doctor_names_what_is_missing(forge, monkeypatch):
    from forge_ugc.cli import diagnosis

    monkeypatch.setattr(diagnosis, "_CORE", ("torch", "no-such-package"))
    document = forge("doctor", "--json")
    assert document["sections"]["Packages"]["no-such-package"] == "missing"
    assert any("no-such-package is missing" in w for w in document["warnings"])
