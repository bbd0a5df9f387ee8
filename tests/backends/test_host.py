"""Host execution on the arena: aliasing, states, modes, threads."""

import contextlib
import gc
import threading

import pytest
import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from forge_ugc.backends import registered
from forge_ugc.backends.host import HostExecutable
from forge_ugc.backends.host_steps import has_cpu_kernel, out_variant, view_of
from forge_ugc.capture import capture
from forge_ugc.capture.structure import unflatten
from forge_ugc.errors import InputError
from forge_ugc.lowering import lower
from forge_ugc.npuir.types import DType, TensorType
from forge_ugc.options import Options
from forge_ugc.schedule.linear_scan import allocate


def build(module, *args):
    captured = capture(module, args)
    result = lower(captured, registered()["cpu"], "Net")
    program, _ = allocate(result.program)
    executable = registered()["cpu"].compile(program, result.tensors, Options(native=False))

    def call(*tensors):
        flat = captured.signature.flatten(tensors, {})
        return unflatten(captured.output, executable.run(flat))

    return call


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(self.l(x)) + x
        return x


def test_results_are_those_of_eager_bit_for_bit_and_do_not_change_later():
    module, x = Chain(), torch.randn(3, 8)
    call = build(module, x)
    first = call(x)
    kept = first.clone()
    with torch.no_grad():
        assert torch.equal(first, module(x))
    call(torch.randn(3, 8))
    assert torch.equal(first, kept)


def test_an_input_in_another_memory_layout():
    module = Chain()
    call = build(module, torch.randn(3, 8))
    x = torch.randn(8, 3).t()
    with torch.no_grad():
        assert torch.equal(call(x), module(x.contiguous()))


def test_an_output_that_is_the_input_is_the_input():
    class Net(nn.Module):
        def forward(self, x):
            return x, x.view(6), x + 0

    x = torch.randn(2, 3)
    same, view, other = build(Net(), x)(x)
    assert same is x
    assert view.data_ptr() == x.data_ptr()
    assert other.data_ptr() != x.data_ptr()


def test_a_computed_constant_is_returned_as_new_memory():
    class Net(nn.Module):
        def forward(self, x):
            return x + 1, torch.tensor([1.0, 2.0])

    call = build(Net(), torch.zeros(2))
    call(torch.zeros(2))[1].fill_(9)
    assert call(torch.zeros(2))[1].tolist() == [1.0, 2.0]


def test_a_mutated_input_that_is_returned_is_the_input():
    class Net(nn.Module):
        def forward(self, x):
            x.mul_(2)
            return x, x + 1

    call = build(Net(), torch.ones(2))
    x = torch.ones(2)
    out, plus = call(x)
    assert out is x
    assert x.tolist() == [2.0, 2.0]
    assert plus.tolist() == [3.0, 3.0]


def test_written_inputs_must_not_alias():
    class Net(nn.Module):
        def forward(self, x, y):
            x.add_(y)
            return y * 2

    call = build(Net(), torch.ones(2), torch.ones(2))
    base = torch.ones(4)
    with pytest.raises(InputError, match="inputs 'x' and 'y' share memory"):
        call(base[:2], base[1:3])
    assert call(base[:2], base[2:]).tolist() == [2.0, 2.0]


class Swap(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.tensor([1.0, 2.0]))
        self.register_buffer("b", torch.tensor([3.0, 4.0]))

    def forward(self, x):
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)
        return self.a + x, old


def test_states_are_read_before_they_are_written():
    module = Swap()
    call = build(Swap(), torch.zeros(2))
    for _ in range(3):
        got, old = call(torch.zeros(2))
        want, want_old = module(torch.zeros(2))
        assert torch.equal(got, want)
        assert torch.equal(old, want_old)


def test_grad_inference_and_autocast_modes_of_the_caller_change_nothing():
    module, x = Chain(), torch.randn(3, 8)
    call = build(module, x)
    with torch.inference_mode():
        want = call(x)
        inside = call(torch.randn(3, 8))
    assert inside.shape == (3, 8)
    assert torch.equal(call(x), want)
    assert not call(x).requires_grad
    with torch.autocast("cpu", torch.bfloat16):
        assert call(x).dtype == torch.float32


