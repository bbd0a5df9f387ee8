"""Equal blocks are traced once; whatever cannot be shown to be equal is traced by itself."""

import copy
import threading

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.capture import capture, repeated_blocks
from forge_ugc.errors import InternalError, OptionError

X = torch.linspace(-1, 1, 16).reshape(2, 8)


class Block(nn.Module):
    """Variants of one block; `how` says what is special about it."""

    def __init__(self, index, how=""):
        super().__init__()
        self.layer_idx, self.how = index, how
        self.norm, self.up, self.dropout = nn.LayerNorm(8), nn.Linear(8, 8), nn.Dropout(0.5)
        self.register_buffer("scale", torch.full((8,), 1.0 + index))

    def forward(self, x, mask=None, tables=(None, None)):
        y = self.dropout(torch.relu(self.up(self.norm(x)))) * self.scale
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        if tables[0] is not None:
            y = y * tables[0] + y.roll(1, -1) * tables[1]
        return x + y


class Stack(nn.Module):
    def __init__(self, blocks, call=lambda block, x: block(x)):
        super().__init__()
        self.layers, self.call = nn.ModuleList(blocks), call

    def forward(self, x):
        for block in self.layers:
            x = self.call(block, x)
        return x


def stack(cls=Block, count=4, call=lambda block, x: block(x), **kwargs):
    torch.manual_seed(0)
    return Stack([cls(i, **kwargs) for i in range(count)], call).eval()


def report(module, *args, **kwargs):
    """Capture in both ways, compare, and return what became of the blocks."""
    return capture(module, args or (X,), kwargs, repeated_blocks="verify").repeated_blocks


def reasons(module, *args, **kwargs):
    found = report(module, *args, **kwargs)
    assert found.copies == 0
    assert found.whole_model is None
    return {block.reason for block in found.traced}


def test_equal_blocks_are_traced_once_and_read_their_own_weights():
    module = stack()
    compiled = forge_ugc.compile(module, (X,))
    found = compiled.result.repeated_blocks
    assert [(g.traced, g.copies) for g in found.stamped] == [
        ("layers.0", ("layers.1", "layers.2", "layers.3"))
    ]
    assert not found.traced
    assert found.whole_model is None
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), module(X))


def test_weights_are_shared_with_the_module():
    module = stack()
    captured = capture(module, (X,))
    held = {n.meta["fqn"]: getattr(captured.graph_module, str(n.target))
            for n in captured.graph_module.graph.nodes if n.op == "get_attr"}  # fmt: skip
    for name, parameter in module.named_parameters():
        assert held[name].data_ptr() == parameter.data_ptr()


def test_the_module_is_as_before():
    module = stack()
    before = [(type(m), dict(vars(m))) for m in module.modules()]
    capture(module, (X,))
    for m, (cls, attributes) in zip(module.modules(), before, strict=True):
        assert type(m) is cls
        assert vars(m) == attributes
    assert isinstance(copy.deepcopy(module).layers[0], Block)


def test_copies_have_the_module_path_of_their_block():
    captured = capture(stack(), (X,))
    paths = [
        next(reversed(n.meta["nn_module_stack"].values()))[0]
        for n in captured.graph_module.graph.nodes
        if n.op == "call_function" and n.target is torch.ops.aten.linear.default
    ]
    assert paths == [f"module.layers.{i}.up" for i in range(4)]


def test_masks_and_tables_as_keyword_tensors():
    mask, cos, sin = X > 0, X.cos(), X.sin()

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = stack(count=3)

        def forward(self, x, mask, cos, sin):
            for block in self.stack.layers:
                x = block(x, mask=mask, tables=(cos, sin.to(torch.float32)))
            return x

    module = Model().eval()
    assert report(module, X, mask, cos, sin).copies == 2
    compiled = forge_ugc.compile(module, (X, mask, cos, sin))
    with torch.no_grad():
        torch.testing.assert_close(compiled(X, mask, cos, sin), module(X, mask, cos, sin))


def test_a_tensor_that_is_no_value_of_the_graph_is_refused():
    mask = X > 0
    reason = "an argument is a tensor that is no value of the graph"
    assert reasons(stack(call=lambda block, x: block(x, mask=mask))) == {reason}


def test_calls_of_other_kinds_are_groups_of_their_own():
    def call(block, x):
        return block(x, mask=x > 0) if block.layer_idx % 2 else block(x)

    found = report(stack(count=5, call=call))
    assert [(g.traced, g.copies) for g in found.stamped] == [
        ("layers.0", ("layers.2", "layers.4")), ("layers.1", ("layers.3",)),
    ]  # fmt: skip


