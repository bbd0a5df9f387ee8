"""One file a family of opcodes: how its instructions become kernels."""
