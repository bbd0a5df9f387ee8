"""Evaluation of compiled models: generated text, fidelity, latency."""
