"""tests/python/test_collectives.py - every collective beside numpy, on different values of every rank"""

import itertools

import ml_dtypes
import numpy as np
import pytest

import hoop
from hoop import DType, ReduceOp

COUNT = 5
NUMPY = {d: np.dtype(ml_dtypes.bfloat16 if d is DType.BFLOAT16 else d.name.lower()) for d in DType}
BITWISE = (ReduceOp.BOR, ReduceOp.BAND, ReduceOp.BXOR)


def is_defined(dtype, op):
    """Whether hoop combines elements of such a type so."""
    kind = NUMPY[dtype].kind
    if op in BITWISE:
        return kind in "iub"
    if op in (ReduceOp.MIN, ReduceOp.MAX):
        return kind != "c"
    return op is not ReduceOp.AVG or kind != "b"


def values(dtype, rank, n, seed=0):
    """What a rank contributes: small numbers, whose sums and products every type can tell."""
    random = np.random.default_rng([seed, rank, int(dtype)])
    if NUMPY[dtype].kind == "b":
        return random.integers(0, 2, n).astype(bool)
    low = 0 if NUMPY[dtype].kind == "u" else -3
    found = random.integers(low, 4, n).astype(NUMPY[dtype])
    return found + (1j * random.integers(-3, 4, n)).astype(found.dtype) if found.dtype.kind == "c" else found


