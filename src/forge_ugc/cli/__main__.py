"""`python -m forge_ugc.cli`: the same as `forge-ugc`."""

from forge_ugc.cli.app import main

main()
