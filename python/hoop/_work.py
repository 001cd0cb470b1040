"""python/hoop/_work.py - operations that have been started, and how a thread waits for them

Python runs the handler of a signal between two steps of its interpreter. So a wait in C
calls back into Python from time to time, which is such a step, and ends if a handler has
raised an exception.
"""

from __future__ import annotations

import os
from copy import copy
from threading import get_ident, main_thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union

from hoop._binding import ffi, lib
from hoop._enums import Status
from hoop._error import Pending, check, closed, fail

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import timedelta

    from hoop._session import Session

T = TypeVar("T")
Seconds = Union[float, "timedelta"]

_PENDING = int(Status.PENDING)
# The longest delay of a Ctrl-C in a wait after which the operation goes on.
_SLICE_MS = 50
# The thread in which Python runs signal handlers.
_MAIN = main_thread().ident
_OUT_OP = ffi.typeof("hoop_op_t **")
_new = ffi.new

# Exceptions that a signal handler raised while the main thread waited.
_raised: list[BaseException] = []


def _keep(_: Any, error: BaseException, __: Any) -> bool:
    _raised.append(error)
    return True


@ffi.def_extern(onerror=_keep)  # type: ignore[untyped-decorator]
def hoop_py_is_interrupted(_: Any) -> bool:
    """Give signal handlers an opportunity to run. If one raises, _keep() makes the waiting call end."""
    for _ in range(2):
        pass
    return bool(_raised)


def _forget_in_child() -> None:
    """Make the forked thread the main thread of the child, since it is the only one there."""
    global _MAIN
    _MAIN = get_ident()
    _raised.clear()
    watch()


os.register_at_fork(after_in_child=_forget_in_child)


def watch() -> None:
    """Have this thread check for signals while it waits in C, if it is the thread that handles them."""
    if get_ident() == _MAIN:
        lib.hoop_set_interrupt(lib.hoop_py_is_interrupted, ffi.NULL)


# The main thread may import the package while another thread joins.
watch()

# Calls that count as not called if they are interrupted (hoop/interrupt.h).
_UNCALLED = {"join", "create", "agree", "shrink", "grow"}


def check_call(status: int, name: str, undo: Callable[[], object] | None = None, adds_note: bool = True) -> None:
    """Raise the failure of a call, or the exception that interrupted it.

    undo takes back what the call has made, if the call succeeded just before the interruption.
    If adds_note is true, a note says whether the call counts as called; for split() that is
    unknown.
    """
    if _raised and get_ident() == _MAIN:
        error = _raised.pop()
        _raised.clear()
        if undo is not None and not status:
            undo()
        if adds_note and name != "split" and hasattr(error, "add_note"):
            counts = "not called" if status and name in _UNCALLED else "called"
            error.add_note(f"hoop: {name} was interrupted, and counts as {counts}")
        raise error
    check(status, name)


def seconds(time: Seconds) -> float:
    """Return a time in seconds. A number is taken as seconds."""
    return time if isinstance(time, (int, float)) else time.total_seconds()


