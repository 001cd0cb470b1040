"""tests/python/ranks.py - run a test function on real ranks, under hooprun

@on_ranks(4) makes of a function that takes a session a test that passes when the
function returns on all ranks. ranks.py MODULE FUNCTION is what each of them runs.
"""

import functools
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).parent
# Longer than any test takes; of what hangs hoop tells before.
TIMEOUT_S = 120
# How ranks end whose test is skipped, which they all are.
SKIPPED = 77


def hooprun():
    """The launcher: HOOPRUN's, or the one on PATH."""
    found = os.environ.get("HOOPRUN") or shutil.which("hooprun")
    assert found, "give the launcher in HOOPRUN, or put it on PATH"
    return found


def run(n, *command, options=(), cwd=HERE, **environment):
    """Run a command on n ranks, with options of hooprun; what it printed, and its exit code."""
    settings = {"HOOP_TIMEOUT": "30", "HOOP_FAILURE_TIMEOUT": "10", "HOOP_WAIT_NOTICE": "0"}
    done = subprocess.run(
        [hooprun(), "-n", str(n), *options, sys.executable, "-B", *command],
        env={**os.environ, **settings, **environment},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout, done.returncode


def on_ranks(n, options=(), **environment):
    """Run the function on n ranks, with these settings in the environment."""

    def mark(function):
        @functools.wraps(function)
        def test():
            command = ("ranks.py", function.__module__, function.__name__)
            said, code = run(n, *command, options=options, **environment)
            if code == SKIPPED:
                pytest.skip(said)
            assert code == 0, said

        # pytest would take the function's parameters for fixtures.
        del test.__wrapped__
        test.on_rank = function
        return test

    return mark


def arrive(comm, last, where):
    """Rank last returns when all others have been here, which return at once; without hoop.

    The environment names a FOLDER, where that is told.
    """
    folder = pathlib.Path(os.environ["FOLDER"])
    if comm.rank != last:
        (folder / f"{where}-{comm.rank}").touch()
        return
    deadline = time.monotonic() + TIMEOUT_S / 2
    while len(list(folder.glob(f"{where}-*"))) < comm.size - 1:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def pass_barrier(comm, last):
    """A barrier from which rank last returns behind all others: what it does then ends none of theirs."""
    comm.barrier()
    arrive(comm, last, "barrier")


def main():
    """What a rank does."""
    import hoop

    module, name = sys.argv[1:]
    function = getattr(importlib.import_module(module), name).on_rank
    with hoop.join() as session:
        try:
            function(session)
        except pytest.skip.Exception as reason:
            print(reason)
            sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
