"""tests/python/test_interrupt.py - Ctrl-C ends whatever the main thread waits for

Rank 0 is signalled when it is seen to wait: its main thread sleeps in the call, as
/proc says, and is at the same place each time.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hoop
from ranks import on_ranks

# What the interface promises, and how often it may be missed where others have the processor.
BOUND_S = 0.1
TRIES = 6
WATCHDOG_S = 100
LOOKS = 3


def _state(stat):
    """The letter that says how a thread is, in its file of /proc."""
    return stat.read_text("ascii").rpartition(")")[2].split()[0]


class Interrupt:
    """Sends SIGINT to this process once the main thread waits in a function of this file's."""

    def __init__(self):
        self.sent = 0.0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(threading.get_native_id(),))

    def _place(self):
        """Where the main thread is in hoop's modules; None: it is elsewhere."""
        frame = sys._current_frames()[threading.main_thread().ident]
        if os.sep + "hoop" + os.sep not in frame.f_code.co_filename:
            return None
        return frame.f_code, frame.f_lasti

    def _run(self, tid):
        stat = pathlib.Path(f"/proc/self/task/{tid}/stat")
        seen, place = 0, None
        while seen < LOOKS and not self.is_over.wait(0.005):
            # Who waits for the interpreter's lock has it between two looks, and goes on.
            last, place = place, self._place()
            seen = 0 if place is None or place != last else seen + (_state(stat) == "S")
        if not self.is_over.is_set():
            self.sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


def interrupted(call, *arguments, **settings):
    """It is, within the bound in one of several tries; a call may also end before it is signalled."""
    took = []
    for _ in range(TRIES):
        interrupt = Interrupt()
        try:
            with interrupt:
                call(*arguments, **settings)
        except KeyboardInterrupt as error:
            took.append(time.monotonic() - interrupt.sent)
            if took[-1] < BOUND_S:
                return error
        else:
            assert not interrupt.sent
    raise AssertionError(f"{call} ended {took} s after SIGINT")


def _watchdog():
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(WATCHDOG_S)


def _sum(comm):
    x = np.ones(1)
    comm.allreduce(x)
    assert x[0] == comm.size


@on_ranks(2)
def test_calls_that_the_coordinator_answers(session):
    """They count as not called, and are called again by all."""
    _watchdog()
    comm = session.world
    made = []
    for call, arguments in ((comm.create, [[1, 0]]), (comm.agree, [3]), (comm.shrink, [])):
        if comm.rank == 0:
            error = interrupted(call, *arguments)
            if hasattr(error, "__notes__"):
                assert error.__notes__ == [f"hoop: {call.__name__} was interrupted, and counts as not called"]
        if call != comm.shrink:
            comm.barrier()
        else:
            session.store.wait("go") if comm.rank else session.store.set("go", b"")
        made.append(call(*arguments))
    assert made[1] == 3
    for other in (made[0], made[2]):
        _sum(other)


@on_ranks(2)
def test_operations(session):
    """They count as called: of each try, the other rank is told when it calls."""
    _watchdog()
    comm = session.world
    x = np.ones(3)
    calls = (
        (comm.allreduce, [x]),
        (comm.barrier, []),
        (comm.allgather_object, [1]),
        (comm.split, [0]),
    )
    for i, (call, arguments) in enumerate(calls):
        tries = [0]
        if comm.rank == 0:

            def count(call=call, arguments=arguments, tries=tries):
                tries[0] += 1
                call(*arguments)

            interrupted(count)
            session.store[f"tries{i}"] = tries[0]
        else:
            for _ in range(int(session.store.wait(f"tries{i}")[f"tries{i}"])):
                with pytest.raises(hoop.Aborted, match="given up by rank 0"):
                    call(*arguments)
        _sum(comm)


@on_ranks(2)
def test_messages(session):
    """A receive takes nothing: what comes is the next one's."""
    _watchdog()
    comm = session.world
    x = np.zeros(1)
    if comm.rank == 0:
        interrupted(comm.recv, x, 1)
        interrupted(comm.recv_object, 1)
        interrupted(comm.recv_start(x, 1, tag=9).wait)
    comm.barrier()
    if comm.rank == 0:
        comm.recv(x, 1)
        assert x[0] == 7
        assert comm.recv_object(1) == "text"
    else:
        comm.send(np.full(1, 7.0), 0)
        comm.send_object("text", 0)
    _sum(comm)


@on_ranks(1)
def test_store(session):
    """Waits and watches go on afterwards."""
    _watchdog()
    store = session.store
    interrupted(store.wait, "never")
    watch = store.watch("w")
    interrupted(watch.next)
    store["w"] = b"1"
    assert watch.next(timeout=20)[:2] == ("set", "w")
    interrupted(watch.__next__)
    _sum(session.world)


@on_ranks(1)
def test_join(session):
    """Where others do not come, and where the coordinator says nothing; what was asked for is taken back."""
    import socket

    _watchdog()
    interrupted(hoop.join, job="other", world_size=2, rank=0)
    with hoop.join(job="other", world_size=1, rank=0) as other:
        _sum(other.world)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        at = f"127.0.0.1:{mute.getsockname()[1]}"
        interrupted(hoop.join, coordinator=at, job="other", world_size=1, rank=0)
        with hoop.Store(coordinator=at, job="other", timeout=WATCHDOG_S) as store:
            interrupted(store.get, "x")
    _sum(session.world)


def _freeze(pid):
    """Stop a process; it does nothing any more then, as each of its threads does until it is told."""
    os.kill(pid, signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{pid}/task")
    while any(_state(task / "stat") != "T" for task in tasks.iterdir()):
        time.sleep(0.001)


@on_ranks(1)
def test_abort(session):
    """Where the coordinator says nothing; the next call is not what is interrupted."""
    from hoop import _coordinator

    _watchdog()
    with _coordinator.start() as mute:
        other = hoop.join(**mute.settings, job="other", world_size=1, rank=0)
        _freeze(mute.pid)
        try:
            interrupted(other.abort, "has had enough")
        finally:
            os.kill(mute.pid, signal.SIGCONT)
        _sum(session.world)
        other.leave()


@on_ranks(1)
def test_handler_that_does_not_raise(session):
    """The call goes on, as Python's own do."""
    _watchdog()
    calls = []
    signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    with Interrupt(), pytest.raises(hoop.Timeout):
        session.store.wait("never", timeout=1)
    assert calls == [1]


JOINED_ELSEWHERE = """
import hoop, threading
from test_interrupt import interrupted
made = []
thread = threading.Thread(target=lambda: made.append(hoop.join()))
thread.start()
thread.join()
interrupted(made[0].world.recv, bytearray(1), 0)
made[0].leave()
"""


def test_main_thread_of_what_another_has_joined():
    """It gets the signals all the same."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOP_")}
    command = [sys.executable, "-B", "-c", JOINED_ELSEWHERE]
    subprocess.run(command, cwd=os.path.dirname(__file__), env={**kept, "HOOP_TIMEOUT": "20"}, check=True, timeout=60)


@on_ranks(1)
def test_no_note_where_it_is_not_known_whether_it_counts(session):
    """As of the store's calls."""
    error = interrupted(session.store.wait, "nobody's")
    assert not getattr(error, "__notes__", [])
