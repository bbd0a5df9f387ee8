"""Recognising attention: scores, masks and heads, for the pass that fuses it."""
