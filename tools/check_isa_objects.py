"""Fail if an object that is built for one instruction set holds weak symbols.

An inline function of a shared header becomes a weak symbol in every object that uses it, and the
linker keeps one copy of them all: with it AVX-512 code may get into the path of every processor.
"""

import argparse
import subprocess
import sys
from pathlib import Path

# nm(1): weak (w, W), weak object (v, V), unique global (u).
SHARED = frozenset("wWvVu")


def shared_symbols(object_file: Path) -> list[str]:
    """Mangled names of the weak and unique symbols of an object."""
    command = ["nm", "--format=posix", str(object_file)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [row[0] for row in rows if len(row) >= 2 and row[1] in SHARED]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="build folder, or a folder above several")
    folder = parser.parse_args().folder
    objects = sorted(folder.glob("**/forge_isa_*.dir/**/*.o"))
    if not objects:
        print(f"{folder}: no objects of forge_isa_* libraries; build the extension first")
        return 1
    faults = [f"{path.name}: {name}" for path in objects for name in shared_symbols(path)]
    print("\n".join([*faults, f"{len(objects)} ISA objects, {len(faults)} weak symbols"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
