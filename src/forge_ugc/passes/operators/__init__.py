"""The rewrites of the pass `fuse-operators`, one a file."""
