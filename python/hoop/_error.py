"""python/hoop/_error.py - failures as exceptions, one class for each status"""

from __future__ import annotations

from typing import Any, NoReturn

from hoop._binding import ffi, lib
from hoop._enums import Status


class Error(Exception):
    """A call of hoop failed; the text says what, where, who and what to do.

    The attributes say the same to programs; None: it is not known, or there is no
    such thing. Ranks are those of the session's world.
    """

    status: Status
    """What the call returned, as in hoop/status.h."""
    operation: str | None
    """The call of this package that failed."""
    path: str
    """The C functions that the failure came through, for bug reports."""
    rank: int | None = None
    """Who is at fault: is lost, late, or has failed; of a mismatch, whose call differs from that of who found it."""
    host: str | None = None
    """That rank's host."""
    pid: int | None = None
    """That rank's process, on its host."""
    waited_for: int | None = None
    """Whom this rank waited for when the call ended."""
    communicator: str | None = None
    """The name of the communicator: Comm.set_name() gives it one, the world has that of "world"."""
    sequence: int | None = None
    """Which call of its communicator it was, from 1, or which message to that rank."""
    bytes: int | None = None
    """Length of the call's count of elements, or of the message."""
    elapsed: float | None = None
    """Seconds since the call began."""
    allowed: float | None = None
    """Seconds that the communicator allows."""

    def __init__(
        self,
        text: str,
        status: Status = Status.UNKNOWN,
        operation: str | None = None,
        path: str = "",
    ) -> None:
        super().__init__(text)
        self.status = status
        self.operation = operation
        self.path = path

    def __reduce__(self) -> Any:
        return type(self), (self.args[0],), self.__dict__

    def __repr__(self) -> str:
        known = [f"{name}={value!r}" for name, value in self.__dict__.items() if name not in _UNSHOWN]
        return f"{type(self).__name__}({', '.join([repr(self.args[0]), *known])})"


class Cancelled(Error):
    """The call was cancelled."""


class Invalid(Error, ValueError):
    """An argument or a setting is wrong; nothing was sent."""


class Timeout(Error, TimeoutError):
    """A deadline passed; the operation has ended and its buffers are the caller's."""


class Pending(Error, TimeoutError):
    """Work.wait()'s own timeout passed: the operation goes on, its buffers are hoop's."""


class NotFound(Error, LookupError):
    """There is no such thing."""


class Refused(Error):
    """It is not in the state for that, e.g. the job is full, or a value of the store is no number."""


class Exists(Refused):
    """It is there already, e.g. the rank is taken."""


class Denied(Refused):
    """Who asks is known, but may not."""


class Unauthenticated(Refused):
    """The job's token is wrong or missing."""


class Exhausted(Error):
    """A limit or memory is exhausted."""


class Aborted(Error):
    """Another rank gave the call up, as where Ctrl-C interrupted it; the communicator was revoked; a race was lost."""


class OutOfRange(Error):
    """A position is out of range."""


class Unimplemented(Error, NotImplementedError):
    """hoop does not do this, or not with such settings."""


class Internal(Error):
    """A bug in hoop; please report text and path."""


class Unavailable(Error, ConnectionError):
    """Nobody answers; trying again may help."""


class DataLoss(Error):
    """Bytes arrived damaged."""


class RankLost(Error):
    """A rank died or cannot be reached; the text names it."""


class RankFailed(RankLost):
    """A rank has given up, as where it raised an exception; the text names it and says what it said."""


class Mismatch(Error):
    """Ranks called different things; the text names both."""


class Closed(Error):
    """The session has been left, or the communicator freed."""


CLASSES: dict[Status, type[Error]] = {
    Status.CANCELLED: Cancelled,
    Status.UNKNOWN: Error,
    Status.INVALID: Invalid,
    Status.TIMEOUT: Timeout,
    Status.NOT_FOUND: NotFound,
    Status.EXISTS: Exists,
    Status.DENIED: Denied,
    Status.EXHAUSTED: Exhausted,
    Status.PRECONDITION: Refused,
    Status.ABORTED: Aborted,
    Status.RANGE: OutOfRange,
    Status.UNIMPLEMENTED: Unimplemented,
    Status.INTERNAL: Internal,
    Status.UNAVAILABLE: Unavailable,
    Status.DATA_LOSS: DataLoss,
    Status.UNAUTHENTICATED: Unauthenticated,
    Status.PENDING: Pending,
    Status.PEER_LOST: RankLost,
    Status.MISMATCH: Mismatch,
    Status.CLOSED: Closed,
    Status.RANK_FAILED: RankFailed,
}


# What a repr does not tell: it is in the class, or for bug reports.
_UNSHOWN = ("status", "path", "__notes__")


def _string(text: Any) -> str:
    return str(ffi.string(text).decode("utf-8", "replace"))


def _describe(made: Error) -> None:
    """Sets the attributes that are known of this thread's last failure."""
    failure = lib.hoop_error_failure()
    if failure.rank != lib.HOOP_NO_RANK:
        made.rank = failure.rank
        made.host = _string(failure.host)
        made.pid = failure.pid
    if failure.waited_for != lib.HOOP_NO_RANK:
        made.waited_for = failure.waited_for
    if failure.operation == ffi.NULL:
        return
    made.communicator = _string(failure.communicator) or None
    made.sequence = failure.sequence or None
    made.bytes = failure.n_bytes
    made.elapsed = failure.elapsed_ms / 1000
    made.allowed = failure.allowed_ms / 1000


# Tracebacks name them as programs do.
for _class in {Error, *CLASSES.values()}:
    _class.__module__ = "hoop"


def error(status: int, operation: str) -> Error:
    """What this thread's last call of the library failed with."""
    known = Status(status)
    text, path = _string(lib.hoop_error_text()), _string(lib.hoop_error_path())
    made = CLASSES[known](text or known.name, known, operation, path)
    _describe(made)
    return made


def fail(status: int, operation: str) -> NoReturn:
    """Raises it."""
    raise error(status, operation)


def check(status: int, operation: str) -> None:
    """Raises it if there is one."""
    if status:
        raise error(status, operation)


def closed(what: str, operation: str) -> Closed:
    """What is said of a handle that is no more."""
    return Closed(f"{operation}: the {what}", Status.CLOSED, operation)
