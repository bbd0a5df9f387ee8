"""`AIEModel`: programs of layers, measured and given factors, golden results, refusals."""

import numpy as np
import pytest
import torch
from integer_taggers import jets, matrix, projections, tagger

from forge_ugc.aie import MHA, AIEModel, Dense, Pool, ReLU, ResAdd, Softmax
from forge_ugc.aie.model import run_golden
from forge_ugc.errors import InputError, OptionError, QuantizationError, SimulationError
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.slicing import upto
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("softmax", ["none", "table", "polynomial"])
@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_a_calibrated_model_is_a_valid_program(softmax, heads):
    model = tagger(softmax=softmax, heads=heads)
    model.calibrate(jets(1, model))
    program = model.program
    verify(program, infer)
    assert parse_program(print_program(program)) == program
    assert {i.location.module for i in program.instructions} == {
        "embed", "attention", "after_attention", "up", "down", "after_feed_forward", "pool",
        "classes",
    }  # fmt: skip
    assert [i.opcode for i in program.instructions].count("aten.relu.default") == 0
    assert program.types()[program.outputs[0]].shape == (1, 5)


def test_every_layer_fills_its_bytes_on_the_samples():
    model = tagger()
    x = jets(1, model)
    model.calibrate(x)
    out = model.golden(x)
    assert out.shape == (2, 1, 5)
    assert out.dtype == np.int8
    assert np.abs(out.astype(int)).max() == 127
    assert np.array_equal(model.golden(x[1]), out[1])
    assert np.array_equal(model.golden(torch.from_numpy(x)), out)


def test_steps_keep_track_of_real_numbers():
    """The integers times their steps are about what the layers compute in real numbers."""
    model = tagger(softmax="none")
    x = jets(1, model)
    model.calibrate(x)
    steps, tensors = model.steps, model.tensors
    real = x.astype(float) / 32
    embed = real @ (tensors["embed.weight"].numpy().astype(float) / 64).T
    part = upto(model.program, tensors, model.registers["embed"])
    got = run_golden(*part, x) * steps["embed"]
    assert np.abs(got - embed).max() <= steps["embed"] * 0.51


def test_given_factors_need_no_samples():
    model = AIEModel(shape=(4, 8))
    model.add_layer(Dense(weight=matrix(RANDOM, 8, 8), scale=1 / 512))
    x = model.add_layer(Dense(weight=matrix(RANDOM, 8, 8), scale=1 / 512, relu=True))
    a = model.add_layer(
        MHA(heads=2, softmax="none", query_scale=1 / 512, key_scale=1 / 512, value_scale=1 / 512,
            score_scale=[1 / 64, 1 / 128], context_scale=1 / 256, output_scale=1 / 512,
            **projections(RANDOM, 8)),
    )  # fmt: skip
    model.add_layer(ResAdd(scales=(0.5, 0.25)), inputs=[x, a])
    model.add_layer(Pool(reduce="max", scale=1.0))
    fields = [dict(i.attributes) for i in model.program.instructions]
    assert fields[0] == {"multiplier": 1, "shift": 9}
    assert fields[1] == {"multiplier": 1, "shift": 9, "relu": True}
    assert (fields[5]["score_multipliers"], fields[5]["score_shifts"]) == ((1, 1), (6, 7))
    assert (fields[5]["context_multipliers"], fields[5]["context_shifts"]) == ((1, 1), (8, 8))
    assert fields[7] == {"multiplier_a": 2, "multiplier_b": 1, "shift": 2}
    assert fields[8] == {"kind": "max", "multiplier": 1, "shift": 0, "keepdim": True}


def test_a_relu_that_others_read_beside_stays_an_instruction():
    model = AIEModel(shape=(4, 8))
    x = model.add_layer(Dense(weight=matrix(RANDOM, 8, 8), scale=1 / 512))
    y = model.add_layer(ReLU())
    model.add_layer(ResAdd(), inputs=[x, y])
    x = jets(0, model)
    model.calibrate(x)
    assert [i.opcode for i in model.program.instructions] == [
        "int8_linear", "aten.relu.default", "int8_add",
    ]  # fmt: skip
    verify(model.program, infer)


