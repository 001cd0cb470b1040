"""tests/python/test_work.py - started operations: waiting, asking, forgetting, interrupting"""

import gc
import os
import signal
import threading
import time
import weakref
from datetime import timedelta

import numpy as np
import pytest

import hoop
from ranks import blocked, on_ranks, release


@pytest.mark.ranks(2)
def test_wait_with_a_timeout_leaves_the_operation(session):
    """Pending is raised as often as one likes; then it ends well."""
    comm = session.world
    x = np.full(3, comm.rank + 1.0)
    if comm.rank == 0:
        work = comm.allreduce_start(x)
        assert not work.test()
        for timeout in (0, 0.12, timedelta(milliseconds=10)):
            before = time.monotonic()
            with pytest.raises(hoop.Pending, match="allreduce goes on") as caught:
                work.wait(timeout)
            assert isinstance(caught.value, TimeoutError)
            least = timeout if isinstance(timeout, (int, float)) else timeout.total_seconds()
            assert time.monotonic() - before >= least
        with pytest.raises(ValueError, match="a timeout is -1"):
            work.wait(-1)
        comm.create([0]).barrier()
        release(1)
    else:
        blocked(comm)
        work = comm.allreduce_start(x)
    work.wait()
    work.wait()
    assert work.test()
    assert (x == 3).all()


@pytest.mark.ranks(4)
def test_a_thousand_works_whose_buffers_are_dropped(session):
    """What is in flight lives, whoever else forgets it."""
    comm = session.world
    kept = [(comm.allreduce_start(x := np.full(100, i + comm.rank)), x) for i in range(500)]
    for i in range(500):
        comm.allreduce_start(np.full(1000, i))
    for i, (work, x) in enumerate(kept):
        work.wait()
        assert (x == 4 * i + 6).all()
    comm.barrier()
    comm.barrier()
    assert not session._abandoned


@pytest.mark.ranks(2)
def test_a_dropped_work_keeps_its_buffer(session):
    """Until the operation has ended, and no longer."""
    comm = session.world
    x = np.ones(4)
    alive = weakref.ref(x)
    if comm.rank == 0:
        comm.allreduce_start(x)
        del x
        gc.collect()
        assert alive() is not None
        release(1)
        comm.barrier()
        comm.barrier()
        gc.collect()
        assert alive() is None
    else:
        blocked(comm)
        comm.allreduce(x)
        comm.barrier()
        comm.barrier()


def interrupted(call):
    """Sends SIGINT while the call waits; the exception, and how long after."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.2, interrupt).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        call()
    return caught.value, time.monotonic() - sent[0]


@on_ranks(3)
def test_interrupt_ends_a_blocking_call(session):
    """Within 100 ms, on all ranks; it counts as called, and the communicator can be used."""
    comm = session.world
    x = np.ones(2)
    if comm.rank == 0:
        error, late = interrupted(comm.barrier)
        assert late < 0.1 or os.getloadavg()[0] > os.cpu_count(), late
        if hasattr(error, "__notes__"):
            assert "barrier was interrupted, and counts as called" in error.__notes__[0]
        release(1)
    else:
        if comm.rank == 1:
            blocked(comm)
        with pytest.raises(hoop.Aborted, match=r"barrier #1: it was given up by rank 0 \("):
            comm.barrier()
    comm.allreduce(x)
    assert (x == 3).all()


@on_ranks(2)
def test_interrupt_of_a_wait_leaves_the_work(session):
    """It can be waited for again."""
    comm = session.world
    x = np.ones(2)
    if comm.rank == 0:
        work = comm.allreduce_start(x)
        interrupted(work.wait)
        release(1)
        work.wait()
    else:
        blocked(comm)
        comm.allreduce(x)
    assert (x == 2).all()


@on_ranks(2)
def test_another_handler_than_interrupt(session):
    """What a handler raises ends the call, what returns does not."""
    comm, calls = session.world, []

    def handler(*_):
        calls.append(comm.rank)
        if len(calls) > 1:
            raise LookupError("told")

    if comm.rank == 0:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        with pytest.raises(LookupError, match="told"):
            comm.barrier()
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(calls) == 2
        release(1)
    else:
        blocked(comm)
        with pytest.raises(hoop.Aborted):
            comm.barrier()
    comm.barrier()


@pytest.mark.ranks(2)
def test_threads_call_on_communicators_of_their_own(session):
    """The GIL is released, or these would wait for each other for ever."""
    comms = [session.world.split(0) for _ in range(3)]
    found = []

    def call(comm, i):
        for _ in range(20):
            x = np.array([i])
            comm.allreduce(x)
            found.append(x[0] == 2 * i)

    # The ranks take them in opposite orders.
    order = list(enumerate(comms))[:: -1 if session.world.rank else 1]
    threads = [threading.Thread(target=call, args=(comm, i)) for i, comm in order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 60
    assert all(found)


@on_ranks(2, HOOP_ON_FAILURE="retry")
def test_calls_that_are_retried_are_made_whole(session):
    """Their started forms there are not."""
    x = np.ones(1)
    session.world.allreduce(x)
    assert x[0] == 2
    with pytest.raises(hoop.Unimplemented):
        session.world.allreduce_start(x)


class Uncopied(Exception):
    """Cannot be made again of its arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def fail_uncopied():
    """What pickle calls where this is read."""
    raise Uncopied("a", "b")


class Unreadable:
    """Is sent, and cannot be read."""

    def __reduce__(self):
        return fail_uncopied, ()


@on_ranks(1)
def test_failure_that_cannot_be_copied_is_raised_again(session):
    """As often as it is asked for."""
    work = session.world.allgather_object_start(Unreadable())
    for _ in range(3):
        with pytest.raises(Uncopied, match="a b"):
            work.wait()
    with pytest.raises(Uncopied):
        work.test()
