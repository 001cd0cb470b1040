"""tests/python/test_fork.py - processes that a rank makes: theirs is no session of the rank's"""

import multiprocessing
import os
import signal
import traceback

import numpy as np
import pytest

import hoop
from ranks import on_ranks

# What a forked child has of its parent.
inherited = []


def in_child(function):
    """Runs it in a forked child; whether it returned."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


@on_ranks(2)
def test_forked_child_cannot_call_on_the_parents_session(session):
    """All says why; the parent goes on, also where the child has left."""
    world, part = session.world, session.world.split(0)
    x = np.ones(3)
    work = world.recv_start(np.zeros(3), 1 - world.rank)
    world.recv_start(np.zeros(3), 1 - world.rank, 9)

    def child():
        for call in (
            lambda: world.allreduce(x),
            lambda: part.barrier_start(),
            lambda: world.send(x, 0),
            lambda: world.broadcast_object(1),
            lambda: world.split(0),
            lambda: part.shrink(),
            lambda: part.rank,
            lambda: work.wait(),
            lambda: work.test(),
            lambda: hoop.wait_any([work]) == 0 and work.wait(),
            lambda: session.stats,
        ):
            with pytest.raises(hoop.Closed, match="is that of the process that has forked; join in the child"):
                call()
        with session, part:
            pass
        assert "left" in repr(session)
        assert part.is_freed

    assert in_child(child)
    world.send(x, 1 - world.rank)
    work.wait()
    part.allreduce(x)
    assert (x == 2).all()


@on_ranks(2)
def test_forked_child_joins_a_job_of_its_own(session):
    """And its child another one."""
    world = session.world

    def child(depth=1):
        with hoop.join(job=f"child-{depth}", rank=world_rank, world_size=2) as own:
            x = np.array([own.world.rank + 1.0])
            own.world.allreduce(x)
            assert x[0] == 3
            assert own.world.allgather_object(os.getppid())[own.world.rank] == os.getppid()
            assert depth == 2 or in_child(lambda: child(depth + 1))
            own.world.barrier()

    world_rank = world.rank
    assert in_child(child)
    world.barrier()


@on_ranks(2)
def test_child_does_not_keep_a_dead_parents_connections(session):
    """Others learn at once of the parent's death though its child lives."""
    world = session.world
    world.barrier()
    if world.rank == 0:
        r, w = os.pipe()
        if os.fork() == 0:
            # It outlives its parent, but not the tests.
            signal.alarm(10)
            os.read(r, 1)
        inherited.append(w)
        world.barrier()
        os._exit(0)
    world.barrier()
    with pytest.raises(hoop.RankLost, match="rank 0 "):
        world.recv(np.zeros(1), 0)


def member(job, rank, queue):
    """A process of multiprocessing's."""
    try:
        for session in inherited:
            with pytest.raises(hoop.Closed):
                session.world.barrier()
        with hoop.join(job=job, rank=rank, world_size=2) as session:
            x = np.full(10_000, rank + 1.0)
            session.world.allreduce(x)
            queue.put((rank, float(x[0]), session.world.allgather_object(rank)))
    except BaseException:
        queue.put(traceback.format_exc())


@on_ranks(1)
def test_multiprocessing(session):
    """By each of its ways; with fork the children have their parent's session."""
    inherited.append(session)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        processes = [context.Process(target=member, args=(f"job-{method}", rank, queue)) for rank in range(2)]
        for process in processes:
            process.start()
        found = [queue.get(timeout=60) for _ in processes]
        for process in processes:
            process.join(60)
            assert process.exitcode == 0
        assert sorted(found) == [(rank, 3.0, [0, 1]) for rank in range(2)], found
    session.world.barrier()
