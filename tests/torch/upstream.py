"""tests/torch/upstream.py - PyTorch's own tests of backends, run with hoop

upstream.py [--as plugin|gloo|mpi|none] [--world-size N,...] [--rest] [-k TEXT]: the class of
tests in torch/testing/_internal/distributed/distributed_test.py of the torch that is
installed. N is UPSTREAM_RANKS's, or 2.

plugin: as the backend "hoop". gloo: as every ProcessGroupGloo that the tests make.
mpi: as the backend "hoop", those of all-to-alls, which torch has for MPI alone.
none: Gloo itself, to compare with. --rest: only those that are skipped as plugin, because
they ask for Gloo by its name, unless UPSTREAM_RANKS is set. -k: only tests whose name has
TEXT. Prints one line a test; ends with 1 if one failed that may not, was skipped for a
reason that is not listed here, or if fewer passed than is said here; with 77 where
expecttest, which they import, is not installed.

upstream.py --pytorch DIR [--fork] [--limit S] [-k TEXT] [FILE...]: files of test/distributed
in a checkout of PyTorch, of the version that is installed: once with Gloo itself, and once
with hoop as every ProcessGroupGloo, also of processes that they spawn. FILE may be a
pattern; none: those that are listed here and that this version has. --fork: ranks are
forked, which saves most of the time, where the tests spawn them. --limit: seconds for a
file, 3600 if not said; what had ended by then counts. Prints a table, and ends with 1 if a
test that passes with Gloo does not with hoop, but for those that are listed here.
"""

import argparse
import atexit
import contextlib
import importlib.util
import json
import logging
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# How many pass, by how they are run (rest: as gloo, with --rest) and the number of ranks.
PASSED = {("plugin", 2): 65, ("plugin", 4): 66, ("gloo", 2): 91, ("gloo", 4): 94, ("rest", 2): 23, ("mpi", 2): 9}
# What the reasons say for which a test may be skipped, and what that means.
SKIPPED = {
    "CUDA|NCCL|Nccl [^&]|'nccl'": "needs a GPU",
    "[Gg]loo|GLOO": "asks for Gloo by its name: is run as gloo",
    "MPI|mpi": "asks for MPI by its name: is run as mpi",
    "world ?size": "needs another number of ranks",
    "https://github.com/pytorch/|flak": "torch does not run it either",
    "torchvision": "needs torchvision",
}
# What may fail, by how they are run, and why.
FAILED = {
    "plugin": {"test_ddp_logging_data_cpu": "torch calls every plug-in custom there"},
}
# Files of a checkout that are run.
FILES = (
    "algorithms/ddp_comm_hooks/test_*.py",
    "algorithms/test_*.py",
    "optim/test_*.py",
    "test_c10d_collectives.py",
    "test_c10d_common.py",
    "test_c10d_functional_native.py",
    "test_c10d_gloo.py",
    "test_c10d_object_collectives.py",
    "test_c10d_pypg.py",
    "test_c10d_spawn_gloo.py",
    "test_collective_utils.py",
    "test_device_mesh.py",
    "test_functional_api.py",
    "_composable/fsdp/test_*.py",
    "_composable/test_replicate*.py",
    "checkpoint/test_*.py",
    "pipelining/test_*.py",
    "tensor/test_*.py",
    "tensor/parallel/test_*.py",
)
# What may fail there with hoop alone, and why.
DIFFERENT = {
    "test_c10d_gloo": {
        "test_allgather_checks$": "hoop takes outputs of different sizes where Gloo refuses them",
        "FRTest.test_(short_|long)": "compares Gloo's own records, in which no call has ended",
        "test_allreduce_(op|overall)_timeout$|test_gloo_set_pg_timeout_api$": "the other ranks leave the group "
        "meanwhile, which hoop tells at once, and Gloo when a millisecond is over, if it is not later itself",
        "test_allreduce_basics$": "the sum of four float16 that nearly cancel depends on their order, and hoop's is "
        "that of the ranks",
    },
    "test_c10d_collectives": {
        "test_noncontiguous_all_to_all_error$": "hoop takes tensors that are not contiguous",
    },
}