def combined(op, parts):
    """What numpy makes of the ranks' contributions."""
    dtype = parts[0].dtype
    if op is ReduceOp.AVG:
        total = sum(part.astype(np.int64 if dtype.kind in "iu" else complex) for part in parts)
        if dtype.kind in "iu":
            return (np.sign(total) * (abs(total) // len(parts))).astype(dtype)
        mean = total / len(parts)
        return (mean if dtype.kind == "c" else mean.real).astype(dtype)
    function = {
        ReduceOp.SUM: np.logical_or if dtype.kind == "b" else np.add,
        ReduceOp.PRODUCT: np.multiply,
        ReduceOp.MIN: np.minimum,
        ReduceOp.MAX: np.maximum,
        ReduceOp.BOR: np.bitwise_or,
        ReduceOp.BAND: np.bitwise_and,
        ReduceOp.BXOR: np.bitwise_xor,
    }[op]
    result = parts[0]
    for part in parts[1:]:
        result = function(result, part).astype(dtype)
    return result


def call(comm, name, is_started, *buffers, **rest):
    """The blocking form, or the started one."""
    if is_started:
        getattr(comm, name + "_start")(*buffers, **rest).wait()
    else:
        getattr(comm, name)(*buffers, **rest)


def same(found, expected, *what):
    """Compares bit for bit, but for averages that are rounded."""
    close = np.allclose(found.astype(complex), expected.astype(complex), rtol=1e-2)
    exact = found.dtype.kind in "iub" or ReduceOp.AVG not in what
    assert np.array_equal(found, expected) if exact else close, (what, found, expected)


def forms():
    """Blocking or started, in place or not."""
    return itertools.product((False, True), (False, True))


def reductions():
    """All dtypes with all operators that there are for them."""
    return [(d, op) for d in DType for op in ReduceOp if is_defined(d, op)]


@pytest.mark.ranks(4)
def test_reductions_of_all_dtypes_and_operators(session):
    """allreduce, reduce, reduce_scatter, scan, exscan."""
    comm, n = session.world, session.world.size
    for dtype, op in reductions():
        parts = [values(dtype, rank, COUNT * n) for rank in range(n)]
        mine, expected = parts[comm.rank], combined(op, parts)
        block = slice(COUNT * comm.rank, COUNT * (comm.rank + 1))
        for is_started, in_place in forms():
            what = (dtype, op, is_started, in_place)
            recv = mine.copy() if in_place else np.zeros_like(mine)
            buffers = (recv,) if in_place else (mine, recv)
            call(comm, "allreduce", is_started, *buffers, op=op)
            same(recv, expected, "allreduce", *what)

            recv = mine.copy() if in_place else np.zeros_like(mine)
            buffers = (recv,) if in_place else (mine, recv)
            call(comm, "reduce", is_started, *buffers, op=op, root=1)
            if comm.rank == 1:
                same(recv, expected, "reduce", *what)

            recv = mine.copy() if in_place else np.zeros_like(mine)
            buffers = (recv,) if in_place else (mine, recv[:COUNT])
            call(comm, "reduce_scatter", is_started, *buffers, op=op)
            same(recv[:COUNT], expected[block], "reduce_scatter", *what)

            if op is ReduceOp.AVG:
                continue
            recv = mine.copy() if in_place else np.zeros_like(mine)
            buffers = (recv,) if in_place else (mine, recv)
            call(comm, "scan", is_started, *buffers, op=op.name.lower())
            same(recv, combined(op, parts[: comm.rank + 1]), "scan", *what)

            recv = mine.copy() if in_place else np.zeros_like(mine)
            buffers = (recv,) if in_place else (mine, recv)
            call(comm, "exscan", is_started, *buffers, op=op)
            if comm.rank > 0:
                same(recv, combined(op, parts[: comm.rank]), "exscan", *what)


@pytest.mark.ranks(4)
def test_movements_of_all_dtypes(session):
    """broadcast, allgather, gather, scatter, alltoall."""
    comm, n, root = session.world, session.world.size, 2
    is_root = comm.rank == root
    for dtype in DType:
        blocks = [values(dtype, rank, COUNT, seed=1) for rank in range(n)]
        wholes = [values(dtype, rank, COUNT * n, seed=2) for rank in range(n)]
        every, block = np.concatenate(blocks), slice(COUNT * comm.rank, COUNT * (comm.rank + 1))
        for is_started, in_place in forms():
            what = (dtype, is_started, in_place)
            recv = blocks[comm.rank].copy()
            buffers = (recv,) if in_place else (blocks[root] if is_root else None, recv)
            call(comm, "broadcast", is_started, *buffers, root=root)
            same(recv, blocks[root], "broadcast", *what)

            recv = np.zeros_like(every)
            recv[block] = blocks[comm.rank] if in_place else 0
            buffers = (None, recv) if in_place else (blocks[comm.rank], recv)
            call(comm, "allgather", is_started, *buffers)
            same(recv, every, "allgather", *what)

            recv = np.zeros_like(every)
            recv[block] = blocks[comm.rank] if in_place else 0
            whole = (recv,) if in_place else (blocks[comm.rank], recv)
            call(comm, "gather", is_started, *(whole if is_root else (blocks[comm.rank],)), root=root)
            same(recv if is_root else every, every, "gather", *what)

            recv = np.zeros(COUNT, every.dtype)
            whole = (wholes[root],) if in_place else (wholes[root], recv)
            call(comm, "scatter", is_started, *(whole if is_root else (None, recv)), root=root)
            if not (is_root and in_place):
                same(recv, wholes[root][block], "scatter", *what)

            recv = wholes[comm.rank].copy()
            buffers = (recv,) if in_place else (wholes[comm.rank], recv)
            call(comm, "alltoall", is_started, *buffers)
            same(recv, np.concatenate([whole[block] for whole in wholes]), "alltoall", *what)


@pytest.mark.ranks(4)
def test_uneven_forms(session):
    """The v-forms, with a rank that has nothing."""
    comm, n = session.world, session.world.size
    counts = [3, 0, 7, 1]
    at = [sum(counts[:r]) for r in range(n + 1)]
    mine = slice(at[comm.rank], at[comm.rank + 1])
    blocks = [values(DType.INT32, rank, counts[rank], seed=3) for rank in range(n)]
    wholes = [values(DType.INT32, rank, at[n], seed=4) for rank in range(n)]
    every, is_root = np.concatenate(blocks), comm.rank == 0
    for is_started, in_place in forms():
        recv = np.zeros_like(every)
        recv[mine] = blocks[comm.rank] if in_place else 0
        buffers = (recv,) if in_place else (blocks[comm.rank], recv)
        call(comm, "allgatherv", is_started, *buffers, counts=counts)
        same(recv, every, "allgatherv")

        recv = np.zeros_like(every)
        recv[mine] = blocks[comm.rank] if in_place else 0
        whole = (recv,) if in_place else (blocks[comm.rank], recv)
        call(comm, "gatherv", is_started, *(whole if is_root else (blocks[comm.rank],)), counts=counts)
        same(recv if is_root else every, every, "gatherv")

        recv = np.zeros_like(blocks[comm.rank])
        whole = (wholes[0],) if in_place else (wholes[0], recv)
        call(comm, "scatterv", is_started, *(whole if is_root else (None, recv)), counts=counts)
        if not (is_root and in_place):
            same(recv, wholes[0][mine], "scatterv")

        recv = wholes[comm.rank].copy()
        buffers = (recv,) if in_place else (wholes[comm.rank], recv[: counts[comm.rank]])
        call(comm, "reduce_scatterv", is_started, *buffers, counts=counts, op="max")
        same(recv[: counts[comm.rank]], combined(ReduceOp.MAX, wholes)[mine], "reduce_scatterv")

    sends = [[(rank + other) % 3 for other in range(n)] for rank in range(n)]
    parts = [[values(DType.INT32, rank, sends[rank][other], seed=other) for other in range(n)] for rank in range(n)]
    receives = [sends[other][comm.rank] for other in range(n)]
    for is_started in (False, True):
        recv = np.zeros(sum(receives), np.int32)
        both = {"send_counts": sends[comm.rank], "recv_counts": receives}
        call(comm, "alltoallv", is_started, np.concatenate(parts[comm.rank]), recv, **both)
        same(recv, np.concatenate([parts[other][comm.rank] for other in range(n)]), "alltoallv")


@pytest.mark.ranks(4)
def test_split_create_free(session):
    """Communicators of some ranks, and what is said of those that are no more."""
    world = session.world
    with world.split(world.rank % 2, key=-world.rank) as half:
        assert (half.size, half.rank) == (2, 1 - world.rank // 2)
        x = np.array([world.rank])
        half.allreduce(x)
        assert x[0] == 2 + 2 * (world.rank % 2)
        assert half.world_rank(0) == world.rank % 2 + 2
    assert half.is_freed
    with pytest.raises(hoop.Closed, match="allreduce: the communicator has been freed"):
        half.allreduce(x)
    outside = world.split(None if world.rank else 0)
    assert (outside.is_member, outside.rank) == ((True, 0) if world.rank == 0 else (False, -1))
    outside.allreduce(x)
    if world.rank in (1, 3):
        pair = world.create([3, 1])
        assert pair.rank == (world.rank == 1)
        pair.barrier()
    session.leave()
    assert outside.is_freed
    with pytest.raises(hoop.Closed):
        world.barrier()


@pytest.mark.ranks(2)
def test_many_communicators_leave_nothing(session):
    """Created and freed ones do not pile up."""
    for _ in range(200):
        with session.world.split(0) as part:
            part.barrier()
    assert len(session._comms) == 1
