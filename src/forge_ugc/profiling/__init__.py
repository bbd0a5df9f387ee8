"""Profiles of programs and kernels against what the machine can do."""
