"""Benchmarks of Forge-UGC: `python -m benchmarks [NAME ...]`; results are in RESULTS.md."""
