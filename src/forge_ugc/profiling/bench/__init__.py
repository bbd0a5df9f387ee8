"""Benchmarks of kernels by themselves, against what the machine can do."""
