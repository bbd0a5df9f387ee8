"""compile() and load(): the phases together, files, figures, errors."""

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.errors import BackendUnavailableError, InputError, OptionError
from forge_ugc.npuir.printer import print_program


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x, gate=None):
        self.calls.add_(1)
        y = self.down(nn.functional.gelu(self.up(self.norm(x))))
        return {"y": x + y, "calls": self.calls, "gate": gate}


@pytest.fixture
def block():
    torch.manual_seed(0)
    return Block().eval()


X = torch.linspace(-2, 2, 48).view(3, 16)


def same(got, want):
    assert got.keys() == want.keys()
    for key, value in want.items():
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(got[key], value)
        else:
            assert got[key] == value


def test_results_states_and_structure(block):
    compiled = forge_ugc.compile(block, (X,))
    eager = copy.deepcopy(block)
    with torch.no_grad():
        for _ in range(3):
            same(compiled(X), eager(X))
    assert int(block.calls) == 0


def test_figures(block):
    result = forge_ugc.compile(block, (X,)).result
    assert result.model == "Block"
    assert result.target == "cpu"
    assert set(result.phase_seconds) == {
        "capture", "passes", "lowering", "scheduling", "allocation", "backend",
    }  # fmt: skip
    assert result.nodes_before == 6
    assert dict(result.fused_operators) == {"linear": 2}
    assert result.nodes_after == sum(result.optimized_operators.values()) == 4
    assert 0 < result.node_reduction < 1
    assert result.attention_fused == 0
    assert result.constant_bytes == 4 * (16 + 16 + 16 * 32 + 32 + 32 * 16 + 16)
    assert result.buffers.peak_bytes >= result.buffers.lower_bound_bytes > 0
    assert result.schedule.transitions_after == 0


def test_saved_and_loaded(block, tmp_path):
    compiled = forge_ugc.compile(block, (X,), {"gate": 2.5})
    path = tmp_path / "block.forge"
    compiled(X, gate=2.5)
    compiled.save(path)
    loaded = forge_ugc.load(path)
    assert loaded.program == compiled.program
    with torch.no_grad():
        same(loaded(X, gate=2.5), compiled(X, gate=2.5))
    with pytest.raises(InputError, match=r"argument 'gate' is 3, but a constant 2\.5"):
        loaded(X, gate=3)
    with pytest.raises(forge_ugc.ForgeError, match="a loaded model has no compilation result"):
        _ = loaded.result


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent(block, clone):
    compiled = forge_ugc.compile(block, (X,))
    compiled(X)
    other = clone(compiled)
    assert int(other(X)["calls"]) == 2
    assert int(compiled(X)["calls"]) == 2


def test_the_module_is_not_needed_afterwards(block):
    compiled = forge_ugc.compile(block, (X,))
    want = block(X)["y"].detach()
    del block
    torch.testing.assert_close(compiled(X)["y"], want)


def test_text_of_a_model_and_its_program(block):
    compiled = forge_ugc.compile(block, (X,))
    assert repr(compiled) == "<CompiledModel Block for cpu: x: f32[3,16]>"
    assert str(compiled.program) == print_program(compiled.program, locations=False)
    assert "Block for cpu" in compiled.report()


def test_every_pass_can_be_verified_and_switched_off(block):
    verified = forge_ugc.compile(block, (X,), options=forge_ugc.Options(verify_passes=True))
    assert all(run.max_abs_difference < 1e-6 for run in verified.result.pipeline.runs)
    plain = forge_ugc.compile(block, (X,), options=forge_ugc.Options(passes=()))
    assert plain.result.nodes_after == plain.result.nodes_before
    none = forge_ugc.compile(block, (X,), options=forge_ugc.Options(fusion_aggressiveness=0.0))
    assert dict(none.result.fused_operators) == {}
    without = forge_ugc.Options(disable=frozenset({"linear-activation"}))
    kept = forge_ugc.compile(block, (X,), options=without).result.optimized_operators
    assert kept["aten.gelu.default"] == 1


