"""python/hoop/_pytest_rank.py - the code that a rank of the pytest plugin runs

A rank is a fork of the process that has collected the tests. It runs the tests that it is
told to run, with all of pytest's hooks: fixtures, parameters, conftest and assertion
rewriting work as they do without ranks.
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

# This signal makes a rank write the stacks of all threads to the file that the main process reads.
STACKS_SIGNAL = signal.SIGRTMAX - 2

_last_resort = sys.__stderr__


class Run(NamedTuple):
    """The message that makes a rank run a test. item and following are positions in the list of items.

    If job or settings differ from those of the present session, the rank joins another one.
    """

    item: int
    following: int | None
    n: int
    job: str
    settings: dict[str, Any]


class Done(NamedTuple):
    """The message of a rank that has ended a test: its reports, and its warnings with their places.

    is_whole says whether the next test can use the session. quits is the reason that
    pytest.exit() was given.
    """

    reports: list[dict[str, Any]]
    warnings: list[tuple[Any, str, str, Any]]
    is_whole: bool = True
    quits: str | None = None


class Failed(NamedTuple):
    """The message of a rank that has just failed, so that other ranks may wait for it in vain."""

    what: str


class Debugger(NamedTuple):
    """The message of a rank that wants to debug, or has finished debugging.

    The answer to the former says whether it may. quits says whether the tests are to end.
    """

    begins: bool
    quits: bool = False


class RankProcess:
    """A rank, in its own process, for as long as the process lives."""

    def __init__(self, session: pytest.Session, link: Connection, number: int) -> None:
        self.pytest_session = session
        self.link = link
        self.number = number
        self.run: Run | None = None
        self.reports: list[pytest.TestReport] = []
        self.warnings: list[tuple[Any, str, str, Any]] = []
        # Sessions by their number of ranks, with the names of their jobs.
        self._sessions: dict[int, tuple[str, hoop.Session]] = {}
        self._is_whole = True

    def serve(self) -> None:
        """Run tests until the main process sends None."""
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
                # The test runs again with new fixtures; fixtures of wider scopes stay.
                following = item.parent
            # If another test was announced as the next one, fixtures kept for it are torn down now.
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
        # By then, failures to tear down have been reported, too.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.pytest_session._setupstate.teardown_exact(following)
            except Exception as error:
                print(f"rank {self.number}: {type(error).__name__}: {error}", file=_last_resort)

    def session(self) -> hoop.Session:
        """Return the session of the ranks that run this test. The next test on as many ranks uses it again."""
        assert self.run is not None
        job, n = self.run.job, self.run.n
        if n not in self._sessions or self._sessions[n][0] != job:
            self.leave(n)
            made = hoop.join(job=job, rank=self.number, world_size=n, **self.run.settings)
            self._sessions[n] = (job, made)
            # After this barrier, a rank that fails and leaves disturbs no other rank in its join.
            made.world.barrier()
        return self._sessions[n][1]

    def _is_broken(self) -> bool:
        """Return whether this test has left its session in a state that the next test cannot use."""
        assert self.run is not None
        kept = self._sessions.get(self.run.n)
        if kept is None:
            return False
        session = kept[1]
        if session._session is None or session._is_broken or session.world.failed():
            return True
        session._reap()
        # Other ranks may not have called the operations that still run here.
        return bool(session._abandoned)

    def leave(self, n: int) -> None:
        """Leave the session of n ranks, if there is one."""
        if n in self._sessions:
            self._sessions.pop(n)[1].leave()

    def fail(self, error: BaseException) -> None:
        """Report a failure to the other ranks, before this rank tears down."""
        self.link.send(Failed(f"{type(error).__name__}: {error}"))
        self.part(error)

    def part(self, error: BaseException) -> None:
        """End the session, so that no rank waits for this one in vain."""
        assert self.run is not None
        if self.run.n in self._sessions:
            self._is_whole = False
            self._sessions.pop(self.run.n)[1].__exit__(type(error), error, error.__traceback__)

    def may_debug(self) -> bool:
        """Ask the main process for the terminal, and return whether this rank gets it."""
        self.link.send(Debugger(True))
        return bool(self.link.recv())

    def end_debugging(self, quits: bool) -> None:
        """Give the terminal back to the main process."""
        self.link.send(Debugger(False, quits))


def _own_output(config: pytest.Config) -> None:
    """Capture output in files of this rank, instead of those shared with the process that forked it."""
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()


def _own_folder(config: pytest.Config, number: int, base: str) -> None:
    """Make tmp_path create its folders in rankN of the run's folder."""
    import pathlib

    factory: Any = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        folder = pathlib.Path(base) / f"rank{number}"
        folder.mkdir(exist_ok=True)
        factory._basetemp = folder


def rank_main(
    session: pytest.Session, number: int, link_fd: int, stacks_fd: int, base: str, begin: Callable[[RankProcess], None]
) -> None:
    """Run a rank in a process that was just forked. begin registers it with the plugin. Never returns."""
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
    """Return what the main process must know of a failure: whether hoop raised it, when, and a line of text."""
    assert call.excinfo is not None
    error = call.excinfo.value
    lines = str(error).splitlines() or [""]
    where = call.excinfo.traceback[-1] if call.excinfo.traceback else None
    for entry in call.excinfo.traceback:
        # This ends with the last frame of the user's own code.
        if not {"hoop", "_pytest", "pluggy"} & set(str(entry.path).split(os.sep)):
            where = entry
    place = f"{os.path.relpath(str(where.path))}:{where.lineno + 1}: " if where else ""
    return [isinstance(error, hoop.Error), when, f"{place}{type(error).__name__}: {lines[0]}"]


def now() -> float:
    """Return the time of a clock that all processes of a host share."""
    return time.monotonic()
