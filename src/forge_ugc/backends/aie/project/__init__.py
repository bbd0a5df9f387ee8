"""The generator of Vitis projects: C++ of the graph and its kernels, parameters, PLIO files."""
