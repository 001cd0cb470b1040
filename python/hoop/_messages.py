"""python/hoop/_messages.py - messages between two ranks"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from hoop._binding import ffi, lib
from hoop._buffer import Buffer, place
from hoop._error import fail
from hoop._work import Operations, Work, _raised

ANY_SOURCE = None
"""As source of a receive: whoever's message arrived first."""

_ANY = lib.HOOP_ANY_SOURCE
_NULL = ffi.NULL
_TAG_MAX = 2**62
# More ranks than any communicator has. C reports smaller ranks that do not exist.
_RANKS_MAX = 2**31
_RECEIVED = ffi.typeof("struct hoop_received *")
_new = ffi.new
_send = lib.hoop_send
_recv = lib.hoop_recv


class Received(NamedTuple):
    """What a receive has received.

    source is the rank that sent the message, or -1 if this process is not a member of the
    communicator. count is the number of received elements, at most that of the buffer; for an
    object it is the number of bytes.
    """

    source: int
    count: int  # type: ignore[assignment]


class Send(NamedTuple):
    """A message for Comm.batch() that sends buffer to rank dest."""

    buffer: Buffer
    dest: int
    tag: int = 0


class Recv(NamedTuple):
    """A message for Comm.batch() that receives into buffer, from rank source or from any rank."""

    buffer: Buffer
    source: Optional[int] = ANY_SOURCE  # noqa: UP045
    tag: int = 0


Message = Union[Send, Recv]


def peer_of(call: str, what: str, rank: int | None, tag: int) -> int:
    """Return the number that C uses for a peer. It also checks tag.

    It raises ValueError if rank or tag is out of range.
    """
    if not 0 <= tag <= _TAG_MAX:
        raise ValueError(f"{call}: tag is {tag}; it is 0 to 2^62")
    if rank is None and what == "source":
        return _ANY  # type: ignore[no-any-return]
    if rank is None or not 0 <= rank < _RANKS_MAX:
        raise ValueError(f"{call}: {what} is {rank}; it is a rank, 0 or more")
    return rank


def received_of(out: Any) -> Received:
    """Return what C has written to out; it has written nothing if this process is not a member."""
    return Received(-1 if out.source == _ANY else int(out.source), int(out.count))


def new_received() -> Any:
    """Allocate the struct to which C writes what was received."""
    return _new(_RECEIVED, (_ANY, 0))


def _message(call: str, message: Message) -> tuple[Any, Any]:
    """Return a struct hoop_message, and the objects that it borrows until the message has ended."""
    is_receive = isinstance(message, Recv)
    if not isinstance(message, (Send, Recv)):
        raise TypeError(f"{call}: a message is {type(message).__name__}; it is a hoop.Send or a hoop.Recv")
    what, rank = ("source", message.source) if isinstance(message, Recv) else ("dest", message.dest)
    peer = peer_of(call, what, rank, message.tag)
    where, count, dtype = place(call, "buffer", message.buffer, is_receive)
    received = new_received() if is_receive else _NULL
    kind = lib.HOOP_RECV if is_receive else lib.HOOP_SEND
    c_message = (kind, where, count, dtype, peer, message.tag, received)
    return c_message, (message.buffer, where, received)


