"""tests/python/test_tensors.py - collectives along a dimension, and of many tensors at once"""

import itertools

import numpy as np
import pytest

import hoop
from hoop import ReduceOp
from test_collectives import NUMPY, call, combined, is_defined, same, values


@pytest.mark.ranks(3)
def test_along_each_dimension(session):
    """As numpy concatenates and splits, for all dtypes."""
    comm, n = session.world, session.world.size
    for dtype, dim, is_started in itertools.product(NUMPY, (0, 1, 2, -1, -3), (False, True)):
        parts = [values(dtype, rank, 24, seed=5).reshape(2, 3, 4) for rank in range(n)]
        every = np.concatenate(parts, axis=dim)
        recv = np.zeros_like(every)
        call(comm, "allgather_dim", is_started, parts[comm.rank], recv, dim=dim)
        same(recv, every, "allgather_dim", dtype, dim)
        recv = np.zeros_like(every)
        np.split(recv, n, axis=dim)[comm.rank][...] = parts[comm.rank]
        call(comm, "allgather_dim", is_started, None, recv, dim=dim)
        same(recv, every, "allgather_dim", dtype, dim, "in place")

        op = ReduceOp.SUM if is_started or not is_defined(dtype, ReduceOp.MAX) else ReduceOp.MAX
        wholes = [values(dtype, rank, 24 * n, seed=6).reshape(every.shape) for rank in range(n)]
        expected = np.ascontiguousarray(np.split(combined(op, wholes), n, axis=dim)[comm.rank])
        recv = np.zeros_like(expected)
        call(comm, "reduce_scatter_dim", is_started, wholes[comm.rank], recv, dim=dim, op=op)
        same(recv, expected, "reduce_scatter_dim", dtype, dim)
        recv = wholes[comm.rank].copy()
        call(comm, "reduce_scatter_dim", is_started, recv, dim=dim, op=op)
        same(recv.ravel()[:24], expected.ravel(), "reduce_scatter_dim", dtype, dim, "in place")
        assert np.array_equal(recv.ravel()[24:], wholes[comm.rank].ravel()[24:])


@pytest.mark.ranks(3)
def test_coalesced(session):
    """Of several shapes, in place and not; of no tensors."""
    comm, n = session.world, session.world.size
    shapes = [(2, 3), (), (0,), (5,)]
    for dtype, op, is_started in itertools.product(NUMPY, (ReduceOp.SUM, ReduceOp.AVG), (False, True)):
        if not is_defined(dtype, op):
            continue
        parts = [
            [values(dtype, rank, int(np.prod(shape)), seed=i).reshape(shape) for i, shape in enumerate(shapes)]
            for rank in range(n)
        ]
        recv = [np.zeros_like(part) for part in parts[comm.rank]]
        call(comm, "allreduce_coalesced", is_started, parts[comm.rank], recv, op=op)
        in_place = [part.copy() for part in parts[comm.rank]]
        call(comm, "allreduce_coalesced", is_started, in_place, op=op.name.lower())
        for i in range(len(shapes)):
            expected = combined(op, [parts[rank][i] for rank in range(n)])
            same(recv[i], np.asarray(expected), "allreduce_coalesced", dtype, op)
            same(in_place[i], np.asarray(expected), "allreduce_coalesced", dtype, op, "in place")
    comm.allreduce_coalesced([])
    comm.allreduce_coalesced_start([]).wait()


@pytest.mark.ranks(2)
def test_torch(session):
    """Tensors with their shapes."""
    torch = pytest.importorskip("torch")
    comm = session.world
    x = torch.full((2, 3), float(comm.rank), dtype=torch.bfloat16)
    recv = torch.zeros(2, 6, dtype=torch.bfloat16)
    comm.allgather_dim(x, recv, dim=1)
    assert recv.tolist() == [[0, 0, 0, 1, 1, 1]] * 2
    y = torch.ones(4)
    comm.allreduce_coalesced([y, torch.ones(2)])
    assert y.tolist() == [2] * 4
    got = comm.allgather_object(x)
    assert torch.equal(got[comm.rank], x)


@pytest.mark.ranks(2)
def test_what_does_not_fit(session):
    """Said before anything is sent."""
    comm = session.world
    x = np.zeros((2, 3))
    wrong = [
        (lambda: comm.allgather_dim(x, np.zeros((2, 5)), dim=1), r"recv is float64 of shape \(2, 5\).*\(2, 6\)"),
        (lambda: comm.allgather_dim(x, np.zeros((2, 6), "f4"), dim=1), "recv is float32 .*float64"),
        (lambda: comm.allgather_dim(x, np.zeros(12), dim=0), r"recv is float64 of shape \(12,\)"),
        (lambda: comm.allgather_dim(x, np.zeros((2, 6)), dim=2), "dim is 2, and there are 2 dimensions"),
        (lambda: comm.allgather_dim(x, np.zeros((2, 6)), dim=-3), "dim is -3"),
        (lambda: comm.allgather_dim(np.float64(1), np.zeros(()), dim=0), "there are 0 dimensions"),
        (lambda: comm.allgather_dim(None, np.zeros((2, 5)), dim=1), "recv has 5 along dimension 1"),
        (lambda: comm.allgather_dim(x.T, np.zeros((6, 2)), dim=0), "send .*C-contiguous"),
        (lambda: comm.reduce_scatter_dim(x, dim=1), "send has 3 along dimension 1, which are not 2 equal parts"),
        (lambda: comm.reduce_scatter_dim(x, np.zeros((2, 3)), dim=0), r"\(1, 3\) is needed"),
        (lambda: comm.allgather_dim(np.zeros([1] * 9), np.zeros([1] * 8 + [2]), dim=8), "9 dimensions, more than 8"),
        (lambda: comm.allreduce_coalesced([x], []), "send has 1 tensors, recv 0"),
        (lambda: comm.allreduce_coalesced([x, np.zeros(1, "i4")]), "tensors are of float64, int32"),
        (lambda: comm.allreduce_coalesced([x], [np.zeros(5)]), r"recv\[0\] is 5 float64, and send\[0\] 6 float64"),
    ]
    for made, said in wrong:
        with pytest.raises(ValueError, match=said):
            made()
    with pytest.raises(TypeError, match=r"allreduce_coalesced: send\[0\] \(bytes\): it is read-only"):
        comm.allreduce_coalesced([b"ab"])
    with pytest.raises(TypeError, match="allgather_dim: recv .* has no shape"):
        comm.allgather_dim(x, 5, dim=0)
    comm.free()
    with pytest.raises(hoop.Closed):
        session.leave()
        comm.allreduce_coalesced([x])
