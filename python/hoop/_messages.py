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
# More than any communicator has: of others C tells.
_RANKS_MAX = 2**31
_RECEIVED = ffi.typeof("struct hoop_received *")
_new = ffi.new
_send = lib.hoop_send
_recv = lib.hoop_recv


class Received(NamedTuple):
    """What a receive got.

    source: the rank that sent it; -1 where this process is no member of the communicator.
    count: the elements that came, at most those of the buffer; of an object, its bytes.
    """

    source: int
    count: int  # type: ignore[assignment]


class Send(NamedTuple):
    """A message to be sent by Comm.batch(): buffer to rank dest."""

    buffer: Buffer
    dest: int
    tag: int = 0


class Recv(NamedTuple):
    """A message to be received by Comm.batch(): into buffer, from rank source or any."""

    buffer: Buffer
    source: Optional[int] = ANY_SOURCE  # noqa: UP045
    tag: int = 0


Message = Union[Send, Recv]


def peer_of(call: str, what: str, rank: int | None, tag: int) -> int:
    """A peer as C has it; tag is only looked at."""
    if not 0 <= tag <= _TAG_MAX:
        raise ValueError(f"{call}: tag is {tag}; it is 0 to 2^62")
    if rank is None and what == "source":
        return _ANY  # type: ignore[no-any-return]
    if rank is None or not 0 <= rank < _RANKS_MAX:
        raise ValueError(f"{call}: {what} is {rank}; it is a rank, 0 or more")
    return rank


def received_of(out: Any) -> Received:
    """What C wrote; nothing where this process is no member."""
    return Received(-1 if out.source == _ANY else int(out.source), int(out.count))


def new_received() -> Any:
    """Where C writes what came."""
    return _new(_RECEIVED, (_ANY, 0))


def _message(call: str, message: Message) -> tuple[Any, Any]:
    """struct hoop_message, and what it borrows until the message has ended."""
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
    """What two ranks of a communicator say to each other.

    Messages from one rank to another with one tag arrive in the order in which they
    were sent; different tags never cross. Several threads may send and receive on one
    communicator at once. A send has ended when its buffer may be used again; one of
    more than 64 KiB may wait for its receive, so that ranks that all send first wait
    for each other, where sendrecv(), batch() and the started forms do not.
    """

    def send(self, buffer: Buffer, dest: int, tag: int = 0) -> None:
        """Send buffer's elements to rank dest. hoop_send(), MPI_Send().

        tag: 0 to 2^62, the same as the receive's.

        ValueError: buffer is not C-contiguous, or dest or tag cannot be.
        TypeError: it is no buffer in this host's memory; objects go by send_object().
        hoop.Mismatch: the receive was shorter, or of another dtype; a small message
        may have been sent before that is known.
        hoop.RankLost, hoop.Timeout: as the text says, who is at fault.
        """
        where, count, dtype = place("send", "buffer", buffer, False)
        if not (0 <= dest < _RANKS_MAX and 0 <= tag <= _TAG_MAX):
            peer_of("send", "dest", dest, tag)
        status = _send(where, count, dtype, dest, tag, self._comm or self._check("send"))
        if status or _raised or self._abandoned:
            self._check_call(status, "send")

    def send_start(self, buffer: Buffer, dest: int, tag: int = 0) -> Work[None]:
        """send() that returns at once; buffer is hoop's until the Work has ended. MPI_Isend()."""
        where, count, dtype = place("send", "buffer", buffer, False)
        dest = peer_of("send", "dest", dest, tag)
        return self._start("send", lib.hoop_send_start, (where, count, dtype, dest, tag), (buffer, where))

    def recv(self, buffer: Buffer, source: int | None = ANY_SOURCE, tag: int = 0) -> Received:
        """Receive up to buffer's elements from rank source, or from any. hoop_recv(), MPI_Recv().

        buffer: of the sender's dtype; a shorter message leaves its end as it was.
        source: None, which is hoop.ANY_SOURCE: whoever's message arrived first.

        ValueError: buffer is not C-contiguous, or source or tag cannot be.
        TypeError: it is no buffer in this host's memory, or read-only.
        hoop.Mismatch: the message was longer, or of another dtype; it is gone.
        hoop.RankLost, hoop.Timeout: as the text says, who is at fault.
        """
        where, count, dtype = place("recv", "buffer", buffer, True)
        source = peer_of("recv", "source", source, tag)
        out = new_received()
        status = _recv(where, count, dtype, source, tag, self._comm or self._check("recv"), out)
        if status or _raised or self._abandoned:
            self._check_call(status, "recv")
        return received_of(out)

    def recv_start(self, buffer: Buffer, source: int | None = ANY_SOURCE, tag: int = 0) -> Work[Received]:
        """recv() that returns at once; buffer is hoop's until the Work has ended. MPI_Irecv()."""
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
        """Send to dest and receive from source at once. hoop_sendrecv(), MPI_Sendrecv().

        Ranks that shift values around cannot wait for each other so. The two may
        differ in dtype and in elements, and must not overlap. When one half fails, the
        other is given up. Errors as send()'s and recv()'s.
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
        """sendrecv() that returns at once; the buffers are hoop's until the Work has ended."""
        c_send, c_recv, out, kept = _pair(send, dest, recv, source, send_tag, recv_tag)

        def begin(comm: Any, out_op: Any) -> int:
            return lib.hoop_sendrecv_start(c_send, c_recv, comm, out, out_op)  # type: ignore[no-any-return]

        return self._start("sendrecv", begin, (), kept, lambda: received_of(out))

    def batch(self, messages: Sequence[Message]) -> list[Received | None]:
        """Send and receive them all, and return when all have ended.

        messages: hoop.Send and hoop.Recv, in the order of the list as far as peer and
        tag are the same. Returns what each receive got, and None for each send.
        hoop_batch(), torch's batch_isend_irecv().

        ValueError, TypeError, hoop.Invalid: one cannot be; nothing was sent.
        Others as send()'s and recv()'s: the first failure in the order of the list is
        raised, when all have ended.
        """
        given = [_message("batch", message) for message in messages]
        listed = ffi.new("struct hoop_message[]", [message for message, _ in given])
        status = lib.hoop_batch(listed, len(given), self._comm or self._check("batch"))
        if status or _raised or self._abandoned:
            self._check_call(status, "batch")
        return [received_of(kept[2]) if kept[2] else None for _, kept in given]

    def batch_start(self, messages: Sequence[Message]) -> list[Work[Received | None]]:
        """batch() that returns at once: a Work for each message, in the order of the list."""
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
