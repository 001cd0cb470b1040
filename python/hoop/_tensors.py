"""python/hoop/_tensors.py - collectives along a dimension, and of many tensors at once"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hoop._binding import ffi, lib
from hoop._buffer import IN_PLACE, Buffer, Op, operator, place, shape
from hoop._enums import DType, ReduceOp
from hoop._work import Operations, Work


def _c_shape(call: str, sizes: tuple[int, ...]) -> Any:
    if len(sizes) > lib.HOOP_MAX_DIMS:
        raise ValueError(f"{call}: a tensor has {len(sizes)} dimensions, more than {lib.HOOP_MAX_DIMS}")
    return ffi.new("struct hoop_shape *", (len(sizes), sizes))


def _along(call: str, dim: int, sizes: tuple[int, ...]) -> int:
    """Return dim counted from the first dimension.

    It raises ValueError if there is no such dimension.
    """
    if not -len(sizes) <= dim < len(sizes):
        raise ValueError(f"{call}: dim is {dim}, and there are {len(sizes)} dimensions")
    return dim % len(sizes)


def _resized(sizes: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


def _divided(call: str, what: str, sizes: tuple[int, ...], dim: int, n: int) -> tuple[int, ...]:
    if n and sizes[dim] % n:
        raise ValueError(f"{call}: {what} has {sizes[dim]} along dimension {dim}, which are not {n} equal parts")
    return _resized(sizes, dim, sizes[dim] // n if n else sizes[dim])


def _fit(call: str, found: tuple[int, ...], dtype: int, needed: tuple[int, ...], in_dtype: int) -> None:
    if found != needed or dtype != in_dtype:
        have, need = DType(dtype).name.lower(), DType(in_dtype).name.lower()
        raise ValueError(f"{call}: recv is {have} of shape {found}, and {need} of shape {needed} is needed")


def _pieces(call: str, send: Sequence[Buffer], recv: Sequence[Buffer] | None) -> tuple[list[tuple[Any, Any, int]], int]:
    """Return a struct hoop_piece for each tensor, which keep the buffers alive, and the dtype of the elements."""
    if recv is not None and len(recv) != len(send):
        raise ValueError(f"{call}: send has {len(send)} tensors, recv {len(recv)}")
    pieces, dtypes = [], {int(DType.UINT8)} if not send else set()
    for i, tensor in enumerate(send):
        where, n, dtype = place(call, f"send[{i}]", tensor, recv is None)
        dtypes.add(dtype)
        if recv is None:
            pieces.append((IN_PLACE, where, n))
            continue
        out, n_out, out_dtype = place(call, f"recv[{i}]", recv[i], True)
        if (n, dtype) != (n_out, out_dtype):
            have, need = DType(out_dtype).name.lower(), DType(dtype).name.lower()
            raise ValueError(f"{call}: recv[{i}] is {n_out} {have}, and send[{i}] {n} {need}")
        pieces.append((where, out, n))
    if len(dtypes) > 1:
        names = ", ".join(sorted(DType(dtype).name.lower() for dtype in dtypes))
        raise ValueError(f"{call}: tensors are of {names}; they have to be of one dtype")
    return pieces, dtypes.pop()


class Tensors(Operations):
    """Collectives that depend on the shape of a tensor, or that take many tensors."""

    def allgather_dim(self, send: Buffer | None, recv: Buffer, *, dim: int) -> None:
        """Concatenate the tensors of all ranks along dim, in rank order.

        send has the same shape on all ranks. recv has that shape, but is size times as long along
        dim. If send is None, this rank's part already lies in its place in recv. A negative dim
        counts from the end. The result is that of numpy.concatenate(..., axis=dim).
        It calls hoop_allgather_dim().

        It raises ValueError if a tensor is not C-contiguous, or if its shape or dtype does not fit,
        and TypeError if a tensor is not a buffer in this host's memory, or recv is read-only.
        It raises hoop.RankLost, hoop.Mismatch or hoop.Timeout if another rank fails or makes another
        call; the text names it. It raises hoop.Exhausted if there is no memory in which to sort the
        blocks.
        """
        self._allgather_dim(send, recv, dim, False)

    def allgather_dim_start(self, send: Buffer | None, recv: Buffer, *, dim: int) -> Work[None]:
        """Start an allgather_dim() and return at once. The buffers belong to hoop until the Work has ended."""
        return self._allgather_dim(send, recv, dim, True)  # type: ignore[no-any-return]

    def _allgather_dim(self, send: Buffer | None, recv: Buffer, dim: int, is_started: bool) -> Any:
        call = "allgather_dim"
        out_sizes = shape(call, "recv", recv)
        dim = _along(call, dim, out_sizes)
        c_recv, _, dtype = place(call, "recv", recv, True)
        if send is None:
            c_send, sizes = IN_PLACE, _divided(call, "recv", out_sizes, dim, self.size)
        else:
            c_send, _, in_dtype = place(call, "send", send, False)
            sizes = shape(call, "send", send)
            needed = _resized(sizes, dim, sizes[dim] * self.size) if len(sizes) > dim else sizes
            _fit(call, out_sizes, dtype, needed if self.size else out_sizes, in_dtype)
        given = (c_send, c_recv, _c_shape(call, sizes), dim, dtype)
        return self._run(call, given, (send, recv, given), None, is_started)

    def reduce_scatter_dim(self, send: Buffer, recv: Buffer | None = None, *, dim: int, op: Op = ReduceOp.SUM) -> None:
        """Combine the tensors of all ranks; rank r gets the r-th of size equal parts along dim.

        send has the same shape on all ranks. recv has that shape, but its length along dim is
        divided by size. If recv is None, the result lies densely at the beginning of send, and the
        rest of send is unchanged. It calls hoop_reduce_scatter_dim() and raises the errors of
        allgather_dim().
        """
        self._reduce_scatter_dim(send, recv, dim, op, False)

    def reduce_scatter_dim_start(
        self, send: Buffer, recv: Buffer | None = None, *, dim: int, op: Op = ReduceOp.SUM
    ) -> Work[None]:
        """Start a reduce_scatter_dim() and return at once. The buffers belong to hoop until the Work has ended."""
        return self._reduce_scatter_dim(send, recv, dim, op, True)  # type: ignore[no-any-return]

    def _reduce_scatter_dim(self, send: Buffer, recv: Buffer | None, dim: int, op: Op, is_started: bool) -> Any:
        call = "reduce_scatter_dim"
        sizes = shape(call, "send", send)
        dim = _along(call, dim, sizes)
        needed = _divided(call, "send", sizes, dim, self.size)
        c_send, _, dtype = place(call, "send", send, recv is None)
        if recv is None:
            c_send, c_recv = IN_PLACE, c_send
        else:
            c_recv, _, out_dtype = place(call, "recv", recv, True)
            _fit(call, shape(call, "recv", recv), out_dtype, needed, dtype)
        given = (c_send, c_recv, _c_shape(call, sizes), dim, dtype, operator(op))
        return self._run(call, given, (send, recv, given), None, is_started)

    def allreduce_coalesced(
        self, send: Sequence[Buffer], recv: Sequence[Buffer] | None = None, *, op: Op = ReduceOp.SUM
    ) -> None:
        """Make an allreduce() of many tensors in one exchange, like torch's all_reduce_coalesced().

        send and recv are lists of tensors of one dtype, with the same numbers of elements in the
        same order on all ranks; no tensor may overlap another. If recv is None, the results
        replace the tensors of send. It calls hoop_allreduce_coalesced().
        It raises the errors of allreduce(), and hoop.Exhausted if there is no memory in which to
        pack the tensors.
        """
        self._allreduce_coalesced(send, recv, op, False)

    def allreduce_coalesced_start(
        self, send: Sequence[Buffer], recv: Sequence[Buffer] | None = None, *, op: Op = ReduceOp.SUM
    ) -> Work[None]:
        """Start an allreduce_coalesced() and return at once.

        The results are in the buffers when the Work has been waited for.
        """
        return self._allreduce_coalesced(send, recv, op, True)  # type: ignore[no-any-return]

    def _allreduce_coalesced(
        self, send: Sequence[Buffer], recv: Sequence[Buffer] | None, op: Op, is_started: bool
    ) -> Any:
        call = "allreduce_coalesced"
        send, recv = list(send), recv if recv is None else list(recv)
        pieces, dtype = _pieces(call, send, recv)
        given = (ffi.new("struct hoop_piece[]", pieces), len(pieces), dtype, operator(op))
        return self._run(call, given, (send, recv, pieces), None, is_started)
