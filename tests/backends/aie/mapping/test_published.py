"""The published mapping: kernels, names, streams, refusals."""

from collections import Counter

import numpy as np
import pytest
import torch
from aie_models import bias, jet_tagger, weights

from forge_ugc.aie.layers import MHA, Dense, Pool, ReLU, ResAdd, Softmax
from forge_ugc.aie.model import AIEModel
from forge_ugc.backends.aie.checks import check_design
from forge_ugc.backends.aie.device import VCK190
from forge_ugc.backends.aie.mapping.published import map_published
from forge_ugc.backends.aie.placement import floorplan, place
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.npuir.parser import parse_program

RNG = np.random.default_rng(0)


def mapped(model, jets):
    model.calibrate(jets)
    return map_published(model.program, model.tensors, VCK190)


@pytest.mark.parametrize(("heads", "tiles"), [(4, 57), (1, 23), (2, 33), (8, 105), (16, 201)])
def test_the_jet_tagger_takes_as_many_tiles_as_published(heads, tiles):
    model, _ = jet_tagger(heads=heads, blocks=2, rows=160)
    design = map_published(model.program, model.tensors, VCK190)
    assert len(design.kernels) == tiles
    check_design(design)
    if heads == 4:
        assert len(floorplan(place(design)).tiles) >= 57


def test_kernels_of_an_attention_layer():
    model, _ = jet_tagger(blocks=1)
    design = map_published(model.program, model.tensors, VCK190)
    own = [kernel for kernel in design.kernels if kernel.layer == "attention0"]
    assert len(own) == 23
    assert Counter(kernel.template for kernel in own) == {
        "dense": 13, "scores": 4, "context": 4, "concat": 2,
    }  # fmt: skip
    assert [kernel.name for kernel in own[:5]] == [
        f"attention0_{part}0" for part in ("query", "key", "value", "scores", "context")
    ]
    assert [kernel.name for kernel in own if kernel.config.get("transposed")] == [
        f"attention0_key{head}" for head in range(4)
    ]
    assert own[-1].config["inputs"] == own[-1].config["second_inputs"] == 32


def test_the_input_is_sent_to_all_projections_and_the_sum():
    model, _ = jet_tagger(blocks=1)
    design = map_published(model.program, model.tensors, VCK190)
    net = next(net for net in design.nets if net.source.node == "embed")
    assert len(net.sinks) == 13
    assert dict(zip((s.node for s in net.sinks), net.fifo_words, strict=True))["sum0"] == 2560
    assert sum(net.fifo_words) == 2560
    queries = next(net for net in design.nets if net.source.node == "attention0_query0")
    assert queries.fifo_words == (640,)


def test_heads_of_any_width_are_padded():
    model = AIEModel(shape=(12, 6))
    parts = {part: weights(RNG, 6, 6) for part in ("query", "key", "value")}
    model.add_layer(MHA(heads=3, output=weights(RNG, 5, 6), softmax="none", **parts))
    design = mapped(model, RNG.integers(-128, 128, (1, 12, 6)))
    config = next(k.config for k in design.kernels if k.template == "scores")
    sizes = {name: config[name] for name in ("rows", "real_keys", "depth")}
    assert sizes == {"rows": 16, "real_keys": 12, "depth": 8}
    output = design.kernels[-1]
    assert output.config["inputs"] + output.config["second_inputs"] == 24
    # Zero rows of weights behind each head's two columns.
    tiles = output.arrays["weights"].reshape(1, 3, 8, 8)
    assert (tiles[:, :, 2:] == 0).all()
    assert (tiles[:, :, :2] != 0).any()


