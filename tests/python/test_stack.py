"""tests/python/test_stack.py - hoopctl why names the line of a Python program that holds others up"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import numpy as np

from hoop import _stack
from hoop._binding import ffi
from ranks import on_ranks

DEADLINE_S = 60
STUCK = r"; rank 0 \(.*:\d+\) waits in allreduce #2 \(float32, 4 elements, sum\) of 'world' for \d+\.\d s\."
IDLE = r"Rank 1 \(.*:\d+\) is in no call of hoop "


def line_of(mark):
    """Return the number of the line of this file that ends with the mark."""
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.endswith(f"  # {mark}"))


def why():
    """Return what hoopctl says of this job."""
    said = subprocess.run(["hoopctl", "--json", "why"], stdout=subprocess.PIPE, timeout=DEADLINE_S, check=False)
    assert said.returncode in (0, 1), said
    return json.loads(said.stdout)


def verdict(pattern):
    """Ask until the sentence is this one, and return the stack that rank 1 tells."""
    deadline = time.monotonic() + DEADLINE_S
    seen = why()
    while not re.fullmatch(pattern, seen["verdict"]):
        assert time.monotonic() < deadline, seen
        seen = why()
    assert seen["culprits"] == [1]
    return next(rank["stack"].split("\n") for rank in seen["ranks"] if rank["rank"] == 1)


def over():
    """The file by which rank 0 ends the rest of rank 1."""
    return pathlib.Path(os.environ["FOLDER"], "over")


def hold_up(session, rest, pattern):
    """Rank 1 rests until rank 0, which waits for it in a call, has seen this verdict. Return the stack to rank 0."""
    x = np.ones(4, np.float32)
    session.world.allreduce(x)
    if session.world.rank == 1:
        rest()  # the call
        session.world.allreduce(x)
        return None
    work = session.world.allreduce_start(x)
    stack = verdict(pattern)
    over().touch()
    work.wait()
    return stack


def at(mark, function):
    """Return where rank 1 is at that mark, as its verdict says it."""
    return f"test_stack.py:{line_of(mark)} in {function}, called from test_stack.py:{line_of('the call')} in hold_up"


def sleeps():
    """Rank 1 sleeps."""
    while not over().exists():
        time.sleep(0.5)  # sleeps


def waits_for_a_lock():
    """Rank 1 waits for a lock that another thread holds."""
    lock = threading.Lock()
    lock.acquire()

    def open_it():
        while not over().exists():
            time.sleep(0.02)
        lock.release()

    thread = threading.Thread(target=open_it, name="opener")
    thread.start()
    assert lock.acquire(timeout=DEADLINE_S)  # locked
    thread.join()


def computes():
    """Rank 1 computes in Python."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and not over().exists():
        sum(i for i in range(100000))  # computes


def holds_the_gil():
    """A call by PyDLL keeps the GIL."""
    while not over().exists():
        ctypes.PyDLL(None).usleep(1000000)


@on_ranks(2)
def test_line_of_a_rank_that_sleeps_is_told(session):
    """The sentence names the line, and the list has the stack."""
    stack = hold_up(session, sleeps, IDLE + r"and sleeps in \w+: " + re.escape(at("sleeps", "sleeps")) + STUCK)
    if stack is not None:
        assert stack[0] == at("sleeps", "sleeps")
        assert stack[1:3] == stack[0].split(", called from ")
        assert stack[-1].startswith("ranks.py:")


@on_ranks(2)
def test_line_of_a_rank_that_waits_for_a_lock_is_told(session):
    """A lock is waited for without the GIL; other threads are told, too."""
    where = at("locked", "waits_for_a_lock")
    stack = hold_up(session, waits_for_a_lock, IDLE + r"and sleeps in \w+: " + re.escape(where) + STUCK)
    if stack is not None:
        assert "thread opener:" in stack


@on_ranks(2)
def test_line_of_a_rank_that_computes_is_told(session):
    """A thread that computes in Python lets others have the GIL."""
    where = re.escape(at("computes", "computes"))
    line = rf"test_stack\.py:{line_of('computes')}"
    called = rf"{line} in (computes\.<locals>\.)?<genexpr>, called from {line} in computes"
    hold_up(session, computes, rf"{IDLE}and computes: ({where}|{called}){STUCK}")


@on_ranks(2)
def test_rank_that_holds_the_gil_is_told_without_a_line(session):
    """The rank answers in time, and says why it tells no line."""
    unknown = r"its interpreter has not told its stack for 0\.3 s, as if other code held its lock"
    hold_up(session, holds_the_gil, IDLE + r"and sleeps in \w+: " + unknown + STUCK)


def rest_in_library(event):
    """Wait in the code of a library."""
    event.wait()  # in a library


def test_libraries_are_told_with_the_line_that_called_them():
    """The program's own line says more than that of a library."""
    event = threading.Event()
    thread = threading.Thread(target=rest_in_library, args=(event,))
    thread.start()
    deadline = time.monotonic() + DEADLINE_S
    line = line_of("in a library")
    pattern = rf"threading\.py:\d+ in (\w+\.)?wait, called from .*test_stack\.py:{line} in rest_in_library"
    said = ""
    while not re.fullmatch(pattern, said) and time.monotonic() < deadline:
        frames = _stack._frames(sys._current_frames()[thread.ident], 8)
        said = _stack._summary(frames)
    event.set()
    thread.join()
    assert re.fullmatch(pattern, said), said


def test_only_whole_lines_are_told(monkeypatch):
    """A stack that finds no room loses its outermost frames."""
    lines = ["a.py:1 in f", "b.py:22", "c.py:3 in gé"]
    monkeypatch.setattr(_stack, "describe", lambda: "\n".join(lines))
    for n_bytes in range(1, 50):
        room = ffi.new("char[50]", b"x" * 49)
        _stack.hoop_py_read_stack(room, n_bytes)
        fitting = max(n for n in range(4) if n == 0 or len("\n".join(lines[:n]).encode()) < n_bytes - 1)
        assert ffi.string(room).decode() == "\n".join(lines[:fitting])


def test_thread_that_reads_tells_nothing_of_itself():
    """It is no thread of the program."""
    said = []
    thread = threading.Thread(target=lambda: said.append(_stack.describe()), name="reader")
    thread.start()
    thread.join()
    assert "test_stack.py" in said[0]
    assert "thread reader:" not in said[0]