class Messages(Operations):
    """Point-to-point messages between two ranks of a communicator.

    Messages from one rank to another with the same tag arrive in the order in which they were
    sent; messages with different tags never meet the same receive. Several threads may send
    and receive on one communicator at once. When a send has ended, its buffer may be used
    again. A send of more than 64 KiB may wait for its receive, so ranks that all send first
    can block each other; sendrecv(), batch() and the calls that end with _start do not.
    """

    def send(self, buffer: Buffer, dest: int, tag: int = 0) -> None:
        """Send the elements of buffer to rank dest. It calls hoop_send(); MPI calls this MPI_Send().

        tag is 0 to 2^62 and equals that of the receive.

        It raises ValueError if buffer is not C-contiguous, or if dest or tag is out of range, and
        TypeError if buffer is not a buffer in this host's memory; use send_object() for objects.
        It raises hoop.Mismatch if the receive is shorter or of another dtype; a small message may
        have been sent before that is known. It raises hoop.RankLost or hoop.Timeout if the other
        rank fails; the text names it.
        """
        where, count, dtype = place("send", "buffer", buffer, False)
        if not (0 <= dest < _RANKS_MAX and 0 <= tag <= _TAG_MAX):
            peer_of("send", "dest", dest, tag)
        status = _send(where, count, dtype, dest, tag, self._comm or self._check("send"))
        if status or _raised or self._abandoned:
            self._check_call(status, "send")

    def send_start(self, buffer: Buffer, dest: int, tag: int = 0) -> Work[None]:
        """Start a send() and return at once. buffer belongs to hoop until the Work has ended.

        MPI calls this MPI_Isend().
        """
        where, count, dtype = place("send", "buffer", buffer, False)
        dest = peer_of("send", "dest", dest, tag)
        return self._start("send", lib.hoop_send_start, (where, count, dtype, dest, tag), (buffer, where))

    def recv(self, buffer: Buffer, source: int | None = ANY_SOURCE, tag: int = 0) -> Received:
        """Receive at most the elements of buffer from rank source, or from any rank.

        buffer has the dtype of the sender's; a shorter message leaves its end unchanged. If source
        is None, which is hoop.ANY_SOURCE, the message that arrived first is received.
        It calls hoop_recv(); MPI calls this MPI_Recv().

        It raises ValueError if buffer is not C-contiguous, or if source or tag is out of range, and
        TypeError if buffer is not a writable buffer in this host's memory. It raises hoop.Mismatch
        if the message is longer or of another dtype; the message is then lost. It raises
        hoop.RankLost or hoop.Timeout if the other rank fails; the text names it.
        """
        where, count, dtype = place("recv", "buffer", buffer, True)
        source = peer_of("recv", "source", source, tag)
        out = new_received()
        status = _recv(where, count, dtype, source, tag, self._comm or self._check("recv"), out)
        if status or _raised or self._abandoned:
            self._check_call(status, "recv")
        return received_of(out)

    def recv_start(self, buffer: Buffer, source: int | None = ANY_SOURCE, tag: int = 0) -> Work[Received]:
        """Start a recv() and return at once. buffer belongs to hoop until the Work has ended.

        MPI calls this MPI_Irecv().
        """
        where, count, dtype = place("recv", "buffer", buffer, True)
        source = peer_of("recv", "source", source, tag)
        out = new_received()

        def begin(*arguments: Any) -> int:
            *given, comm, out_op = arguments
            return lib.hoop_recv_start(*given, comm, out, out_op)  # type: ignore[no-any-return]

        kept = (buffer, where, out)
        return self._start("recv", begin, (where, count, dtype, source, tag), kept, lambda: received_of(out))

    def sendrecv(
        self,
        send: Buffer,
        dest: int,
        recv: Buffer,
        source: int | None = ANY_SOURCE,
        *,
        send_tag: int = 0,
        recv_tag: int = 0,
    ) -> Received:
        """Send to dest and receive from source at the same time.

        Ranks that pass values around in a ring cannot block each other with this call. The two
        buffers may differ in dtype and number of elements, and must not overlap. If one half fails,
        the other is given up. It raises the errors of send() and recv().
        It calls hoop_sendrecv(); MPI calls this MPI_Sendrecv().
        """
        c_send, c_recv, out, kept = _pair(send, dest, recv, source, send_tag, recv_tag)
        status = lib.hoop_sendrecv(c_send, c_recv, self._comm or self._check("sendrecv"), out)
        del kept
        if status or _raised or self._abandoned:
            self._check_call(status, "sendrecv")
        return received_of(out)

    def sendrecv_start(
        self,
        send: Buffer,
        dest: int,
        recv: Buffer,
        source: int | None = ANY_SOURCE,
        *,
        send_tag: int = 0,
        recv_tag: int = 0,
    ) -> Work[Received]:
        """Start a sendrecv() and return at once. The buffers belong to hoop until the Work has ended."""
        c_send, c_recv, out, kept = _pair(send, dest, recv, source, send_tag, recv_tag)

        def begin(comm: Any, out_op: Any) -> int:
            return lib.hoop_sendrecv_start(c_send, c_recv, comm, out, out_op)  # type: ignore[no-any-return]

        return self._start("sendrecv", begin, (), kept, lambda: received_of(out))

    def batch(self, messages: Sequence[Message]) -> list[Received | None]:
        """Send and receive all messages, and return when all have ended.

        messages are hoop.Send and hoop.Recv; those with the same peer and tag keep their order. It
        returns a list with a Received for each receive and None for each send.
        It calls hoop_batch(); torch calls this batch_isend_irecv().

        It raises ValueError, TypeError or hoop.Invalid if a message is wrong; then nothing was
        sent. It also raises the errors of send() and recv(): when all messages have ended, the
        first failure in the order of the list is raised.
        """
        given = [_message("batch", message) for message in messages]
        listed = ffi.new("struct hoop_message[]", [message for message, _ in given])
        status = lib.hoop_batch(listed, len(given), self._comm or self._check("batch"))
        if status or _raised or self._abandoned:
            self._check_call(status, "batch")
        return [received_of(kept[2]) if kept[2] else None for _, kept in given]

    def batch_start(self, messages: Sequence[Message]) -> list[Work[Received | None]]:
        """Start a batch() and return at once: a list with a Work for each message, in the same order."""
        given = [_message("batch", message) for message in messages]
        listed = ffi.new("struct hoop_message[]", [message for message, _ in given])
        ops = ffi.new("hoop_op_t *[]", max(1, len(given)))
        comm = self._check("batch")
        status = lib.hoop_batch_start(listed, len(given), comm, ops)
        if status:
            fail(status, "batch")

        def work(op: Any, kept: Any, message: Message) -> Work[Received | None]:
            out, name = kept[2], "recv" if kept[2] else "send"
            return Work(self._session, op, kept, name, (lambda: received_of(out)) if out else None)

        return [work(ops[i], kept, message) for i, ((_, kept), message) in enumerate(zip(given, messages))]


def _pair(
    send: Buffer, dest: int, recv: Buffer, source: int | None, send_tag: int, recv_tag: int
) -> tuple[Any, Any, Any, Any]:
    c_send, sent = _message("sendrecv", Send(send, dest, send_tag))
    c_recv, got = _message("sendrecv", Recv(recv, source, recv_tag))
    both = ffi.new("struct hoop_message[]", [c_send, c_recv])
    return both, both + 1, got[2], (sent, got, both)