def test_pool_softmax_and_a_relu_of_its_own():
    model = AIEModel(shape=(20, 16))
    first = model.add_layer(Dense(name="first", weight=weights(RNG, 16, 16)))
    relu = model.add_layer(ReLU(name="positive"), inputs=[first])
    both = model.add_layer(ResAdd(name="both", scales=(0.5, 0.5)), inputs=[first, relu])
    pooled = model.add_layer(Pool(name="pool", reduce="max"), inputs=[both])
    model.add_layer(Softmax(name="probabilities", score_step=0.1), inputs=[pooled])
    design = mapped(model, RNG.integers(-128, 128, (1, 20, 16)))
    check_design(design)
    assert [kernel.template for kernel in design.kernels] == [
        "dense", "relu", "add", "pool", "softmax",
    ]  # fmt: skip
    assert design.plios[0].shape == (24, 16)
    assert design.plios[1].shape == (8, 16)


def test_a_projection_that_is_read_elsewhere_is_made_twice():
    model = AIEModel(shape=(8, 8))
    parts = {part: weights(RNG, 8, 8) for part in ("query", "key", "value", "output")}
    model.add_layer(MHA(name="mha", heads=1, softmax="none", **parts))
    model.calibrate(RNG.integers(-128, 128, (1, 8, 8)))
    program = model.program
    query = program.instructions[0].results[0].reg
    shown = type(program)(
        name=program.name, target="aie", inputs=program.inputs, constants=program.constants,
        instructions=program.instructions, outputs=(query, *program.outputs),
    )  # fmt: skip
    design = map_published(shown, model.tensors, VCK190)
    assert [kernel.name for kernel in design.kernels] == [
        "mha", "mha_query0", "mha_key0", "mha_value0", "mha_scores0", "mha_context0", "mha_2",
    ]  # fmt: skip
    assert [plio.name for plio in design.plios] == ["input", "output_0", "output_1"]


def refused(text, tensors=None):
    with pytest.raises(UnsupportedOperatorError) as caught:
        map_published(parse_program(text), tensors or {}, VCK190)
    return str(caught.value)


def test_an_operator_without_a_kernel_is_named():
    assert refused(
        """
        npuir.program @m target(aie) {
          input  %0 "x" : i8[8,8]
          %1 = aten.neg.default(%0) : i8[8,8]
          output %1
        }
        """
    ) == (
        "the aie target cannot map aten.neg.default\n"
        "  at: layer default_0, instruction 0\n"
        "  why: it has no kernel\n"
        "  fix: encoders of linear layers, attention, sums, ReLU, softmax and pooling are mapped"
    )


def test_a_batch_is_refused():
    assert refused(
        """
        npuir.program @m target(aie) {
          input  %0 "x" : i8[2,8,8]
          %1 = aten.relu.default(%0) : i8[2,8,8]
          output %1
        }
        """
    ) == (
        "the aie target cannot pass i8[2,8,8] between kernels\n"
        "  at: input x\n"
        "  why: a kernel works on one i8 matrix [rows, columns] an iteration\n"
        "  fix: compile for a batch of one; further jets are further iterations"
    )


def test_attention_needs_linear_layers_before_it():
    text = refused(
        """
        npuir.program @m target(aie) {
          input  %0 "x" : i8[8,8]
          %1 = int8_attention(%0, %0, %0) {heads = 1, score_multipliers = [1], \
score_shifts = [4], context_multipliers = [1], context_shifts = [4]} : i8[8,8]
          output %1
        }
        """
    )
    assert "why: its queries are not made by a linear layer" in text


def test_biases_and_tables_reach_the_kernels():
    model = AIEModel(shape=(8, 8))
    parts = {part: weights(RNG, 16, 8) for part in ("query", "key", "value")}
    model.add_layer(MHA(heads=2, output=weights(RNG, 8, 16), softmax="table", score_step=0.1,
                        key_bias=bias(RNG, 16, True), **parts))  # fmt: skip
    design = mapped(model, RNG.integers(-128, 128, (1, 8, 8)))
    kernels = {kernel.name: kernel for kernel in design.kernels}
    assert kernels["mha_0_key1"].config["has_bias"]
    assert not kernels["mha_0_query1"].config["has_bias"]
    table = model.tensors["mha_0.table"]
    assert torch.equal(torch.from_numpy(kernels["mha_0_scores1"].arrays["exp_table"]), table[1])
