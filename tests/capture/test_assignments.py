"""Buffers that a module replaces are states, as those it writes to in place."""

import copy

import pytest
import torch
from torch import nn

import forge_ugc
from forge_ugc.capture import StoreTarget, capture
from forge_ugc.errors import CaptureError


class Cache(nn.Module):
    """Rolls a window of keys by replacing one buffer, and swaps two others."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(4, 3))
        self.register_buffer("even", torch.zeros(3))
        self.register_buffer("odd", torch.ones(3))

    def forward(self, x):
        before = self.keys
        self.keys = torch.cat((self.keys[1:], x[None]))
        self.even, self.odd = self.odd, self.even + x
        return before, self.keys.sum(0), self.even - self.odd


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


@pytest.mark.parametrize("make", [Cache, lambda: Outer(Cache())])
def test_a_replaced_buffer_keeps_its_new_value_for_the_next_call(make):
    module = make()
    eager = copy.deepcopy(module)
    compiled = forge_ugc.compile(module, (torch.ones(3),))
    for step in range(3):
        x = torch.arange(3.0) + step
        for got, want in zip(compiled(x), eager(x), strict=True):
            torch.testing.assert_close(got, want, rtol=0, atol=0)
    for name, buffer in make().named_buffers():
        assert torch.equal(dict(module.named_buffers())[name], buffer)


def test_stores_name_the_buffers():
    captured = capture(Cache(), (torch.ones(3),))
    assert set(captured.stores) == {
        StoreTarget("state", "keys"), StoreTarget("state", "even"), StoreTarget("state", "odd"),
    }  # fmt: skip


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(0, 3))

    def forward(self, x):
        self.keys = torch.cat((self.keys, x[None]))
        return self.keys.sum(0)


def test_a_buffer_that_grows_is_refused():
    with pytest.raises(CaptureError) as caught:
        capture(Outer(Growing()), (torch.ones(3),))
    assert str(caught.value) == (
        "the model replaces its buffer inner.keys, torch.float32 [0, 3], by torch.float32 [1, 3]\n"
        "  why: a state of a program keeps its shape and dtype (mutation of a buffer)\n"
        "  fix: allocate the buffer in its full size and write to a part of it"
    )


def test_a_replaced_buffer_must_not_share_its_memory():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(2))
            self.register_buffer("b", self.a)

        def forward(self, x):
            self.a = self.a + x
            return self.a + self.b

    with pytest.raises(CaptureError, match="its buffer a, which shares memory with another"):
        capture(Shared(), (torch.ones(2),))


def test_a_parameter_that_is_written_to_is_a_state():
    class Decaying(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x):
            self.weight.mul_(0.5)
            return x * self.weight

    module = Decaying()
    compiled = forge_ugc.compile(module, (torch.ones(3),))
    assert [compiled(torch.ones(3))[0].item() for _ in range(3)] == [0.5, 0.25, 0.125]
    assert module.weight[0] == 1
