"""python/hoop/_error.py - failures as exceptions, one class for each status"""

from __future__ import annotations

from typing import Any, NoReturn

from hoop._binding import ffi, lib
from hoop._enums import Status


class Error(Exception):
    """A call of hoop has failed. The text says what failed, where, on which rank, and what to do.

    The attributes give the same facts to programs. An attribute is None if the fact is unknown
    or does not apply. Ranks are those of the session's world.
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
    """A deadline has passed. The operation has ended, and its buffers belong to the caller again."""


class Pending(Error, TimeoutError):
    """The timeout of Work.wait() has passed. The operation goes on, and its buffers still belong to hoop."""


class NotFound(Error, LookupError):
    """The thing that was asked for does not exist."""


class Refused(Error):
    """The state does not allow the call: for example, the job is full, or a value of the store is no number."""


class Exists(Refused):
    """The thing exists already: for example, the rank is taken."""


class Denied(Refused):
    """The caller is known, but not allowed to make the call."""


class Unauthenticated(Refused):
    """The token of the job is wrong or missing."""


class Exhausted(Error):
    """A limit was reached, or there is not enough memory."""


class Aborted(Error):
    """The call was given up.

    Another rank gave it up, for example after Ctrl-C, or the communicator was revoked, or
    another caller won a race.
    """


class OutOfRange(Error):
    """A position is out of range."""


class Unimplemented(Error, NotImplementedError):
    """hoop does not implement this, or not with these settings."""


class Internal(Error):
    """This is a bug in hoop; please report text and path."""


class Unavailable(Error, ConnectionError):
    """Nobody answers; trying again may help."""


class DataLoss(Error):
    """Bytes arrived damaged."""


class RankLost(Error):
    """A rank has died or cannot be reached; the text names it."""


class RankFailed(RankLost):
    """A rank has given up, for example after an exception. The text names it and has the reason that it gave."""


class Mismatch(Error):
    """Ranks made different calls; the text names both."""


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


# Attributes that repr() leaves out: the class shows them, or they are for bug reports.
_UNSHOWN = ("status", "path", "__notes__")


def _string(text: Any) -> str:
    return str(ffi.string(text).decode("utf-8", "replace"))


def _describe(made: Error) -> None:
    """Set the attributes of an error from what is known of this thread's last failure."""
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


# Tracebacks show the names that programs use.
for _class in {Error, *CLASSES.values()}:
    _class.__module__ = "hoop"


def error(status: int, operation: str) -> Error:
    """Return the error with which this thread's last call of the library failed."""
    known = Status(status)
    text, path = _string(lib.hoop_error_text()), _string(lib.hoop_error_path())
    made = CLASSES[known](text or known.name, known, operation, path)
    _describe(made)
    return made


def fail(status: int, operation: str) -> NoReturn:
    """Raise the error of a status."""
    raise error(status, operation)


def check(status: int, operation: str) -> None:
    """Raise the error of a status, unless the status is OK."""
    if status:
        raise error(status, operation)


def closed(what: str, operation: str) -> Closed:
    """Return the error for a handle that has been closed."""
    return Closed(f"{operation}: the {what}", Status.CLOSED, operation)
