"""Products and attention in bf16 or int8: graphs before and after, results, ties, refusals."""

import pytest
import torch
import torch.nn.functional as F
from graph_checks import TypeChecker
from torch import nn

import forge_ugc
from forge_ugc import Options
from forge_ugc.capture import capture
from forge_ugc.errors import OptionError
from forge_ugc.npuir.types import DType
from forge_ugc.ops.core.interpreter import interpret
from forge_ugc.passes.mixed.constants import Constants
from forge_ugc.passes.pass_manager import PassManager
from forge_ugc.passes.text import format_graph

SIZE, HEADS = 16, 2


class Block(nn.Module):
    """A decoder layer before the norms: q, k, v, rotary, attention, gate and up, residuals."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(SIZE, eps=1e-5), nn.RMSNorm(SIZE, eps=1e-5)
        self.q, self.k, self.v, self.o = (nn.Linear(SIZE, SIZE, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(SIZE, 24, bias=False) for _ in range(2))
        self.down = nn.Linear(24, SIZE)

    def forward(self, x, cos, sin):
        h = self.norm1(x)
        q, k, v = (p(h).view(1, -1, HEADS, 8).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = (t * cos + torch.cat((-t[..., 4:], t[..., :4]), -1) * sin for t in (q, k))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(1, -1, SIZE))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, SIZE)
        self.block, self.norm = Block(), nn.LayerNorm(SIZE)
        self.head = nn.Linear(SIZE, 32, bias=False)
        self.head.weight = self.embed.weight
        angles = torch.outer(torch.arange(6.0), 100.0 ** -torch.linspace(0, 1, 4)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        return self.head(self.norm(self.block(self.embed(ids), self.cos, self.sin)))


IDS = torch.tensor([[3, 1, 4, 1, 5, 9]])


def decoder(dtype=torch.float32):
    torch.manual_seed(0)
    return Decoder().eval().to(dtype)


def optimized(module, *inputs, **options):
    graph_module = capture(module.eval(), inputs).graph_module
    report = PassManager(Options(**options)).run(graph_module)
    with torch.no_grad():
        got = list(TypeChecker(graph_module).run(*inputs))
    return graph_module, report, got


def relative(got, want):
    return float((got.double() - want.double()).norm() / want.double().norm())


@pytest.mark.parametrize(("precision", "bound"), [("bf16", 2.0**-7), ("int8", 2.0**-5)])
def test_a_decoder(pin, precision, bound):
    model = decoder()
    graph_module, report, [got] = optimized(model, IDS, precision=precision)
    pin(f"precision.{precision}", format_graph(graph_module))
    assert got.dtype == torch.float32
    with torch.no_grad():
        assert relative(got, model(IDS)) < bound
    assert any(fired.rule == "precision" for fired in report.details)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_compiled_interpreted_and_loaded_again(precision, tmp_path):
    model = decoder()
    options = Options(precision=precision, native=False)
    compiled = forge_ugc.compile(model, (IDS,), options=options)
    assert compiled.result.precision == precision
    _, _, [want] = optimized(model, IDS, precision=precision)
    assert torch.equal(compiled(IDS), want)
    [interpreted] = interpret(compiled.program, compiled._tensors, [IDS])
    assert torch.equal(interpreted, want)
    compiled.save(tmp_path / "model.forge")
    loaded = forge_ugc.load(tmp_path / "model.forge", options=Options(native=False))
    assert torch.equal(loaded(IDS), want)
    stored = {c.type.dtype for c in loaded.program.constants if c.type.rank == 2 and not c.view}
    assert stored <= {DType.BF16, DType.I8, DType.F32}
    assert (DType.I8 if precision == "int8" else DType.BF16) in stored
    kinds = {c.name: c.type.dtype for c in loaded.program.constants}
    assert kinds["block.o.weight"] is (DType.I8 if precision == "int8" else DType.BF16)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_the_native_engine_agrees(precision):
    model = decoder()
    compiled = forge_ugc.compile(model, (IDS,), options=Options(precision=precision))
    host = forge_ugc.compile(model, (IDS,), options=Options(precision=precision, native=False))
    assert compiled.result.host_instructions == {}
    assert relative(compiled(IDS), host(IDS)) < 2.0**-7


def test_no_precision_changes_nothing():
    model = decoder()
    plain, _, [want] = optimized(model, IDS)
    same, _, [got] = optimized(model, IDS, precision="fp32")
    assert format_graph(plain) == format_graph(same)
    assert torch.equal(got, want)


def test_tied_weights_are_converted_once():
    tables = {
        precision: [
            t for n, t in vars(optimized(decoder(), IDS, precision=precision)[0]).items()
            if isinstance(t, torch.Tensor) and t.shape == (32, SIZE)
        ]
        for precision in ("bf16", "int8")
    }  # fmt: skip
    assert [t.dtype for t in tables["bf16"]] == [torch.bfloat16]
    assert [t.dtype for t in tables["int8"]] == [torch.int8]


def test_a_model_of_bf16_stays_bf16_and_may_be_quantised(pin):
    model = decoder(torch.bfloat16)
    plain, _, _ = optimized(model, IDS)
    same, _, _ = optimized(model, IDS, precision="bf16")
    assert format_graph(plain) == format_graph(same)
    graph_module, _, [got] = optimized(model, IDS, precision="int8")
    pin("precision.int8_of_bf16", format_graph(graph_module))
    with torch.no_grad():
        assert got.dtype == torch.bfloat16
        assert relative(got, model(IDS)) < 2.0**-4
    with pytest.raises(OptionError) as caught:
        optimized(model, IDS, precision="fp32")
    assert caught.value.what == "precision='fp32' does not apply: the model computes in bf16"
    assert "module.float()" in caught.value.fix


def test_what_others_read_stays_f32(pin):
    """The norm's result is an output too, and attention's is added to the input."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up = nn.LayerNorm(SIZE), nn.Linear(SIZE, SIZE)

        def forward(self, x, mask):
            h = self.norm(x)
            a = F.scaled_dot_product_attention(h, h, x, mask)
            return h, self.up(h), a + x, self.up(a.reshape(1, -1, SIZE)).unsqueeze(0)

    torch.manual_seed(0)
    model = Net().eval()
    x, mask = torch.randn(1, 2, 3, SIZE), torch.zeros(3, 3)
    for precision in ("bf16", "int8"):
        graph_module, _, got = optimized(model, x, mask, precision=precision)
        pin(f"precision.{precision}_shared", format_graph(graph_module))
        for g, w in zip(got, model(x, mask), strict=True):
            assert g.dtype == torch.float32
            assert relative(g, w) < 2.0**-5


