"""python/hoop/_waiting.py - many works at once, and works that coroutines wait for

C writes to a pipe when an operation ends, while its own thread moves the data. So
neither does a thread stand for each work, nor is each asked again and again.
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
    """Written to by C, read here; closed with the last that refers to it."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        os.set_blocking(self.write_fd, False)

    def drain(self) -> None:
        """Forget how often it was written to."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.read_fd, _PIPE_BYTES)

    def wake(self) -> None:
        """As C does."""
        with contextlib.suppress(BlockingIOError):
            os.write(self.write_fd, bytes(8))

    def __del__(self) -> None:
        os.close(self.read_fd)
        os.close(self.write_fd)


def _notify(work: Work[Any], fd: int) -> None:
    if work._op is not None and work._session._session is not None:
        check(lib.hoop_op_notify(work._op, fd), work._name)


def _has_ended(work: Work[Any]) -> bool:
    """Whether its wait() returns or raises at once."""
    op = work._op
    return op is None or work._session._session is None or lib.hoop_op_has_ended(op)


class _Loop:
    """What the coroutines of one event loop wait for. No part of it refers to the loop."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.pipe = _Pipe()
        self.waiting: dict[Future[None], Work[Any]] = {}
        loop.add_reader(self.pipe.read_fd, self.look)

    def look(self) -> None:
        """Something has ended."""
        self.pipe.drain()
        for future, work in self.waiting.items():
            if not future.done() and _has_ended(work):
                future.set_result(None)

    def leave(self, future: Future[None]) -> None:
        """It waits no more; if it was cancelled nobody is to be told."""
        work = self.waiting.pop(future)
        if not _has_ended(work) and work not in self.waiting.values():
            _notify(work, -1)


_loops: WeakKeyDictionary[AbstractEventLoop, _Loop] = WeakKeyDictionary()
# A forked child has none of its parent's, but the same pipes.
os.register_at_fork(after_in_child=_loops.clear)


async def wait_async(work: Work[Any]) -> None:
    """Return when work has ended, or its session."""
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
    """Who waits for what will never end learns so."""
    for found in list(_loops.values()):
        found.pipe.wake()


def wait_all(works: Iterable[Work[T]], timeout: Seconds | None = None) -> list[T]:
    """Return when all works have ended, what their wait() returns, in their order.

    A failure, the first in their order, is raised when all have ended.
    timeout: seconds for all of them together, or as long as their communicators allow.
    hoop.Pending: timeout passed; those that have not ended go on.
    hoop_wait_all(), MPI_Waitall().
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
    """Return when one of works has ended: its index. Its wait() then returns or raises at once.

    timeout: seconds, or as long as the communicators allow.
    hoop.Pending: timeout passed; none has ended. ValueError: there are no works.
    MPI_Waitany().
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
    """test(), which leaves the failure to wait()."""
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
