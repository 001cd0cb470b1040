"""python/hoop/_pytest_pool.py - the processes of the pytest plugin's ranks

Ranks are forked by a process that itself was forked after the tests had been collected
and before the first was run. So every rank begins with the imported modules, and without
the fixtures of other tests. A rank that dies is forked again within milliseconds.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import pytest

from hoop import _coordinator
from hoop._pytest_rank import STACKS_SIGNAL, Debugger, Done, Failed, RankProcess, Run, rank_main
from hoop._spawn import end_with_parent, how_ended

# The time that other ranks have to report their failures after the first one.
GRACE_S = 10.0
# Values in place of the number of the rank that is debugged.
NOBODY, DEBUGGED = -1, -2
# The time that a process has to write the stacks of its threads.
STACKS_S = 2.0


class Outcome(NamedTuple):
    """The outcome of a test on one rank: either its reports, or how its process ended, or where it hung."""

    done: Done | None
    death: str
    stacks: str
    when: float


class Result(NamedTuple):
    """The outcome of a test on all ranks, and which ranks wait for which if some have hung."""

    outcomes: list[Outcome]
    account: str
    time_s: float
    # Notes about ranks that were replaced before the test.
    notes: tuple[str, ...] = ()


class Rank:
    """A rank as the main process sees it."""

    def __init__(self, link: Connection, stacks_fd: int, pid: int) -> None:
        self.link = link
        self.stacks_fd = stacks_fd
        self.pid = pid
        self.pid_fd = os.pidfd_open(pid)

    def stacks(self) -> str:
        """Return the stacks that the rank has written so far."""
        return os.pread(self.stacks_fd, 1 << 20, 0).decode("utf-8", "replace")

    def ask_stacks(self) -> str:
        """Make the rank write its stacks, and return them when nothing more is written."""
        before = self.stacks()
        signal.pidfd_send_signal(self.pid_fd, STACKS_SIGNAL)
        end = time.monotonic() + STACKS_S
        last, same = before, 0
        while time.monotonic() < end and same < 3:
            # The rank cannot tell when it has written everything.
            time.sleep(0.02)
            found = self.stacks()
            same = same + 1 if found == last and found != before else 0
            last = found
        return last[len(before) :]

    def close(self) -> None:
        """Close the descriptors of a rank that has ended."""
        self.link.close()
        os.close(self.pid_fd)
        os.close(self.stacks_fd)


def _fork_ranks(session: pytest.Session, control: socket.socket, base: str, begin: Any) -> None:
    """Run the process that forks a rank for each message, and returns a rank's status on request. Never returns."""
    try:
        while True:
            told, fds, _, _ = socket.recv_fds(control, 64, 2)
            if not told:
                break
            what, number = told.decode().split()
            if what == "wait":
                control.send(str(os.waitstatus_to_exitcode(os.waitpid(int(number), 0)[1])).encode())
                continue
            pid = _fork()
            if pid == 0:
                control.close()
                rank_main(session, int(number), fds[0], fds[1], base, begin)
            for fd in fds:
                os.close(fd)
            control.send(str(pid).encode())
    finally:
        os._exit(0)


def _fork() -> int:
    with warnings.catch_warnings():
        # Threads such as those of BLAS are warned of; they handle a fork themselves.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


