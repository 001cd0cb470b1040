#!/usr/bin/env python3
"""bench/python/run.py - allreduce from Python beside the C call and mpi4py, same run

run.py BUILD [--short] [--rounds N]: BUILD has been set up with -Dpython=enabled and
-Dbuildtype=release, and built. Needs openmpi-bin and mpich of Debian, numpy and
mpi4py for the Python that runs it, and an otherwise idle machine. In each round all
take turns; a number is the median over rounds. Writes docs/benchmarks/python.md, and
the same as a section of docs/benchmarks.md; with --short it prints that instead.
"""

import argparse
import importlib.metadata
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEDULES = {
    2: "8:5000x15,1K:5000x15,1M:20x15,64M:1x7",
    4: "8:2000x9,1K:2000x9,1M:10x9,64M:1x5",
}
SHORT = "8:20x3,1K:20x3,1M:2x3,64M:1x1"
SECONDS = 300  # for one program
SIZES = {8: "8 B", 1 << 10: "1 KiB", 1 << 20: "1 MiB", 64 << 20: "64 MiB"}
TITLE = "## From Python"


def openmpi(n):
    """Debian's, started as bench/compare/rivals.py does it."""
    yields = str(int(n > (os.cpu_count() or 1)))
    options = "--allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl vader,self"
    return ["mpirun.openmpi", "-n", str(n), *options.split(), "--mca", "mpi_yield_when_idle", yields]


def programs(build, n, libraries):
    """Who takes part: name, command without the schedule, what else is in its environment."""
    script = str(ROOT / "bench/python/allreduce.py")
    hooprun = [str(build / "tools/hooprun/hooprun"), "-n", str(n), "--no-prefix"]
    python = [sys.executable, "-B", script]
    package = {"PYTHONPATH": str(build / "python/package"), "HOOP_TRANSPORT": "shm"}
    c_call = [str(build / "bench/bench_hoop"), "hoop", "c", "allreduce"]
    yield "hoop, C", [*hooprun, *c_call], {"HOOP_TRANSPORT": "shm"}
    yield "hoop, Python", [*hooprun, *python, "hoop"], package
    yield "mpi4py, Open MPI", [*openmpi(n), *python, "mpi4py"], {"MPI4PY_MPIABI": "openmpi"}
    # Who never yields waits for a time slice in every step.
    if n <= (os.cpu_count() or 1):
        yield (
            "mpi4py, MPICH",
            ["mpirun.mpich", "-n", str(n), *python, "mpi4py"],
            {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": libraries},
        )


def mpich_link(folder):
    """Makes there MPICH's library under the name that mpi4py knows, and not Debian's."""
    said = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.search(r"libmpich\.so\.12 .* => (\S+)", said)
    if found:
        os.symlink(found[1], os.path.join(folder, "libmpi.so.12"))
    return folder


def measure(command, environment):
    """{bytes: us}, by one start of a program."""
    said = subprocess.run(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=True,
    ).stdout
    rows = [line.split(",") for line in said.splitlines() if line.count(",") >= 5]
    return {int(row[4]): float(row[5]) for row in rows}


def text(us):
    """Three digits."""
    return f"{us:.0f}" if us >= 100 else f"{us:.3g}"


def tables(found):
    """Markdown of {n: {name: {bytes: [us]}}}."""
    for n, names in found.items():
        yield f"\n| allreduce, memory, {n} ranks | {' | '.join(SIZES.values())} |"
        yield "|---|" + "---:|" * len(SIZES)
        medians = {name: {size: statistics.median(us) for size, us in times.items()} for name, times in names.items()}
        for name, times in medians.items():
            yield f"| {name} | {' | '.join(text(times[size]) for size in SIZES)} |"
        more = [medians["hoop, Python"][size] - medians["hoop, C"][size] for size in SIZES]
        yield f"| **Python's more than C** | {' | '.join(f'**{us:+.3g}**' for us in more)} |"
        best = [min(times[size] for name, times in medians.items() if "mpi4py" in name) for size in SIZES]
        ratios = [medians["hoop, Python"][size] / us for size, us in zip(SIZES, best)]
        yield f"| **hoop, Python / best mpi4py** | {' | '.join(f'**{ratio:.2f}**' for ratio in ratios)} |"


def section(found, rounds, load):
    """The section of the document."""
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=7"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout.strip()
    versions = f"Python {sys.version.split()[0]}, mpi4py {importlib.metadata.version('mpi4py')}"
    yield TITLE
    yield "\nMicroseconds for one in-place allreduce of float32 in numpy arrays, between ranks that share memory. The C"
    yield "call, the package hoop and mpi4py run in turns, in the same loop. The numbers are medians over rounds of"
    yield "medians over batches. `bench/python/run.py` writes this section."
    yield from tables(found)
    yield f"\n{time.strftime('%Y-%m-%d %H:%M')}, {commit}, {rounds} rounds, load {load:.1f} before; {versions}."


def write(made):
    """As a file of its own, which bench/compare/report.py takes in, and into the document."""
    (ROOT / "docs/benchmarks/python.md").write_text(made, encoding="utf-8")
    page = ROOT / "docs/benchmarks.md"
    whole = page.read_text(encoding="utf-8")
    without = re.sub(rf"\n{TITLE}\n.*?(?=\n## |\Z)", "", whole, flags=re.S)
    page.write_text(without.rstrip("\n") + "\n\n" + made, encoding="utf-8")


def main():
    """Measures, and writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    options = parser.parse_args()
    build, rounds, load = options.build.resolve(), options.rounds or (1 if options.short else 5), os.getloadavg()[0]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        libraries = mpich_link(folder)
        for i in range(rounds):
            for n, rows in SCHEDULES.items():
                for name, command, environment in programs(build, n, libraries):
                    print(f"round {i + 1}: {name}, {n} ranks", file=sys.stderr)
                    times = measure([*command, SHORT if options.short else rows], environment)
                    for size, us in times.items():
                        found.setdefault(n, {}).setdefault(name, {}).setdefault(size, []).append(us)
    made = "\n".join(section(found, rounds, load)) + "\n"
    if options.short:
        print(made)
    else:
        write(made)


if __name__ == "__main__":
    main()
