"""The `cpu` target."""
