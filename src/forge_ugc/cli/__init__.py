"""The command line `forge-ugc`."""

from forge_ugc.cli.app import main

__all__ = ["main"]