def milliseconds(time: Seconds) -> int:
    """Return a time in milliseconds, rounded up, so that only 0 becomes 0.

    It raises ValueError if the time is negative or too long.
    """
    ms = seconds(time) * 1000
    if not 0 <= ms < 2**31:
        raise ValueError(f"a timeout is {time!r}; it is 0 to {2**31 // 1000} seconds")
    return int(-(-ms // 1))


def pending(name: str, timeout: Seconds) -> Pending:
    """Return the error to raise when a wait's own timeout has passed."""
    return Pending(f"{name} goes on; {seconds(timeout):g} s have passed", Status.PENDING, name)


def _copied(error: BaseException) -> BaseException:
    """Return a copy of error without its traceback, which would keep the callers' variables alive.

    If the class of error cannot be copied, it returns error itself.
    """
    try:
        made = copy(error)
    except Exception:
        made = error
    return (made if type(made) is type(error) else error).with_traceback(None)


class Work(Generic[T]):
    """An operation that has been started.

    Its buffers belong to hoop until it has ended: do not touch a buffer that is received into,
    and do not change one that is sent. The Work keeps them alive until then. One thread at a
    time waits for a Work. In a coroutine of asyncio, `await work` waits as wait() does and lets
    other tasks run; cancelling the awaiting task does not cancel the operation.
    """

    __slots__ = ("_session", "_op", "_kept", "_name", "_finish", "_result", "_error")

    def __init__(
        self,
        session: Session,
        op: Any,
        kept: Any,
        name: str,
        finish: Callable[[], T] | None = None,
    ) -> None:
        self._session = session
        self._op = op
        self._kept = kept
        self._name = name
        # Makes the result of wait() when the operation has succeeded.
        self._finish = finish
        self._result: Any = None
        self._error: BaseException | None = None

    def _end(self, status: int) -> T:
        finish, self._op, self._kept, self._finish = self._finish, None, None, None
        try:
            check(status, self._name)
            if finish is not None:
                self._result = finish()
        except BaseException as error:
            self._error = _copied(error)
            raise
        return self._result  # type: ignore[no-any-return]

    def _outcome(self) -> T:
        if self._error is not None:
            raise _copied(self._error)
        return self._result  # type: ignore[no-any-return]

    def wait(self, timeout: Seconds | None = None) -> T:
        """Wait until the operation has ended, and return its result or raise its failure.

        The result is a Received for a message, the object or objects for a call with objects, and
        None for all other calls. wait() may be called again after the operation has ended.
        timeout is in seconds; None waits as long as the communicator's timeout allows.
        It raises hoop.Pending if timeout has passed; the operation then goes on.
        """
        if self._op is None:
            return self._outcome()
        self._session._check(self._name)
        left = None if timeout is None else milliseconds(timeout)
        while True:
            ms = _SLICE_MS if left is None else min(left, _SLICE_MS)
            status = lib.hoop_wait(self._op, ms)
            if status != _PENDING:
                return self._end(status)
            if left is not None and timeout is not None:
                left -= ms
                if not left:
                    raise pending(self._name, timeout)

    def test(self) -> bool:
        """Return whether the operation has ended, after moving the data that can be moved now.

        It raises the failure of the operation, if it has failed.
        """
        if self._op is None:
            self._outcome()
            return True
        self._session._check(self._name)
        status = lib.hoop_test(self._op)
        if status == _PENDING:
            return False
        self._end(status)
        return True

    def __await__(self) -> Generator[Any, None, T]:
        if not self.test():
            from hoop._waiting import wait_async

            yield from wait_async(self).__await__()
        return self.wait()

    def __del__(self) -> None:
        if getattr(self, "_op", None) is not None:
            self._session._abandoned.append((self._op, self._kept))


class Operations:
    """The base of a communicator: it starts operations."""

    _session: Session
    _comm: Any

    def __init__(self, session: Session, comm: Any) -> None:
        self._session = session
        self._abandoned = session._abandoned
        self._comm = comm

    @property
    def rank(self) -> int:
        """The rank of this process; -1 if it is not a member."""
        rank = lib.hoop_comm_rank(self._check())
        return -1 if rank == lib.HOOP_NO_RANK else int(rank)

    @property
    def size(self) -> int:
        """The number of ranks; 0 if this process is not a member."""
        return int(lib.hoop_comm_size(self._check()))

    def _check(self, operation: str = "a call") -> Any:
        if self._comm is None:
            self._session._check(operation)
            raise closed("communicator has been freed", operation)
        return self._comm

    def _begin(self, name: str, start: Any, arguments: tuple[Any, ...]) -> Any:
        comm = self._check(name)
        if self._abandoned:
            self._session._reap()
        # Each call has its own, since several threads may start messages at once.
        out = _new(_OUT_OP)
        status = start(*arguments, comm, out)
        if status:
            fail(status, name)
        return out[0]

    def _start(
        self,
        name: str,
        start: Any,
        arguments: tuple[Any, ...],
        kept: Any,
        finish: Callable[[], T] | None = None,
    ) -> Work[T]:
        return Work(self._session, self._begin(name, start, arguments), kept, name, finish)

    def _run(
        self,
        name: str,
        given: tuple[Any, ...],
        kept: Any,
        finish: Callable[[], Any] | None,
        is_started: bool,
    ) -> Any:
        """Make a call in its blocking or its started form. It returns the result or a Work."""
        if is_started:
            return self._start(name, getattr(lib, f"hoop_{name}_start"), given, kept, finish)
        status = getattr(lib, f"hoop_{name}")(*given, self._comm or self._check(name))
        if status or _raised or self._abandoned:
            self._check_call(status, name)
        return finish() if finish is not None else None

    def _check_call(self, status: int, name: str) -> None:
        """Handle the rest of a blocking call that failed, was interrupted, or has abandoned works to end."""
        try:
            check_call(status, name)
        finally:
            if self._abandoned:
                self._session._reap()