def test_a_relu_of_the_input_and_a_softmax():
    model = AIEModel(shape=(4, 8), input_step=1 / 32)
    model.add_layer(ReLU())
    model.add_layer(Softmax())
    x = jets(0, model, count=1)[0]
    q = model.golden(x).astype(float)
    exact = torch.from_numpy(np.maximum(x, 0) / 32.0).softmax(-1).numpy()
    assert np.abs(q / 127 - exact).max() < 0.006
    assert model.steps["softmax_0"] == 1 / 127


def test_verify_compares_with_golden_and_names_the_first_layer_that_differs():
    model = tagger()
    x = jets(3, model)
    found = model.verify(x, run_golden)
    assert found.matches
    assert str(found).startswith("10 of 10 values equal; ")

    def faulty(program, tensors, values):
        wrong = {name: tensor.clone() for name, tensor in tensors.items()}
        if "up.weight" in wrong:
            wrong["up.weight"][3, 2] ^= 64
        return run_golden(program, wrong, values)

    found = model.verify(x, faulty)
    assert not found.matches
    assert found.first.layer == "up"
    assert found.first.column == 3
    assert found.first.tile == (found.first.row // 4, 0)
    assert found.first.lane == found.first.row % 4 * 8 + 3
    assert str(found).endswith(
        f"first difference: layer up, jet 0, tile {found.first.tile[0]}, 0, lane "
        f"{found.first.lane} (row {found.first.row}, column 3): expected {found.first.expected}, "
        f"got {found.first.got}"
    )


@pytest.mark.parametrize(
    ("scale", "why"),
    [
        (2.0**-40, "of its 64 golden values 100% are 0 and 0% are saturated"),
        (30000.0, "of its 64 golden values 0% are 0 and 100% are saturated"),
    ],
)
def test_a_comparison_that_says_nothing_is_refused(scale, why):
    model = AIEModel(shape=(8, 8), name="nothing")
    model.add_layer(Dense(weight=np.eye(8, dtype=np.int8) * 3, scale=scale))
    with pytest.raises(SimulationError) as error:
        model.verify(np.arange(1, 65).reshape(8, 8), run_golden)
    assert str(error.value) == (
        "a comparison of model nothing would say nothing\n"
        f"  why: {why}\n"
        "  fix: give other inputs or scales, or calibrate the model on these inputs"
    )


def refused(act, kind):
    with pytest.raises(kind) as error:
        act()
    return str(error.value)


def test_inputs_of_another_shape_or_type_are_refused():
    model = tagger()
    assert refused(lambda: model.calibrate(np.zeros((2, 9, 4), np.int8)), InputError) == (
        "the input of model tagger is [2, 9, 4], expected [..., 8, 4]"
    )
    assert refused(lambda: model.calibrate(np.zeros((8, 4), np.float32)), InputError) == (
        "the input of model tagger holds float32, expected integers of -128 to 127\n"
        "  fix: quantise it: round(x / input_step)"
    )
    assert "expected integers" in refused(lambda: model.calibrate(np.full((8, 4), 128)), InputError)
    assert refused(lambda: model.program, QuantizationError) == (
        "layer embed has no factor, and there are no samples to measure it on\n"
        "  at: embed\n"
        "  fix: give its scale, or calibrate the model"
    )


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Dense(weight=np.zeros((8, 9), np.int8)),
         "weight is [8, 9], expected [any, 8]\n  at: layer dense_0"),
        (Dense(weight=np.zeros((3, 8), np.int8), bias=[1, 2]),
         "bias is [2], expected [3]\n  at: layer dense_0"),
        (MHA(heads=3, **projections(RANDOM, 8)),
         "8 features cannot be shared out among 3 heads\n"
         "  at: layer mha_0\n"
         "  fix: heads may be 1, 2, 4, 8"),
        (MHA(heads=2, softmax="exact", **projections(RANDOM, 8)),
         "softmax is 'exact'\n  at: layer mha_0\n  fix: one of none, table, polynomial"),
        (Pool(reduce="sum"), "reduce is 'sum'\n  at: layer pool_0\n  fix: one of mean, max"),
        (Softmax(method="none"),
         "method is 'none'\n  at: layer softmax_0\n  fix: one of table, polynomial"),
        (ResAdd(), "layer add_0 takes 2 inputs, got 1\n"
         "  fix: add_layer(layer, inputs=[...]) with the handles that it reads"),
        (ReLU(name="2nd"), "a layer is called '2nd', which is not a C++ identifier\n"
         "  fix: letters, digits and _ only, no digit in front"),
        (ReLU(name="input"),
         "two layers are called 'input'\n  fix: give each a name of its own"),
    ],
)  # fmt: skip
def test_layers_that_do_not_fit_are_refused(layer, message):
    assert refused(lambda: AIEModel(shape=(4, 8)).add_layer(layer), OptionError) == message


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros((8, 8)), "weight holds float64, expected integers\n  at: layer dense_0\n"
         "  fix: quantise it first, or compile the PyTorch module with target='aie'"),
        (np.full((8, 8), 200),
         "weight reaches from 200 to 200, which does not fit 8 bits\n  at: layer dense_0"),
    ],
)  # fmt: skip
def test_weights_that_are_no_bytes_are_refused(weight, message):
    def act():
        AIEModel(shape=(4, 8)).add_layer(Dense(weight=weight))

    assert refused(act, QuantizationError) == message


