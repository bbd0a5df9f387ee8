import json
import subprocess
import sys

import pytest

COMMANDS = ("compile", "run", "explain", "inspect", "report", "opt", "devices", "doctor")


def test_help_lists_every_command(forge):
    text = forge("--help").stdout
    for command in COMMANDS:
        assert f" {command} " in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_two_examples_that_start_a_line(forge, command):
    lines = [line.strip() for line in forge(command, "--help").stdout.splitlines()]
    assert sum(line.startswith(f"forge-ugc {command}") for line in lines) >= 2


def test_wrong_usage_is_exit_code_2(forge):
    forge("no-such-command", exit_code=2)
    forge("compile", exit_code=2)
    forge("compile", "smollm2", "--tokens", "0", exit_code=2)


def test_an_error_says_what_and_why_on_stderr_without_a_traceback(forge):
    result = forge("compile", "shape:gpt9", exit_code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("OptionError: no shape is called 'gpt9'\n  fix: choose from ")
    assert "Traceback" not in result.stderr


def test_debug_lets_the_error_through(forge):
    from forge_ugc.errors import OptionError

    with pytest.raises(AssertionError) as error:
        forge("--debug", "compile", "shape:gpt9")
    assert isinstance(error.value.__cause__, OptionError)


def test_debug_does_not_last(forge):
    with pytest.raises(AssertionError):
        forge("--debug", "compile", "shape:gpt9")
    forge("compile", "shape:gpt9", exit_code=1)


def test_as_a_process():
    command = [sys.executable, "-m", "forge_ugc.cli"]
    found = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("forge-ugc ")
    found = subprocess.run(
        [*command, "devices", "--json"], capture_output=True, text=True, check=True
    )
    assert {row["name"] for row in json.loads(found.stdout)} >= {"cpu", "null"}
    found = subprocess.run(
        [*command, "run", "shape:gpt9"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "no shape is called 'gpt9'" in found.stderr


def test_help_does_not_import_torch():
    code = (
        "import sys; sys.argv = ['forge-ugc', 'compile', '--help']\n"
        "from forge_ugc.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
