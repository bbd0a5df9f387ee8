"""The order of passes: the one list that is written by hand, since order is meaning."""

DEFAULT = (
    "dead-code",
    "device-constants",
    "fold-constants",
    "common-subexpressions",
    "fuse-attention",
    "fuse-operators",
    "layout",
)