def test_other_types_are_near_misses():
    model = nn.Linear(4, 4).double()
    x = torch.randn(2, 4, dtype=torch.float64)
    for precision in ("bf16", "int8"):
        _, report, [got] = optimized(model, x, precision=precision)
        assert torch.equal(got, model(x))
        reasons = [m.reason for m in report.near_misses if m.rule == "precision"]
        assert reasons == ["it computes in f64[2,4], not in f32 or bf16"]


def test_verified_passes_tell_the_difference_without_a_bound():
    graph_module = capture(decoder(), (IDS,)).graph_module
    manager = PassManager(Options(precision="int8", verify_passes=True))
    report = manager.run(graph_module, [IDS])
    [run] = [r for r in report.runs if r.name == "precision"]
    assert 0 < run.max_abs_difference < 1
    assert [r.name for r in report.runs][-3:] == ["dead-code", "common-subexpressions", "layout"]


def test_an_unknown_precision_is_refused():
    with pytest.raises(OptionError) as caught:
        Options(precision="fp8")
    assert str(caught.value) == "no precision is called 'fp8'\n  fix: choose from fp32, bf16, int8"


def test_the_pass_may_be_left_out():
    plain, _, _ = optimized(decoder(), IDS)
    off, _, _ = optimized(decoder(), IDS, precision="bf16", disable={"precision"})
    assert format_graph(plain) == format_graph(off)


def test_views_of_one_weight_are_constants_of_their_own():
    module = nn.Linear(4, 6)
    graph_module = capture(module, (torch.randn(2, 4),)).graph_module
    [weight, _] = [n for n in graph_module.graph.nodes if n.op == "get_attr"]
    constants = Constants(graph_module.graph)
    assert constants.bf16(weight) is constants.bf16(weight)
    assert constants.bf16(weight) is not constants.int8(weight)[0]
