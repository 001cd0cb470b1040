"""tests/python/test_objects.py - objects between ranks"""

import pickle
import time

import ml_dtypes
import numpy as np
import pytest

import hoop
from hoop._objects import dumps, loads


class Point:
    """A class of the program's own."""

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x


VALUES = [
    None,
    0,
    "text \N{SNOWMAN}",
    b"",
    b"x" * 200_000,
    {"a": [1, 2.5, (3, None)], ("t",): {1, 2}},
    Point(7),
    ValueError("why"),
    bytearray(b"abc"),
    list(range(50_000)),
]
ARRAYS = [
    np.arange(10),
    np.arange(100_000, dtype=np.float32).reshape(100, -1),
    np.zeros((0, 3)),
    np.float64(2.5),
    np.arange(12).reshape(3, 4).T,
    np.arange(12)[::3],
    np.ones(5, ml_dtypes.bfloat16),
    np.array(["a", "bc"]),
    np.array([1, None], object),
]


def same(a, b):
    """Arrays element by element, exceptions by what they say."""
    if isinstance(b, BaseException):
        return type(a) is type(b) and a.args == b.args
    if isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("value", [*VALUES, *ARRAYS], ids=lambda value: type(value).__name__)
def test_message_and_back(value):
    """As pickle itself has it."""
    again = loads(memoryview(bytearray(dumps(value))))
    assert same(again, pickle.loads(pickle.dumps(value)))


def test_buffers_lie_in_the_message():
    """Not copied out of it, aligned to its begin, and writable."""
    x, y = np.arange(1000.0), np.arange(3, dtype=np.int8)
    message = np.frombuffer(bytearray(dumps([x, y, x])), np.uint8)
    a, b, c = loads(memoryview(message))
    assert a is c
    for found, given in ((a, x), (b, y)):
        assert np.array_equal(found, given)
        assert np.shares_memory(found, message)
        assert (found.ctypes.data - message.ctypes.data) % 64 == 0
        assert found.flags.writeable
    assert len(message) < x.nbytes + 1000


@pytest.mark.ranks(3)
def test_every_call_brings_equal_objects(session):
    """Each form, of every kind of value."""
    comm = session.world
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for value in [*VALUES, *ARRAYS]:

        def all_of(rank, value=value):
            return {"of": rank, "value": value}

        def check(found, rank, value=value):
            assert found["of"] == rank
            assert same(found["value"], pickle.loads(pickle.dumps(value))), value

        mine = all_of(comm.rank)
        for root in range(comm.size):
            check(comm.broadcast_object(mine if comm.rank == root else "not looked at", root), root)
        check(comm.broadcast_object_start(mine, 1).wait(), 1)
        for found in (comm.allgather_object(mine), comm.allgather_object_start(mine).wait()):
            assert len(found) == comm.size
            for rank in range(comm.size):
                check(found[rank], rank)
        for found in (comm.gather_object(mine, 2), comm.gather_object_start(mine, 2).wait()):
            assert (found is None) == (comm.rank != 2)
            for rank in range(comm.size if found else 0):
                check(found[rank], rank)
        values = [all_of(rank) for rank in range(comm.size)] if comm.rank == 1 else None
        check(comm.scatter_object(values, 1), comm.rank)
        check(comm.scatter_object_start(values, 1).wait(), comm.rank)

        work = comm.recv_object_start(source, 4)
        comm.send_object(mine, to, 4)
        check(work.wait(), source)
        sent = comm.send_object_start(mine, to)
        check(comm.recv_object(), source)
        sent.wait()


@pytest.mark.ranks(2)
def test_root_keeps_its_own(session):
    """It gets the very object that it gave; others' arrays are theirs."""
    comm, x = session.world, np.zeros(10)
    found = comm.broadcast_object(x if comm.rank == 0 else None)
    assert (found is x) == (comm.rank == 0)
    found[:] = comm.rank
    comm.barrier()
    assert (found == comm.rank).all()


@pytest.mark.ranks(2)
def test_arrays_outlive_call_and_session(session):
    """Their memory is freed with the last that uses it."""
    comm = session.world
    kept = [comm.allgather_object(np.full(1000, i))[0] for i in range(20)]
    kept += [comm.broadcast_object(np.full(1000, i)) for i in range(20, 40)]
    session.leave()
    for i, array in enumerate(kept):
        assert (array == i).all()


@pytest.mark.ranks(2)
def test_what_cannot_be(session):
    """Said before anything is sent."""
    comm = session.world
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        comm.send_object(lambda: None, 1 - comm.rank)
    with pytest.raises(ValueError, match="send_object: dest is -1"):
        comm.send_object(1, -1)
    if comm.rank == 0:
        with pytest.raises(ValueError, match="scatter_object: root has 3 values, the communicator 2 ranks"):
            comm.scatter_object([1, 2, 3])
        with pytest.raises(ValueError, match="root has no values"):
            comm.scatter_object_start()
    with pytest.raises(hoop.Invalid):
        comm.recv_object(5)
    assert comm.allgather_object(comm.rank) == [0, 1]


@pytest.mark.ranks(2)
def test_forgotten_receives_are_freed(session):
    """Whether an object comes for them or not."""
    comm, peer = session.world, 1 - session.world.rank
    for _ in range(10):
        comm.recv_object_start(peer)
        comm.send_object(np.zeros(1000), peer)
    comm.recv_object_start(peer, 9)
    deadline = time.monotonic() + 20
    while comm.allgather_object(len(session._abandoned)) != [1, 1]:
        assert time.monotonic() < deadline
