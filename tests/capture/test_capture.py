"""Capture keeps a module's meaning: structure, aliasing, mutation, constants by storage."""

import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from forge_ugc.capture import StoreTarget, capture
from forge_ugc.errors import CaptureError


def run(captured, *tensors):
    captured.graph_module.recompile()
    with torch.no_grad():
        return captured.graph_module(*tensors)


def test_every_node_has_a_type_and_no_fake_tensor_is_left():
    captured = capture(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), (torch.ones(2, 4),))
    for node in captured.graph_module.graph.nodes:
        assert "val" not in node.meta
        if node.op != "output":
            assert node.meta["type"] is not None
    assert captured.nodes_by_operator == {"aten.linear.default": 1, "aten.relu.default": 1}


def test_module_inputs_and_global_settings_stay_as_they_are():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
    before = copy.deepcopy(module.state_dict())
    x = torch.randn(3, 4)
    kept, names = x.clone(), set(vars(module))
    settings = (torch.is_grad_enabled(), torch.get_default_dtype(), torch.random.get_rng_state())
    capture(module, (x,))
    assert torch.equal(x, kept)
    assert set(vars(module)) == names
    assert module.training
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]), name
    after = (torch.is_grad_enabled(), torch.get_default_dtype(), torch.random.get_rng_state())
    assert settings[:2] == after[:2]
    assert torch.equal(settings[2], after[2])
    assert all(p.requires_grad for p in module.parameters())


def test_one_tensor_for_two_inputs_is_two_inputs():
    class Net(nn.Module):
        def forward(self, q, k):
            return q - 2 * k

    x = torch.ones(3)
    captured = capture(Net(), (x, x))
    (out,) = run(captured, torch.zeros(3), torch.ones(3))
    assert torch.equal(out, torch.full((3,), -2.0))


def test_views_of_one_tensor_as_inputs_are_separate():
    class Net(nn.Module):
        def forward(self, a, b):
            return a + b

    x = torch.arange(6.0)
    captured = capture(Net(), (x[:3], x[3:]))
    assert [str(t) for t in captured.signature.types] == ["f32[3]", "f32[3]"]


def test_buffer_mutation_becomes_a_state_with_a_copy():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.tensor(2))

        def forward(self, x):
            self.n.add_(1)
            return x * self.n

    module = Net()
    captured = capture(module, (torch.ones(2),))
    assert captured.stores == (StoreTarget("state", "n"),)
    out, n = run(captured, torch.ones(2))
    assert out.tolist() == [3.0, 3.0]
    assert int(n) == 3
    assert int(module.n) == 2
    assert captured.graph_module.n.data_ptr() != module.n.data_ptr()


def test_input_mutation_is_stored_back():
    class Net(nn.Module):
        def forward(self, x):
            x.view(2, 2).t().mul_(2)
            return x + 1

    captured = capture(Net(), (torch.ones(4),))
    assert captured.stores == (StoreTarget("input", "x"),)
    out, x = run(captured, torch.ones(4))
    assert out.tolist() == [3.0] * 4
    assert x.tolist() == [2.0] * 4


def test_grad_mode_regions_are_inlined():
    class Net(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x * 2
            with torch.enable_grad():
                z = y + 1
            return z

    captured = capture(Net(), (torch.ones(2),))
    assert run(captured, torch.ones(2))[0].tolist() == [3.0, 3.0]
    assert all("set_grad" not in name for name in captured.nodes_by_operator)


def test_cond_selects_and_nests():
    class Net(nn.Module):
        def forward(self, x, p, q):
            def inner(t):
                return torch.cond(q, lambda u: u + 1, lambda u: u - 1, (t,))

            return torch.cond(p, inner, lambda t: t * 10.0, (x,))

    x = torch.ones(2)
    yes, no = torch.tensor(True), torch.tensor(False)
    captured = capture(Net(), (x, yes, no))
    for p in (yes, no):
        for q in (yes, no):
            assert torch.equal(run(captured, x, p, q)[0], Net()(x, p, q))


def test_a_random_branch_of_cond_is_refused():
    class Net(nn.Module):
        def forward(self, x, p):
            return torch.cond(p, lambda t: t + torch.rand_like(t), lambda t: t.clone(), (x,))

    with pytest.raises(CaptureError, match=r"a branch of torch.cond calls aten.rand_like.default"):
        capture(Net(), (torch.ones(2), torch.tensor(True)))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), BranchInside())

    def forward(self, x):
        return self.inner(x)


