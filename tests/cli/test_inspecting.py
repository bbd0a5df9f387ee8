from forge_ugc.npuir.parser import parse_program


def test_stages_of_a_model(forge, model):
    captured = forge("inspect", model, "--stage", "captured").stdout
    assert "aten.gelu.default" in captured
    assert "input  %x : f32[2,8]\n" in captured
    optimized = forge("inspect", model, "--stage", "optimized").stdout
    assert "linear(" in optimized
    assert "aten.gelu.default" not in optimized
    lowered = parse_program(forge("inspect", model, "--stage", "lowered").stdout)
    assert lowered.arena_bytes is None
    scheduled = parse_program(forge("inspect", model).stdout)
    assert scheduled.arena_bytes > 0
    assert {i.opcode for i in scheduled.instructions} >= {"linear"}


def test_an_artifact_prints_the_program_it_holds(forge, model):
    forge("compile", model, "-o", "net.forge")
    assert forge("inspect", "net.forge").stdout == forge("inspect", model).stdout
    result = forge("inspect", "net.forge", "--stage", "captured", exit_code=1)
    assert "net.forge holds no captured form" in result.stderr


def test_a_missing_artifact(forge, model):
    assert forge("inspect", "none.forge", exit_code=1).stderr.startswith("ArtifactError: ")
