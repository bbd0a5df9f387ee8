"""The order of passes: the one list that is written by hand, since order is meaning."""

DEFAULT = (
    "dead-code",
    "device-constants",
    "fold-constants",
    "common-subexpressions",
    "fuse-attention",
    "fuse-operators",
    "fuse-elementwise",
    "layout",
)

PRECISION = "precision"
AFTER_PRECISION = ("dead-code", "common-subexpressions", "layout")
"""What tidies up behind the pass `precision`, which runs once when nothing changes any more."""
