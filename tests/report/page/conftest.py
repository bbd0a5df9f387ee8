"""A small model of repeated layers with everything that the page can show, and a browser."""

import json
import os
import re
from dataclasses import replace

import pytest
import torch
from chromium import Chromium, find_chromium
from torch import nn

import forge_ugc
from forge_ugc.backends.floorplan import Floorplan, Stream, Tile
from forge_ugc.report.page import render_page


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Decoder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers, self.head = nn.ModuleList(Block() for _ in range(layers)), nn.Linear(16, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x).softmax(-1)


def compile_decoder(layers, target="cpu"):
    torch.manual_seed(0)
    options = forge_ugc.Options(keep_graphs=True, threads=1)
    x = torch.randn(1, 6, 16)
    return forge_ugc.compile(Decoder(layers).eval(), (x,), options=options, target=target), x


@pytest.fixture(scope="session")
def compiled():
    return compile_decoder(4)[0]


@pytest.fixture(scope="session")
def deep():
    """30 layers."""
    return compile_decoder(30)[0]


@pytest.fixture(scope="session")
def null_compiled():
    """For a target with two devices."""
    return compile_decoder(2, "null")[0]


@pytest.fixture(scope="session")
def profile():
    model, x = compile_decoder(4)
    return model.profile_calls((x,), runs=2, warmups=1)


@pytest.fixture(scope="session")
def floorplan():
    tiles = (
        Tile(column=1, row=2, kind="compute", kernel="dense_i8", instruction=3, used_bytes=20480,
             memory_bytes=32768),
        Tile(column=2, row=0, kind="interface"),
    )  # fmt: skip
    streams = (Stream(source=1, sink=0),)
    return Floorplan(device="an array", columns=5, rows=4, tiles=tiles, streams=streams)


def page_of(model, **given):
    """The page of a compiled model; figures given by name replace those of its result."""
    result = replace(model.result, **given.pop("result", {}))
    return render_page(result, model.program, **given)


def data_of(page):
    """The document inside a page."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


@pytest.fixture(scope="session")
def pages():
    class Pages:
        of = staticmethod(page_of)
        data = staticmethod(data_of)

    return Pages


@pytest.fixture
def evil():
    """A text that would run code if it became markup."""
    return "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>\u2028&"


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    binary = find_chromium()
    if binary is None:
        reason = "no Chromium is installed: apt-get install chromium, or set FORGE_CHROMIUM"
        # CI installs one: there its absence is a fault and not a reason to leave tests out.
        (pytest.fail if os.environ.get("FORGE_REQUIRE_CHROMIUM") else pytest.skip)(reason)
    made = Chromium(binary, tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


@pytest.fixture
def show(browser, tmp_path):
    """Open a page in the browser; it must load without a warning and ask for nothing else."""

    def opened(page):
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        browser.open(path)
        assert browser.problems == []
        assert browser.requests == [path.as_uri()]
        return browser

    return opened
