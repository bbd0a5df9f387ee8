"""Layout: maybe-views resolved, views merged, copies dropped, types equal to what PyTorch does."""

import pytest
import torch
from torch import nn

from forge_ugc.ops.core.schema import MAYBE_VIEWS, is_view
from forge_ugc.options import Options
from forge_ugc.passes.base import build
from forge_ugc.passes.core.aliasing import memory_of
from forge_ugc.passes.graph import aten, calls, emit, infer_call
from forge_ugc.passes.replacing import replace

LAYOUT = "layout"


def settled(graph_module):
    """True if every call is a view by its schema or has memory of its own."""
    return all(
        is_view(n.target) or memory_of(n) is None
        for n in calls(graph_module.graph)
        if isinstance(n.target, torch._ops.OpOverload)
    )


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).reshape(b, n, 2, 4).transpose(1, 2)
        y = (q * 2).transpose(1, 2).contiguous().reshape(b, n, -1).view(-1, d)
        z = q.reshape(b, 2 * n, 4).unsqueeze(1).squeeze(1).to(torch.float32)
        return self.o(y).view(b, n, d).clone(), z


def test_heads(run_pass, pin):
    ran = run_pass(LAYOUT, Heads(), torch.randn(2, 3, 8))
    pin("layout.before", ran.before)
    pin("layout.after", ran.after)
    assert settled(ran.graph_module)


def test_a_second_run_changes_nothing(run_pass):
    first = run_pass(LAYOUT, Heads(), torch.randn(2, 3, 8))
    module, x = Heads(), torch.randn(2, 3, 8)
    first = run_pass(LAYOUT, module, x)
    again = run_pass(LAYOUT, module, x, graph_module=first.graph_module)
    assert again.result.changed == 0


X = torch.randn(2, 3, 4)

