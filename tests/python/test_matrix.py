"""tests/python/test_matrix.py - random calls of every kind beside numpy, in the same order on all ranks

What is called is drawn by hypothesis, from a seed: dtype, operator, shape, root, form,
and how the arrays lie. HOOP_MATRIX_EXAMPLES says how many are drawn (60), and
HOOP_MATRIX_SEED from which seed (0).
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import hoop
from hoop import DType, ReduceOp
from test_buffers import OnlyDLPack
from test_collectives import NUMPY, call, combined, is_defined, same, values

EXAMPLES = int(os.environ.get("HOOP_MATRIX_EXAMPLES", "60"))
SEED = int(os.environ.get("HOOP_MATRIX_SEED", "0"))


class OnlyInterface:
    """An array of numpy's older protocol, without a dtype."""

    def __init__(self, of):
        self.of = of

    @property
    def __array_interface__(self):
        return self.of.__array_interface__


def plain(array):
    """The array itself."""
    return array


def unaligned(array):
    """A copy that begins at an odd address; what is written to it is copied back by same()."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


LAYOUTS = {
    "numpy": plain,
    "unaligned": unaligned,
    "shaped": lambda array: array.reshape(1, -1, 1) if array.ndim else array,
    "dlpack": OnlyDLPack,
    "interface": OnlyInterface,
    "buffer": memoryview,
}


def laid(array, layout):
    """What is given to hoop, and the array in which a result is found."""
    is_exported = array.dtype != NUMPY[DType.BFLOAT16]
    if not is_exported and layout in ("dlpack", "interface", "buffer"):
        return array, array
    found = LAYOUTS[layout](array)
    return found, found if isinstance(found, np.ndarray) else array


@st.composite
def a_call(draw):
    """One call: what all ranks do alike."""
    name = draw(st.sampled_from(sorted(CALLS)))
    dtype = draw(st.sampled_from(sorted(DType)))
    reduces = name in ("allreduce", "reduce", "reduce_scatter", "scan", "exscan", "allreduce_coalesced")
    op = ReduceOp.SUM
    if reduces:
        ops = [op for op in ReduceOp if is_defined(dtype, op) and not ("scan" in name and op is ReduceOp.AVG)]
        op = draw(st.sampled_from(ops))
    return {
        "name": name,
        "dtype": dtype,
        "op": op,
        "count": draw(st.sampled_from([0, 1, 2, 3, 17, 100, 1000, 5000, 70_000])),
        "root": draw(st.integers(0, 2)),
        "counts": draw(st.lists(st.integers(0, 50), min_size=3, max_size=3)),
        "is_started": draw(st.booleans()),
        "in_place": draw(st.booleans()),
        "send_layout": draw(st.sampled_from(sorted(LAYOUTS))),
        "recv_layout": draw(st.sampled_from(sorted(LAYOUTS))),
        "seed": draw(st.integers(0, 2**16)),
    }


class Played:
    """A call as one rank makes it."""

    def __init__(self, comm, drawn):
        self.comm = comm
        self.n = comm.size
        self.__dict__.update(drawn)

    def parts(self, count, salt=0):
        """What each rank contributes: count elements, or counts[rank]."""
        counts = count if isinstance(count, list) else [count] * self.n
        return [values(self.dtype, rank, counts[rank], seed=self.seed + salt) for rank in range(self.n)]

    def run(self, send, recv, expected, **rest):
        """Makes the call with arrays that lie as was drawn, and compares what is in recv."""
        given = []
        found = None
        if send is not None:
            given.append(laid(send, self.send_layout)[0])
        elif recv is not None:
            given.append(None)
        if recv is not None:
            where, found = laid(recv, self.recv_layout)
            given.append(where)
        call(self.comm, self.name, self.is_started, *given, **rest)
        if expected is not None:
            same(found.reshape(-1)[: expected.size], expected, self.op, self.__dict__)

    def reduction(self, of_all, expected):
        """send and recv of one block each."""
        mine = of_all[self.comm.rank]
        if self.in_place:
            return self.run(None, mine.copy(), expected, op=self.op)
        return self.run(mine, np.zeros_like(mine), expected, op=self.op)


def allreduce(it):
    """Of all."""
    parts = it.parts(it.count)
    it.reduction(parts, combined(it.op, parts))


def scan(it):
    """Of this rank and those before."""
    parts = it.parts(it.count)
    it.reduction(parts, combined(it.op, parts[: it.comm.rank + 1]))


def exscan(it):
    """Of those before."""
    parts = it.parts(it.count)
    it.reduction(parts, combined(it.op, parts[: it.comm.rank]) if it.comm.rank else None)


def reduce(it):
    """On root alone."""
    parts = it.parts(it.count)
    mine, is_root = parts[it.comm.rank], it.comm.rank == it.root
    expected = combined(it.op, parts) if is_root else None
    if it.in_place and is_root:
        return it.run(None, mine.copy(), expected, op=it.op, root=it.root)
    return it.run(mine, np.zeros_like(mine) if is_root else None, expected, op=it.op, root=it.root)


def reduce_scatter(it):
    """A block each."""
    parts = it.parts(it.count * it.n)
    block = slice(it.count * it.comm.rank, it.count * (it.comm.rank + 1))
    expected = combined(it.op, parts)[block]
    mine = parts[it.comm.rank]
    if it.in_place:
        return it.run(None, mine.copy(), expected, op=it.op)
    return it.run(mine, np.zeros(it.count, mine.dtype), expected, op=it.op)


def broadcast(it):
    """root's."""
    parts = it.parts(it.count)
    is_root = it.comm.rank == it.root
    recv = parts[it.root].copy() if is_root else np.zeros_like(parts[it.root])
    it.run(parts[it.root] if is_root and not it.in_place else None, recv, parts[it.root], root=it.root)


