"""What README.md and docs/ show is true: Python, commands, their output and NPUIR are run."""

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from markdown_blocks import DOCUMENTS, ROOT, blocks, commands, script
from typer.testing import CliRunner

from forge_ugc.cli.app import app
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer
from forge_ugc.ops.core.op import registered

TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
FIXTURES = {"docs/writing-a-pass.md": "passes"}
"""Documents whose tests use the fixtures of a folder of tests/."""


def squeezed(text):
    """The text without empty lines, runs of blanks as one."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def require_shown(block, output):
    if squeezed(block.code) not in squeezed(output):
        pytest.fail(
            f"line {block.line} shows\n{block.code}\nThe output is\n{output}", pytrace=False
        )


def of_language(language):
    return [
        pytest.param(block, id=f"{name}:{block.line}")
        for name, text in TEXTS.items()
        for block in blocks(text)
        if block.language == language
    ]


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if script(text)])
def test_python_runs_and_prints_what_the_document_shows(name, tmp_path):
    """In a process of its own, as a pytest file: what it registers is gone afterwards."""
    code, text = script(TEXTS[name]), TEXTS[name]
    folder = tmp_path / FIXTURES.get(name, "")
    folder.mkdir(exist_ok=True)
    for part in ("", FIXTURES.get(name, "")):
        shutil.copy(ROOT / "tests" / part / "conftest.py", tmp_path / part / "conftest.py")
    file = folder / f"test_{re.sub(r'[^a-z]', '_', name.lower())}.py"
    file.write_text(code, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider",
         "--import-mode=importlib", "-o", f"pythonpath={ROOT / 'tests' / 'support'}",
         "-c", "pytest.ini", str(file)],
        cwd=tmp_path, env={**os.environ, "FORGE_VERIFY": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    no_tests = 0 if re.search(r"^def test_", code, re.MULTILINE) else 5
    assert ran.returncode == no_tests, ran.stdout + ran.stderr
    for block in blocks(text):
        if block.shows is not None and block.shows.language == "python":
            require_shown(block, ran.stdout)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param(n, c, marks=[pytest.mark.slow] if "smollm2" in c else [], id=f"{n}: {c}")
        for n, text in TEXTS.items()
        for c in commands(text)
        if c.startswith("forge-ugc")
    ],
)
def test_command_runs_and_prints_what_the_document_shows(name, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got = CliRunner().invoke(app, shlex.split(line)[1:])
    assert got.exit_code == 0, got.output
    assert got.output.strip()
    for block in blocks(TEXTS[name]):
        if block.shows is not None and line in block.shows.code and block.shows.language == "sh":
            require_shown(block, got.output)


def test_the_readme_shows_every_command():
    shown = {c.split()[1] for c in commands(TEXTS["README.md"]) if c.startswith("forge-ugc")}
    assert shown == {command.name for command in app.registered_commands}


@pytest.mark.parametrize("block", of_language("npuir"))
def test_npuir_parses_prints_equal_and_keeps_the_rules(block):
    program = parse_program(block.code)
    assert print_program(program) == block.code
    # Operators that a document itself makes are not registered in this process.
    known = all("." in i.opcode or i.opcode in registered() for i in program.instructions)
    verify(program, infer if known else None)


@pytest.mark.parametrize("name", TEXTS)
def test_named_modules_files_and_make_targets_exist(name):
    text = TEXTS[name]
    for dotted in set(re.findall(r"`(forge_ugc(?:\.\w+)+)`", text)):
        assert resolves(dotted), dotted
    for path in set(re.findall(r"`((?:src|docs|tests|examples|csrc|tools|\.ci)/[\w./-]*)`", text)):
        assert (ROOT / path).exists() or path in planned(text), path
    for target in re.findall(r"`?\bmake ([a-z]+)`", text):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    for link in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (ROOT / name).parent.joinpath(link).exists(), link


def planned(text):
    """Files that the reader of a how-to writes: named in the first line of a block."""
    return re.findall(r"^# ((?:src|tests)/[\w./-]+)$", text, re.MULTILINE)


def resolves(dotted):
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[split:]:
            found = getattr(found, attribute, None)
        return found is not None
    return False


def test_the_index_names_every_document():
    index = TEXTS["docs/README.md"]
    for name in TEXTS:
        if name.startswith("docs/") and name != "docs/README.md":
            assert f"]({name.removeprefix('docs/')})" in index, name
