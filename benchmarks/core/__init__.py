"""What all benchmarks share: measurements, the registry, result files and their table form."""
