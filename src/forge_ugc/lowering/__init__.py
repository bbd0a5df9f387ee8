"""Phase 3: from an optimised FX graph to an NPUIR program."""

from forge_ugc.lowering.lower import Lowered, lower

__all__ = ["Lowered", "lower"]
