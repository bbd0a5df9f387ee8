"""Lowering: typed registers, views resolved to memory, constants by storage, devices chosen."""

import pytest
import torch
from torch import nn

from forge_ugc.backends import registered
from forge_ugc.capture import capture
from forge_ugc.errors import UnsupportedOperatorError
from forge_ugc.lowering import lower
from forge_ugc.lowering.constants import build_table
from forge_ugc.npuir.parser import parse_program
from forge_ugc.npuir.printer import print_program
from forge_ugc.npuir.verifier import verify
from forge_ugc.ops.core.infer import infer


def lowered(module, *args, target="cpu"):
    result = lower(capture(module, args), registered()[target], type(module).__name__)
    verify(result.program, infer)
    assert parse_program(print_program(result.program)) == result.program
    return result


def test_program_text():
    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(4, 8)

        def forward(self, x):
            return self.up(x).view(2, 2, 4).transpose(0, 1)

    text = print_program(lowered(Mlp(), torch.ones(2, 4)).program, locations=False)
    assert text == (
        "npuir.program @Mlp target(cpu) {\n"
        '  input  %0 "x" : f32[2,4]\n'
        "  const  @up.weight : f32[8,4]\n"
        "  const  @up.bias : f32[8]\n"
        "  %1 = aten.linear.default(%0, @up.weight, @up.bias) : f32[2,8] device(cpu)\n"
        "  %2 = aten.view.default(%1) {size = [2, 2, 4]} : f32[2,2,4] view(%1, 0 B)\n"
        "  %3 = aten.transpose.int(%2) {dim0 = 0, dim1 = 1} : f32[2,2,4]{4,8,1} view(%2, 0 B)\n"
        "  output %3\n"
        "}\n"
    )


def test_results_of_split_are_views_at_their_offsets():
    class Net(nn.Module):
        def forward(self, x):
            a, b = (x + 1).split([2, 4], dim=1)
            return a * 2, b * 2

    program = lowered(Net(), torch.ones(3, 6)).program
    split = next(i for i in program.instructions if "split" in i.opcode)
    assert [(r.view.offset_bytes, str(r.type)) for r in split.results] == [
        (0, "f32[3,2]{6,1}"),
        (8, "f32[3,4]{6,1}"),
    ]
    assert split.device is None


def test_tied_sliced_and_transposed_weights_are_one_constant():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 4))
            self.tied = self.w
            self.register_buffer("part", self.w.detach()[2:4])
            self.register_buffer("turned", self.w.detach().t())

        def forward(self, x):
            return x @ self.w.t() + x @ self.tied.t(), x @ self.part.t(), x @ self.turned

    result = lowered(Net(), torch.ones(2, 4))
    owners = [c for c in result.program.constants if c.view is None]
    assert [c.name for c in owners] == ["tied"] or [c.name for c in owners] == ["w"]
    views = {c.name: (c.view.offset_bytes, str(c.type)) for c in result.program.constants if c.view}
    assert views == {"part": (32, "f32[2,4]"), "turned": (0, "f32[4,6]{1,4}")}
    assert list(result.tensors) == [owners[0].name]


def test_constants_that_overlap_without_an_owner_get_one():
    base = torch.arange(10.0)
    left, right = base[1:6], base[4:9]
    table = build_table([("left", left), ("right", right)])
    names = [(c.name, str(c.type), c.view and c.view.offset_bytes) for c in table.declarations]
    assert names == [
        ("left.storage", "u8[36]", None),
        ("left", "f32[5]", 4),
        ("right", "f32[5]", 16),
    ]
    stored = table.tensors["left.storage"].view(torch.float32)
    assert stored.tolist() == base[:9].tolist()


def test_an_operator_without_cpu_kernel_is_refused_with_its_line():
    torch.library.define("forge_tests::meta_only", "(Tensor x) -> Tensor")
    torch.library.impl("forge_tests::meta_only", "Meta", lambda x: torch.empty_like(x))

    class Net(nn.Module):
        def forward(self, x):
            return torch.ops.forge_tests.meta_only(x)

    with pytest.raises(UnsupportedOperatorError) as caught:
        lowered(Net(), torch.ones(2))
    text = str(caught.value)
    assert text.startswith("target 'cpu' cannot run forge_tests.meta_only.default\n  at: ")
    assert "test_lower.py" in text
    assert "why: cpu: forge_tests.meta_only.default has no kernel for the cpu" in text


def test_default_rule_sends_matrix_products_to_the_accelerator():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            y = self.l(x).relu()
            return torch.softmax(y @ y.transpose(0, 1), -1)

    program = lowered(Net(), torch.ones(2, 4), target="null").program
    devices = {i.opcode: i.device for i in program.instructions if not i.is_view}
    assert devices == {
        "aten.linear.default": "accelerator",
        "aten.relu.default": "cpu",
        "aten.matmul.default": "accelerator",
        "aten.softmax.int": "cpu",
    }
