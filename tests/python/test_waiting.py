"""tests/python/test_waiting.py - many works at once, and coroutines that wait for works"""

import asyncio
import os
import time

import numpy as np
import pytest

import hoop
from hoop import Received
from ranks import blocked, release


@pytest.mark.ranks(2)
def test_coroutines_wait_while_others_run(session):
    """The results are those of wait(), and the loop goes on meanwhile."""
    comm, peer = session.world, 1 - session.world.rank

    async def main():
        x, y = np.full(1000, comm.rank + 1.0), np.zeros(3)
        turns = []

        async def tick():
            while not turns or turns[-1] < 20:
                turns.append(len(turns))
                await asyncio.sleep(0.001)

        if comm.rank == 0:
            work = comm.allreduce_start(x)
            ticking = asyncio.create_task(tick())
            await ticking
            release(1)
        else:
            blocked(comm)
            work = comm.allreduce_start(x)
        assert await work is None
        assert await work is None
        assert (x == 3).all()
        received = comm.recv_start(y, peer)
        sent = comm.send_start(np.ones(2), peer)
        assert await asyncio.gather(received, sent) == [Received(peer, 2), None]
        assert y.tolist() == [1, 1, 0]
        found = await asyncio.wait_for(comm.allgather_object_start(comm.rank), 30)
        assert found == [0, 1]

    asyncio.run(main())
    asyncio.run(main())


@pytest.mark.ranks(2)
def test_a_thousand_awaited_at_once(session):
    """Each coroutine gets its own."""
    comm, peer = session.world, 1 - session.world.rank

    async def one(i):
        x = np.zeros(10, int)
        received = await comm.recv_start(x, peer, i)
        assert received == Received(peer, 10)
        assert (x == i).all()

    async def main():
        tasks = [asyncio.create_task(one(i)) for i in range(1000)]
        await asyncio.sleep(0)
        await asyncio.gather(*(comm.send_start(np.full(10, i), peer, i) for i in reversed(range(1000))))
        await asyncio.gather(*tasks)

    asyncio.run(main())


@pytest.mark.ranks(2)
def test_await_that_is_cancelled_leaves_the_work(session):
    """It can be awaited again; so can one that two await."""
    comm, peer, x = session.world, 1 - session.world.rank, np.zeros(1)

    async def main():
        work = comm.recv_start(x, peer)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work, 0.01)
        comm.barrier()
        both = [asyncio.ensure_future(work), asyncio.ensure_future(work)]
        await asyncio.sleep(0)
        both[0].cancel()
        await asyncio.sleep(0)
        comm.barrier()
        comm.send(np.ones(1), peer)
        assert await both[1] == Received(peer, 1)
        assert await work == Received(peer, 1)
        with pytest.raises(asyncio.CancelledError):
            await both[0]

    asyncio.run(main())
    assert x[0] == 1


@pytest.mark.ranks(2)
def test_failures_are_raised_where_they_are_awaited(session):
    """And so is a session that has been left."""
    comm, x = session.world, np.zeros(4)

    async def main():
        with pytest.raises(hoop.Mismatch):
            await comm.allreduce_start(x, op="sum" if comm.rank else "max")
        part = comm.split(0)
        part.set_timeout(0.05)
        with pytest.raises(hoop.Timeout):
            await part.recv_start(x)
        task = asyncio.ensure_future(comm.recv_start(x, comm.rank, 7))
        await asyncio.sleep(0)
        comm.barrier()
        session.leave()
        with pytest.raises(hoop.Closed, match="recv: the session has been left"):
            await task

    asyncio.run(main())


@pytest.mark.ranks(2)
def test_descriptors_of_loops_are_closed(session):
    """As many loops as one likes."""
    comm, peer = session.world, 1 - session.world.rank

    async def main():
        work = comm.recv_start(np.zeros(1), peer)
        comm.send(np.ones(1), peer)
        await work

    asyncio.run(main())
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        asyncio.run(main())
        hoop.wait_any([comm.barrier_start()])
        comm.barrier()
    import gc

    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.ranks(2)
def test_await_does_not_keep_the_processor_busy(session):
    """Who awaits sleeps."""
    comm, x = session.world, np.zeros(1)

    async def main():
        work = comm.recv_start(x, 1)
        before = time.process_time()
        await asyncio.wait([asyncio.ensure_future(work)], timeout=0.5)
        assert not work.test()
        assert time.process_time() - before < 0.2
        release(1)
        await work

    if comm.rank == 0:
        asyncio.run(main())
    else:
        blocked(comm)
        comm.send(x, 0)


@pytest.mark.ranks(2)
def test_wait_all_and_any(session):
    """Results in order, the first failure, and timeouts."""
    comm, peer = session.world, 1 - session.world.rank
    arrays = [np.zeros(1, int) for _ in range(3)]
    works = [comm.recv_start(x, peer, i) for i, x in enumerate(arrays)]
    with pytest.raises(hoop.Pending, match="recv goes on; 0.02 s"):
        hoop.wait_any(works, 0.02)
    with pytest.raises(hoop.Pending, match="recv goes on"):
        hoop.wait_all(works, timeout=0)
    comm.barrier()
    comm.send(np.ones(1, int), peer, 2)
    assert hoop.wait_any(works) == 2
    assert works[2].wait() == Received(peer, 1)
    assert hoop.wait_any(works[1:]) == 1
    comm.barrier()
    comm.send(np.ones(1, int), peer, 0)
    assert hoop.wait_any(works[:2], 30) == 0
    comm.send(np.ones(1, int), peer, 1)
    assert hoop.wait_all(works, 30) == [Received(peer, 1)] * 3
    assert hoop.wait_all([]) == []
    with pytest.raises(ValueError, match="no works"):
        hoop.wait_any([])
    comm.set_timeout(0.05)
    late = comm.recv_start(arrays[0], peer, 5)
    comm.set_timeout(None)
    after = comm.allreduce_start(arrays[1])
    with pytest.raises(hoop.Timeout):
        hoop.wait_all([late, after])
    assert after.test()
    assert hoop.wait_any([late]) == 0
    comm.barrier()
