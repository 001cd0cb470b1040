"""python/hoop/_objects.py - sends any object that can be pickled to other ranks

An object is sent as one message. It holds the pickle (protocol 5), then the buffers that
the pickle would have had to copy, such as those of arrays, each at a multiple of 64 bytes,
and then a table of their sizes. The sender copies each buffer once, into the message; the
receiver makes arrays of the memory in which the message arrived.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from hoop._binding import ffi, lib
from hoop._buffer import is_root, kept
from hoop._messages import ANY_SOURCE, peer_of
from hoop._work import Operations, Work, _raised

_NULL = ffi.NULL
_ALIGNMENT = 64
# The end of a message: the number of bytes of the pickle, and the number of buffers.
_END = struct.Struct("<QQ")


def dumps(value: object) -> bytes:
    """Return the message as which value is sent."""
    from pickle import PickleBuffer, dumps

    buffers: list[PickleBuffer] = []
    pickled = dumps(value, 5, buffer_callback=buffers.append)
    end = _END.pack(len(pickled), len(buffers))
    if not buffers:
        return pickled + end
    views = [buffer.raw() for buffer in buffers]
    parts: list[Any] = [pickled]
    n_bytes = len(pickled)
    for view in views:
        parts += [bytes(-n_bytes % _ALIGNMENT), view]
        n_bytes += -n_bytes % _ALIGNMENT + view.nbytes
    sizes = struct.pack(f"<{len(views)}Q", *(view.nbytes for view in views))
    return b"".join([*parts, sizes, end])


def loads(message: memoryview) -> Any:
    """Return the object from which message was made. Its arrays lie in message."""
    from pickle import loads

    n_bytes = len(message) - _END.size
    n_pickled, n_buffers = _END.unpack_from(message, n_bytes)
    if not n_buffers:
        return loads(message[:n_pickled])
    sizes = struct.unpack_from(f"<{n_buffers}Q", message, n_bytes - 8 * n_buffers)
    buffers, at = [], n_pickled
    for size in sizes:
        at += -at % _ALIGNMENT
        buffers.append(message[at : at + size])
        at += size
    return loads(message[:n_pickled], buffers=buffers)


def _owned(address: Any, n_bytes: int, owner: Any) -> memoryview:
    """Return a view of bytes that C owns; which owner keeps alive."""
    return memoryview(ffi.buffer(kept(address, owner), n_bytes))


def _free_object(out: Any) -> None:
    lib.hoop_object_free(out.bytes)


class _OneObject:
    """The struct through which C hands out one object. Its memory is freed when nothing uses it any more."""

    def __init__(self) -> None:
        self.out = ffi.gc(ffi.new("struct hoop_py_object *"), _free_object)
        self.bytes = ffi.addressof(self.out, "bytes")
        self.n_bytes = ffi.addressof(self.out, "n_bytes")

    def value(self) -> Any:
        """Return the object, or None if this process is not a member of the communicator."""
        if self.out.bytes == _NULL:
            return None
        return loads(_owned(self.out.bytes, self.out.n_bytes, self.out))


class _AllObjects:
    """The struct through which C hands out one object of each rank."""

    def __init__(self) -> None:
        self.out = ffi.gc(ffi.new("struct hoop_objects *"), lib.hoop_objects_free)

    def value(self) -> list[Any]:
        """Return the objects in rank order."""
        return [self._one(self.out.objects[i]) for i in range(self.out.n_objects)]

    def _one(self, item: Any) -> Any:
        message = _owned(item.bytes, item.n_bytes, self.out)
        is_aligned = not int(ffi.cast("uintptr_t", item.bytes)) % 16
        return loads(message if is_aligned else memoryview(bytearray(message)))


class Objects(Operations):
    """Calls that pass any object that can be pickled between the ranks of a communicator.

    Objects are pickled by protocol 5: the bytes of numpy arrays and the like are not copied
    into the pickle, and not copied at all where they arrive. Unpickling runs what the sender
    says, so use these calls only between ranks that trust each other, as those of a job do.
    All of them raise pickle's errors, hoop.RankLost, hoop.Mismatch, hoop.Timeout, and
    hoop.Exhausted if a rank has no memory for what it receives, on all ranks that need it.
    """

    def send_object(self, value: object, dest: int, tag: int = 0) -> None:
        """Send any object to rank dest, which receives it with recv_object(). mpi4py calls this send().

        tag is 0 to 2^61. Objects have tags of their own: recv() never receives an object.
        It calls hoop_send_object(); torch calls this send_object_list().
        """
        message = dumps(value)
        dest = peer_of("send_object", "dest", dest, tag)
        comm = self._comm or self._check("send_object")
        status = lib.hoop_send_object(ffi.from_buffer(message), len(message), dest, tag, comm)
        if status or _raised or self._abandoned:
            self._check_call(status, "send_object")

    def send_object_start(self, value: object, dest: int, tag: int = 0) -> Work[None]:
        """Start a send_object() and return at once. value has been pickled by then. mpi4py calls this isend()."""
        message = ffi.from_buffer(dumps(value))
        dest = peer_of("send_object", "dest", dest, tag)
        return self._start("send_object", lib.hoop_send_object_start, (message, len(message), dest, tag), message)

    def recv_object(self, source: int | None = ANY_SOURCE, tag: int = 0) -> Any:
        """Return the next object from rank source, or from any rank. mpi4py calls this recv().

        If source is None, which is hoop.ANY_SOURCE, it returns the object that arrived first.
        It calls hoop_recv_object(); torch calls this recv_object_list().
        """
        source = peer_of("recv_object", "source", source, tag)
        got, comm = _OneObject(), self._comm or self._check("recv_object")
        status = lib.hoop_recv_object(got.bytes, got.n_bytes, source, tag, comm, _NULL)
        if status or _raised or self._abandoned:
            self._check_call(status, "recv_object")
        return got.value()

    def recv_object_start(self, source: int | None = ANY_SOURCE, tag: int = 0) -> Work[Any]:
        """Start a recv_object() and return at once. wait() of the Work returns the object.

        mpi4py calls this irecv().
        """
        source = peer_of("recv_object", "source", source, tag)
        got = _OneObject()

        def begin(comm: Any, out_op: Any) -> int:
            start = lib.hoop_recv_object_start
            return start(got.bytes, got.n_bytes, source, tag, comm, _NULL, out_op)  # type: ignore[no-any-return]

        return self._start("recv_object", begin, (), got, got.value)

    def broadcast_object(self, value: object = None, root: int = 0) -> Any:
        """Return root's value on every rank; root gets value itself. mpi4py calls this bcast().

        value is ignored on other ranks. It calls hoop_broadcast_object(); torch calls this
        broadcast_object_list().
        """
        return self._broadcast_object(value, root, False)

    def broadcast_object_start(self, value: object = None, root: int = 0) -> Work[Any]:
        """Start a broadcast_object() and return at once. wait() of the Work returns the object."""
        return self._broadcast_object(value, root, True)  # type: ignore[no-any-return]

    def _broadcast_object(self, value: object, root: int, is_started: bool) -> Any:
        is_own = is_root(self, "broadcast_object", root)
        message = dumps(value) if is_own else b""
        got = _OneObject()
        given = (ffi.from_buffer(message), len(message), got.bytes, got.n_bytes, root)
        finish = (lambda: value) if is_own else got.value
        return self._run("broadcast_object", given, (given, got), finish, is_started)

    def gather_object(self, value: object, root: int = 0) -> list[Any] | None:
        """Return a list of the values of all ranks, in rank order, on root, and None elsewhere.

        It calls hoop_gather_object(); mpi4py calls this gather(), torch gather_object().
        """
        return self._gather_object(value, root, False)  # type: ignore[no-any-return]

    def gather_object_start(self, value: object, root: int = 0) -> Work[list[Any] | None]:
        """Start a gather_object() and return at once. wait() of the Work returns the list, or None."""
        return self._gather_object(value, root, True)  # type: ignore[no-any-return]

    def _gather_object(self, value: object, root: int, is_started: bool) -> Any:
        is_own = is_root(self, "gather_object", root)
        message, got = dumps(value), _AllObjects()
        given = (ffi.from_buffer(message), len(message), got.out if is_own else _NULL, root)
        return self._run("gather_object", given, (given, got), got.value if is_own else lambda: None, is_started)

    def allgather_object(self, value: object) -> list[Any]:
        """Return a list of the values of all ranks, in rank order, on every rank.

        It calls hoop_allgather_object(); mpi4py calls this allgather(), torch all_gather_object().
        """
        return self._allgather_object(value, False)  # type: ignore[no-any-return]

    def allgather_object_start(self, value: object) -> Work[list[Any]]:
        """Start an allgather_object() and return at once. wait() of the Work returns the list."""
        return self._allgather_object(value, True)  # type: ignore[no-any-return]

    def _allgather_object(self, value: object, is_started: bool) -> Any:
        message, got = dumps(value), _AllObjects()
        given = (ffi.from_buffer(message), len(message), got.out)
        return self._run("allgather_object", given, (given, got), got.value, is_started)

    def scatter_object(self, values: Sequence[object] | None = None, root: int = 0) -> Any:
        """Return on each rank the value that root has for it: root's values[rank]. mpi4py calls this scatter().

        values has one entry for each rank; it is ignored on other ranks than root.
        It calls hoop_scatter_object(); torch calls this scatter_object_list().
        It raises ValueError if root does not have as many values as there are ranks.
        """
        return self._scatter_object(values, root, False)

    def scatter_object_start(self, values: Sequence[object] | None = None, root: int = 0) -> Work[Any]:
        """Start a scatter_object() and return at once. wait() of the Work returns the object."""
        return self._scatter_object(values, root, True)  # type: ignore[no-any-return]

    def _scatter_object(self, values: Sequence[object] | None, root: int, is_started: bool) -> Any:
        messages, listed = [], _NULL
        if is_root(self, "scatter_object", root):
            if values is None or len(values) != self.size:
                n = "no values" if values is None else f"{len(values)} values"
                raise ValueError(f"scatter_object: root has {n}, the communicator {self.size} ranks")
            messages = [ffi.from_buffer(dumps(value)) for value in values]
            listed = ffi.new("struct hoop_object[]", [(message, len(message)) for message in messages])
        got = _OneObject()
        given = (listed, got.bytes, got.n_bytes, root)
        return self._run("scatter_object", given, (given, messages, got), got.value, is_started)
