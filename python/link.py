#!/usr/bin/env python3
"""python/link.py - the package hoop in a build folder, as links to what it is made of

link.py SOURCE BUILD PACKAGE BINDING: PACKAGE/hoop has the modules of SOURCE, what
BUILD makes of the headers, BINDING, and the programs, which need not be built yet.
"""

import pathlib
import sys

MADE = ("_collectives.py", "_enums.py", "_settings.py")
PROGRAMS = (
    "server/hoopd",
    "tools/hoop-checkpoint/hoop-checkpoint",
    "tools/hoop-perf/hoop-perf",
    "tools/hoop-sim/hoop-sim",
    "tools/hoopctl/hoopctl",
    "tools/hooprun/hooprun",
)


def link(package: pathlib.Path, target: pathlib.Path) -> None:
    """Makes the link, and the folder that it lies in."""
    package.parent.mkdir(parents=True, exist_ok=True)
    package.symlink_to(target)


def main() -> None:
    """Links anew what there is."""
    source, build, package, binding = (pathlib.Path(argument) for argument in sys.argv[1:])
    for old in package.rglob("*"):
        if old.is_symlink():
            old.unlink()
    for file in source.rglob("*.py*"):
        if "__pycache__" not in file.parts:
            link(package / "hoop" / file.relative_to(source), file)
    link(package / "hoop" / "py.typed", source / "py.typed")
    for made in [binding, *(build / "python" / name for name in MADE)]:
        link(package / "hoop" / made.name, made)
    for name in PROGRAMS:
        link(package / "hoop" / "bin" / pathlib.Path(name).name, build / name)


if __name__ == "__main__":
    main()
