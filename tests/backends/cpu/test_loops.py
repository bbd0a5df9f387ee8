"""Loops over several tensors: sizes and strides after merging."""

from forge_ugc.backends.cpu.loops import Axis, broadcast_strides, loops, padded
from forge_ugc.npuir.types import DType, TensorType


def test_contiguous_tensors_are_one_loop():
    assert loops((2, 3, 4), (12, 4, 1), (12, 4, 1)) == [Axis(24, (1, 1))]


def test_a_repeated_row_keeps_its_loop():
    row = broadcast_strides(TensorType.of(DType.F32, (4,)), (2, 3, 4))
    assert row == (0, 0, 1)
    assert loops((2, 3, 4), (12, 4, 1), row) == [Axis(6, (4, 0)), Axis(4, (1, 1))]


def test_loops_follow_the_memory_of_the_first():
    assert loops((3, 4), (1, 3), (4, 1)) == [Axis(4, (3, 1)), Axis(3, (1, 4))]


def test_axes_of_size_one_vanish():
    assert loops((1, 5, 1), (5, 1, 1), (0, 2, 0)) == [Axis(5, (1, 2))]


def test_padding_goes_in_front():
    assert padded([Axis(5, (2,))], 3, 1) == [Axis(1, (0,)), Axis(1, (0,)), Axis(5, (2,))]
