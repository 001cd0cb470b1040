#!/usr/bin/env python3
"""python/link.py - a package in a build folder, as links to what it is made of

link.py PACKAGE SOURCE NAME=FILE...: PACKAGE has the modules of SOURCE and, by their
names, FILEs, which need not be built yet.
"""

import pathlib
import sys


def link(link_path: pathlib.Path, target: pathlib.Path) -> None:
    """Makes the link, and the folder that it lies in."""
    link_path.parent.mkdir(parents=True, exist_ok=True)
    link_path.symlink_to(target)


def main() -> None:
    """Links anew what there is."""
    package, source = (pathlib.Path(argument) for argument in sys.argv[1:3])
    for old in package.rglob("*"):
        if old.is_symlink():
            old.unlink()
    for file in [*source.rglob("*.py*"), source / "py.typed"]:
        if "__pycache__" not in file.parts:
            target = package / file.relative_to(source)
            if not target.is_symlink():
                link(target, file)
    for argument in sys.argv[3:]:
        name, _, made = argument.partition("=")
        link(package / name, pathlib.Path(made))


if __name__ == "__main__":
    main()
