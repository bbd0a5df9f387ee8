"""The engines: one file each, which holds a class of that name."""
