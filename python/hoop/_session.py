"""python/hoop/_session.py - join a job, leave it"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakSet

from hoop import _abort, _stack
from hoop._binding import ffi, lib
from hoop._comm import Comm
from hoop._error import closed
from hoop._options import Setting, environment, listed, seconds_of
from hoop._store import Store
from hoop._waiting import session_left
from hoop._work import _PENDING, check_call, watch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hoop._coordinator import Coordinator
    from hoop._settings import Settings

# How long ranks wait until rank 0 has published the address of its coordinator.
_JOIN_S = 60.0
# If a rank or a size is given, a coordinator must be given, too.
_PLACED = ("COORDINATOR", "RANK", "WORLD_SIZE")


class Stats(NamedTuple):
    """What this rank has sent and received so far. Bytes are those of payload, without headers."""

    operations: int
    bytes_sent: int
    bytes_received: int
    wire_sent: int
    connections: int


_sessions: WeakSet[Session] = WeakSet()


def _forget_in_child() -> None:
    for session in list(_sessions):
        session._forget_in_child()


def _fail_all(error: BaseException) -> None:
    for session in list(_sessions):
        session._fail(error)


os.register_at_fork(after_in_child=_forget_in_child)


class Session:
    """The membership of a job, from join() to leave() or the end of a with statement.

    It belongs to the process that has joined. In a forked child its calls raise hoop.Closed,
    and the child can join a job itself.

    If an exception leaves the with statement, or nobody catches it in the main thread, the
    calls of other ranks that wait for this one end with hoop.RankFailed: "rank 1 (host:pid)
    raised ValueError: ...". Ctrl-C and an exit that reports a failure have the same effect. An
    exception in another thread does not; that thread may call abort().
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        # The text of the error when _session is None.
        self._gone = "session has been left"
        # Whether this process has aborted the session, or revoked its world.
        self._is_broken = False
        self._abandoned: deque[tuple[Any, Any]] = deque()
        self._coordinator: Coordinator | None = None
        self._comms: set[Comm] = set()
        self._world = self._add(lib.hoop_world(session))
        self._store: Store | None = None
        _sessions.add(self)
        _abort.watch(_fail_all)
        _stack.watch()

    @property
    def world(self) -> Comm:
        """The communicator of all ranks of the job."""
        return self._world

    @property
    def store(self) -> Store:
        """The key-value store of the job, which all members share."""
        self._check("store")
        if self._store is None:
            self._store = Store._of(self._session)
        return self._store

    @property
    def stats(self) -> Stats:
        """What this rank has sent and received so far."""
        self._check("stats")
        out = ffi.new("struct hoop_stats *")
        lib.hoop_session_stats(self._session, out)
        return Stats(*(int(getattr(out, name)) for name in Stats._fields))

    def abort(self, reason: str) -> None:
        """Give up and say why: calls of other ranks that need this one end with hoop.RankFailed.

        reason says what this rank did or met, for example "ran out of disk space"; it follows the
        rank's name and has at most 255 bytes. Any thread may call it, and calls for which other
        threads wait end, too. Afterwards, only leave() is useful. It returns when the coordinator
        has been told, or after a second. A second call tells the coordinator only if the first did
        not reach it. It calls hoop_abort().
        """
        if self._session is not None:
            self._is_broken = True
            lib.hoop_abort(self._session, reason.encode("utf-8", "replace"))
            # A Ctrl-C during the call is raised here, and not in a later call.
            check_call(0, "abort")

    def leave(self) -> None:
        """Leave the job. Operations that still run are dropped. A second call does nothing."""
        if self._session is None:
            return
        self._reap()
        session = self._session
        if self._store is not None:
            self._store.close()
        self._forget()
        lib.hoop_leave(session)
        # No data moves any more, so the pinned buffers can be freed.
        self._abandoned.clear()
        session_left()
        if self._coordinator:
            self._coordinator.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is not None:
                self._fail(error)
        finally:
            self.leave()

    def __repr__(self) -> str:
        if self._session is None:
            return "<hoop.Session, left>"
        return f"<hoop.Session, rank {self.world.rank} of {self.world.size}>"

    def _fail(self, error: BaseException) -> None:
        """Tell the other ranks of an exception that ends this rank's part."""
        said = _abort.reason(error)
        if said is not None:
            self.abort(said)

    def _check(self, operation: str) -> None:
        if self._session is None:
            raise closed(self._gone, operation)

    def _forget(self) -> None:
        """Mark the session and its communicators as closed."""
        self._session = None
        for comm in self._comms:
            comm._forget()
        self._comms.clear()

    def _forget_in_child(self) -> None:
        """Mark the session as closed in a forked child, without touching what belongs to the parent."""
        self._gone = "session is that of the process that has forked; join in the child"
        self._forget()
        self._abandoned = deque()
        self._coordinator = None
        if self._store is not None:
            self._store._is_closed = True

    def _add(self, comm: Any) -> Comm:
        made = Comm(self, comm)
        self._comms.add(made)
        return made

    def _reap(self) -> None:
        """Free the operations that nobody waits for any more and that have ended."""
        for _ in range(len(self._abandoned)):
            try:
                op, kept = self._abandoned.popleft()
            except IndexError:  # another thread has taken the last one
                return
            if lib.hoop_test(op) == _PENDING:
                self._abandoned.append((op, kept))


def join(**settings: Unpack[Settings]) -> Session:
    """Join a job, and wait until its world has formed.

    A setting has its name in hoop(7), without HOOP_ and in small letters, for example
    coordinator="node0:4667", world_size=4, timeout=2.5. A setting that is not given, or is
    None, is taken from the environment. Times are seconds or timedelta, and switches are bool.
    hoop/_settings.py, beside this file, describes all settings.

    If no setting names a coordinator, a process that no launcher has started becomes a world
    of one. Among processes that torchrun, srun or mpirun has launched, rank 0 starts a
    coordinator as a child process, which ends with the last member. If the ranks are on
    several hosts, they meet there with MASTER_ADDR and MASTER_PORT, and HOOP_TOKEN must be set
    to the same value on all of them.

    It raises hoop.Invalid if a setting is wrong, hoop.Timeout if ranks are missing (the text
    names them), hoop.Refused or hoop.Unauthenticated if the coordinator does not admit the
    process, and hoop.Unavailable if there is no coordinator.
    """
    given = cast("dict[str, Setting]", dict(settings))
    coordinator = None
    environ = environment(given, os.environ)
    if not any(environ.get(f"HOOP_{name}") for name in _PLACED):
        from hoop._launched import meet

        found, coordinator = meet(environ, seconds_of(environ.get("HOOP_JOIN_TIMEOUT")) or _JOIN_S)
        given.update(found)
    try:
        session = _join(given)
    except BaseException:
        if coordinator:
            coordinator.close()
        raise
    if coordinator:
        coordinator.withdraw()
        session._coordinator = coordinator
    return session


def _join(settings: Mapping[str, Setting]) -> Session:
    items, borrowed = listed(settings)
    options = ffi.new("struct hoop_join_options *", {"settings": items})
    out = ffi.new("hoop_session_t **")
    watch()
    check_call(lib.hoop_join(options, out), "join", lambda: lib.hoop_leave(out[0]))
    del borrowed
    return Session(out[0])