def gathered(it, blocks, has_root, **rest):
    """gather, allgather and their v-forms."""
    parts = it.parts(blocks)
    mine, every = parts[it.comm.rank], np.concatenate(parts)
    if has_root and it.comm.rank != it.root:
        return it.run(mine, None, None, root=it.root, **rest)
    if has_root:
        rest["root"] = it.root
    recv = np.zeros_like(every)
    if not it.in_place:
        return it.run(mine, recv, every, **rest)
    at = sum(part.size for part in parts[: it.comm.rank])
    recv[at : at + mine.size] = mine
    return it.run(None, recv, every, **rest)


def scattered(it, blocks, **rest):
    """scatter and its v-form."""
    whole = values(it.dtype, it.root, sum(blocks), seed=it.seed)
    at = sum(blocks[: it.comm.rank])
    expected = whole[at : at + blocks[it.comm.rank]]
    is_root = it.comm.rank == it.root
    it.run(whole if is_root else None, np.zeros_like(expected), expected, root=it.root, **rest)


def alltoall(it):
    """Block r to rank r."""
    parts = it.parts(it.count * it.n)
    block = slice(it.count * it.comm.rank, it.count * (it.comm.rank + 1))
    expected = np.concatenate([part[block] for part in parts])
    mine = parts[it.comm.rank]
    it.run(None if it.in_place else mine, mine.copy() if it.in_place else np.zeros_like(mine), expected)


def allreduce_coalesced(it):
    """Several tensors."""
    shares = [it.parts(count, salt) for salt, count in enumerate(it.counts)]
    send = [share[it.comm.rank].copy() for share in shares]
    recv = None if it.in_place else [np.zeros_like(part) for part in send]
    call(it.comm, it.name, it.is_started, send, recv, op=it.op)
    for share, found in zip(shares, send if recv is None else recv):
        same(found, combined(it.op, share), it.op, it.__dict__)


def sendrecv(it):
    """Around the ring."""
    parts = it.parts(it.count)
    to, source = (it.comm.rank + 1) % it.n, (it.comm.rank - 1) % it.n
    recv, found = laid(np.zeros_like(parts[source]), it.recv_layout)
    send = laid(parts[it.comm.rank], it.send_layout)[0]
    if it.is_started:
        received = it.comm.sendrecv_start(send, to, recv, source).wait()
    else:
        received = it.comm.sendrecv(send, to, recv, source)
    assert received == hoop.Received(source, it.count)
    same(found.reshape(-1), parts[source])


CALLS = {
    "allreduce": allreduce,
    "allreduce_coalesced": allreduce_coalesced,
    "scan": scan,
    "exscan": exscan,
    "reduce": reduce,
    "reduce_scatter": reduce_scatter,
    "broadcast": broadcast,
    "allgather": lambda it: gathered(it, it.count, False),
    "allgatherv": lambda it: gathered(it, it.counts, False, counts=it.counts),
    "gather": lambda it: gathered(it, it.count, True),
    "gatherv": lambda it: gathered(it, it.counts, True, counts=it.counts),
    "scatter": lambda it: scattered(it, [it.count] * it.n),
    "scatterv": lambda it: scattered(it, it.counts, counts=it.counts),
    "alltoall": alltoall,
    "sendrecv": sendrecv,
}


@pytest.mark.ranks(3)
def test_random_calls(session):
    """Each rank draws the same, and all of them the same results as numpy."""
    comm = session.world

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(a_call(), min_size=5, max_size=5))
    def play(calls):
        for drawn in calls:
            CALLS[drawn["name"]](Played(comm, drawn))

    play()
    comm.barrier()
