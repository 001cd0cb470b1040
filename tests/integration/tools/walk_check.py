#!/usr/bin/env python3
"""tests/integration/tools/walk_check.py - docs/ARCHITECTURE.md tells the way of a call as it is

walk_check.py SOURCE BUILD: makes warm allreduces of 8 bytes below callgrind, over TCP and through shared memory, and
holds the tables "Stop" of docs/ARCHITECTURE.md against the calls that it saw. Each stop's function is defined in the
file that stands beside it, and is called, directly or through others, by that of the stop it comes from. Skipped
without valgrind.
"""

import collections
import pathlib
import re
import shutil
import sys
import tempfile

SOURCE, BUILD = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "bench/counts"))
import run as counting  # noqa: E402

STOP = re.compile(r"\| (\d+) \| (\d*) ?\| `(\w+)\(\)` \| `([\w/.]+)` \|")
RANKS = 2


def tables(page):
    """{transport: [(number, the stop it comes from or 0, function, file)]} of the page."""
    found = {}
    for part in re.split(r"^### ", page, flags=re.M)[1:]:
        stops = [(int(a), int(b or 0), function, file) for a, b, function, file in STOP.findall(part)]
        if stops:
            found["tcp" if "TCP" in part.splitlines()[0] else "shm"] = stops
    return found


def traced(transport):
    """{function: those that it calls} in all batches."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "calls"
        call = counting.Call("allreduce", 8, RANKS, transport)
        counting.run(
            str(BUILD), call, f"valgrind --tool=callgrind --toggle-collect=batch_run --callgrind-out-file={path}"
        )
        calls = collections.defaultdict(set)
        for caller, callee in counting.calls_of(path):
            calls[caller].add(callee)
        return calls


def reached(calls, function):
    """All that a function calls, directly or through others."""
    found, left = set(), [function]
    while left:
        for callee in calls.get(left.pop(), ()):
            if callee not in found:
                found.add(callee)
                left.append(callee)
    return found


def complaints(transport, stops, calls):
    """What the page has wrong."""
    functions = {number: function for number, _, function, _ in stops}
    for number, origin, function, file in stops:
        where = f"{transport}, stop {number}, {function}()"
        path = SOURCE / file
        if not path.exists() or not re.search(rf"^{function}\(", path.read_text(encoding="utf-8"), re.M):
            yield f"{where}: is not defined in {file}"
        if function not in reached(calls, functions.get(origin, "batch_run")):
            yield f"{where}: is not called from {functions.get(origin, 'the program')}()"


def main():
    """Compares."""
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        return counting.SKIPPED
    found = tables((SOURCE / "docs/ARCHITECTURE.md").read_text(encoding="utf-8"))
    if {transport: len(stops) > 5 for transport, stops in found.items()} != {"tcp": True, "shm": True}:
        print(f"the page has no tables of stops over TCP and through shared memory: {found}")
        return 1
    faults = [fault for transport, stops in found.items() for fault in complaints(transport, stops, traced(transport))]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
