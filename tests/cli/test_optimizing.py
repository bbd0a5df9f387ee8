import pytest
import torch

from forge_ugc.npuir.parser import parse_program


def test_graph_passes_over_an_exported_program(forge, model, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, x, y):
            unused = x * 3
            return x + y, y + x, (unused.shape[0] + x) * 1

    args = (torch.ones(3), torch.ones(3))
    torch.export.save(torch.export.export(Net(), args), tmp_path / "net.pt2")
    once = forge("opt", tmp_path / "net.pt2", "-p", "dead-code", "--verify-passes")
    assert "aten.mul.Tensor(%x, 3)" not in once.stdout
    assert "dead-code: 1 rewrites" in once.stderr
    assert "max-abs difference 0.0e+00" in once.stderr
    assert once.stdout.startswith("input  %x : f32[3]\n")


def test_graph_passes_over_a_model(forge, model):
    result = forge("opt", model, "-p", "fuse-operators", "-o", "graph.txt")
    assert result.stdout == ""
    with open("graph.txt") as file:
        assert "linear(" in file.read()
    assert "fuse-operators: " in result.stderr
    result = forge("opt", model, "-p", "no-pass", exit_code=1)
    assert "no pass is called 'no-pass'" in result.stderr


@pytest.fixture
def program(forge, model, tmp_path):
    path = tmp_path / "net.npuir"
    path.write_text(forge("inspect", model, "--stage", "lowered", "--target", "null").stdout)
    return path


def test_program_passes(forge, program):
    result = forge("opt", program, "-p", "schedule", "-p", "allocate", "-p", "verify")
    made = parse_program(result.stdout)
    assert made.arena_bytes > 0
    assert len(made.instructions) == len(parse_program(program.read_text()).instructions)
    for part in ("schedule: ", "device transitions", "allocate: ", "verify: every rule holds"):
        assert part in result.stderr


def test_program_faults(forge, program):
    result = forge("opt", program, "-p", "dead-code", exit_code=1)
    assert "no pass over programs is called 'dead-code'" in result.stderr
    assert "choose from verify, schedule, allocate" in result.stderr
    program.write_text(program.read_text().replace("linear(", "linera("))
    assert "linera" in forge("opt", program, "-p", "verify", exit_code=1).stderr
    program.write_text("npuir.program @x target(cpu) {\n  oops\n}\n")
    assert forge("opt", program, "-p", "verify", exit_code=1).stderr.startswith("ParseError: ")
    program.unlink()
    assert "cannot read" in forge("opt", program, "-p", "verify", exit_code=1).stderr


def test_an_unreadable_exported_program(forge, tmp_path):
    (tmp_path / "bad.pt2").write_bytes(b"nothing")
    result = forge("opt", tmp_path / "bad.pt2", "-p", "dead-code", exit_code=1)
    assert result.stderr.startswith("ArtifactError: cannot read")


def test_a_pass_is_needed(forge, model):
    forge("opt", model, exit_code=2)