class Pool:
    """As many ranks as the largest test needs, and the coordinator of their jobs."""

    def __init__(self, session: pytest.Session, base: str, begin: Callable[[RankProcess], None]) -> None:
        self.ranks: dict[int, Rank] = {}
        self._jobs: dict[int, tuple[str, dict[str, Any]]] = {}
        self._n_jobs = 0
        self._coordinator: _coordinator.Coordinator | None = None
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        self._forker = _fork()
        if self._forker == 0:
            own.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            end_with_parent(parent)
            _fork_ranks(session, other, base, begin)
        other.close()
        self._control = own

    def _start(self, number: int) -> Rank:
        own, other = socket.socketpair()
        stacks_fd = os.memfd_create("hoop stacks")
        socket.send_fds(self._control, [f"fork {number}".encode()], [other.fileno(), stacks_fd])
        other.close()
        pid = int(self._control.recv(64))
        return Rank(Connection(own.detach()), stacks_fd, pid)

    def _ended(self, number: int) -> str:
        """Remove a rank that has ended, and return how it ended."""
        rank = self.ranks.pop(number)
        # The rank was in the sessions of all jobs that have more ranks than its number.
        for n in [n for n in self._jobs if n > number]:
            del self._jobs[n]
        self._control.send(f"wait {rank.pid}".encode())
        how = f"its process (pid {rank.pid}) {how_ended(int(self._control.recv(64)))}"
        stacks = rank.stacks().strip()
        rank.close()
        return f"{how}\n{stacks}" if stacks else how

    def _kill(self, number: int) -> None:
        signal.pidfd_send_signal(self.ranks[number].pid_fd, signal.SIGKILL)
        wait([self.ranks[number].pid_fd])
        self._ended(number)

    @property
    def coordinator(self) -> _coordinator.Coordinator:
        """The coordinator. It is started when the first test needs ranks."""
        if self._coordinator is None:
            self._coordinator = _coordinator.start()
        return self._coordinator

    def job(self, n: int, settings: dict[str, Any]) -> str:
        """Return the job of the tests on n ranks. Other settings need another job.

        Injected delays depend on a seed and on the number of a call in its session; with them,
        each test has a job of its own.
        """
        if n not in self._jobs or self._jobs[n][1] != settings or "debug_fault" in settings:
            self._n_jobs += 1
            self._jobs[n] = (f"pytest-{os.getpid()}-{self._n_jobs}", settings)
        return self._jobs[n][0]

    def run(
        self,
        item: int,
        following: Callable[[int], int | None],
        n: int,
        settings: dict[str, Any],
        limit_s: float,
        debug: Callable[[Debugger, int], None] | None,
    ) -> Result:
        """Run a test on n ranks and return its result.

        following returns for a rank the test after this one. limit_s is the time limit; math.inf
        means none. debug gives the terminal to a rank that asks for it, and takes it back; if it
        is None, no rank debugs.
        """
        notes = self._mend(n)
        job = self.job(n, settings)
        joining = {**self.coordinator.settings, **settings}
        for number in range(n):
            if number not in self.ranks:
                self.ranks[number] = self._start(number)
        for number in range(n):
            # If the rank dies at this moment, _collect() finds it.
            with contextlib.suppress(OSError):
                self.ranks[number].link.send(Run(item, following(number), n, job, joining))
        return self._collect(n, limit_s, debug)._replace(notes=tuple(notes))

    def _mend(self, n: int) -> list[str]:
        """Remove ranks that have ended since the last test, so that others replace them. Returns notes about them."""
        notes = []
        for number in [r for r in range(n) if r in self.ranks and wait([self.ranks[r].pid_fd], 0)]:
            how = self._ended(number).splitlines()[0]
            notes.append(f"rank {number} has ended since its last test: {how}; another process takes its place")
        if self._coordinator is not None:
            try:
                has_ended = os.waitpid(self._coordinator.pid, os.WNOHANG)[0] != 0
            except ChildProcessError:  # other code has waited for all children
                has_ended = True
            if has_ended:
                pid = self._coordinator.pid
                notes.append(f"hoopd (pid {pid}) has ended since the last test; another one is started")
                self._coordinator.close()
                self._coordinator = None
                self._jobs.clear()
        return notes

    def _collect(self, n: int, limit_s: float, debug: Callable[[Debugger, int], None] | None) -> Result:
        outcomes: dict[int, Outcome] = {}
        begun = time.monotonic()
        end = begun + limit_s
        is_broken, debugging = False, NOBODY
        while len(outcomes) < n:
            left = end - time.monotonic()
            if left <= 0 and debugging < 0:
                time_s = time.monotonic() - begun
                account = self._account(n)
                self._give_up([r for r in range(n) if r not in outcomes], outcomes)
                is_broken = True
                self._jobs.pop(n, None)
                return Result([outcomes[r] for r in range(n)], account, time_s)
            waits = {self.ranks[r].link: r for r in range(n) if r not in outcomes}
            ends = {self.ranks[r].pid_fd: r for r in range(n) if r not in outcomes}
            try:
                ready: list[Any] = wait([*waits, *ends], None if debugging >= 0 or math.isinf(left) else left)
            except pytest.fail.Exception:
                # A signal handler, such as that of pytest-timeout, has raised it: its limit counts, too.
                end, debugging = -math.inf, min(debugging, NOBODY)
                continue
            for source in ready:
                number = waits.get(source, -1) if not isinstance(source, int) else ends[source]
                if number in outcomes:
                    continue
                told = self._receive(number)
                if isinstance(told, Done):
                    outcomes[number] = Outcome(told, "", "", time.monotonic())
                    is_broken |= any(report["outcome"] == "failed" for report in told.reports)
                    if not told.is_whole:
                        self._jobs.pop(n, None)
                elif isinstance(told, Debugger):
                    debugging = self._debug(told, number, debugging, debug)
                    end = max(end, time.monotonic() + GRACE_S)
                    continue
                elif isinstance(told, str):
                    outcomes[number] = Outcome(None, told, "", time.monotonic())
                    is_broken = True
                    debugging = DEBUGGED if debugging == number else debugging
                if told is not None and (isinstance(told, (str, Failed)) or is_broken):
                    end = min(end, time.monotonic() + GRACE_S)
                    is_broken = True
        if is_broken:
            self._jobs.pop(n, None)
        return Result([outcomes[r] for r in range(n)], "", time.monotonic() - begun)

    def _receive(self, number: int) -> Any:
        """Return a message of a rank, or how it has ended, or None if there is nothing yet."""
        rank = self.ranks[number]
        try:
            if rank.link.poll():
                return rank.link.recv()
        except (EOFError, OSError):
            # The rank has ended, but its pidfd may not show that yet.
            wait([rank.pid_fd], STACKS_S)
        return self._ended(number) if wait([rank.pid_fd], 0) else None

    def _debug(self, told: Debugger, number: int, debugging: int, debug: Any) -> int:
        if not told.begins:
            if debugging == number:
                debug(told, number)
                return DEBUGGED
            return debugging
        may = False
        if debug is not None and debugging == NOBODY:
            debug(told, number)
            may = True
        self.ranks[number].link.send(may)
        return number if may else debugging

    def _give_up(self, late: list[int], outcomes: dict[int, Outcome]) -> None:
        """End the ranks that are late, and keep their stacks as outcomes."""
        for number in late:
            stacks = self.ranks[number].ask_stacks()
            outcomes[number] = Outcome(None, "", stacks or "(no stacks were written)", time.monotonic())
        for number in late:
            self._kill(number)

    def _account(self, n: int) -> str:
        """Return which ranks wait for which, as the coordinator knows it."""
        if self._coordinator is None or n not in self._jobs:
            return ""
        hoopctl = os.path.join(os.path.dirname(__file__), "bin", "hoopctl")
        told = {
            "HOOP_COORDINATOR": self._coordinator.address,
            "HOOP_TOKEN": self._coordinator.token,
            "HOOP_JOB": self._jobs[n][0],
        }
        try:
            done = subprocess.run(
                [hoopctl, "ranks"],
                env={**os.environ, **told},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout if done.returncode == 0 else ""

    def close(self) -> None:
        """Make all ranks tear down and end. Ranks that do not end in time are killed."""
        for rank in self.ranks.values():
            with contextlib.suppress(OSError):
                rank.link.send(None)
        end = time.monotonic() + GRACE_S
        for rank in self.ranks.values():
            if not wait([rank.pid_fd], max(0.0, end - time.monotonic())):
                signal.pidfd_send_signal(rank.pid_fd, signal.SIGKILL)
            rank.close()
        self.ranks.clear()
        self._control.close()
        os.waitpid(self._forker, 0)
        if self._coordinator:
            self._coordinator.close()
