"""Checks of a design: is it well formed, and does every kernel fit its tile?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from forge_ugc.backends.aie.design import Design, End, KernelInstance, Link, Net, Port
from forge_ugc.errors import InternalError, ResourceError

PLIO_CHANNEL_BITS = 64


def check_design(design: Design) -> None:
    """Check the form of a design and what its kernels and ports need of the device.

    Raises:
        InternalError: the design breaks a rule of its form: the mapping is at fault.
        ResourceError: it needs more tiles, memory, ports or bandwidth than the device has.
    """
    _check_names(design)
    _check_nets(design)
    _check_tiles(design)
    for kernel in design.kernels:
        _check_ports(design, kernel)
        _check_memory(design, kernel)
    _check_fifos(design)
    _check_plios(design)


def buffer_bytes(kernel: KernelInstance) -> Iterator[tuple[Port, int]]:
    """Each buffer port with the bytes of its two halves (ping-pong)."""
    for port in (*kernel.inputs, *kernel.outputs):
        if port.link is Link.BUFFER:
            yield port, 2 * port.bytes_per_jet


def _fault(design: Design, what: str) -> InternalError:
    return InternalError(
        f"the mapping {design.mapping!r} made a bad design: {what}",
        where=design.name,
        fix="report this with the model",
    )


def _check_names(design: Design) -> None:
    names = [kernel.name for kernel in design.kernels] + [plio.name for plio in design.plios]
    for name, count in Counter(names).items():
        if count > 1:
            raise _fault(design, f"{count} nodes are called {name}")
        if not name.isidentifier() or not name.isascii():
            raise _fault(design, f"{name!r} is not a C++ identifier")


def _check_nets(design: Design) -> None:
    kernels = {kernel.name: kernel for kernel in design.kernels}
    plios = {plio.name: plio for plio in design.plios}
    driven: Counter[End] = Counter()
    used: Counter[End] = Counter()
    for net in design.nets:
        used[net.source] += 1
        driven.update(net.sinks)
        for end in (net.source, *net.sinks):
            _check_end(design, net, end, kernels.get(end.node), end.node in plios)
        if len(net.fifo_words) not in (0, len(net.sinks)):
            depths = f"{len(net.fifo_words)} FIFO depths for {len(net.sinks)} sinks"
            raise _fault(design, f"the net from {net.source.node} has {depths}")
        if net.link is Link.CASCADE and len(net.sinks) != 1:
            raise _fault(design, f"the cascade from {net.source.node} has {len(net.sinks)} sinks")
    for kernel in design.kernels:
        for index, port in enumerate(kernel.inputs):
            if driven[End(kernel.name, index)] != 1:
                raise _fault(
                    design,
                    f"{driven[End(kernel.name, index)]} nets drive {kernel.name}.{port.name}",
                )
        for index, port in enumerate(kernel.outputs):
            if used[End(kernel.name, index)] != 1:
                raise _fault(
                    design, f"{used[End(kernel.name, index)]} nets take {kernel.name}.{port.name}"
                )


def _check_end(
    design: Design, net: Net, end: End, kernel: KernelInstance | None, is_plio: bool
) -> None:
    if is_plio:
        return
    if kernel is None:
        raise _fault(design, f"a net ends at {end.node}, which does not exist")
    ports = kernel.outputs if end is net.source else kernel.inputs
    if end.port >= len(ports):
        raise _fault(design, f"{end.node} has no port {end.port}")
    port = ports[end.port]
    # A stream may fill the buffer of a kernel: the DMA of its tile writes it.
    by_dma = {port.link, net.link} == {Link.BUFFER, Link.STREAM}
    if port.link is not net.link and not by_dma:
        raise _fault(
            design, f"{end.node}.{port.name} is a {port.link.value}, its net a {net.link.value}"
        )
    if port.bytes_per_jet != net.bytes_per_jet:
        raise _fault(
            design,
            f"{end.node}.{port.name} passes {port.bytes_per_jet} bytes, its net "
            f"{net.bytes_per_jet}",
        )


def _check_tiles(design: Design) -> None:
    device = design.device
    if len(design.kernels) > device.tiles:
        raise ResourceError(
            f"the design needs {len(design.kernels)} tiles, {device.name} has {device.tiles}",
            where=design.name,
            why=f"mapping {design.mapping!r} puts one kernel on each tile",
            fix="fewer shards, or mapping='published'",
        )


def _check_ports(design: Design, kernel: KernelInstance) -> None:
    device = design.device
    for direction, ports, streams in (
        ("input", kernel.inputs, device.stream_inputs),
        ("output", kernel.outputs, device.stream_outputs),
    ):
        count = Counter(port.link for port in ports)
        limits = {Link.STREAM: streams, Link.CASCADE: 1}
        for link, limit in limits.items():
            if count[link] > limit:
                raise ResourceError(
                    f"{kernel.name} has {count[link]} {link.value} {direction}s, a tile of "
                    f"{device.name} has {limit}",
                    where=f"layer {kernel.layer}",
                    fix="another mapping, or fewer inputs to this layer",
                )


def _check_memory(design: Design, kernel: KernelInstance) -> None:
    device = design.device
    own = kernel.data_bytes + kernel.stack_bytes
    if own > device.data_bytes:
        raise ResourceError(
            f"{kernel.name} needs {own} bytes of data memory, a tile of {device.name} has "
            f"{device.data_bytes}",
            where=f"layer {kernel.layer}",
            why=f"{kernel.data_bytes} bytes of parameters and arrays, "
            f"{kernel.stack_bytes} of stack",
            fix="split the layer: fewer features or rows a tile, or more shards",
        )
    if kernel.work.program_bytes > device.program_bytes:
        raise ResourceError(
            f"{kernel.name} needs about {kernel.work.program_bytes} bytes of program memory, a "
            f"tile of {device.name} has {device.program_bytes}",
            where=f"layer {kernel.layer}",
            fix="fuse fewer layers into one kernel",
        )


def _check_fifos(design: Design) -> None:
    device = design.device
    layers = {kernel.name: kernel.layer for kernel in design.kernels}
    for net in design.nets:
        for _, words in net.fifos():
            if words >= device.dma_fifo_words:
                raise ResourceError(
                    f"the FIFO after {net.source.node} needs {words} words, a stream FIFO holds "
                    f"fewer than {device.dma_fifo_words}",
                    where=f"layer {layers.get(net.source.node, net.source.node)}",
                    why="data of a whole iteration wait there for another input of the same kernel",
                    fix="fewer rows, more heads, or another mapping",
                )
            if words > device.switch_fifo_words and words % 4:
                raise _fault(design, f"the FIFO after {net.source.node} has {words} words, not 4 n")


def _check_plios(design: Design) -> None:
    device = design.device
    channels: dict[bool, int] = defaultdict(int)
    for plio in design.plios:
        channels[plio.is_input] += -(-plio.bits // PLIO_CHANNEL_BITS)
    for is_input, per_column in (
        (True, device.plio_inputs_per_column),
        (False, device.plio_outputs_per_column),
    ):
        limit = per_column * device.interface_columns
        if channels[is_input] > limit:
            raise ResourceError(
                f"the design needs {channels[is_input]} channels "
                f"{'from' if is_input else 'to'} the programmable logic, {device.name} has {limit}",
                where=design.name,
                fix="fewer or narrower PLIOs",
            )
