"""tests/python/test_elastic.py - ranks die, the others go on; ranks come"""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import hoop
from ranks import HERE, arrive, on_ranks, pass_barrier

GOES_ON = ("--on-exit", "continue")


@on_ranks(4, GOES_ON)
def test_shrink_and_go_on(session):
    """Two die, rank 0 first; the survivors make the same result."""
    comm = session.world
    assert comm.unfinished == 0
    assert comm.failed() == comm.failed_agreed() == []
    assert comm.agree(0b1110 | comm.rank) == 0b1110
    assert comm.agree(comm.rank < 3) == 0
    comm.barrier()
    survivors = [0, 1, 2, 3]
    for victim in (0, 2):
        arrive(comm, survivors.index(victim), f"before the end of {victim}")
        if session.world.rank == victim:
            os._exit(0)
        survivors.remove(victim)
        x = np.zeros(1)
        with pytest.raises(hoop.RankLost, match=f"rank {victim} "):
            while True:
                comm.allreduce(np.ones(1), x)
        assert comm.agree() == 1
        lost = comm.failed_agreed()
        assert lost == comm.failed() == [0] if victim == 0 else [1]
        comm = comm.shrink()
        assert [comm.world_rank(rank) for rank in range(comm.size)] == survivors
        assert comm.unfinished > 1
        comm.allreduce(np.array([float(session.world.rank)]), x)
        assert x[0] == sum(survivors)
    assert session.world.contributors() == [0, 1, 2, 3]


@pytest.mark.ranks(3)
def test_revoke_interrupts_the_others(session):
    """Then they can agree and shrink, and all are left."""
    comm = session.world.split(0)
    session.world.barrier()
    if comm.rank == 0:
        comm.revoke()
    for _ in range(2):
        with pytest.raises(hoop.Aborted, match="revoked"):
            comm.barrier()
    assert comm.agree(7) == 7
    again = comm.shrink()
    assert again.size == 3
    again.barrier()
    comm.free()
    with pytest.raises(hoop.Closed, match="shrink"):
        comm.shrink()


@on_ranks(4, GOES_ON, HOOP_ON_FAILURE="retry")
def test_contributors_of_calls_that_are_retried(session):
    """The communicator stands for those that are left."""
    comm = session.world
    pass_barrier(comm, 1)
    if comm.rank == 1:
        os._exit(0)
    while comm.size == 4:
        x = np.array([2.0**comm.rank])
        total = np.zeros(1)
        comm.allreduce(x, total)
    assert comm.contributors() == [0, 2, 3]


def newcomer():
    """A process that joins a job which has all its ranks already."""
    deadline = time.monotonic() + 60
    while True:
        try:
            session = hoop.join(rank=None, world_size=None)
            break
        except (hoop.Refused, hoop.Unavailable):
            assert time.monotonic() < deadline
    with session:
        state = {"weights": np.zeros(1000, np.float32), "step": np.zeros((), np.int64)}
        report = session.world.state_sync(state, 0, block_bytes=1024)
        assert (report.version, report.n_sources, report.bytes_needed) == (5, 2, 4008)
        assert (state["weights"] == 1.5).all()
        assert state["step"] == 5
        x = np.ones(1)
        session.world.allreduce(x)
        assert x[0] == 3
        assert session.world.rank == 2
        assert session.world.allgather_object("new")[:2] == ["old", "old"]


@on_ranks(2)
def test_grow_and_bring_the_state(session):
    """A newcomer gets what the others know."""
    world = session.world
    with pytest.raises(hoop.Timeout):
        world.grow(1, 0.05)
    child = None
    if world.rank == 0:
        left_out = {"HOOP_RANK", "HOOP_WORLD_SIZE", "HOOP_LOCAL_RANK"}
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        code = "import test_elastic; test_elastic.newcomer()"
        child = subprocess.Popen([sys.executable, "-B", "-c", code], env=environment, cwd=HERE)
    grown = world.grow(1, timeout=60)
    assert (grown.rank, grown.size) == (world.rank, 3)
    state = {"step": np.int64(5).reshape(()).copy(), "weights": np.full(1000, 1.5, np.float32)}
    report = grown.state_sync(state, 5, block_bytes=1024)
    assert (report.version, report.bytes_needed) == (5, 0)
    assert report.bytes_moved == 4008
    x = np.ones(1)
    grown.allreduce(x)
    assert x[0] == 3
    assert grown.allgather_object("old")[2] == "new"
    if child:
        assert child.wait(60) == 0
    world.barrier()


@pytest.mark.ranks(2)
def test_state_that_cannot_be_brought(session):
    """Each is told which tensor it is."""
    comm, x = session.world, np.zeros((2, 2))
    with pytest.raises(hoop.Mismatch, match="x"):
        comm.state_sync({"x": x if comm.rank else np.zeros(3)}, 1)
    with pytest.raises(hoop.Refused, match="version"):
        comm.state_sync({"x": x}, 0)
    with pytest.raises(ValueError, match=r"state_sync: x \(ndarray\): it is not C-contiguous"):
        comm.state_sync({"x": x.T[:1]}, 1)
    with pytest.raises(TypeError, match=r"state_sync: x \(bytes\): it is read-only"):
        comm.state_sync({"x": b"a"}, 1)
    torch = pytest.importorskip("torch")
    model = torch.nn.BatchNorm1d(3)
    with torch.no_grad():
        model.weight.fill_(comm.rank + 5)
    report = comm.state_sync(model.state_dict(), comm.rank)
    assert (report.version, report.n_sources) == (1, 1)
    assert model.weight.tolist() == [6, 6, 6]
