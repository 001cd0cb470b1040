#!/usr/bin/env python3
"""bench/python/plugins.py - 200 tests of 4 ranks with one allreduce each, by three plugins

plugins.py [--tests N] [--rounds N] [--print] [--python OTHER]: the Python that runs it has the
package hoop; OTHER, which may be the same, has pytest, numpy, mpi4py, mpi-pytest and
pytest-isolate-mpi (apt-get install openmpi-bin; pip install mpi4py mpi-pytest
pytest-isolate-mpi numpy). Needs an otherwise idle machine. A number is the median over
rounds, in which all take turns, of the whole run of pytest. What begins an interpreter
for each test is run for a twentieth of the tests, and so is told. Writes
docs/benchmarks/pytest.md; with --print it prints that instead.
"""

import argparse
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = 4
SECONDS = 600  # for one run
OPENMPI = (
    f"mpirun.openmpi -n {RANKS} --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 "
    "--mca btl vader,self --mca mpi_yield_when_idle 1"
).split()

HOOP = f"""
import numpy, pytest

@pytest.mark.ranks({RANKS})
@pytest.mark.parametrize("i", range(TESTS))
def test_sum(comm, i):
    x = numpy.full(1, comm.rank + i)
    comm.allreduce(x)
    assert x[0] == {sum(range(RANKS))} + {RANKS} * i
"""
MPI_PYTEST = f"""
import numpy, pytest
from mpi4py import MPI

@pytest.mark.parallel({RANKS})
@pytest.mark.parametrize("i", range(TESTS))
def test_sum(i):
    comm = MPI.COMM_WORLD
    x, y = numpy.full(1, comm.rank + i), numpy.zeros(1, int)
    comm.Allreduce(x, y)
    assert y[0] == {sum(range(RANKS))} + {RANKS} * i
"""
ISOLATE = MPI_PYTEST.replace("parallel(", "mpi(ranks=").replace("def test_sum(i)", "def test_sum(mpi_ranks, i)")


def programs(other):
    """Who takes part: name, tests, command, whether each test begins interpreters, the environment."""
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "MPI4PY_MPIABI": "openmpi",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    yield "hoop", HOOP, [sys.executable, *pytest, "-p", "hoop.pytest_plugin"], False, environment
    yield (
        f"mpi-pytest, under mpirun -n {RANKS}",
        MPI_PYTEST,
        [*OPENMPI, other, *pytest, "-p", "pytest_mpi.plugin", "-m", f"parallel[{RANKS}]"],
        False,
        environment,
    )
    yield (
        "pytest-isolate-mpi",
        ISOLATE,
        # Of -q it makes an option that there is not.
        [word for word in (other, *pytest) if word != "-q"],
        True,
        # Also of what it begins.
        {**environment, "PYTEST_PLUGINS": "pytest_isolate_mpi._plugin"},
    )


def timed(folder, tests, command, environment):
    """Seconds of a run in which all tests pass."""
    begun = time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    seconds = time.monotonic() - begun
    found = re.search(r"(\d+) passed", done.stdout)
    if done.returncode or not found or int(found[1]) < tests:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}")
    return seconds


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    told = parser.parse_args()
    taking_part = list(programs(told.python))
    seconds = {name: [] for name, *_ in taking_part}
    load = os.getloadavg()[0]
    for _ in range(told.rounds):
        for name, text, command, is_slow, environment in taking_part:
            tests = max(1, told.tests // 20) if is_slow else told.tests
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "test_sum.py").write_text(text.replace("TESTS", str(tests)))
                seconds[name].append((timed(folder, tests, command, environment), tests))
    page = report(told, seconds, load)
    if told.print:
        print(page, end="")
    else:
        (ROOT / "docs/benchmarks/pytest.md").write_text(page)


def report(told, seconds, load):
    """The page."""
    lines = [
        "# Tests on several ranks",
        "",
        f"{told.tests} tests of {RANKS} ranks, each with one allreduce, are run by the plugin of hoop and by two others. The table has the",
        f"seconds of the whole run of pytest, the median over {told.rounds} rounds. `bench/python/plugins.py` writes this page; do not edit it.",
        "",
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, {platform.machine()}, Python "
        f"{platform.python_version()}; load before: {load:.1f} (a machine is not idle if that is more than its processors); niceness {os.nice(0)}.",
        "",
        "| plugin | processes | tests | run | each test |",
        "|---|---|---:|---:|---:|",
    ]
    for name, times in seconds.items():
        tests = times[0][1]
        median = statistics.median(value for value, _ in times)
        kept = "new for each test" if tests < told.tests else "kept"
        lines.append(f"| {name} | {kept} | {tests} | {median:.2f} s | {1000 * median / tests:.0f} ms |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
