"""Random programs that are well formed as values, valid or not."""

from __future__ import annotations

import math
from types import MappingProxyType

from hypothesis import strategies as st

from forge_ugc.npuir.instruction import (
    Attribute,
    Const,
    Device,
    External,
    Instruction,
    Operand,
    Reg,
    Result,
    Slot,
    SourceLocation,
    State,
    Symbol,
    ViewOf,
)
from forge_ugc.npuir.program import ConstDecl, InputDecl, Program, StateDecl, Store
from forge_ugc.npuir.types import DType, TensorType

AWKWARD = (
    "", "weird name", "a.b.c", "0", "layers.0.weight", 'quote"d', "back\\slash", "new\nline",
    "tab\t", "ünï", "\ud83d\ude00", "😀", "\u2028", "\x00", "output", "store", "true", "none",
    "inf", "nan", "_", "view", "buffer", "device", "loc", "cuda:0", "a::b", "a:", ".a", "f32[1]",
    "#", "}", "@x", "%1", "-1", "\u202e", "\r", "²",
)  # fmt: skip
texts = st.sampled_from(AWKWARD) | st.text(max_size=8)
names = st.from_regex(r"[a-z_][a-z0-9_.]{0,8}", fullmatch=True) | texts
ints = st.integers(-(2**63) + 1, 2**63 - 1)
regs = st.builds(Reg, st.integers(0, 10**18 - 1) | st.integers(0, 9))
consts = st.builds(Const, names)
states = st.builds(State, names)
refs = regs | consts | states
numbers = (
    st.booleans()
    | ints
    | st.integers(-(10**100), 10**100)
    | st.floats()
    | st.sampled_from((0.0, -0.0, 1.0, 1e-45, 5e-324, 1e16, 1e22, math.inf, -math.inf, math.nan))
)
atoms = refs | numbers | st.none()
operands: st.SearchStrategy[Operand] = atoms | st.lists(atoms, max_size=4).map(tuple)
attributes: st.SearchStrategy[Attribute] = st.recursive(
    numbers | texts | st.none() | st.builds(Symbol, names),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)
sizes = st.integers(0, 4) | st.integers(0, 10**8)


@st.composite
def types(draw: st.DrawFn) -> TensorType:
    shape = draw(st.lists(sizes, max_size=4))
    strides = None
    if draw(st.booleans()):
        strides = draw(st.lists(sizes, min_size=len(shape), max_size=len(shape)))
    return TensorType.of(draw(st.sampled_from(DType)), shape, strides)


views = st.builds(ViewOf, refs, ints)
places = st.builds(Slot, ints, ints, ints) | st.builds(External)
results = st.builds(Result, regs, types(), st.none() | views, st.none() | places)
locations = st.builds(SourceLocation, texts, ints, texts)
instructions = st.builds(
    Instruction,
    st.lists(results, max_size=3).map(tuple),
    names,
    st.lists(operands, max_size=4).map(tuple),
    st.dictionaries(names, attributes, max_size=4).map(MappingProxyType),
    st.none() | st.builds(Device, names),
    st.none() | locations,
)
programs: st.SearchStrategy[Program] = st.builds(
    Program,
    name=names,
    target=names,
    inputs=st.lists(st.builds(InputDecl, regs, texts, types()), max_size=3).map(tuple),
    constants=st.lists(st.builds(ConstDecl, names, types(), st.none() | views), max_size=3).map(
        tuple
    ),
    states=st.lists(st.builds(StateDecl, names, types()), max_size=2).map(tuple),
    instructions=st.lists(instructions, max_size=4).map(tuple),
    stores=st.lists(st.builds(Store, regs | states, refs), max_size=2).map(tuple),
    outputs=st.lists(refs, max_size=3).map(tuple),
    arena_bytes=st.none() | ints,
)
