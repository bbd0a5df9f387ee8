"""The `null` target: an accelerator that exists on paper only."""