class Scaled(Block):
    def forward(self, x):
        return super().forward(x) * (self.layer_idx + 1)


class ReadsDict(Block):
    def forward(self, x):
        return super().forward(x) * (vars(self)["layer_idx"] + 1)


class Counts(Block):
    calls = 0

    def forward(self, x):
        type(self).calls += 1
        return super().forward(x)


class CountsOwn(Block):
    def __init__(self, index):
        super().__init__(index)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


TOTAL = 0


class CountsGlobally(Block):
    def forward(self, x):
        global TOTAL
        TOTAL += 1
        return super().forward(x) * TOTAL


class Writes(Block):
    def forward(self, x):
        return super().forward(x).mul_(2)


class Replaces(Block):
    def forward(self, x):
        self.scale = self.scale + 1
        return super().forward(x)


class ReturnsObject(Block):
    def forward(self, x):
        return super().forward(x), threading.current_thread()


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (Scaled, "its forward reads layer_idx, which differs in each"),
        (ReadsDict, "its forward reads __dict__, which differs in each"),
        (Counts, "its forward changes calls of its class"),
        (CountsOwn, "its forward changes calls"),
        (CountsGlobally, "CountsGlobally assigns to a global variable"),
        (Replaces, "its forward replaces scale"),
        (Writes, "it writes to memory (aten.mul_.Tensor)"),
    ],
)
def test_what_operators_do_not_express_is_refused(cls, reason):
    module = stack(cls)
    found = capture(module, (X,)).repeated_blocks
    assert found.copies == 0
    assert {block.reason for block in found.traced} == {reason}


def test_an_index_that_is_read_gives_each_block_its_own_result():
    module = stack(Scaled)
    compiled = forge_ugc.compile(module, (X,))
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), module(X))


@pytest.mark.parametrize("cls", [Replaces, Writes])
def test_states_of_blocks_stay_states(cls):
    module = stack(cls)
    compiled = forge_ugc.compile(copy.deepcopy(module), (X,))
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(X), module(X))


def test_a_block_that_returns_an_object_is_refused():
    module = stack(ReturnsObject, call=lambda block, x: block(x)[0])
    found = report(module)
    assert found.copies == 0
    assert "output[1] is a threading._MainThread" in found.traced[0].reason


def test_an_argument_that_tracing_cannot_look_into_is_refused():
    class Cache:
        pass

    class Takes(Block):
        def forward(self, x, cache):
            return super().forward(x)

    cache = Cache()
    (reason,) = reasons(stack(Takes, call=lambda block, x: block(x, cache)))
    assert "whose tensors cannot be seen" in reason


def test_a_list_that_blocks_fill_is_refused():
    class Collects(Block):
        def forward(self, x, seen):
            seen.append(x)
            return super().forward(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Collects(i) for i in range(3))

        def forward(self, x):
            seen = []
            for block in self.layers:
                x = block(x, seen)
            return x, seen

    module = Model().eval()
    assert "its forward changes a container among its arguments" in reasons(module)
    assert len(forge_ugc.compile(module, (X,))(X)[1]) == 3


def test_a_tensor_from_elsewhere_is_refused():
    source = []

    class Looks(Block):
        def forward(self, x):
            return super().forward(x) + source[0]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Looks(i) for i in range(3))

        def forward(self, x):
            source[:] = [x * 2]
            for block in self.layers:
                x = block(x)
            return x

    assert reasons(Model().eval()) == {"it reads a tensor that is neither its own nor an argument"}


def test_a_value_that_is_known_while_tracing_is_refused():
    class Depends(Block):
        def forward(self, x, factor):
            return super().forward(x) * float(factor)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Depends(i) for i in range(3))

        def forward(self, x):
            for number, block in enumerate(self.layers):
                x = block(x, torch.tensor(number + 1.0))
            return x

    assert reasons(Model().eval()) == {"the value of an argument is known while tracing"}


def test_a_block_without_tensors_or_without_work_is_refused():
    class Same(Block):
        def forward(self, x):
            return x

    assert reasons(stack(Same)) == {"it computes nothing"}

    class Makes(Block):
        def forward(self):
            return self.up.bias + 1

    assert reasons(stack(Makes, call=lambda block, x: x + block())) == {"it takes no tensor"}


