"""Parts of the precision pass: which values become bf16, and the constants in their new types."""
