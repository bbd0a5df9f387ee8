"""Other engines, each in a process of its own that builds a model and runs it on command."""