def test_sums_beyond_32_bits_are_refused():
    model = AIEModel(shape=(4, 8))
    bias = np.full(8, 2**31 - 1, np.int64)
    model.add_layer(Dense(weight=np.ones((8, 8), np.int8), bias=bias, scale=1.0))
    assert refused(lambda: model.program, QuantizationError) == (
        "scale overflow: a sum does not fit 32 bits\n"
        "  at: layer dense_0\n"
        "  why: with i8 inputs output 0 may reach 2147484671, the limit is 2147483647\n"
        "  fix: give the bias a larger scale, or split the layer's inputs"
    )


def test_graphs_that_do_not_fit_are_refused():
    model, other = AIEModel(shape=(4, 8)), AIEModel(shape=(4, 8))
    assert refused(lambda: model.program, OptionError) == (
        "model model has no layers\n  fix: add_layer(Dense(...))"
    )
    foreign = other.add_layer(ReLU(name="theirs"))
    assert refused(lambda: model.add_layer(ReLU(), inputs=[foreign]), OptionError) == (
        "layer relu_0 reads 'theirs', which is not of this model"
    )
    small = model.add_layer(Pool(name="small"))
    assert (
        refused(lambda: model.add_layer(ResAdd(), inputs=[model.input, small]), OptionError)
        == "the branches are 4 x 8 and 1 x 8\n  at: layer add_0"
    )
    model.add_layer(ReLU(), inputs=[model.input])
    assert refused(lambda: model.program, OptionError) == (
        "nothing reads layer small\n"
        "  fix: leave it out, or add what reads it; the last layer is the result"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"device": "vck5000"},
         "no AI Engine device is called 'vck5000'\n  fix: one of vck190, vek280"),
        ({"shape": (0, 8)}, "shape is 0 x 8, expected 1 x 1 or more"),
        ({"input_step": 0.0}, "input_step is 0.0, expected a positive number"),
        ({"name": "a b"}, "the model is called 'a b', which is not a C++ identifier\n"
         "  fix: letters, digits and _ only, no digit in front"),
    ],
)  # fmt: skip
def test_models_that_do_not_fit_are_refused(fields, message):
    assert refused(lambda: AIEModel(**{"shape": (4, 8), **fields}), OptionError) == message
