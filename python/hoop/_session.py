"""python/hoop/_session.py - join a job, leave it"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakSet

from hoop import _abort
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

# Until rank 0 has said where it has started the coordinator.
_JOIN_S = 60.0
# Where a rank or a size is given a coordinator has to be, too.
_PLACED = ("COORDINATOR", "RANK", "WORLD_SIZE")


class Stats(NamedTuple):
    """What this rank has moved so far; bytes are of payload, without headers."""

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
    """Membership of a job, from join() to leave() or the end of a with statement.

    It is that of the process that has joined: in a forked child calls raise
    hoop.Closed, and the child can join a job itself.

    An exception that leaves the with statement, or that nobody catches in the main
    thread, ends the calls of the other ranks that wait for this one with
    hoop.RankFailed: "rank 1 (host:pid) raised ValueError: ...". So do Ctrl-C and an
    exit that reports a failure. An exception of another thread does not: that
    thread may call abort().
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        # What there is to say where that is None.
        self._gone = "session has been left"
        # This process has aborted it, or revoked its world.
        self._is_broken = False
        self._abandoned: deque[tuple[Any, Any]] = deque()
        self._coordinator: Coordinator | None = None
        self._comms: set[Comm] = set()
        self._world = self._add(lib.hoop_world(session))
        self._store: Store | None = None
        _sessions.add(self)
        _abort.watch(_fail_all)

    @property
    def world(self) -> Comm:
        """All ranks of the job."""
        return self._world

    @property
    def store(self) -> Store:
        """The key-value store of the job, which all its members see."""
        self._check("store")
        if self._store is None:
            self._store = Store._of(self._session)
        return self._store

    @property
    def stats(self) -> Stats:
        """What this rank has moved so far."""
        self._check("stats")
        out = ffi.new("struct hoop_stats *")
        lib.hoop_session_stats(self._session, out)
        return Stats(*(int(getattr(out, name)) for name in Stats._fields))

    def abort(self, reason: str) -> None:
        """Give up, and say why: calls of other ranks that need this one end with hoop.RankFailed.

        reason: what this rank did or met, behind its name, as "ran out of disk
        space"; at most 255 bytes. Any thread may call it; what other threads wait
        for ends so, too. Only leave() is of use then. Returns when the coordinator
        knows, or after a second. A second time it is told what it has not heard. C: hoop_abort().
        """
        if self._session is not None:
            self._is_broken = True
            lib.hoop_abort(self._session, reason.encode("utf-8", "replace"))
            # Ctrl-C meanwhile is not a later call's.
            check_call(0, "abort")

    def leave(self) -> None:
        """Take leave of the job; what still runs is dropped. A second time does nothing."""
        if self._session is None:
            return
        self._reap()
        session = self._session
        if self._store is not None:
            self._store.close()
        self._forget()
        lib.hoop_leave(session)
        # Nothing moves any more: what was pinned may go.
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
        """Tell the others of an exception that ends this rank's part."""
        said = _abort.reason(error)
        if said is not None:
            self.abort(said)

    def _check(self, operation: str) -> None:
        if self._session is None:
            raise closed(self._gone, operation)

    def _forget(self) -> None:
        """It is no more, and neither are its communicators."""
        self._session = None
        for comm in self._comms:
            comm._forget()
        self._comms.clear()

    def _forget_in_child(self) -> None:
        """A fork has copied it; what it did is the parent's."""
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
        """End what nobody waits for any more and is done."""
        for _ in range(len(self._abandoned)):
            try:
                op, kept = self._abandoned.popleft()
            except IndexError:  # another thread does the same
                return
            if lib.hoop_test(op) == _PENDING:
                self._abandoned.append((op, kept))


def join(**settings: Unpack[Settings]) -> Session:
    """Join a job and wait until its world has formed.

    A setting is given by its name in hoop(7) without HOOP_, in small letters, as
    coordinator="node0:4667", world_size=4, timeout=2.5; what is not given, or None,
    comes from the environment. Times are seconds or timedelta, switches bool. Beside
    this file, hoop/_settings.py has them all, with what each is.

    Where nothing says a coordinator, a process that nobody launched is a world of one;
    of those that torchrun, srun or mpirun has launched rank 0 starts a coordinator, as
    a child that ends with the last member. Ranks of several hosts meet there by
    MASTER_ADDR and MASTER_PORT, and need HOOP_TOKEN, the same for all.

    hoop.Invalid: a setting is wrong. hoop.Timeout: the text names the ranks that are
    missing. hoop.Refused, hoop.Unauthenticated: the coordinator does not let it in.
    hoop.Unavailable: there is no coordinator.
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
