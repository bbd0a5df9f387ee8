"""Counterparts of the C++ kernel templates: configuration, layout of parameters, ports and work."""