def test_explain_lists_what_fired_with_its_source(block):
    told = forge_ugc.explain(forge_ugc.compile(block, (X,)))
    rule = next(f for f in told.fired if f.rule == "linear-activation")
    assert rule.location.module == "up" or rule.location.module == ""
    assert "test_compiler.py" in rule.location.file or "functional.py" in rule.location.file


def test_programs_are_dumped_phase_by_phase(block, tmp_path):
    forge_ugc.compile(block, (X,), options=forge_ugc.Options(dump_ir=tmp_path / "ir"))
    names = {p.name for p in (tmp_path / "ir").iterdir()}
    assert {"lowered.npuir", "scheduled.npuir"} <= names


def test_progress_is_reported_phase_by_phase(block):
    seen = []
    options = forge_ugc.Options(progress=lambda phase, done, total: seen.append(phase))
    forge_ugc.compile(block, (X,), options=options)
    phases = [p for p in dict.fromkeys(seen) if p in {"capture", "lowering", "backend"}]
    assert phases == ["capture", "lowering", "backend"]


def test_unknown_target_and_options(block):
    with pytest.raises(OptionError) as caught:
        forge_ugc.compile(block, (X,), target="tpu")
    assert str(caught.value) == "no target is called 'tpu'\n  fix: choose from aie, cpu, null"
    with pytest.raises(OptionError, match=r"fusion_aggressiveness is 1\.5, expected 0 to 1"):
        forge_ugc.Options(fusion_aggressiveness=1.5)
    with pytest.raises(OptionError, match="no pass is called 'fuse-everything'"):
        forge_ugc.compile(block, (X,), options=forge_ugc.Options(passes=("fuse-everything",)))


def test_a_target_that_is_not_there_says_why(block, monkeypatch):
    from forge_ugc import backends

    cpu = backends.registered()["cpu"]
    away = backends.Availability(available=False, reason="switched off for this test")
    monkeypatch.setattr(type(cpu), "probe", lambda self: away)
    with pytest.raises(BackendUnavailableError) as caught:
        forge_ugc.compile(block, (X,))
    assert str(caught.value) == (
        "target 'cpu' cannot be used on this machine\n  why: switched off for this test"
    )


def test_saving_to_a_file_object_is_a_path_error(block):
    with pytest.raises(TypeError):
        forge_ugc.compile(block, (X,)).save(io.BytesIO())


def test_options_are_refused_before_the_model_is_captured(block, monkeypatch):
    from forge_ugc import compiler

    monkeypatch.setattr(compiler, "capture", None)
    with pytest.raises(OptionError, match="no pass is called 'fuse-everything'"):
        forge_ugc.compile(block, (X,), options=forge_ugc.Options(passes=("fuse-everything",)))


def test_a_dict_of_options_is_refused(block):
    with pytest.raises(OptionError) as caught:
        forge_ugc.compile(block, (X,), options={"max_rounds": 2})
    assert caught.value.what == "options is a dict, expected Options"


def test_options_take_any_collection_but_no_bare_string(block, tmp_path):
    options = forge_ugc.Options(
        passes=["dead-code"], disable=["linear"], dump_ir=str(tmp_path / "ir")
    )
    assert options.passes == ("dead-code",)
    assert options.disable == frozenset({"linear"})
    forge_ugc.compile(block, (X,), options=options)
    assert (tmp_path / "ir" / "scheduled.npuir").exists()
    with pytest.raises(OptionError) as caught:
        forge_ugc.Options(passes="dead-code")
    assert str(caught.value) == "passes is the string 'dead-code'\n  fix: passes=('dead-code',)"
    with pytest.raises(OptionError, match="disable is the string 'linear'"):
        forge_ugc.Options(disable="linear")


def test_an_explanation_as_text(block):
    shown = str(forge_ugc.explain(forge_ugc.compile(block, (X,)))).splitlines()
    assert any(
        line.startswith("linear: linear -> linear  [up (torch/nn/modules/linear.py:")
        for line in shown
    )


def test_several_threads_may_compile_at_once():
    module, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), torch.randn(2, 4)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: forge_ugc.compile(module, (x,))(x), range(6)))
    with torch.no_grad():
        torch.testing.assert_close(found, [module(x)] * 6)
