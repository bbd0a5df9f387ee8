"""Operators: one file each, holding schema, type rule, PyTorch reference and cost."""

from forge_ugc.ops.core.op import Cost, Op, lookup, op, registered, require

__all__ = ["Cost", "Op", "lookup", "op", "registered", "require"]
