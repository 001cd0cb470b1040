"""python/hoop/_error.py - failures as exceptions, one class for each status"""

from __future__ import annotations

from typing import Any, NoReturn

from hoop._binding import ffi, lib
from hoop._enums import Status


class Error(Exception):
    """A call of hoop failed; the text says what, where, who and what to do.

    status: the C library's. operation: the call of this package that failed.
    path: the C functions that the failure came through, for bug reports.
    """

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
        return type(self), (self.args[0], self.status, self.operation, self.path)


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
    """The coordinator refused, e.g. since the job is full."""


class Exists(Refused):
    """It is there already, e.g. the rank is taken."""


class Denied(Refused):
    """Who asks is known, but may not."""


class Unauthenticated(Refused):
    """The job's token is wrong or missing."""


class Exhausted(Error):
    """A limit or memory is exhausted."""


class Aborted(Error):
    """A race was lost, or the communicator was revoked."""


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
}


def error(status: int, operation: str) -> Error:
    """What this thread's last call of the library failed with."""
    text = ffi.string(lib.hoop_error_text()).decode("utf-8", "replace")
    path = ffi.string(lib.hoop_error_path()).decode("utf-8", "replace")
    known = Status(status)
    return CLASSES[known](text or known.name, known, operation, path)


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
