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
    """dim, counted from the first."""
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
    """struct hoop_piece of each tensor, which live as long as these, and their type."""
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
    """Collectives that look at the shape of a tensor, or take many of them."""

    def allgather_dim(self, send: Buffer | None, recv: Buffer, *, dim: int) -> None:
        """Concatenate all ranks' tensors along dim, in rank order. hoop_allgather_dim().

        send: of one shape on all ranks. recv: that shape, but size times as long along
        dim. Where send is None this rank's part already lies at its place in recv.
        dim: negative counts from the end. Like numpy.concatenate(..., axis=dim).

        ValueError: a tensor is not C-contiguous, or its shape or dtype does not fit.
        TypeError: it is no buffer in this host's memory, or, to be written, read-only.
        hoop.RankLost, hoop.Mismatch, hoop.Timeout: as the text says, who is at fault.
        hoop.Exhausted: there is no memory to sort the blocks in.
        """
        self._allgather_dim(send, recv, dim, False)

    def allgather_dim_start(self, send: Buffer | None, recv: Buffer, *, dim: int) -> Work[None]:
        """allgather_dim() that returns at once; the buffers are hoop's until the Work has ended."""
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
        """Combine all ranks' tensors; rank r gets the r-th of size equal parts along dim.

        send: of one shape on all ranks. recv: that shape, but a size-th as long along
        dim. Where recv is None the result lies at the beginning of send, densely, and
        the rest stays as it was. hoop_reduce_scatter_dim(). Errors as allgather_dim()'s.
        """
        self._reduce_scatter_dim(send, recv, dim, op, False)

    def reduce_scatter_dim_start(
        self, send: Buffer, recv: Buffer | None = None, *, dim: int, op: Op = ReduceOp.SUM
    ) -> Work[None]:
        """reduce_scatter_dim() that returns at once; the buffers are hoop's until the Work has ended."""
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
        """allreduce() of many tensors in one exchange. torch's all_reduce_coalesced().

        send, recv: tensors of one dtype, with the same numbers of elements in the same
        order on all ranks; none may overlap another. Where recv is None the results
        take the place of send's. hoop_allreduce_coalesced(). Errors as allreduce()'s;
        hoop.Exhausted: there is no memory to pack them into.
        """
        self._allreduce_coalesced(send, recv, op, False)

    def allreduce_coalesced_start(
        self, send: Sequence[Buffer], recv: Sequence[Buffer] | None = None, *, op: Op = ReduceOp.SUM
    ) -> Work[None]:
        """allreduce_coalesced() that returns at once; what is received is there when it was waited for."""
        return self._allreduce_coalesced(send, recv, op, True)  # type: ignore[no-any-return]

    def _allreduce_coalesced(
        self, send: Sequence[Buffer], recv: Sequence[Buffer] | None, op: Op, is_started: bool
    ) -> Any:
        call = "allreduce_coalesced"
        send, recv = list(send), recv if recv is None else list(recv)
        pieces, dtype = _pieces(call, send, recv)
        given = (ffi.new("struct hoop_piece[]", pieces), len(pieces), dtype, operator(op))
        return self._run(call, given, (send, recv, pieces), None, is_started)
