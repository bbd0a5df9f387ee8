"""Post-training quantisation of whole models through `forge_ugc.compile`."""

import pytest
import torch
from jet_models import Normalised, Tagger, Written, with_statistics
from torch import nn

import forge_ugc
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.options import IntegerOptions


def batches(*shape, count=6, seed=1):
    torch.manual_seed(seed)
    return [torch.randn(*shape) for _ in range(count)]


def compiled(module, data, **integer):
    options = forge_ugc.Options(integer=IntegerOptions(**integer))
    return forge_ugc.compile(
        module.eval(), (data[0],), target="aie", calibration=data, options=options
    )


@pytest.fixture(scope="module")
def trained():
    """A tagger that tells three kinds of jets apart, and jets of each kind."""
    torch.manual_seed(0)
    model, centres = Tagger(), torch.randn(3, 1, 6) * 0.7
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(60):
        kinds = torch.randint(3, (32,))
        x = centres[kinds] + torch.randn(32, 8, 6)
        loss = nn.functional.cross_entropy(model(x), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    kinds = torch.randint(3, (200,))
    return model.eval(), centres[kinds] + torch.randn(200, 8, 6)


@pytest.mark.parametrize(
    ("calibration", "softmax"),
    [("max-abs", "polynomial"), ("percentile", "table"), ("mse", "polynomial")],
)
def test_a_trained_tagger_keeps_its_decisions(trained, calibration, softmax):
    model, jets = trained
    data = list(jets[:64].split(1))
    got = compiled(model, data, calibration=calibration, softmax=softmax)
    report = got.result.quantization
    assert (report.method, report.softmax, report.jets) == (calibration, softmax, 64)
    assert report.kl_mean < 2e-3
    assert report.agreement > 0.96
    other = list(jets[64:].split(1))
    with torch.no_grad():
        want = torch.cat([model(x) for x in other])
    scores = torch.cat([got(x) for x in other])
    p = want.log_softmax(-1)
    kl = (p.exp() * (p - scores.log_softmax(-1))).sum(-1)
    assert float(kl.mean()) < 5e-3
    assert float((want.argmax(-1) == scores.argmax(-1)).double().mean()) > 0.95


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (Tagger(pool="max"), (3, 5, 6)), (Written(), (1, 4, 8)),
        (with_statistics(Normalised(), 4, 5, 6), (2, 5, 6)), (nn.Linear(8, 4), (8,)),
    ],
)  # fmt: skip
def test_programs_are_integers_between_the_first_and_the_last_instruction(module, shape):
    data = batches(*shape)
    got = compiled(module, data)
    opcodes = [i.opcode for i in got.program.instructions if not i.is_view]
    assert opcodes[0] == "int8_quantize"
    assert opcodes[-1] == "int8_dequantize"
    assert all(opcode.startswith("int8_") for opcode in opcodes[1:-1])
    assert {i.device for i in got.program.instructions[1:-1] if not i.is_view} == {"aie"}
    assert got.result.quantization.relative_error < 0.06
    with torch.no_grad():
        want = module(data[0])
    assert got(data[0]).shape == want.shape
    assert torch.equal(got(data[0]), interpret(got.program, got._tensors, [data[0]])[0])


def test_the_report_shows_fidelity_and_layers():
    got = compiled(Written(), batches(1, 4, 8))
    text = got.report()
    for word in (
        "Quantisation",
        "KL divergence",
        "same decisions",
        "max-abs, over 6 jets",
        "Integer layers",
        "qkv_query",
        "golden: the definitions of the int8 operators",
    ):
        assert word in text  # fmt: skip


def test_a_compiled_model_is_saved_and_loaded(tmp_path):
    data = batches(1, 4, 8)
    got = compiled(Written(), data)
    got.save(tmp_path / "m.forge")
    loaded = forge_ugc.load(tmp_path / "m.forge")
    assert torch.equal(loaded(data[1]), got(data[1]))


def test_layer_norm_is_refused_with_its_layer():
    module = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    with pytest.raises(UnsupportedOperatorError) as error:
        compiled(module, batches(4, 8))
    lines = str(error.value).splitlines()
    assert lines[0] == "target 'aie' cannot run aten.layer_norm.default"
    assert lines[1].startswith("  at: 1 (")
    assert lines[2:] == [
        "  why: aie: its statistics change with every row, so it is no factor of an integer layer; "
        "cpu: the cpu only turns numbers into integers and back",
        "  fix: train the model without normalisation, or with BatchNorm, which becomes part of "
        "linear layers",
    ]


class Moved(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x).transpose(1, 2)


def test_an_output_with_moved_axes_is_refused():
    with pytest.raises(UnsupportedOperatorError) as error:
        compiled(Moved(), batches(1, 3, 8))
    assert str(error.value) == (
        "an output of Moved is layer linear with its axes moved\n"
        "  fix: return it as [jets, particles, features]"
    )
