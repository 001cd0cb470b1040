"""tests/python/test_failures.py - what each failure is to every rank: exception, attributes, text

Four ranks, one of which dies, is late or calls something else while the others wait
for it; what an exception of a rank is to the others is in test_abort.py.
"""

import os
import signal
import sys

import numpy as np
import pytest

import hoop
from ranks import arrive, pass_barrier, run

SIZE = 4


def begin(session, culprit):
    """The world, all of which has come so far, and the processes of its ranks."""
    comm = session.world
    pids = np.zeros(comm.size, np.int64)
    comm.allgather(np.array([os.getpid()]), pids)
    pass_barrier(comm, culprit)
    return comm, pids


def expect(kind, call, culprits, pids):
    """Allreduce #3 of four float64 ends so, by the fault of one of culprits, as attributes and text say."""
    with pytest.raises(hoop.Error) as caught:
        call()
    error = caught.value
    assert type(error) is kind
    assert error.rank in culprits
    assert error.pid == pids[error.rank]
    assert f"rank {error.rank} ({error.host}:{error.pid})" in str(error)
    assert (error.operation, error.sequence, error.communicator, error.bytes) == ("allreduce", 3, "world", 32)
    assert "allreduce #3 (float64, 4 elements" in str(error)
    assert error.elapsed >= 0
    assert error.waited_for in (None, *range(SIZE))
    return error


def killed(session, culprit):
    """A rank dies; the others go on without it."""
    comm, pids = begin(session, culprit)
    if comm.rank == culprit:
        os.kill(os.getpid(), signal.SIGKILL)
    x = np.ones(4)
    error = expect(hoop.RankLost, lambda: comm.allreduce(x), [culprit], pids)
    # What the launcher says, or what is seen where that takes too long.
    assert "killed by signal 9" in str(error) or "its process has ended" in str(error)
    smaller = comm.shrink()
    assert (smaller.size, smaller.rank) == (SIZE - 1, comm.rank - (comm.rank > culprit))
    x = np.ones(4)
    smaller.allreduce(x)
    assert (x == SIZE - 1).all()


def late(session, culprit):
    """A rank calls when all others have given up; nobody is lost, and all go on."""
    comm, pids = begin(session, culprit)
    if comm.rank == culprit:
        arrive(comm, culprit, "failed")
    else:
        comm.set_timeout(0.3)
    x = np.ones(4)
    error = expect(hoop.Timeout, lambda: comm.allreduce(x), [culprit], pids)
    assert "timed out after" in str(error)
    if comm.rank != culprit:
        assert error.allowed == 0.3
        arrive(comm, culprit, "failed")
        comm.set_timeout(None)
    x = np.ones(4)
    comm.allreduce(x)
    assert (x == SIZE).all()


def differs(session, culprit):
    """A rank calls something else; all go on."""
    comm, pids = begin(session, culprit)
    x = np.ones(4)
    # Of two that differ either may be wrong.
    error = expect(
        hoop.Mismatch, lambda: comm.allreduce(x, op="max" if comm.rank == culprit else "sum"), range(SIZE), pids
    )
    assert f"rank {culprit} (" in str(error)
    assert "allreduce #3 (float64, 4 elements, sum)" in str(error)
    assert "allreduce #3 (float64, 4 elements, max)" in str(error)
    x = np.ones(4)
    comm.allreduce(x)
    assert (x == SIZE).all()


PROGRAMS = {function.__name__: function for function in (killed, late, differs)}


@pytest.mark.parametrize(
    ("name", "culprit", "transport"),
    [("killed", 0, "auto"), ("killed", 2, "tcp"), ("late", 1, "auto"), ("differs", 3, "tcp")],
)
def test_failure_is_alike_on_all_ranks(name, culprit, transport):
    """Each that lives says so at its end."""
    said, _ = run(
        SIZE,
        "test_failures.py",
        name,
        str(culprit),
        options=["--on-exit", "continue"],
        HOOP_TRANSPORT=transport,
    )
    assert said.count("as expected") == SIZE - (name == "killed"), said


if __name__ == "__main__":
    with hoop.join() as session:
        PROGRAMS[sys.argv[1]](session, int(sys.argv[2]))
    print("as expected", flush=True)