def prepared(mode, size):
    """What the tests read of the environment, which they do when they are imported."""
    folder = tempfile.mkdtemp(prefix="hoop-upstream-")
    os.environ.update(
        BACKEND={"plugin": "hoop", "none": "gloo"}.get(mode, mode),
        INIT_METHOD=f"file://{folder}/init",
        WORLD_SIZE=str(size),
        TEMP_DIR=folder,
        DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="60",
        OMP_NUM_THREADS="1",
        MASTER_ADDR="127.0.0.1",
    )


def registered(mode):
    """Make hoop known to torch, and to the tables in which the tests look for what it can do."""
    from torch.testing._internal.common_distributed import DistTestCases

    if mode == "none":
        return
    import hoop_torch

    if mode == "gloo":
        hoop_torch.replace_gloo()
        return
    DistTestCases.backend_feature["plugin"].add("hoop")
    for feature in ("ddp", "subgroup"):
        DistTestCases.backend_feature[feature].add("hoop")


def made_class(mode):
    """The tests, each of which forks its ranks."""
    from torch.testing._internal.distributed import distributed_test

    if mode == "mpi":
        # Which tests there are has been decided.
        distributed_test.BACKEND = os.environ["BACKEND"] = "hoop"
    context = multiprocessing.get_context("fork")

    class Upstream(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
        def setUp(self):
            """Starts the ranks."""
            super().setUp()
            self._start_processes(context.Process)
            # Else a test without ranks would pass.
            assert len(self.processes) == int(self.world_size), "no process was started"

    return Upstream


class Result(unittest.TestResult):
    """Prints outcomes as they come."""

    def __init__(self, is_short=True, written=None):
        super().__init__()
        self._is_short = is_short
        self._written = written
        self.outcomes = {}
        self._began = 0.0

    def startTest(self, test):  # noqa: N802
        """Remembers when."""
        super().startTest(test)
        self._began = time.monotonic()

    def _tell(self, test, outcome, text=""):
        name = test.id().rpartition(".")[2] if self._is_short else test.id()
        self.outcomes[name] = (outcome, text)
        if self._written:
            # At once: a test may end the process.
            with self._written.open("a") as lines:
                lines.write(json.dumps([name, outcome, text]) + "\n")
        print(f"{outcome} {time.monotonic() - self._began:.1f} {name} {text}".rstrip(), flush=True)

    def addSuccess(self, test):  # noqa: N802
        """All ranks ended well, if there were any: FSDP's tests have one for each GPU."""
        if getattr(test, "world_size", 1) == 0:
            self._tell(test, "skipped", "it has no ranks")
        else:
            self._tell(test, "passed")

    def addSkip(self, test, reason):  # noqa: N802
        """A rank, or torch's decorator, says so."""
        self._tell(test, "skipped", reason)

    def addFailure(self, test, error):  # noqa: N802
        """A rank failed, or did not end."""
        self._tell(test, "failed", self._exc_info_to_string(error, test))

    def addError(self, test, error):  # noqa: N802
        """The same, outside the ranks."""
        self.addFailure(test, error)

    def addSubTest(self, test, subtest, error):  # noqa: N802
        """A part of one; nothing else tells that it failed."""
        if error:
            self.addFailure(test, error)

    def addExpectedFailure(self, test, error):  # noqa: N802
        """As torch has it."""
        self._tell(test, "passed")

    def count(self, kind):
        """How many ended so."""
        return sum(outcome == kind for outcome, _ in self.outcomes.values())

    def total(self):
        """In words."""
        return ", ".join(f"{self.count(kind)} {kind}" for kind in ("passed", "failed", "skipped"))


def names_for_gloo():
    """Those that torch skips for each other backend, by name. Another process: modes are read at import."""
    command = [sys.executable, "-B", __file__, "--as", "plugin", "--skipped"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def print_skipped(mode):
    """The names of tests that ask for Gloo, as torch's decorators say."""
    prepared(mode, 2)
    registered(mode)
    tests = made_class(mode)
    for name in unittest.TestLoader().getTestCaseNames(tests):
        reason = getattr(getattr(tests, name), "__unittest_skip_why__", "")
        if re.search("[Gg]loo", reason):
            print(name)
    return 0


def judged(outcomes, mode, size, is_whole):
    """What is not as it has to be, one line each."""
    for name, (outcome, text) in outcomes.items():
        if outcome == "failed" and name not in FAILED.get(mode, {}):
            yield f"{name} failed"
        if outcome == "skipped" and not any(re.search(reason, text) for reason in SKIPPED):
            yield f"{name} was skipped: {text}"
    passed = sum(outcome == "passed" for outcome, _ in outcomes.values())
    least = PASSED.get((mode, size), PASSED[mode, 2])
    if is_whole and passed < least:
        yield f"{passed} tests passed, and {least} have to"


def run_class(mode, size, text, is_rest):
    """Runs the wheel's tests and says what is wrong."""
    rest = names_for_gloo() if is_rest else None
    prepared(mode, size)
    registered(mode)
    tests = made_class(mode)
    chosen = text or ("all_to_all" if mode == "mpi" else "")
    names = [
        name
        for name in unittest.TestLoader().getTestCaseNames(tests)
        if chosen in name and (rest is None or name in rest)
    ]
    result = Result()
    unittest.TestSuite(tests(name) for name in names).run(result)
    print(f"as {mode}, {size} ranks: {result.total()}")
    wrong = [] if mode == "none" else list(judged(result.outcomes, "rest" if is_rest else mode, size, not text))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


def flattened(suite):
    """The tests of a suite of suites."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flattened(test)
        else:
            yield test


def forked(target, **named):
    """A process that ends as one does that is spawned: multiprocessing's forks call no handlers of exits."""

    def run(*arguments, **options):
        try:
            target(*arguments, **options)
        finally:
            atexit._run_exitfuncs()

    return multiprocessing.get_context("fork").Process(target=run, **named)


def run_file(file, text, outcomes, is_forking):
    """In a process of its own: runs the tests of a file and writes how they end into another."""
    # Beside it, and above, is what it imports.
    sys.path[:0] = [str(file.parent), str(next(parent for parent in file.parents if parent.name == "distributed"))]
    sys.argv = [str(file)]
    from torch.testing._internal import common_distributed, common_utils

    common_utils.parse_cmd_line_args()
    if is_forking:
        common_distributed.MultiProcessTestCase._spawn_processes = lambda test: test._start_processes(forked)
    result = Result(is_short=False, written=outcomes)
    # Processes that are spawned import it by this name.
    module = importlib.import_module(file.stem)
    suite = unittest.TestLoader().loadTestsFromModule(module)
    unittest.TestSuite(test for test in flattened(suite) if text in test.id()).run(result)
    print(f"{file.name}: {result.total()}", flush=True)


def with_gloo_replaced(environment, folder):
    """Have torch find hoop as it finds an installed plug-in, in every Python that is started."""
    found = folder / "hoop_upstream-0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: hoop-upstream\nVersion: 0\n")
    (found / "entry_points.txt").write_text("[torch.backends]\nhoop_upstream = hoop_torch:replace_gloo\n")
    return dict(environment, PYTHONPATH=f"{folder}{os.pathsep}{environment['PYTHONPATH']}")


def outcomes_of(file, options, mode):
    """How the tests of a file end, by their names, and whether the process ends well."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hoop-upstream-"))
    environment = dict(os.environ, DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="100", OMP_NUM_THREADS="1")
    if mode == "gloo":
        environment = with_gloo_replaced(environment, folder)
    outcomes = folder / "outcomes"
    outcomes.touch()
    print(f"-- {file.name} {'with Gloo' if mode == 'none' else 'with hoop as Gloo'}", flush=True)
    command = [sys.executable, "-B", __file__, "--file", str(file), "--outcomes", str(outcomes), "-k", options.k]
    command += ["--fork"] if options.fork else []
    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True) as process:
        try:
            process.wait(options.limit)
        except subprocess.TimeoutExpired:
            print(f"{file.name} was not done after {options.limit:.0f} s", flush=True)
        finally:
            # With all that it has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    lines = [json.loads(line) for line in outcomes.read_text().splitlines()]
    return {name: (outcome, text) for name, outcome, text in lines}, process.returncode == 0


def difference_reason(name):
    """Why a test may fail with hoop; None: it may not."""
    module = name.partition(".")[0]
    for pattern, reason in DIFFERENT.get(module, {}).items():
        if re.search(pattern, name):
            return reason
    return None


def compared(by_gloo, by_hoop):
    """What passes with Gloo alone: what may, and what may not."""
    known, wrong = [], []
    for name, (outcome, _) in by_gloo.items():
        got = by_hoop.get(name, ("not run", ""))[0]
        if outcome == "passed" and got != "passed":
            reason = difference_reason(name)
            (known if reason else wrong).append(f"{name}: {got} with hoop" + (f": {reason}" if reason else ""))
    return known, wrong


def row(name, outcomes):
    """A line of the table: with Gloo, then with hoop, how many passed, failed and were skipped."""
    cells = [name]
    for each, has_ended in outcomes:
        cells += [sum(outcome == kind for outcome, _ in each.values()) for kind in ("passed", "failed", "skipped")]
        cells.append("" if has_ended else "did not end")
    return "{:<52}{:>7}{:>7}{:>8} {:11}{:>7}{:>7}{:>8} {}".format(*cells).rstrip()


def run_checkout(options):
    """Runs files with Gloo and with hoop, and says what passes with Gloo alone."""
    folder = pathlib.Path(options.pytorch, "test", "distributed").resolve()
    found, wrong, rows, reasons = [], [], [], []
    for pattern in options.files or FILES:
        files = sorted(folder.glob(pattern))
        found += [file for file in files if file not in found]
        if options.files and not files:
            wrong.append(f"{folder} has no {pattern}")
    for file in found:
        outcomes = [outcomes_of(file, options, mode) for mode in ("none", "gloo")]
        rows.append(row(str(file.relative_to(folder)), outcomes))
        (by_gloo, has_ended), (by_hoop, _) = outcomes
        if not has_ended:
            wrong.append(f"{file.name} did not end with Gloo, either")
        known, unknown = compared(by_gloo, by_hoop)
        reasons += known
        wrong += unknown
    print(f"{'':52}{'Gloo: passed, failed, skipped':34}hoop: passed, failed, skipped", *rows, sep="\n")
    print(*reasons, *wrong, *([] if found else [f"{folder} has none of these files"]), sep="\n")
    return 1 if wrong or not found else 0


def main():
    """Runs the tests and says what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="mode", choices=("plugin", "gloo", "mpi", "none"), default="plugin")
    parser.add_argument("--world-size", default=os.environ.get("UPSTREAM_RANKS", "2"))
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--skipped", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-k", default="")
    parser.add_argument("--pytorch")
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--limit", type=float, default=3600)
    parser.add_argument("--file", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--outcomes", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    if not importlib.util.find_spec("expecttest"):
        print("expecttest is not installed; deploy/install-python.sh does")
        return 1 if os.environ.get("HOOP_REQUIRE_PYTHON") else 77
    logging.disable(logging.INFO)
    if options.pytorch:
        # Else what is started here would go on.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        return run_checkout(options)
    if options.file:
        return run_file(options.file, options.k, options.outcomes, options.fork)
    if options.skipped:
        return print_skipped(options.mode)
    is_rest = options.rest and "UPSTREAM_RANKS" not in os.environ
    first, *others = options.world_size.split(",")
    # What the tests read of the environment they read once.
    codes = [
        subprocess.call([sys.executable, "-B", __file__, "--as", options.mode, "--world-size", n, "-k", options.k])
        for n in others
    ]
    return max(*codes, run_class(options.mode, int(first), options.k, is_rest), 0)


if __name__ == "__main__":
    sys.exit(main())
