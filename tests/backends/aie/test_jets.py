"""The integer part of a compiled program, for one jet."""

import pytest
import torch
from jet_models import Tagger
from torch import nn

import forge_ugc
from forge_ugc.backends.aie.jets import array_part
from forge_ugc.errors import InternalError
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.ops.int8_dequantize import Int8Dequantize
from forge_ugc.ops.int8_quantize import Int8Quantize


@pytest.mark.parametrize(
    ("module", "shape"), [(Tagger(), (3, 5, 6)), (nn.Linear(6, 4), (5, 6)), (nn.Linear(6, 4), (6,))]
)
def test_jets_one_by_one_are_the_whole_program(module, shape):
    x = torch.randn(*shape)
    model = forge_ugc.compile(module.eval(), (x,), target="aie", calibration=[x])
    part = array_part(model.program, model._tensors)
    verify(part.program, infer)
    assert part.jets == (shape[0] if len(shape) == 3 else 1)
    kind = part.program.inputs[0].type
    q = Int8Quantize(step=part.step).eval(x).view(part.jets, *kind.shape)
    jets = [interpret(part.program, part.tensors, [jet])[0] for jet in q]
    want = model(x)
    got = Int8Dequantize(step=part.steps[0]).eval(torch.stack(jets)).view(want.shape)
    assert torch.equal(got, want)


def test_other_programs_are_refused():
    program = parse_program("""npuir.program @p target(aie) {
  input  %0 "x" : i8[4]
  %1 = aten.relu.default(%0) : i8[4] device(aie)
  output %1
}
""")
    with pytest.raises(InternalError) as error:
        array_part(program, {})
    assert str(error.value) == (
        "p is no program of the quantiser\n  fix: compile the module with target='aie'"
    )
