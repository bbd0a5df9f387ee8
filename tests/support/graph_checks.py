"""Checks that hold for every graph between passes."""

from torch import fx

from forge_ugc.ops.core.torch_types import type_of


class TypeChecker(fx.Interpreter):
    """Runs a graph and compares every value with the type that the graph records for it."""

    def run_node(self, n):
        value = super().run_node(n)
        if n.op in {"call_function", "get_attr"}:
            values = value if isinstance(value, list | tuple) else [value]
            kinds = n.meta["type"] if isinstance(n.meta["type"], tuple) else (n.meta["type"],)
            assert tuple(type_of(v) for v in values) == kinds, n.format_node()
        return value
