"""Small designs for AI Engines."""

import itertools
from dataclasses import replace

from forge_ugc.backends.aie.design import (
    Design,
    End,
    KernelInstance,
    Link,
    Net,
    Plio,
    Port,
    Work,
)
from forge_ugc.backends.aie.device import VCK190


def port(name="x", link=Link.STREAM, size_bytes=1280, **rest):
    """A port that passes one small matrix."""
    return Port(name=name, link=link, bytes_per_jet=size_bytes, **rest)


def kernel(name, inputs=None, outputs=None, **changes):
    """A kernel of layer `name` that takes no memory and does no work."""
    plain = KernelInstance(
        name=name, template="dense", config={}, arrays={},
        inputs=(port(),) if inputs is None else inputs,
        outputs=(port("y"),) if outputs is None else outputs,
        layer=name, instructions=(), data_bytes=0, stack_bytes=0, work=Work(loops=()),
    )  # fmt: skip
    return replace(plain, **changes)


def plio(name, is_input, rows=160, **changes):
    """A 128-bit port for an i8 matrix of `rows` x 8."""
    made = Plio(name=name, is_input=is_input, bits=128, shape=(rows, 8), tile_rows=4,
                tile_columns=8)  # fmt: skip
    return replace(made, **changes)


def net(source, *sinks, link=Link.STREAM, size_bytes=1280, fifo_words=()):
    """A net; ends are written `name` or `name.port`."""

    def end(text):
        node, _, index = text.partition(".")
        return End(node, int(index or 0))

    return Net(source=end(source), sinks=tuple(end(s) for s in sinks), link=link,
               bytes_per_jet=size_bytes, fifo_words=fifo_words)  # fmt: skip


def chain(*kernels, nets=None, device=VCK190):
    """PLIO -> kernels one after another -> PLIO."""
    names = ["x", *(k.name for k in kernels), "y"]
    joined = [net(a, b) for a, b in itertools.pairwise(names)]
    return Design(
        name="model", device=device, mapping="test", kernels=kernels,
        plios=(plio("x", is_input=True), plio("y", is_input=False)),
        nets=tuple(joined if nets is None else nets),
    )  # fmt: skip
