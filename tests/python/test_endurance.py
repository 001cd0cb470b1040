"""tests/python/test_endurance.py - much of the same leaves nothing behind

HOOP_ENDURANCE_ROUNDS says how many communicators are created and freed (1000).
"""

import gc
import os
import threading

import numpy as np

import hoop
from ranks import on_ranks

ROUNDS = int(os.environ.get("HOOP_ENDURANCE_ROUNDS", "1000"))
# Which keeps what is freed for a while.
HAS_ASAN = "asan" in os.environ.get("LD_PRELOAD", "")


def resident_kib():
    """Memory of this process."""
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def descriptors():
    """How many are open."""
    return len(os.listdir("/proc/self/fd"))


def leaves_nothing(once, rounds, allowed_kib):
    """Calls once() as often, and compares memory and descriptors behind the first fifth with the end."""
    for i in range(rounds):
        if i == rounds // 5:
            gc.collect()
            before = resident_kib(), descriptors()
        once(i)
    gc.collect()
    grown = resident_kib() - before[0]
    assert HAS_ASAN or grown <= allowed_kib, f"{grown} KiB more after {rounds} rounds"
    assert descriptors() <= before[1]


@on_ranks(2, HOOP_LATE_WARNING="0")
def test_communicators(session):
    """Created by split and create, used, and freed by each of the ways."""
    world = session.world
    x = np.ones(4)

    def once(i):
        part = world.create([0, 1]) if i % 2 else world.split(0)
        part.allreduce(x[:1])
        if i % 3 == 0:
            part.free()
        else:
            with part:
                pass
        x[0] = 1

    leaves_nothing(once, ROUNDS, 2048)
    assert len(session._comms) == 1


@on_ranks(1)
def test_sessions(session):
    """Joined and left, alone, with works that are dropped."""

    def once(i):
        with hoop.join(job=f"job-{i}", rank=0, world_size=1) as own:
            own.world.allreduce(np.ones(10))
            own.world.recv_start(np.zeros(1000), 0)
            own.world.broadcast_object([1, 2])

    leaves_nothing(once, max(50, ROUNDS // 20), 2048)


@on_ranks(2)
def test_calls_of_all_kinds(session):
    """Messages, objects and works, whether they are waited for or not."""
    comm, peer = session.world, 1 - session.world.rank
    x, y = np.ones(500), np.zeros(500)

    def once(i):
        works = [comm.recv_start(y, peer, 1), comm.send_start(x, peer, 1), comm.allreduce_start(x)]
        if i % 2:
            hoop.wait_all(works)
        del works
        comm.allgather_object({"x": x})
        comm.broadcast_object(x)
        comm.allreduce_coalesced([x, y])
        hoop.wait_any([comm.barrier_start()])
        comm.barrier()
        x[:] = 1

    leaves_nothing(once, max(200, ROUNDS // 2), 2048)


@on_ranks(2)
def test_threads_on_communicators_of_their_own(session):
    """Collectives, messages and objects of several at once; all results are right."""
    comms = [session.world.split(0) for _ in range(4)]
    done = []

    def run(number, comm):
        peer = 1 - comm.rank
        for i in range(100):
            x = np.full(50 + i, 10 * number + i + comm.rank)
            y = np.zeros_like(x)
            work = comm.recv_start(y, peer, number)
            sent = comm.send_start(x, peer, number)
            assert comm.allgather_object((number, i)) == [(number, i)] * 2
            total = x.copy()
            comm.allreduce(total)
            assert (total == 2 * (10 * number + i) + 1).all()
            assert work.wait() == hoop.Received(peer, x.size)
            assert (y == 10 * number + i + peer).all()
            sent.wait()
        done.append(number)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(comms)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3]
