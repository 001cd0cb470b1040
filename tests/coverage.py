#!/usr/bin/env python3
"""tests/coverage.py - which lines of each folder the suites unit, sim and integration run

coverage.py BUILD            a folder a line; ends with 1 if one is below its floor
coverage.py BUILD --write    writes docs/coverage.md with these figures and floors
coverage.py BUILD --missed FOLDER   the lines of a folder that no test runs

BUILD has been set up with -Db_coverage=true, and its suites have run. The floor of a folder is two
points below what was measured when docs/coverage.md was written: what runs depends on time a little.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/coverage.md"
PARTS = ("common", "worker", "server", "tools")
ROW = re.compile(r"\| (\S+) \| +(\d+) \| +([\d.]+) % \| +(\d+) % \|")
SLACK = 2.0
HEAD = """# Coverage

Lines of code of each folder that the suites unit, sim and integration run together, without a few
long tests that add no line (`is_coverage` in meson.build), and the floor that `.ci/run` holds.
`tests/run.sh --coverage` measures it, `tests/coverage.py build-coverage --missed FOLDER` lists the
lines that nothing runs, and `--write` writes this page.

| folder | lines | run | floor |
|---|---:|---:|---:|
"""


def measured(build):
    """[(path, number, whether it ran)] of all lines of code."""
    objects = [str(build / part) for part in PARTS]
    said = subprocess.run(
        [sys.executable, "-m", "gcovr", "--json", "-", "--root", str(ROOT), "-j", "2"]
        + [f"--filter={ROOT}/{part}/" for part in PARTS]
        + ["--gcov-ignore-parse-errors=all", *objects],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    for file in json.loads(said)["files"]:
        for line in file["lines"]:
            if not line.get("gcovr/noncode"):
                yield file["file"], line["line_number"], line["count"] > 0


def folders(lines):
    """{folder: [lines, those that ran]}."""
    found = collections.defaultdict(lambda: [0, 0])
    for path, _, has_run in lines:
        counts = found[path.rpartition("/")[0]]
        counts[0] += 1
        counts[1] += has_run
    return dict(sorted(found.items()))


def floors():
    """{folder: percent} of the page."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return {name: int(floor) for name, _, _, floor in ROW.findall(text)}


def write(found):
    """The page."""
    rows = []
    for name, (n_lines, n_run) in found.items():
        percent = 100 * n_run / n_lines
        rows.append(f"| {name} | {n_lines} | {percent:.1f} % | {max(0, int(percent - SLACK))} % |\n")
    PAGE.write_text(HEAD + "".join(rows), encoding="utf-8")


def main():
    """Measures, and holds the floors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--missed", metavar="FOLDER")
    options = parser.parse_args()
    lines = list(measured(options.build.resolve()))
    if options.missed:
        for path, number, has_run in lines:
            if not has_run and path.startswith(options.missed):
                print(f"{path}:{number}")
        return 0
    found = folders(lines)
    if options.write:
        write(found)
    least, n_low = floors(), 0
    for name, (n_lines, n_run) in found.items():
        percent = 100 * n_run / n_lines
        print(f"{name:32} {n_lines:6} lines {percent:5.1f} % run, at least {least.get(name, 0)} %")
        if name not in least:
            print(f"{name} has no floor in {PAGE.name}: run --write")
            n_low += 1
        elif percent < least[name]:
            print(f"{name} is below its floor")
            n_low += 1
    for name in least.keys() - found.keys():
        print(f"{name} of {PAGE.name} is no folder with lines that can run: run --write")
        n_low += 1
    return 1 if n_low else 0


if __name__ == "__main__":
    sys.exit(main())
