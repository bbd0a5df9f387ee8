"""Reports: the figures of a compilation as text, tables and JSON."""
