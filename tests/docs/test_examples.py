"""What README.md and docs/ show is true: Python, commands, their output and NPUIR are run."""

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from markdown_blocks import DOCUMENTS, ROOT, blocks, commands, files, script
from typer.testing import CliRunner

from forge_ugc.cli.app import app
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer
from forge_ugc.ops.core.op import registered

TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
OVERLAY = """
import importlib, importlib.util, pathlib, runpy, sys

class Overlay:
    # An editable install maps module names to files by itself, whatever a package's __path__ says.
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = pathlib.Path("src", *name.split(".")).resolve()
        if place.with_suffix(".py").is_file():
            return importlib.util.spec_from_file_location(name, place.with_suffix(".py"))
        return None

sys.meta_path.insert(0, Overlay)
for part in ("passes", "ops", "backends"):
    added = pathlib.Path("src/forge_ugc", part).resolve()
    importlib.import_module(f"forge_ugc.{part}").__path__.insert(0, str(added))
sys.argv.pop(0)
if sys.argv[0] == "pytest":
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs Python with the files of ./src laid over the package, as if they stood in it."""


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


def run_over(folder, *arguments):
    """A process of its own, so that nothing that a document registers reaches other tests."""
    return subprocess.run(
        [sys.executable, "-c", OVERLAY, *arguments], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "FORGE_VERIFY": "1"}, check=False,
    )  # fmt: skip


def write_files(text, folder):
    for path, code in files(text).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(code, encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if script(text)])
def test_python_runs_and_prints_what_the_document_shows(name, tmp_path):
    write_files(TEXTS[name], tmp_path)
    (tmp_path / "document.py").write_text(script(TEXTS[name]), encoding="utf-8")
    ran = run_over(tmp_path, "document.py")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for block in blocks(TEXTS[name]):
        if block.shows is not None and block.shows.language == "python":
            require_shown(block, ran.stdout)


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if files(text)])
def test_files_that_a_document_writes_pass_their_tests_in_the_repository(name, tmp_path):
    for part in ("support", "passes"):
        shutil.copytree(ROOT / "tests" / part, tmp_path / "tests" / part)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests" / "conftest.py")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    write_files(TEXTS[name], tmp_path)
    tests = [path for path in files(TEXTS[name]) if path.startswith("tests/")]
    if "src/forge_ugc/passes/pipelines.py" in files(TEXTS[name]):
        tests.append("tests/passes/test_registry.py")
    ran = run_over(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param(
            n,
            c,
            marks=[pytest.mark.slow] if "smollm2" in c or " bench " in c else [],
            id=f"{n}: {c}",
        )
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
        assert (ROOT / path).exists() or path in files(text), path
    in_text = re.findall(r"`make ([a-z]+)`", text)
    for target in in_text + [c.split()[1] for c in commands(text) if c.startswith("make ")]:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    for link in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (ROOT / name).parent.joinpath(link).exists(), link


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
