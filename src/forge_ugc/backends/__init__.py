"""Backends: each a folder with a `backend.py` that registers it."""

from forge_ugc.backends.base import (
    Availability,
    Backend,
    Executable,
    No,
    Yes,
    get,
    register,
    registered,
)

__all__ = ["Availability", "Backend", "Executable", "No", "Yes", "get", "register", "registered"]
