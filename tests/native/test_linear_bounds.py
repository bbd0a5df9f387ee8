"""The dense kernels read and write what their arguments span, and nothing beyond."""

import subprocess
import sys

import pytest
from dense_support import variants

# Each array ends where a page that may not be touched begins.
CODE = """
import ctypes, math, mmap, sys
import torch
sys.path.insert(0, "tests/support")
from dense_support import DTYPES, linear, pack
libc, keep = ctypes.CDLL(None), []
precision, isa = sys.argv[1:]
def guarded(*shape, dtype=DTYPES[precision]):
    size = math.prod(shape) * torch.empty(0, dtype=dtype).element_size()
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = mmap.mmap(-1, room + mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert libc.mprotect(ctypes.c_void_p(start + room), mmap.PAGESIZE, 0) == 0
    keep.append(pages)
    made = torch.frombuffer(pages, dtype=dtype, count=math.prod(shape), offset=room - size)
    return made.view(shape).fill_(1.0)
for n in (1, 7, 8, 9, 15, 16, 17, 33, 47, 49, 95, 97):
    for m in (1, 5, 8, 9, 17):
        for k in (1, 6, 33):
            x, w, bias, out = guarded(m, k), guarded(n, k), guarded(n), guarded(m, n)
            residual = guarded(m, n, dtype=torch.float32)
            packed = pack(w, isa=isa, precision=precision)
            flipped = pack(guarded(k, n).T, isa=isa, precision=precision)
            linear(x, packed, bias, residual, out=out)
            assert bool((out == k + 2).all()), (m, n, k)
            linear(x, flipped, bias, None, "relu", up=packed, up_bias=bias, out=out)
            assert bool((out == torch.tensor((k + 1.0) ** 2).to(out.dtype)).all()), (m, n, k)
print("inside")
"""


@pytest.mark.parametrize(
    ("precision", "isa"),
    [(p, isa) for p in ("f32", "bf16") for isa in variants(f"linear_{p}")],
)
def test_reads_and_writes_stay_inside(precision, isa):
    command = [sys.executable, "-c", CODE, precision, isa]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (got.returncode, got.stdout) == (0, "inside\n"), got.stderr
