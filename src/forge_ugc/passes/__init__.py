"""Phase 2: composable passes over FX graphs of ATen and `forge::` operators."""
