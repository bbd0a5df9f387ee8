"""Integer models for AMD AI Engines: layers in, a checked Vitis project out."""

from forge_ugc.aie.layers import MHA, Dense, Layer, Pool, ReLU, ResAdd, Softmax
from forge_ugc.aie.model import AIEModel, Handle

__all__ = ["MHA", "AIEModel", "Dense", "Handle", "Layer", "Pool", "ReLU", "ResAdd", "Softmax"]
