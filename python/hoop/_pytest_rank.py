"""python/hoop/_pytest_rank.py - what a rank of the pytest plugin does

A rank is a fork of the process that has collected the tests, and runs those that it
is told to with all of pytest's hooks: fixtures, parameters, conftest and assertion
rewriting are what they are without ranks.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import pytest

import hoop
from hoop._spawn import end_with_parent

# Writes the stacks of all threads where the main process looks for them.
STACKS_SIGNAL = signal.SIGRTMAX - 2

_last_resort = sys.__stderr__


class Run(NamedTuple):
    """What a rank is told: the test and the one after it, as places among the items.

    job, settings: of the session, which is another one when these are.
    """

    item: int
    following: int | None
    n: int
    job: str
    settings: dict[str, Any]


class Done(NamedTuple):
    """What a rank tells when a test has ended: its reports, and warnings with where they came from.

    is_whole: the next test can have the session. quits: why pytest.exit() was called.
    """

    reports: list[dict[str, Any]]
    warnings: list[tuple[Any, str, str, Any]]
    is_whole: bool = True
    quits: str | None = None


class Failed(NamedTuple):
    """What a rank tells at once; the others may wait for it in vain."""

    what: str


class Debugger(NamedTuple):
    """A rank wants to begin or has ended to debug; the answer to the former says whether it may.

    quits: the tests are to end, too.
    """

    begins: bool
    quits: bool = False


class RankProcess:
    """A rank in its own process, for as long as that lives."""

    def __init__(self, session: pytest.Session, link: Connection, number: int) -> None:
        self.pytest_session = session
        self.link = link
        self.number = number
        self.run: Run | None = None
        self.reports: list[pytest.TestReport] = []
        self.warnings: list[tuple[Any, str, str, Any]] = []
        # By how many ranks they have, with the names of their jobs.
        self._sessions: dict[int, tuple[str, hoop.Session]] = {}
        self._is_whole = True

    def serve(self) -> None:
        """Until the main process says that it was all."""
        config = self.pytest_session.config
        while True:
            told = self.link.recv()
            if told is None:
                break
            self.run, self.reports, self.warnings, self._is_whole = told, [], [], True
            quits = None
            items = self.pytest_session.items
            item = items[told.item]
            following: Any = None if told.following is None else items[told.following]
            if following is item:
                # Again, with fixtures that are made anew; those of wider scopes stay.
                following = item.parent
            # After a test that was not the one that was expected next.
            self._teardown(item)
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            except pytest.exit.Exception as error:
                self.fail(error)
                quits = str(error)
            told_reports = [config.hook.pytest_report_to_serializable(config=config, report=r) for r in self.reports]
            self.link.send(Done(told_reports, self.warnings, self._is_whole and not self._is_broken(), quits))
        self._teardown(None)
        for n in list(self._sessions):
            self.leave(n)

    def _teardown(self, following: pytest.Item | None) -> None:
        # Also what the test has failed to tear down has been told by then.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.pytest_session._setupstate.teardown_exact(following)
            except Exception as error:
                print(f"rank {self.number}: {type(error).__name__}: {error}", file=_last_resort)

    def session(self) -> hoop.Session:
        """Of the ranks that run this test; kept for the next one of as many."""
        assert self.run is not None
        job, n = self.run.job, self.run.n
        if n not in self._sessions or self._sessions[n][0] != job:
            self.leave(n)
            made = hoop.join(job=job, rank=self.number, world_size=n, **self.run.settings)
            self._sessions[n] = (job, made)
            # Who fails and leaves from now on disturbs nobody's join.
            made.world.barrier()
        return self._sessions[n][1]

    def _is_broken(self) -> bool:
        """Whether what the test has left of its session is not fit for the next test."""
        assert self.run is not None
        kept = self._sessions.get(self.run.n)
        if kept is None:
            return False
        session = kept[1]
        if session._session is None or session._is_broken or session.world.failed():
            return True
        session._reap()
        # The others may not even have called what goes on here.
        return bool(session._abandoned)

    def leave(self, n: int) -> None:
        """Leave the session of n ranks, if there is one."""
        if n in self._sessions:
            self._sessions.pop(n)[1].leave()

    def fail(self, error: BaseException) -> None:
        """What the others have to know, before this rank tears down."""
        self.link.send(Failed(f"{type(error).__name__}: {error}"))
        self.part(error)

    def part(self, error: BaseException) -> None:
        """End the session, so that nobody waits for this rank in vain."""
        assert self.run is not None
        if self.run.n in self._sessions:
            self._is_whole = False
            self._sessions.pop(self.run.n)[1].__exit__(type(error), error, error.__traceback__)

    def may_debug(self) -> bool:
        """Whether this rank is the one that gets the terminal."""
        self.link.send(Debugger(True))
        return bool(self.link.recv())

    def end_debugging(self, quits: bool) -> None:
        """The terminal is the main process's again."""
        self.link.send(Debugger(False, quits))


def _own_output(config: pytest.Config) -> None:
    """Files of its own instead of those that are shared with who was forked."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()


def _own_folder(config: pytest.Config, number: int, base: str) -> None:
    """What tmp_path makes lies in rankN of the run's folder."""
    import pathlib

    factory: Any = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        folder = pathlib.Path(base) / f"rank{number}"
        folder.mkdir(exist_ok=True)
        factory._basetemp = folder


def rank_main(
    session: pytest.Session, number: int, link_fd: int, stacks_fd: int, base: str, begin: Callable[[RankProcess], None]
) -> None:
    """Of a process that was just forked; begin makes the rank known to the plugin. Does not return."""
    code = 1
    try:
        end_with_parent(os.getppid())
        os.environ["PYTEST_HOOP_RANK"] = str(number)
        faulthandler.enable(file=stacks_fd, all_threads=True)
        faulthandler.register(STACKS_SIGNAL, file=stacks_fd, all_threads=True)
        _own_output(session.config)
        _own_folder(session.config, number, base)
        rank = RankProcess(session, Connection(link_fd), number)
        begin(rank)
        rank.serve()
        code = 0
    except (EOFError, BrokenPipeError):
        pass  # the main process has ended
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:
        import traceback

        os.write(stacks_fd, "".join(traceback.format_exception(type(error), error, error.__traceback__)).encode())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def told_of(call: pytest.CallInfo[Any], when: float) -> list[Any]:
    """What the main process has to know of a failure: whether others caused it, when it was, a line."""
    assert call.excinfo is not None
    error = call.excinfo.value
    lines = str(error).splitlines() or [""]
    where = call.excinfo.traceback[-1] if call.excinfo.traceback else None
    for entry in call.excinfo.traceback:
        # The last line of the user's own.
        if not {"hoop", "_pytest", "pluggy"} & set(str(entry.path).split(os.sep)):
            where = entry
    place = f"{os.path.relpath(str(where.path))}:{where.lineno + 1}: " if where else ""
    return [isinstance(error, hoop.Error), when, f"{place}{type(error).__name__}: {lines[0]}"]


def now() -> float:
    """The same clock in all processes of a host."""
    return time.monotonic()
