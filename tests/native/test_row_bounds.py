"""Row-wise kernels touch no byte past their arrays, which end at a page that may not be touched."""

import subprocess
import sys

import pytest
from kernel_checks import variants

KERNELS = ("arg_reduce", "layer_norm", "reduce", "rms_norm", "rotary", "softmax")
CODE = """
import ctypes, mmap, sys
import torch
from forge_ugc import native

libc, size = ctypes.CDLL(None), mmap.PAGESIZE
kept = []

def guarded(count, dtype):
    pages = mmap.mmap(-1, 2 * size)
    kept.append(pages)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert libc.mprotect(ctypes.c_void_p(start + size), size, 0) == 0
    room = torch.frombuffer(pages, dtype=torch.uint8)[:size].view(dtype)
    return room[room.numel() - count :].fill_(1) if count else room[:0]

kernel, *sets = sys.argv[1:]

def check(isa):
    for dim in [*range(1, 36), 63, 64, 65]:
        for number, dtype in enumerate((torch.float32, torch.bfloat16)):
            x, w, out = (guarded(dim, dtype) for _ in range(3))
            rows = dict(x=x, x_type=number, out=out, out_type=number)
            row = dict(rows, x_stride=dim, out_stride=dim, rows=1, dim=dim)
            if kernel == "rms_norm":
                row.update(w=w, w_type=number, weight_offset=0.0, eps=0.0)
            elif kernel == "layer_norm":
                row.update(w=w, bias=w, w_type=number, eps=1.0)
            elif kernel == "softmax":
                row.update(result=0)
            elif kernel == "rotary":
                zeros, turned = [0, 0, 0], dim - dim % 2
                table = guarded(turned, dtype)
                row = dict(rows, x_strides=zeros, out_strides=zeros, cos=table, sin=table,
                           cos_strides=zeros, sin_strides=zeros, table_type=number, table=0,
                           sizes=[1, 1, 1], dim=dim, turned=turned)
                for pairs in (0, 1):
                    native.run_kernel(kernel, isa=isa, pairs=pairs, **row)
                table = guarded(turned // 2, dtype)
                row.update(cos=table, sin=table, table=1, pairs=1)
            elif kernel == "reduce":
                one = guarded(1, dtype)
                row = dict(rows, out=one, x_strides=[0, 1, 1], out_strides=[0, 0], outer=1,
                           count=dim, inner=1, reduction=3)
                native.run_kernel(kernel, isa=isa, **row)
                row.update(out=out, x_strides=[0, dim, 1], out_strides=[0, 1], count=1, inner=dim)
            else:
                index = guarded(dim, torch.int64)
                row = dict(x=x, x_type=number, x_strides=[0, 1, 1], indices=index[dim - 1 :],
                           index_strides=[0, 0], values=None, value_strides=[0, 0], outer=1,
                           count=dim, inner=1, extremum=0)
                native.run_kernel(kernel, isa=isa, **row)
                row.update(x_strides=[0, dim, 1], indices=index, index_strides=[0, 1], values=out,
                           value_strides=[0, 1], count=1, inner=dim)
            native.run_kernel(kernel, isa=isa, **row)
        kept.clear()

for isa in sets:
    check(isa)
print("inside", end="")
"""


@pytest.mark.parametrize("kernel", KERNELS)
def test_reads_and_writes_stay_inside(kernel):
    command = [sys.executable, "-c", CODE, kernel, *variants(kernel)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (got.returncode, got.stdout) == (0, "inside"), got.stderr