def test_many_threads_share_one_executable():
    module = Chain()
    call = build(module, torch.randn(3, 8))
    inputs = [torch.randn(3, 8) for _ in range(8)]
    with torch.no_grad():
        wants = [module(x) for x in inputs]
    wrong = []

    def work(k):
        for _ in range(50):
            if not torch.equal(call(inputs[k]), wants[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_written_input_may_require_gradients():
    class Net(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    call = build(Net(), torch.zeros(2))
    x = torch.zeros(2, requires_grad=True)
    with torch.no_grad():
        assert call(x).tolist() == [2, 2]
    assert x.tolist() == [1, 1]
    assert x.is_leaf


def test_a_call_that_raises_writes_nothing():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x, index):
            self.calls.add_(1)
            x.add_(1)
            return x[index] + self.calls

    call = build(Net(), torch.zeros(2), torch.tensor([0]))
    x = torch.zeros(2)
    with pytest.raises(IndexError):
        call(x, torch.tensor([2]))
    assert x.tolist() == [0, 0]
    assert call(x, torch.tensor([1])).tolist() == [2]


def test_the_default_device_of_the_caller_does_not_matter():
    class Net(nn.Module):
        def forward(self, x):
            return x.view(torch.int32).cumsum(0) + 1

    x = torch.randn(6)
    call = build(Net(), x)
    with torch.device("meta"):
        got = call(x)
    assert torch.equal(got, Net()(x))


def test_an_input_whose_place_in_its_storage_does_not_fit_a_view_is_refused():
    class Net(nn.Module):
        def forward(self, x):
            return x.view(torch.float32) + 1

    base = torch.randn(10).bfloat16()
    call = build(Net(), base[:8].clone())
    assert torch.equal(call(base[2:]), Net()(base[2:]))
    with pytest.raises(InputError) as error:
        call(base[1:9])
    assert str(error.value) == (
        "an input starts at byte 2 of its storage, and the program views it as f32\n"
        "  why: elements of f32 begin at multiples of 4 bytes\n"
        "  fix: pass a copy of the input: x.clone()"
    )


def test_no_call_leaves_its_tensors_behind():
    class Net(nn.Module):
        def forward(self, x, index):
            return x.view(-1)[index] + 1, x.view(2, 3)

    call = build(Net(), torch.randn(6), torch.tensor([0]))
    for index in (1, 7):  # the second call raises on its way
        x = torch.randn(6)
        storage = StorageWeakRef(x.untyped_storage())
        with contextlib.suppress(IndexError):
            call(x, torch.tensor([index]))
        del x
        gc.collect()
        assert storage.expired()


def test_out_variants_have_the_same_arguments():
    aten = torch.ops.aten
    assert out_variant(aten.add.Tensor) is aten.add.out
    assert out_variant(aten.mul.Scalar) is aten.mul.Scalar_out
    assert out_variant(aten.split.Tensor) is None
    assert out_variant(aten.topk.default) is None


def test_kernels_of_composite_operators_count():
    assert has_cpu_kernel("aten.linear.default")
    assert has_cpu_kernel("rms_norm")


def test_view_with_another_dtype_and_a_negative_step_back():
    base = torch.arange(8, dtype=torch.float32)
    got = view_of(base[4:], -8, TensorType.of(DType.I32, (2,)))
    assert torch.equal(got, base[2:4].view(torch.int32))


def test_a_write_by_strides_counts_from_its_tensor_not_from_the_arena():
    def forward(x):
        y = x.exp()
        y.fill_diagonal_(0)
        z = y.exp()
        z.as_strided((2, 2), (4, 1), 1).zero_()
        return z

    class Net(nn.Module):
        def forward(self, x):
            return forward(x)

    x = torch.randn(3, 4)
    assert torch.equal(build(Net(), x)(x), forward(x))


def test_instructions_through_pytorch_are_counted_and_those_of_own_kernels_are_not():
    class Mine(HostExecutable):
        def steps(self, instruction):
            return [] if instruction.opcode == "aten.tanh.default" else super().steps(instruction)

    lowered = lower(capture(Chain(), (torch.randn(3, 8),)), registered()["cpu"], "Net")
    program, _ = allocate(lowered.program)
    counts = {"aten.linear.default": 4, "aten.tanh.default": 4, "aten.add.Tensor": 4}
    assert HostExecutable(program, lowered.tensors).host_instructions == counts
    del counts["aten.tanh.default"]
    assert Mine(program, lowered.tensors).host_instructions == counts
