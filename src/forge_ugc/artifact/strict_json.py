"""JSON without surprises: no duplicate keys, no NaN, no deep nesting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

MAX_BYTES = 16 * 1024 * 1024
MAX_NESTING = 64


def decode(data: memoryview) -> Json:
    """The value of UTF-8 JSON text.

    Raises:
        ValueError: the text is malformed or breaks a limit.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has {len(data)} bytes, the limit is {MAX_BYTES}")
    try:
        value: Json = json.loads(
            str(data, "utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except RecursionError as error:
        raise ValueError(f"it nests deeper than {MAX_NESTING}") from error
    _check_nesting(value)
    return value


def encode(value: Json) -> bytes:
    """UTF-8 JSON text that `decode` accepts.

    Raises:
        ValueError: the value nests too deep, is too large, or holds something JSON has no form for.
    """
    try:
        _check_nesting(value)
        text = json.dumps(value, allow_nan=False, indent=1)
    except (RecursionError, TypeError) as error:
        raise ValueError(str(error)) from error
    data = text.encode()
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has {len(data)} bytes, the limit is {MAX_BYTES}")
    return data


def _check_nesting(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(MAX_NESTING + 1):
        below: list[Json] = []
        for item in level:
            if isinstance(item, Mapping):
                below.extend(item.values())
            elif isinstance(item, list | tuple):
                below.extend(item)
        if not below:
            return
        level = below
    raise ValueError(f"it nests deeper than {MAX_NESTING}")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")