def test_hooks_and_other_modes_are_not_merged():
    module = stack(count=3)
    module.layers[1].register_forward_hook(lambda m, args, out: out + 1)
    found = report(module)
    assert [(g.traced, g.copies) for g in found.stamped] == [("layers.0", ("layers.2",))]
    assert found.traced[0].reason == "it differs from layers.0 in _forward_hooks"
    module = stack(count=3)
    module.layers[2].train()
    found = report(module)
    assert found.copies == 1
    assert found.traced[0].reason == "it differs from layers.0 in class"


def test_training_mode_draws_for_every_block():
    captured = capture(stack(count=3).train(), (X,))
    assert captured.repeated_blocks.copies == 2
    assert captured.nodes_by_operator["aten.dropout.default"] == 3


def test_shared_parameters_are_refused():
    module = stack(count=3)
    module.layers[1].up.weight = module.layers[0].up.weight
    found = report(module)
    assert found.copies == 0
    assert found.traced[0].reason == (
        "it shares a parameter or buffer with another part of the model"
    )


def test_blocks_inside_of_a_region_are_traced_with_the_whole_model():
    class Region(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = stack(count=3)

        def forward(self, x):
            with torch.autocast("cpu", enabled=False):
                return self.stack(x) * 2

    module = Region().eval()
    compiled = forge_ugc.compile(module, (X,))
    found = compiled.result.repeated_blocks
    assert found.copies == 0
    assert "inside of a region of its own" in found.whole_model
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), module(X))
    assert "the whole model was traced" in str(forge_ugc.explain(compiled))


def test_a_list_inside_of_a_block_belongs_to_the_block():
    class Nested(nn.Module):
        def __init__(self, index):
            super().__init__()
            self.inner = stack(count=2)

        def forward(self, x):
            return self.inner(x)

    module = Stack([Nested(i) for i in range(3)]).eval()
    found = report(module)
    assert [(g.traced, g.copies) for g in found.stamped] == [("layers.0", ("layers.1", "layers.2"))]


def test_a_list_that_is_given_the_results_of_another():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = stack(count=3), stack(count=3)

        def forward(self, x):
            memory = self.encoder(x)
            for block in self.decoder.layers:
                x = block(x, tables=(memory, memory.to(torch.float32)))
            return x

    module = Two().eval()
    found = report(module)
    assert found.copies == 4
    assert found.whole_model is None
    with torch.no_grad():
        torch.testing.assert_close(forge_ugc.compile(module, (X,))(X), module(X))


def test_sequential_of_blocks():
    module = nn.Sequential(*(Block(i) for i in range(3))).eval()
    assert report(module).copies == 2


def test_switching_it_off():
    captured = capture(stack(), (X,), repeated_blocks="off")
    assert captured.repeated_blocks.copies == 0
    with pytest.raises(OptionError) as caught:
        Options(repeated_blocks="sometimes")
    assert str(caught.value) == (
        "repeated_blocks is 'sometimes'\n  fix: choose from auto, off, verify"
    )


def test_verification_tells_of_a_difference(monkeypatch):
    blind = lambda module, places: type("Reads", (), {  # noqa: E731
        "places": [], "written": [], "__enter__": lambda s: s, "__exit__": lambda s, *e: None,
    })()  # fmt: skip
    monkeypatch.setattr(repeated_blocks, "IndexReads", blind)
    with pytest.raises(InternalError, match="repeated blocks traced once differ") as caught:
        capture(stack(Scaled), (X,), repeated_blocks="verify")
    assert 'Options(repeated_blocks="off")' in str(caught.value)


def test_literals_of_blocks():
    class Halves(Block):
        def forward(self, x):
            return super().forward(x) * torch.tensor(0.5) + torch.tensor([1.0]).sum()

    module = stack(Halves)
    assert report(module).copies == 3
    compiled = forge_ugc.compile(module, (X,))
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), module(X))


def test_the_explanation_names_what_was_traced_once_and_what_not():
    shown = str(forge_ugc.explain(forge_ugc.compile(stack(), (X,)))).splitlines()
    assert shown[0] == (
        "repeated-blocks: layers.0 traced once, stamped on layers.1, layers.2, layers.3"
    )
    shown = str(forge_ugc.explain(forge_ugc.compile(stack(Scaled), (X,)))).splitlines()
    assert shown[0] == (
        "not repeated-blocks: its forward reads layer_idx, which differs in each  "
        "[layers.0 ... layers.3 (4 blocks)]"
    )
