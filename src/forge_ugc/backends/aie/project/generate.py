"""Writes the project of a design: sources, parameters, build files and a description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from forge_ugc.backends.aie.design import Design, End, KernelInstance, Link
from forge_ugc.backends.aie.kernels.layout import INCLUDE
from forge_ugc.backends.aie.project import cpp
from forge_ugc.errors import InternalError

COMMENT_WIDTH = 96
ONE_UNIT = "FORGE_AIE_ONE_UNIT"
"""The macro with which `graph.h` takes all kernels from one file."""
# A stream that ends in a buffer is written into the tile's memory by its DMA.
_KINDS = {Link.STREAM: "<adf::stream>", Link.CASCADE: "<adf::cascade>", Link.BUFFER: "<>"}


def write_project(design: Design, folder: Path) -> Path:
    """Write the whole project; the file of the graph, `graph.cpp`.

    Files are only written where their text differs, so that a build by time stamps stays small.
    The folder holds, beside generated files, a copy of the kernel library in `include/forge_aie`.

    Raises:
        OSError: the folder cannot be written.
    """
    for name, text in project_files(design).items():
        _write(folder / name, text)
    for header in sorted(INCLUDE.rglob("*.h")):
        _write(folder / "include" / header.relative_to(INCLUDE), header.read_text(encoding="utf-8"))
    current = {"all.cc", *(f"{kernel.callee}.cc" for kernel in design.kernels)}
    for file in (folder / "kernels").glob("*.cc"):
        if file.name not in current:
            file.unlink()
    (folder / "data").mkdir(exist_ok=True)
    return folder / "graph.cpp"


def project_files(design: Design) -> dict[str, str]:
    """Every generated file by its path in the project.

    Raises:
        InternalError: kernels that are said to share a function differ.
    """
    environment, functions = _environment(), _functions(design)

    def render(template: str, **values: object) -> str:
        return environment.get_template(template).render(design=design, **values)

    files = {
        "graph.h": render("graph.h.j2", nets=_nets(design)),
        "graph.cpp": render("graph.cpp.j2"),
        "kernels.h": render("kernels.h.j2", functions=functions),
        "kernels/all.cc": render("all.cc.j2", functions=functions),
        "Makefile": render("Makefile.j2"),
        "README.md": render("README.md.j2", layers=_layers(design)),
    }
    for kernel in functions:
        files[f"kernels/{kernel.name}.cc"] = render("kernel.cc.j2", kernel=kernel)
        if kernel.arrays:
            files[f"parameters/{kernel.name}.h"] = render("parameters.h.j2", kernel=kernel)
    return files


def _functions(design: Design) -> list[KernelInstance]:
    """One kernel for each function, under the function's name."""
    found: dict[str, KernelInstance] = {}
    for kernel in design.kernels:
        first = found.setdefault(kernel.callee, replace(kernel, name=kernel.callee))
        alike = (
            first.config == kernel.config
            and first.body == kernel.body
            and _parameters(first) == _parameters(kernel)
            and first.arrays.keys() == kernel.arrays.keys()
            and all(np.array_equal(first.arrays[n], kernel.arrays[n]) for n in first.arrays)
        )
        if not alike:
            raise InternalError(f"kernel {kernel.name} is not the function {kernel.callee}")
    return list(found.values())


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("forge_ugc.backends.aie.project"),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    environment.filters.update(
        members=cpp.members, scalar=cpp.scalar, numbers=cpp.numbers, comment=_comment,
        header=cpp.header, array_name=cpp.array_name,
        arguments=_arguments, parameters=_parameters,
    )  # fmt: skip
    return environment


def _comment(text: str, prefix: str = "// ") -> str:
    lines, line = [], prefix
    for word in text.split():
        if len(line) + len(word) > COMMENT_WIDTH and line != prefix:
            lines.append(line.rstrip())
            line = prefix
        line += f"{word} "
    return "\n".join([*lines, line.rstrip()])


def _parameters(kernel: KernelInstance) -> str:
    return ", ".join([
        *(cpp.parameter(port, is_input=True) for port in kernel.inputs),
        *(cpp.parameter(port, is_input=False) for port in kernel.outputs),
    ])  # fmt: skip


def _arguments(kernel: KernelInstance) -> str:
    return ", ".join(port.name for port in (*kernel.inputs, *kernel.outputs))


def _layers(design: Design) -> Mapping[str, list[KernelInstance]]:
    """Kernels by the model's layer, in the order of the data."""
    found: dict[str, list[KernelInstance]] = {}
    for kernel in design.kernels:
        found.setdefault(kernel.layer, []).append(kernel)
    return found


def _nets(design: Design) -> list[str]:
    """The statements that connect the graph, one an item."""
    plios = {plio.name for plio in design.plios}
    buffers = {
        End(kernel.name, index)
        for kernel in design.kernels
        for index, port in enumerate(kernel.inputs)
        if port.link is Link.BUFFER
    }
    lines: list[str] = []

    def end(node: str, port: int, way: str) -> str:
        return f"{node}.{way}[{0 if node in plios else port}]"

    for net in design.nets:
        for sink, words in net.fifos():
            source = end(net.source.node, net.source.port, "out")
            target = end(sink.node, sink.port, "in")
            kind = _KINDS[Link.BUFFER if sink in buffers else net.link]
            lines += _connection(kind, source, target, words, f"{net.source.node}_to_{sink.node}")
            if sink in buffers:
                lines.append(f"adf::dimensions({target}) = {{{net.bytes_per_jet}}};")
        if net.link is Link.BUFFER:
            source = end(net.source.node, net.source.port, "out")
            lines.append(f"adf::dimensions({source}) = {{{net.bytes_per_jet}}};")
    return lines


def _connection(kind: str, source: str, target: str, words: int, name: str) -> list[str]:
    if not words:
        return [f"adf::connect{kind}({source}, {target});"]
    return [
        f"adf::connect{kind} {name}({source}, {target});",
        f"adf::fifo_depth({name}) = {words};",
    ]


def _write(path: Path, text: str) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
