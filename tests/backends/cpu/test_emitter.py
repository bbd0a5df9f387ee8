"""Barriers stand where data crosses threads, and nowhere else."""

from __future__ import annotations

import torch

from forge_ugc import _native
from forge_ugc.backends.cpu.emitter import Emitter
from forge_ugc.npuir.instruction import Instruction, Reg
from forge_ugc.npuir.parser import parse_program

TEXT = """npuir.program @p target(cpu) arena(4096 B) {
  input  %0 "x" : f32[4,16]
  %1 = rms_norm(%0, none) : f32[4,16] device(cpu) buffer(0 @ 0, 256 B)
  %2 = rms_norm(%0, none) : f32[4,16] device(cpu) buffer(1 @ 256, 256 B)
  %3 = rms_norm(%1, none) : f32[4,16] device(cpu) buffer(2 @ 512, 256 B)
  %4 = rms_norm(%2, none) : f32[4,16] device(cpu) buffer(0 @ 0, 256 B)
  output %3, %4
}
"""


def emit(pairs: list[tuple[int, int]]) -> list[bool]:
    """Whether a barrier comes before each step that reads and writes these registers."""
    program = parse_program(TEXT)
    places = {r.reg: r.place for r in program.results()}
    native = _native.Program(2, False)
    emitter = Emitter(native, program.types(), program.roots(), places, {})
    results = {r.reg.id: r for r in program.results()}
    found = []
    for read, write in pairs:
        before = native.barriers()
        emitter.start(Instruction((results[write],), "rms_norm"))
        emitter.step(
            "rms_norm", x=Reg(read), x_type=0, x_stride=16, w_type=0, weight_offset=0.0,
            out=results[write], out_type=0, out_stride=16, rows=4, dim=16, eps=1e-5,
        )  # fmt: skip
        found.append(native.barriers() > before)
    return found


def test_steps_on_separate_memory_need_no_barrier() -> None:
    assert emit([(0, 1), (0, 2)]) == [False, False]


def test_reading_what_was_written_needs_one() -> None:
    assert emit([(0, 1), (1, 3)]) == [False, True]


def test_one_barrier_covers_all_that_came_before() -> None:
    assert emit([(0, 1), (0, 2), (1, 3), (2, 4)]) == [False, False, True, True]
    # The last one is there since %4 takes the memory that the third step reads.


def test_writing_what_was_read_needs_one() -> None:
    assert emit([(1, 3), (0, 4)]) == [False, True]


def test_a_tensor_is_kept_for_the_program() -> None:
    program = parse_program(TEXT)
    emitter = Emitter(_native.Program(1, False), program.types(), program.roots(), {}, {})
    packed = emitter.keep(torch.arange(4.0))
    assert packed.address != 0
