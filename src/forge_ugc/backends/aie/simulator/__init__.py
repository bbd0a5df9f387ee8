"""An x86 simulator of ADF graphs for AI Engines, which needs no AMD tools."""

from forge_ugc.backends.aie.simulator.result import SimulationResult
from forge_ugc.backends.aie.simulator.runner import simulate

__all__ = ["SimulationResult", "simulate"]
