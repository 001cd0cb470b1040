"""tests/torch/upstream.py - PyTorch's own tests of backends, run with hoop

upstream.py [--as plugin|gloo|mpi|none] [--world-size N] [-k TEXT]: the class of tests in
torch/testing/_internal/distributed/distributed_test.py of the torch that is installed.

plugin: as the backend "hoop". gloo: as every ProcessGroupGloo that the tests make.
mpi: as the backend "hoop", those of all-to-alls, which torch has for MPI alone.
none: Gloo itself, to compare with. -k: only tests whose name has TEXT. Prints one
line a test; ends with 1 if one failed that may not, was skipped for a reason that is
not listed here, or if fewer passed than is said here; with 77 where expecttest, which
they import, is not installed.
"""

import argparse
import importlib.util
import logging
import multiprocessing
import os
import re
import sys
import tempfile
import time
import unittest

# How many pass, by how they are run and the number of ranks.
PASSED = {("plugin", 2): 65, ("gloo", 2): 91, ("gloo", 4): 94, ("mpi", 2): 9}
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

    def __init__(self):
        super().__init__()
        self.outcomes = {}
        self._began = 0.0

    def startTest(self, test):  # noqa: N802
        """Remembers when."""
        super().startTest(test)
        self._began = time.monotonic()

    def _tell(self, test, outcome, text=""):
        name = test.id().rpartition(".")[2]
        self.outcomes[name] = (outcome, text)
        print(f"{outcome} {time.monotonic() - self._began:.1f} {name} {text}".rstrip(), flush=True)

    def addSuccess(self, test):  # noqa: N802
        """All ranks ended well."""
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


def main():
    """Runs the tests and says what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="mode", choices=("plugin", "gloo", "mpi", "none"), default="plugin")
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("-k", default="")
    options = parser.parse_args()
    if not importlib.util.find_spec("expecttest"):
        print("expecttest is not installed; deploy/install-python.sh does")
        return 1 if os.environ.get("HOOP_REQUIRE_PYTHON") else 77
    logging.disable(logging.INFO)
    prepared(options.mode, options.world_size)
    registered(options.mode)
    tests = made_class(options.mode)
    chosen = options.k or ("all_to_all" if options.mode == "mpi" else "")
    names = [name for name in unittest.TestLoader().getTestCaseNames(tests) if chosen in name]
    result = Result()
    unittest.TestSuite(tests(name) for name in names).run(result)
    counts = {
        kind: sum(outcome == kind for outcome, _ in result.outcomes.values())
        for kind in ("passed", "failed", "skipped")
    }
    print(f"as {options.mode}, {options.world_size} ranks: " + ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    if options.mode == "none":
        return 0
    wrong = list(judged(result.outcomes, options.mode, options.world_size, not options.k))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
