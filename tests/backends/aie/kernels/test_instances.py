"""What the counterparts of the kernels say: configuration, arrays, ports and memory."""

from pathlib import Path

import numpy as np
import pytest

import forge_ugc.backends.aie.kernels as package
from forge_ugc.backends.aie.design import Link
from forge_ugc.backends.aie.device import VCK190, VEK280
from forge_ugc.backends.aie.kernels.add import Add
from forge_ugc.backends.aie.kernels.concat import Concat
from forge_ugc.backends.aie.kernels.context import Context
from forge_ugc.backends.aie.kernels.dense import Dense
from forge_ugc.backends.aie.kernels.instance import Label
from forge_ugc.backends.aie.kernels.layout import INCLUDE
from forge_ugc.backends.aie.kernels.pool import Pool
from forge_ugc.backends.aie.kernels.relu import Relu
from forge_ugc.backends.aie.kernels.scores import Scores
from forge_ugc.backends.aie.kernels.softmax import Softmax

LABEL = Label(name="k", layer="l", instructions=(3,))
WEIGHT = np.ones((20, 12), np.int8)
TABLE = np.zeros(256, np.int8)
ALL = (
    Dense(rows=16, weight=WEIGHT, bias=np.ones(20, np.int32), multiplier=3, shift=4),
    Dense(rows=16, weight=np.ones((8, 24), np.int8), multiplier=3, shift=4, second_inputs=8,
          transposed=True),
    Scores(rows=16, keys=12, depth=8, multiplier=5, shift=6),
    Scores(rows=16, keys=16, depth=8, multiplier=5, shift=6, softmax="table", exp_table=TABLE),
    Scores(rows=16, keys=16, depth=8, multiplier=5, shift=6, softmax="polynomial"),
    Context(rows=16, keys=12, depth=8, multiplier=1 << 20, shift=30, softmax="polynomial"),
    Add(rows=16, columns=12, multiplier_a=1, multiplier_b=2, shift=3),
    Relu(rows=16, columns=12),
    Concat(rows=16, columns_a=8, columns_b=16),
    Pool(real_rows=12, columns=16, kind="mean", multiplier=1, shift=2),
    Pool(real_rows=12, columns=16, kind="max", multiplier=1, shift=2),
    Softmax(rows=16, columns=12, method="polynomial"),
    Softmax(rows=16, columns=16, method="table", exp_table=np.zeros(256, np.int16)),
)  # fmt: skip


@pytest.mark.parametrize("device", [VCK190, VEK280], ids=lambda device: device.name)
@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: type(kernel).__name__)
def test_every_counterpart_describes_its_kernel(kernel, device):
    made = kernel.instance(LABEL, device)
    assert (made.name, made.layer, made.instructions) == ("k", "l", (3,))
    assert made.data_bytes == sum(array.nbytes for array in made.arrays.values())
    assert made.stack_bytes >= 512
    assert 0 < made.work.first_output_fraction <= 1
    assert made.work.program_bytes < device.program_bytes
    assert all(loop.trips > 0 and loop.entries > 0 for loop in made.work.loops)
    moved = sum(loop.trips * loop.stream_out for loop in made.work.loops)
    assert moved * 4 == sum(port.bytes_per_jet for port in made.outputs)


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: type(kernel).__name__)
def test_loops_read_what_ports_bring(kernel):
    made = kernel.instance(LABEL, VCK190)
    words = {port.name: port.bytes_per_jet / 4 for port in made.inputs}
    read = sum(loop.trips * loop.stream_in for loop in made.work.loops)
    side_by_side = made.template == "add" or (made.template == "dense" and len(words) == 2)
    # The first block is read before the loop that fetches the next; nothing follows the last.
    first = sum(
        loop.trips * loop.stream_in for loop in made.work.loops if loop.name == "first block"
    )
    wanted = sum(words.values()) / 2 if side_by_side else sum(words.values())
    assert read - first == pytest.approx(wanted)


def test_dense_pads_its_parameters():
    made = ALL[0].instance(LABEL, VCK190)
    assert dict(made.config) == {
        "rows": 16, "inputs": 16, "outputs": 24, "multiplier": 3, "shift": 4, "relu": False,
        "transposed": False, "has_bias": True,
    }  # fmt: skip
    assert made.arrays["weights"].size == 24 * 16
    assert int(made.arrays["weights"].sum()) == WEIGHT.sum()
    assert made.arrays["bias"].size == 24 * 4
    assert made.comment == ("y = (x @ w.T + b) * 3 / 2^4: x i8[16, 12], w i8[20, 12], y i8[16, 20]")
    assert [(p.name, p.bytes_per_jet) for p in (*made.inputs, *made.outputs)] == [
        ("x", 256), ("y", 384),
    ]  # fmt: skip


def test_a_dense_layer_on_buffers_reads_no_stream():
    made = Dense(
        rows=16, weight=WEIGHT, multiplier=1, shift=0, input_link=Link.BUFFER,
        output_link=Link.BUFFER,
    ).instance(LABEL, VCK190)  # fmt: skip
    assert made.stack_bytes == 512
    assert made.inputs[0].needed == 1.0
    assert all(loop.stream_in == loop.stream_out == 0 for loop in made.work.loops)


def test_scores_keep_keys_and_rows_on_the_stack():
    plain, table = (ALL[i].instance(LABEL, VCK190) for i in (2, 3))
    assert plain.stack_bytes == 512 + 2 * 8 * 8 + 16 * 8
    assert table.stack_bytes == 512 + 2 * 8 * 8 + 16 * 8 + 8 * 16
    assert plain.config["real_keys"] == 12
    assert table.config["softmax"] == "forge_aie::Softmax::table"
    assert plain.inputs[0].needed < 1 == plain.inputs[1].needed


def test_every_template_has_a_header_and_a_counterpart():
    templates = {kernel.instance(LABEL, VCK190).template for kernel in ALL}
    modules = {path.stem for path in Path(package.__file__).parent.glob("*.py")}
    headers = {path.stem for path in (INCLUDE / "forge_aie").glob("*.h")}
    assert templates <= modules
    assert templates - {"scores", "context"} <= headers
    assert "attention" in headers
