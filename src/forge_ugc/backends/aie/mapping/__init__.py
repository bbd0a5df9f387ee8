"""Mappings of int8 programs to designs of tiles."""
