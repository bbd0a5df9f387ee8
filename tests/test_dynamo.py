"""torch.compile(backend="forge_ugc"): graph breaks, changing sizes, weights and states."""

import gc
from pathlib import Path

import pytest
import torch
from torch import nn

from forge_ugc import dynamo


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(module, **kwargs):
    return torch.compile(module, backend=dynamo.forge_ugc, **kwargs)


def test_a_graph_break_splits_the_model():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            y = self.l(x)
            if y.sum() > 0:
                return y.relu()
            return y - 1

    module = Net()
    fn = compiled(module)
    with torch.no_grad():
        for scale in (1.0, -1.0, 5.0):
            x = torch.ones(2, 4) * scale
            torch.testing.assert_close(fn(x), module(x))


def test_other_sizes_and_numbers_get_programs_of_their_own():
    class Net(nn.Module):
        def forward(self, x, n, s):
            return x.roll(n, -1) * s

    module = Net()
    fn = compiled(module)
    with torch.no_grad():
        for rows, n, s in [(3, 1, 0.5), (4, 2, 0.25), (5, 3, 0.125), (3, 1, 0.5)]:
            x = torch.randn(rows, 7)
            assert torch.equal(fn(x, n, s), module(x, n, s))


def test_a_changed_or_replaced_weight_is_noticed():
    module = nn.Linear(4, 4)
    fn = compiled(module)
    x = torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(fn(x), module(x))
        module.weight.mul_(2)
        torch.testing.assert_close(fn(x), module(x))
        module.weight.data = torch.zeros(4, 4)
        torch.testing.assert_close(fn(x), module(x))


def test_a_weight_that_takes_the_address_of_the_one_it_replaces_is_noticed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(300, 200))

        def forward(self, x):
            return x @ (self.w * 2)  # folded: the program does not keep `w` itself alive

    module = Net()
    fn = compiled(module)
    x = torch.ones(1, 300)
    with torch.no_grad():
        for value in range(6):
            del module.w
            gc.collect()
            module.w = nn.Parameter(torch.full((300, 200), float(value)))
            assert torch.equal(fn(x), module(x))


def test_buffers_of_the_module_are_written_in_place():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(2))

        def forward(self, x):
            self.n.add_(x)
            return self.n * 2

    module = Counter()
    fn = compiled(module)
    with torch.no_grad():
        for k in range(1, 5):
            assert fn(torch.ones(2)).tolist() == [2.0 * k] * 2
            assert module.n.tolist() == [k] * 2
        module.n.zero_()
        assert fn(torch.ones(2)).tolist() == [2.0, 2.0]


def test_recording_gradients_is_refused():
    with pytest.raises(Exception, match="compiles for inference, but gradients are recorded"):
        compiled(nn.Linear(2, 2))(torch.ones(1, 2))


def test_an_unknown_option_is_refused():
    with torch.no_grad(), pytest.raises(Exception, match="unexpected keyword argument 'speed'"):
        compiled(nn.Linear(2, 2), options={"speed": 11})(torch.ones(1, 2))


def test_the_entry_point_is_declared():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert 'forge_ugc = "forge_ugc.dynamo:forge_ugc"' in text
