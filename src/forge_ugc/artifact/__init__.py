"""The `.forge` file: a compiled program with its weights; docs/artifact.md describes it."""

from forge_ugc.artifact.artifact import Artifact, read_artifact, write_artifact

__all__ = ["Artifact", "read_artifact", "write_artifact"]
