"""Passes, operators and backends of other installed packages."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points

from forge_ugc.errors import OptionError

GROUP = "forge_ugc.plugins"


@lru_cache(maxsize=1)
def load_plugins() -> tuple[str, ...]:
    """Import every module that an installed package names under the entry point `GROUP`.

    Importing it registers its passes, operators and backends with the decorators that ours use.

    Returns:
        The names of the entry points.

    Raises:
        OptionError: a module cannot be imported.
    """
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    for point in points:
        try:
            point.load()
        except Exception as error:
            raise OptionError(
                f"the plugin {point.name!r} ({point.value}) cannot be imported",
                why=f"{type(error).__name__}: {error}",
                fix="mend or uninstall the package that declares it",
            ) from error
    return tuple(point.name for point in points)
