"""Model loading: from a name on the command line to a module with example inputs."""

from forge_ugc.loaders.load import load_model
from forge_ugc.loaders.loaded import LoadedModel

__all__ = ["LoadedModel", "load_model"]
