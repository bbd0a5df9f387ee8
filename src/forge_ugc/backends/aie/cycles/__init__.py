"""Cycles of kernels on AI Engine tiles: figures, published measurements, estimates."""
