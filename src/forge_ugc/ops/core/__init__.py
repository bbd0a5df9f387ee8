"""What every operator shares: definition, PyTorch schemas, type inference, the interpreter."""