BECOMES = {
    "reshape that is a view": (lambda x: x.reshape(6, 4) + 1, ["view", "add"]),
    "reshape that copies": (
        lambda x: x.transpose(0, 1).reshape(6, 4) + 1,
        ["transpose", "clone", "view", "add"],
    ),
    "flatten": (lambda x: x.flatten(1) + 1, ["view", "add"]),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)) + 1, ["view", "add"]),
    "view as": (lambda x: x.view_as(x.new_ones(3, 8)) + 1, ["view", "add"]),
    "contiguous that is": (lambda x: x.contiguous() + 1, ["add"]),
    "contiguous that copies": (lambda x: x.mT.contiguous() + 1, ["mT", "clone", "add"]),
    "contiguous twice": (lambda x: x.mT.contiguous().contiguous() + 1, ["mT", "clone", "add"]),
    "cast to what it is": (lambda x: x.to(torch.float32) + 1, ["add"]),
    "cast": (lambda x: x.to(torch.float64) + 1, ["to", "add"]),
    "type as": (lambda x: x.type_as(torch.ones(1)) + 1, ["add"]),
    "transposed twice": (lambda x: x.transpose(0, 1).transpose(1, 0) + 1, ["add"]),
    "permuted back": (lambda x: x.permute(1, 2, 0).permute(2, 0, 1) + 1, ["add"]),
    "two permutations": (
        lambda x: x.transpose(0, 1).transpose(1, 2) + 1,
        ["permute", "add"],
    ),
    "view of view": (lambda x: x.view(6, 4).view(24) + 1, ["view", "add"]),
    "view back": (lambda x: x.view(6, 4).view(2, 3, 4) + 1, ["add"]),
    "unsqueezed and squeezed": (lambda x: x.unsqueeze(1).squeeze(1) + 1, ["add"]),
    "views after unsqueeze": (lambda x: x.unsqueeze(1).view(2, 12) + 1, ["view", "add"]),
    "size one transposed": (lambda x: x[:1].transpose(0, 1).transpose(1, 2).view(3, 4) + 1,
                            ["slice", "view", "add"]),
    "copy that nobody sees": (lambda x: x.clone() + 1, ["add"]),
    "copy of a view": (lambda x: x.mT.clone() + 1, ["mT", "add"]),
    "dropout off": (lambda x: nn.functional.dropout(x, 0.3, False) + 1, ["add"]),
    "grid": (
        lambda x: sum(torch.meshgrid(x[0, 0], x[0, :, 0], indexing="xy")) + 1,
        ["select"] * 4 + ["view", "expand"] * 2 + ["add"] * 3,
    ),
    "grid by index": (
        lambda x: sum(torch.meshgrid(x[0, 0], x[0, :, 0], x[0, 0], indexing="ij")) + 1,
        ["select"] * 6 + ["view", "expand"] * 3 + ["add"] * 4,
    ),
    "broadcast": (
        lambda x: sum(torch.broadcast_tensors(x, x[0, 0] * 2)) + 1,
        ["select", "select", "mul", "expand", "add", "add", "add"],
    ),
    "unsafe split": (
        lambda x: sum(torch.unsafe_split(x, 2, 2)) + 1,
        ["split", "getitem", "getitem", "add", "add", "add"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BECOMES)
def test_operators_become(run_pass, name):
    function, want = BECOMES[name]
    ran = run_pass(LAYOUT, function, X)
    got = [c.split(".")[1] if "." in c else c for c in ran.calls()]
    assert sorted(got) == sorted(want)
    assert settled(ran.graph_module)


KEEPS = {
    "select is part of it": lambda x: x[0] + 1,
    "transposition of a square": lambda x: x[:, :2, :2].mT + 1,
    "halves exchanged": lambda x: x.view(2, 2, 6).transpose(0, 1).transpose(1, 2) + 1,
    "arithmetic": lambda x: x * 1.0 + 0.0,
    "bits as integers": lambda x: x.view(torch.int32) + 1,
    "slice of a view": lambda x: x.view(6, 4)[2:].view(16) + 1,
    "expanded": lambda x: x[:, :1].expand(2, 3, 4) + 1,
    "complex conjugate": lambda x: torch.view_as_real(
        torch.view_as_complex(x.view(4, 3, 2)).adjoint().transpose(0, 1) * 2
    ),
    "conjugated in memory": lambda x: torch.view_as_real(
        torch.view_as_complex(x.view(4, 3, 2)).conj().resolve_conj()
    )
    + 1,
    "conjugated square": lambda x: torch.view_as_real(
        torch.view_as_complex(x.view(4, 3, 2))[:1, :1].adjoint().resolve_conj()
    )
    * 2,
    "empty": lambda x: x[:, :0].reshape(0, 8) + 1,
    "scalar": lambda x: x.sum().reshape(1, 1).view(()) + 1,
}  # fmt: skip


@pytest.mark.parametrize("name", KEEPS)
def test_values_and_types_stay_right(run_pass, name):
    ran = run_pass(LAYOUT, KEEPS[name], X)
    assert settled(ran.graph_module)


def test_arithmetic_is_not_its_business(run_pass):
    ran = run_pass(LAYOUT, KEEPS["arithmetic"], X)
    assert ran.calls() == ["aten.mul.Tensor", "aten.add.Tensor"]


RESULTS = {
    "clone of an input": lambda x: (x.clone(), x),
    "clone of a result": lambda x: (lambda y: (y, y.clone()))(x + 1),
    "reshape that copies": lambda x: (x.mT.reshape(-1), x.mT),
    "reshape that does not": lambda x: (x.reshape(-1), x.flatten()),
    "contiguous": lambda x: (x.contiguous(), x.mT.contiguous()),
    "copies of views": lambda x: (x.view(6, 4).clone().view(24), x.view(24)),
    "two copies of one": lambda x: (x.mT.contiguous(), x.mT.contiguous()),
    "forced copy": lambda x: (x.to(torch.float32, copy=True), x),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_share_memory_as_in_eager(run_pass, name):
    ran = run_pass(LAYOUT, RESULTS[name], X)
    assert settled(ran.graph_module)


def test_a_view_that_a_new_layout_forbids_copies(run_pass, as_module):
    """A pass lays a value out differently; the views behind it follow."""
    from forge_ugc.capture import capture

    def net(x):
        return x.exp().view(2, 12).view(24) + 1

    graph_module = capture(as_module(net), (X,)).graph_module
    exp = next(n for n in graph_module.graph.nodes if n.target is aten.exp.default)
    x = exp.args[0]
    turned = emit(exp, aten.permute.default, (x, [2, 1, 0]), by="test")
    turned = emit(
        exp, aten.clone.default, (turned,), {"memory_format": torch.contiguous_format}, by="test"
    )
    turned = emit(exp, aten.exp.default, (turned,), by="test")
    replace(exp, emit(exp, aten.permute.default, (turned, [2, 1, 0]), by="test"))
    ran = run_pass(LAYOUT, net, X, graph_module=graph_module)
    assert "aten.clone.default" in ran.calls()
    assert "aten.reshape.default" not in ran.calls()


def test_stale_types_of_views_are_made_right(run_pass, as_module):
    from forge_ugc.capture import capture

    def net(x):
        return x.exp().transpose(1, 2)[..., 0] + 1

    graph_module = capture(as_module(net), (X,)).graph_module
    view = next(n for n in graph_module.graph.nodes if n.target is aten.transpose.int)
    view.meta["type"] = view.meta["type"].contiguous()
    run_pass(LAYOUT, net, X, graph_module=graph_module)
    assert view.meta["type"] == infer_call(view.target, view.args, {})


def test_every_maybe_view_of_the_schemas_is_resolved(run_pass):
    """No operator in the list of maybe-views is left that could be either."""
    known = {
        "reshape": lambda x: x.reshape(24), "contiguous": lambda x: x.contiguous(),
        "to": lambda x: x.to(torch.float32), "flatten": lambda x: x.flatten(),
        "type_as": lambda x: x.type_as(x), "matrix_H": lambda x: x[0].H,
        "ravel": lambda x: x.ravel(), "reshape_as": lambda x: x.reshape_as(x.exp()),
        "unflatten": lambda x: x.unflatten(2, (2, 2)), "resolve_conj": lambda x: x.resolve_conj(),
        "resolve_neg": lambda x: x.resolve_neg(), "cpu": lambda x: x.cpu(),
        "float": lambda x: x.float(),
        "_reshape_alias": lambda x: aten._reshape_alias(x, [24], [1]),
    }  # fmt: skip
    assert set(known) | {"expand_as_copy"} == MAYBE_VIEWS
    assert not hasattr(aten, "expand_as_copy")
    for function in known.values():
        ran = run_pass(LAYOUT, lambda x, f=function: f(x) * 2, X)
        names = {c.split(".")[1] for c in ran.calls()}
        assert not names & MAYBE_VIEWS


def test_near_misses_and_rounds(run_pass):
    [graph_pass] = build([LAYOUT])
    first = run_pass(LAYOUT, Heads(), torch.randn(2, 3, 8))
    assert graph_pass.run(first.graph_module, Options()).near_misses == ()
