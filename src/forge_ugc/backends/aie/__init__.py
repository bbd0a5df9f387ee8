"""The `aie` target: dataflow graphs of integer C++ kernels for AMD Versal AI Engines."""
