"""tests/python/ranks.py - run a test function on real ranks, under hooprun

@on_ranks(4) makes of a function that takes a session a test that passes when the
function returns on all ranks. ranks.py MODULE FUNCTION is what each of them runs.
A test that can share its processes with others is marked @pytest.mark.ranks(4)
instead, and takes much less time.
"""

import functools
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from suite import SETTINGS

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
    """Run a command on n ranks, with options of hooprun; what it printed, and its exit code.

    They have a FOLDER in the environment, of their own where the caller names none.
    """
    with tempfile.TemporaryDirectory(prefix="hoop-test-") as folder:
        done = subprocess.run(
            [hooprun(), "-n", str(n), *options, sys.executable, "-B", *command],
            env={**os.environ, **SETTINGS, "FOLDER": folder, **environment},
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    return done.stdout, done.returncode


def on_ranks(n, options=(), **environment):
    """Run the function on n ranks, with these settings in the environment.

    For tests that need processes of their own, which are new: since they end or fork
    them, send them signals, give options or settings, or read what hooprun has put in
    the environment. Others use the plugin's marker, and its session.
    """

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


def _gate(rank):
    """The file that rank waits for; ranks of a test have one parent."""
    return pathlib.Path(tempfile.gettempdir(), f"hoop-test-{os.getppid()}-{rank}")


def release(rank):
    """Let the process of that rank leave blocked()."""
    _gate(rank).touch(exist_ok=False)


def blocked(comm):
    """Wait for release(), without hoop."""
    deadline = time.monotonic() + TIMEOUT_S / 2
    while not _gate(comm.rank).exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    _gate(comm.rank).unlink()


def arrive(comm, last, where):
    """Rank last returns when all others have been here, which return at once; without hoop."""
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
