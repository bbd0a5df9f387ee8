import time

import pytest
import torch

from forge_ugc.evaluation.peers.engine import Engine, Phases, registered
from forge_ugc.evaluation.peers.engines.forge import Forge
from forge_ugc.evaluation.peers.workload import load_workload, tiny_workload


def test_phases_add_up():
    phases = Phases()
    for name in ("export", "convert", "export"):
        with phases(name):
            time.sleep(0.002)
    assert list(phases.seconds) == ["export", "convert"]
    assert phases.seconds["export"] >= 0.004 > 0.002 <= phases.seconds["convert"]


def test_modules_that_are_not_installed_are_named():
    class Needy(Engine):
        needs = ("torch", "no_such_module_of_ours")

        def build(self, workload, precision, threads):
            raise AssertionError

    assert Needy().missing() == ("no_such_module_of_ours",)
    assert all(set(cls.needs) <= {"openvino", "onnxruntime", "onnx", "onnxscript"}
               for cls in registered().values())  # fmt: skip


def test_ours_counts_every_moment_of_its_build_as_a_phase():
    workload = tiny_workload()
    start = time.perf_counter()
    built = Forge().build(workload, "fp32", 1)
    seconds = time.perf_counter() - start
    assert list(built.phases) == ["export", "convert", "compile"]
    assert min(built.phases.values()) > 0
    assert 0.8 * seconds < sum(built.phases.values()) <= seconds
    assert built.artifact_bytes() > 4 * 2 * 32 * 32


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openvino", "openvino_onnx", "onnxruntime"])
def test_a_peer_times_its_phases_and_computes_what_the_module_does(name):
    engine = registered()[name]()
    if engine.missing():
        pytest.skip(f"not installed: {engine.missing()}")
    workload = tiny_workload()
    workload.inputs = (torch.linspace(-1, 1, 128).reshape(1, 4, 32),)
    built = engine.build(workload, "fp32", 1)
    torch.testing.assert_close(built.output(), workload.module(*workload.inputs))
    assert min(built.phases.values()) > 0
    wanted = {"export", "compile"} | ({"first call"} if name == "onnxruntime" else {"convert"})
    assert set(built.phases) == wanted
    assert built.artifact_bytes() > 4 * 2 * 32 * 32


def test_modules_with_keywords_and_several_results_are_reduced_to_one(tmp_path, monkeypatch):
    (tmp_path / "forge_peer_user.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x, scale):\n"
        "        return {'y': x * scale, 'z': x}\n"
        "def build():\n"
        "    return Net(), (torch.ones(2),), {'scale': torch.tensor(3.0)}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    workload = load_workload("forge_peer_user:build", tokens=1, layers=None, empty=False)
    assert torch.equal(workload.module(*workload.inputs), torch.full((2,), 3.0))
    assert workload.vocabulary is None


@pytest.mark.parametrize(("name", "shape"), [("vit-b", (1, 1000)), ("jet-tagger", (1, 5))])
def test_models_without_tokens_have_no_vocabulary(name, shape):
    workload = load_workload(f"shape:{name}", tokens=1, layers=1, empty=True)
    assert workload.vocabulary is None
    with torch.no_grad():
        assert workload.module(*workload.inputs).shape == shape
