"""Phase 1: from a PyTorch module and example inputs to one functional FX graph."""

from forge_ugc.capture.capture import CapturedGraph, StoreTarget, capture

__all__ = ["CapturedGraph", "StoreTarget", "capture"]
