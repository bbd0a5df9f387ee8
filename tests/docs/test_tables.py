"""The tables of dependencies and of errors agree with the code."""

import re

import pytest
from markdown_blocks import ROOT

from forge_ugc import errors

tomllib = pytest.importorskip("tomllib", reason="Python 3.11 and newer")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def rows(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def requirement(text):
    name, rest = re.fullmatch(r"([\w-]+)(.*)", text).groups()
    return name, rest


def pins():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE)
    return {name.lower().replace("_", "-"): version for name, version in found}


def test_dependencies_have_the_declared_range_and_the_pinned_version():
    table = {row[0]: row for row in rows("dependencies.md")}
    for name, declared in map(requirement, PROJECT["project"]["dependencies"]):
        _, why, shown, tested, licence = table[name]
        assert shown.replace(" ", "") == declared, name
        assert why
        assert licence
        assert tested == pins().get(name, tested), name


def test_extras_are_listed_with_their_packages_and_ranges():
    table = [row for row in rows("dependencies.md") if row[0].startswith("`")]
    for extra, packages in PROJECT["project"]["optional-dependencies"].items():
        mine = [row for row in table if row[0] == f"`{extra}`"]
        named = {name: row for row in mine for name in re.split(r", ", row[1])}
        assert set(named) == {requirement(p)[0] for p in packages}, extra
        for name, declared in map(requirement, packages):
            shown = named[name][3].replace(" ", "")
            assert shown in {declared, "see`pyproject.toml`"}, name


def test_extras_that_were_tested_show_the_pinned_version():
    for row in rows("dependencies.md"):
        if row[0].startswith("`") and row[4] != "not yet used":
            names, versions = row[1].split(", "), row[4].split(", ")
            assert [pins()[n] for n in names if n in pins()] == [
                v for n, v in zip(names, versions, strict=True) if n in pins()
            ]


def test_every_error_is_listed_and_those_that_nothing_raises_say_so():
    table = {row[0].strip("`"): row[1] for row in rows("errors.md") if "Error`" in row[0]}
    kinds = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.ForgeError)
    }
    assert set(table) == kinds - {"ForgeError"}
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    raised = {name for name in table if re.search(rf"(raise|return) {name}\(", sources)}
    assert {name for name, when in table.items() if not when.startswith("Nothing yet")} == raised