class BranchInside(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def test_data_dependent_branch_names_module_line_and_way_out():
    with pytest.raises(CaptureError) as caught:
        capture(Branch(), (torch.ones(2, 4),))
    text = str(caught.value)
    assert text.startswith("the model cannot be captured as one graph\n  at: inner.1 (")
    assert "test_capture.py" in text
    assert "if x.sum() > 0:" in text
    assert "data-dependent control flow" in text
    assert "fix: replace the condition by torch.where or torch.cond" in text


def test_data_dependent_sizes_are_refused():
    class Net(nn.Module):
        def forward(self, x):
            return x[x > 0]

    with pytest.raises(CaptureError, match="data-dependent"):
        capture(Net(), (torch.ones(3),))


def test_an_error_of_the_model_itself_is_passed_on():
    with pytest.raises(CaptureError, match="must have same reduction dim"):
        capture(nn.Linear(4, 4), (torch.ones(2, 5),))


def test_autocast_inside_forward_is_refused_when_on():
    class Net(nn.Module):
        def __init__(self, on):
            super().__init__()
            self.on = on

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16, enabled=self.on):
                return F.linear(x, torch.ones(2, 2))

    assert run(capture(Net(False), (torch.ones(2),)), torch.ones(2))[0].dtype == torch.float32
    with pytest.raises(CaptureError, match="switches autocast on"):
        capture(Net(True), (torch.ones(2),))


def test_dropout_in_eval_mode_draws_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured = capture(nn.Dropout(0.5).eval(), (torch.ones(3),))
    assert torch.equal(run(captured, torch.ones(3))[0], torch.ones(3))


def test_vmap_is_resolved_to_operators():
    class Net(nn.Module):
        def forward(self, x, y):
            return torch.vmap(lambda a, b: (a * b).sum())(x, y)

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    captured = capture(Net(), (x, y))
    assert all(name.startswith("aten.") for name in captured.nodes_by_operator)
    torch.testing.assert_close(run(captured, x, y)[0], Net()(x, y))


def test_an_exported_module_can_be_captured_again():
    exported = torch.export.export(nn.Linear(4, 3), (torch.ones(2, 4),)).module()
    (out,) = run(capture(exported, (torch.ones(2, 4),)), torch.ones(2, 4))
    assert torch.equal(out, exported(torch.ones(2, 4)))


def test_variadic_and_positional_only_arguments():
    class Net(nn.Module):
        def forward(self, x, /, *more, scale=1.0, **named):
            return x + sum(more) * scale + named["last"]

    one = torch.ones(2)
    captured = capture(Net(), (one, one, one), {"scale": 0.5, "last": one})
    assert run(captured, one, one, one, one)[0].tolist() == [3.0, 3.0]


def test_a_failing_model_prints_nothing(capfd):
    with pytest.raises(CaptureError):
        capture(Branch(), (torch.ones(2, 4),))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((nn.Linear(2, 2), torch.ones(1, 2)), "args is a Tensor, expected a tuple"),
        ((nn.Linear(2, 2), {"x": 1}), "args is a dict, expected a tuple"),
        ((nn.Linear(2, 2), (), [1]), "kwargs is a list, expected a dict"),
        ((torch.relu, (torch.ones(1),)), "compile takes an nn.Module, this is a builtin"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments, what):
    with pytest.raises(CaptureError, match=what):
        capture(*arguments)


@torch.library.custom_op("forge_test::increment", mutates_args=("x",))
def increment(x: torch.Tensor, by: float) -> None:
    x.add_(by)


def test_a_custom_operator_that_writes_to_its_arguments_is_named():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            increment(y, 1.5)
            return y

    with pytest.raises(CaptureError, match=r"forge_test\.increment\.default writes to its argum"):
        capture(Net(), (torch.ones(2),))


def test_a_missing_argument_and_an_array_are_named():
    with pytest.raises(CaptureError) as caught:
        capture(nn.Linear(2, 2))
    assert str(caught.value) == (
        "argument 'input' of the model's forward is missing\n"
        "  fix: add it to args, or to kwargs as 'input'"
    )
    with pytest.raises(CaptureError) as caught:
        capture(nn.Linear(2, 2), (torch.ones(1, 2).numpy(),))
    assert str(caught.value) == (
        "argument.input is a numpy.ndarray\n  fix: convert it with torch.from_numpy"
    )
