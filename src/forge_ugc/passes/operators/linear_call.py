"""Reading a `linear` call of ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from torch import fx

from forge_ugc.ops.linear import Linear
from forge_ugc.passes.operators.matching import argument


@dataclass(frozen=True, slots=True)
class LinearCall:
    """The operands and the epilogue of one `linear` node."""

    node: fx.Node
    x: fx.Node
    w: fx.Node
    b: fx.Node | None
    residual: fx.Node | None
    activation: str
    scale: float

    @property
    def is_plain(self) -> bool:
        """True without activation, scale and residual."""
        return self.activation == "none" and self.scale == 1.0 and self.residual is None

    @property
    def is_shared(self) -> bool:
        """True if not exactly one call reads the result."""
        return len(self.node.users) != 1

    def operands(self) -> tuple[fx.Node | None, ...]:
        """x, w, b, residual."""
        return self.x, self.w, self.b, self.residual

    def having(self, **changes: fx.Node | None) -> tuple[fx.Node | None, ...]:
        """The operands with some of them replaced."""
        return replace(self, **changes).operands()  # type: ignore[arg-type]

    def readers(self) -> str:
        """Why a shared result cannot be fused, for a near miss."""
        return f"{self.node.name} is read by {len(self.node.users)} nodes, not by this one alone"


def linear_call(value: object) -> LinearCall | None:
    """The call behind a node, or None if it is no `linear` of ours over operands of one type."""
    if not isinstance(value, fx.Node) or value.target is not Linear.overload():
        return None
    if value.kwargs.get("dtype") is not None:
        return None
    rest = [cast(fx.Node | None, argument(value, i, n)) for i, n in ((2, "b"), (3, "residual"))]
    x, w = cast(tuple[fx.Node, fx.Node], value.args[:2])
    activation = cast(str, value.kwargs.get("activation", "none"))
    scale = cast(float, value.kwargs.get("scale", 1.0))
    return LinearCall(value, x, w, rest[0], rest[1], activation, scale)
