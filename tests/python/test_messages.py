"""tests/python/test_messages.py - messages between two ranks"""

import threading

import ml_dtypes
import numpy as np
import pytest

import hoop
from hoop import ANY_SOURCE, DType, Received, Recv, Send
from hoop._work import Work

LARGE = 100_000


def neighbours(comm):
    """Whom a rank sends to, and whom it receives from."""
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


@pytest.mark.ranks(3)
def test_messages_of_all_dtypes(session):
    """Each form, of few and of many elements, and a receive that asks for more than comes."""
    comm = session.world
    to, source = neighbours(comm)
    for dtype in DType:
        name = ml_dtypes.bfloat16 if dtype is DType.BFLOAT16 else dtype.name.lower()
        for n in (0, 1, 7, LARGE):
            values = [((np.arange(n) + rank) % 2).astype(name) for rank in range(comm.size)]
            mine, expected, ends = values[comm.rank], values[source], Received(source, n)

            recv = np.ones(n + 2, name)
            assert comm.sendrecv(mine, to, recv, source) == ends
            assert (recv[:n] == expected).all()
            assert (recv[n:] == 1).all()

            recv = np.ones(n, name)
            assert comm.sendrecv_start(mine, to, recv, send_tag=1, recv_tag=1).wait() == ends
            assert (recv == expected).all()

            recv = np.ones(n, name)
            work = comm.recv_start(recv, source, 5)
            comm.send(mine, to, 5)
            assert work.wait() == work.wait() == ends
            assert (recv == expected).all()

            recv = np.ones(n, name)
            sent = comm.send_start(mine, to, tag=2**62)
            assert comm.recv(recv, ANY_SOURCE, tag=2**62) == ends
            assert sent.wait() is None
            assert (recv == expected).all()

            recv, also = np.ones(n, name), np.ones(n, name)
            messages = [Send(mine, to), Recv(recv, source), Recv(also), Send(mine, to)]
            assert comm.batch(messages) == [None, ends, ends, None]
            assert (recv == expected).all()
            assert (also == expected).all()

            recv = np.ones(n, name)
            works = comm.batch_start([Send(mine, to, 3), Recv(recv, source, 3)])
            assert [work.wait() for work in works] == [None, ends]
            assert (recv == expected).all()
    assert comm.batch([]) == comm.batch_start([]) == []


@pytest.mark.ranks(3)
def test_order_and_tags(session):
    """Of one tag in the order they were sent; tags do not cross; any source takes from all."""
    comm = session.world
    x = np.zeros(1, int)
    if comm.rank == 0:
        got = {1: [], 2: []}
        for _ in range(20):
            received = comm.recv(x, tag=1)
            got[received.source].append(int(x[0]))
        assert got == {1: list(range(10)), 2: list(range(10))}
        for source in (2, 1):
            assert comm.recv(x, source, tag=2) == Received(source, 1)
            assert x[0] == 100
    else:
        comm.send(np.array([100]), 0, tag=2)
        for i in range(10):
            comm.send(np.array([i]), 0, tag=1)


@pytest.mark.ranks(1)
def test_to_itself(session):
    """A small message may be sent before it is received."""
    comm, x = session.world, np.zeros(2)
    comm.send(np.ones(2), 0)
    assert comm.recv(x, 0) == Received(0, 2)
    assert (x == 1).all()
    work = comm.recv_start(big := np.zeros(LARGE))
    comm.send(np.ones(LARGE), 0)
    work.wait()
    assert big.all()


@pytest.mark.ranks(2)
def test_what_does_not_fit(session):
    """A longer message and another dtype are told to the receive, which loses that message alone."""
    comm = session.world
    if comm.rank == 0:
        comm.send(np.ones(3), 1)
        comm.send(np.ones(3, np.float32), 1)
        comm.send(np.full(2, 7.0), 1)
    else:
        x = np.zeros(2)
        with pytest.raises(hoop.Mismatch, match="3"):
            comm.recv(x, 0)
        work = comm.recv_start(x, 0)
        for _ in range(2):
            with pytest.raises(hoop.Mismatch, match="float32"):
                work.wait()
        with pytest.raises(hoop.Mismatch, match="float32"):
            work.test()
        assert (x == 0).all()
        comm.recv(x, 0)
        assert (x == 7).all()


@pytest.mark.ranks(1)
def test_what_cannot_be(session):
    """Said before anything is sent, with the call and the argument."""
    comm, x = session.world, np.zeros(4)
    for call in (comm.send, comm.send_start):
        with pytest.raises(ValueError, match=r"^send: dest is -1; it is a rank"):
            call(x, -1)
        with pytest.raises(ValueError, match=r"^send: tag is -5"):
            call(x, 0, -5)
        with pytest.raises(TypeError, match=r"^send: buffer \(dict\): .*send_object"):
            call({}, 0)
        with pytest.raises(ValueError, match=r"^send: buffer \(ndarray\): it is not C-contiguous"):
            call(x[::2], 0)
    for call in (comm.recv, comm.recv_start):
        with pytest.raises(ValueError, match=r"^recv: source is -2"):
            call(x, -2)
        with pytest.raises(TypeError, match=r"^recv: buffer \(bytes\): it is read-only"):
            call(b"abc")
    with pytest.raises(hoop.Invalid, match="9"):
        comm.send(x, 9)
    with pytest.raises(hoop.Invalid, match="9"):
        comm.batch([Send(x, 0), Recv(x, 9)])
    with pytest.raises(TypeError, match=r"^batch: a message is tuple; it is a hoop.Send"):
        comm.batch([(x, 0)])
    with pytest.raises(ValueError, match=r"^batch: dest is None"):
        comm.batch_start([Send(x, None)])


@pytest.mark.ranks(2)
def test_no_member(session):
    """Calls on what this process is no member of return at once and touch nothing."""
    part = session.world.split(None)
    x = np.ones(2)
    assert part.recv(x) == Received(-1, 0)
    assert part.recv_start(x).wait() == Received(-1, 0)
    assert part.sendrecv(x, 0, x) == Received(-1, 0)
    assert part.recv_object() is None
    assert part.broadcast_object(1) is None
    assert (x == 1).all()


@pytest.mark.ranks(2)
def test_threads_on_one_communicator(session):
    """Messages may be sent and received by several at once."""
    comm, peer, wrong = session.world, 1 - session.world.rank, []

    def talk(tag):
        x = np.zeros(1, int)
        for i in range(100):
            work = comm.send_start(np.array([1000 * tag + i]), peer, tag)
            comm.recv(x, peer, tag)
            work.wait()
            if x[0] != 1000 * tag + i:
                wrong.append((tag, i, x[0]))

    threads = [threading.Thread(target=talk, args=(tag,)) for tag in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.ranks(2)
def test_a_thousand_receives_in_flight(session):
    """Each with a buffer of its own that only the Work holds, ended in another order."""
    comm, peer = session.world, 1 - session.world.rank
    arrays = [np.zeros(50, int) for _ in range(1000)]
    works: list[Work[Received]] = [comm.recv_start(arrays[i], peer, i) for i in range(1000)]
    for i in reversed(range(1000)):
        comm.send_start(np.full(50, i), peer, i)
    for i, work in enumerate(works):
        assert work.wait(30) == Received(peer, 50)
        assert (arrays[i] == i).all()
    comm.barrier()
