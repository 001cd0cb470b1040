"""python/hoop/_waiting.py - waits for many works at once, and works that coroutines await

C writes to a pipe when an operation ends, while its own thread moves the data. So no work
needs a waiting thread, and none is polled.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hoop._binding import lib
from hoop._error import Pending, check
from hoop._work import Seconds, T, Work, pending, seconds

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

_PIPE_BYTES = 65536


class _Pipe:
    """A pipe to which C writes and from which Python reads. It is closed with its last reference."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        os.set_blocking(self.write_fd, False)

    def drain(self) -> None:
        """Discard everything that was written to the pipe."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.read_fd, _PIPE_BYTES)

    def wake(self) -> None:
        """Write to the pipe as C does, to wake its reader."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.write_fd, bytes(8))

    def __del__(self) -> None:
        os.close(self.read_fd)
        os.close(self.write_fd)


def _notify(work: Work[Any], fd: int) -> None:
    if work._op is not None and work._session._session is not None:
        check(lib.hoop_op_notify(work._op, fd), work._name)


def _has_ended(work: Work[Any]) -> bool:
    """Return whether wait() of the work would return or raise at once."""
    op = work._op
    return op is None or work._session._session is None or lib.hoop_op_has_ended(op)


class _Loop:
    """The works for which coroutines of one event loop wait. It holds no reference to the loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.pipe = _Pipe()
        self.waiting: dict[Future[None], Work[Any]] = {}
        loop.add_reader(self.pipe.read_fd, self.look)

    def look(self) -> None:
        """Wake the coroutines whose works have ended; the loop calls it when the pipe can be read."""
        self.pipe.drain()
        for future, work in self.waiting.items():
            if not future.done() and _has_ended(work):
                future.set_result(None)

    def leave(self, future: Future[None]) -> None:
        """Remove a future that no longer waits. If its work has not ended, C need not report its end any more."""
        work = self.waiting.pop(future)
        if not _has_ended(work) and work not in self.waiting.values():
            _notify(work, -1)


_loops: WeakKeyDictionary[AbstractEventLoop, _Loop] = WeakKeyDictionary()
# A forked child has none of its parent's event loops, but inherits their pipes.
os.register_at_fork(after_in_child=_loops.clear)


async def wait_async(work: Work[Any]) -> None:
    """Wait in a coroutine until work or its session has ended."""
    import asyncio

    loop = asyncio.get_running_loop()
    found = _loops.get(loop)
    if found is None:
        found = _loops[loop] = _Loop(loop)
    future = loop.create_future()
    found.waiting[future] = work
    try:
        _notify(work, found.pipe.write_fd)
        await future
    finally:
        found.leave(future)


def session_left() -> None:
    """Wake all coroutines, so that those whose session was left stop waiting."""
    for found in list(_loops.values()):
        found.pipe.wake()


def wait_all(works: Iterable[Work[T]], timeout: Seconds | None = None) -> list[T]:
    """Wait until all works have ended, and return what their wait() returns, in the same order.

    If works fail, the first failure in that order is raised when all have ended.
    timeout is in seconds for all works together; None waits as long as their communicators'
    timeouts allow. It raises hoop.Pending if timeout has passed; works that have not ended go on.
    It corresponds to hoop_wait_all() and MPI_Waitall().
    """
    listed = list(works)
    deadline = None if timeout is None else monotonic() + seconds(timeout)
    failure: BaseException | None = None
    results: list[T] = []
    late: Work[T] | None = None
    for work in listed:
        try:
            results.append(work.wait(None if deadline is None else max(0.0, deadline - monotonic())))
        except Pending:
            late = late or work
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure
    if late is not None and timeout is not None:
        raise pending(late._name, timeout)
    return results


def wait_any(works: Sequence[Work[Any]], timeout: Seconds | None = None) -> int:
    """Wait until one of works has ended, and return its index. Its wait() then returns or raises at once.

    timeout is in seconds; None waits as long as the communicators' timeouts allow.
    It raises hoop.Pending if timeout has passed and no work has ended, and ValueError if
    works is empty. MPI calls this MPI_Waitany().
    """
    if not works:
        raise ValueError("wait_any: there are no works")
    for i, work in enumerate(works):
        if _tested(work):
            return i
    pipe = _Pipe()
    try:
        for work in works:
            _notify(work, pipe.write_fd)
        return _first_of(works, pipe, timeout)
    finally:
        for work in works:
            if not _has_ended(work):
                _notify(work, -1)


def _tested(work: Work[Any]) -> bool:
    """Return whether a work has ended. Its failure is not raised here but by wait()."""
    try:
        return work.test()
    except Exception:
        return True


def _first_of(works: Sequence[Work[Any]], pipe: _Pipe, timeout: Seconds | None) -> int:
    from select import POLLIN, poll

    poller = poll()
    poller.register(pipe.read_fd, POLLIN)
    deadline = None if timeout is None else monotonic() + seconds(timeout)
    while True:
        for i, work in enumerate(works):
            if _has_ended(work):
                return i
        left = None if deadline is None else deadline - monotonic()
        if left is not None and timeout is not None and left <= 0:
            raise pending(works[0]._name, timeout)
        poller.poll(None if left is None else left * 1000 + 1)
        pipe.drain()
