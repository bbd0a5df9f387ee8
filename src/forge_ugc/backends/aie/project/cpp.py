"""Python values as C++ text."""

from __future__ import annotations

from textwrap import wrap

import numpy as np

from forge_ugc.backends.aie.design import Array, ConfigValue, KernelInstance, Link, Port

WIDTH = 96
_HEADERS = {"scores": "attention", "context": "attention"}
_SCALARS = {np.dtype(np.int8): "int8", np.dtype(np.int16): "int16", np.dtype(np.int32): "int32"}


def member(name: str, value: ConfigValue) -> str:
    """`unsigned rows = 160`: a member of a Config struct with its type.

    Multipliers are int16, as a product with 32-bit sums then takes half the issues; int32 where
    they do not fit.
    """
    if isinstance(value, bool):
        return f"bool {name} = {str(value).lower()}"
    if isinstance(value, str):
        return f"{value.rpartition('::')[0]} {name} = {value}"
    if name == "numerator":
        return f"int32 {name} = {value}"
    if "multiplier" in name:
        return f"{'int16' if value < 1 << 15 else 'int32'} {name} = {value}"
    if "shift" in name:
        return f"int {name} = {value}"
    return f"unsigned {name} = {value}"


def members(kernel: KernelInstance) -> dict[str, list[str]]:
    """Declarations of a Config's members, by the struct inside of it that they are in.

    Those of the Config itself are under "". Field `Query.shift` is member `shift` of `Query`.
    """
    found: dict[str, list[str]] = {}
    for field, value in kernel.config.items():
        struct, _, name = field.rpartition(".")
        found.setdefault(struct, []).append(member(name, value))
    for field, array in kernel.arrays.items():
        struct, _, name = field.rpartition(".")
        text = f"const {scalar(array)}* {name} = {array_name(field, kernel)}"
        found.setdefault(struct, []).append(text)
    return found


def array_name(field: str, kernel: KernelInstance) -> str:
    """The name of a parameter array of a kernel."""
    return f"{kernel.name}_{field.replace('.', '_')}"


def header(kernel: KernelInstance) -> str:
    """The header of the kernel library that has a kernel's template."""
    return f"forge_aie/{_HEADERS.get(kernel.template, kernel.template)}.h"


def scalar(array: Array) -> str:
    """The element type of an array."""
    return _SCALARS[array.dtype]


def numbers(array: Array) -> str:
    """The elements, in lines."""
    text = ", ".join(map(str, array.reshape(-1).tolist()))
    return "\n    ".join(wrap(text, WIDTH))


def parameter(port: Port, *, is_input: bool) -> str:
    """A parameter of a kernel's function."""
    way = "input" if is_input else "output"
    if port.link is Link.STREAM:
        return f"{way}_stream<int8>* {port.name}"
    if port.link is Link.BUFFER:
        return f"adf::{way}_buffer<int8>& {port.name}"
    return f"{way}_cascade<acc48>* {port.name}"
