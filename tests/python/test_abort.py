"""tests/python/test_abort.py - a rank that fails tells the others what it raised"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hoop
from hoop import _abort
from ranks import HERE, on_ranks, pass_barrier, run

TEXT = r"rank 1 \(.*:\d+\) raised ValueError: no such file;"


def program(n, name, *arguments, options=()):
    """Run one of PROGRAMS below on n ranks, with options of hooprun."""
    return run(n, "test_abort.py", name, *arguments, options=options)


def expect_failure(call, match=TEXT):
    """It ends with RankFailed by rank 1."""
    with pytest.raises(hoop.RankFailed, match=match) as caught:
        call()
    error = caught.value
    assert (error.status, error.rank) == (hoop.Status.RANK_FAILED, 1)
    assert error.host
    assert error.pid not in (0, os.getpid())
    return error


def raises(join=hoop.join):
    """Rank 1 raises in the with statement while all others wait for it."""
    x = np.ones(4, np.float32)
    with join() as session:
        comm = session.world
        few = comm.create([r for r in range(comm.size) if r != 1]) if comm.rank != 1 else None
        pass_barrier(comm, 1)
        if comm.rank == 1:
            raise ValueError("no such file\nand what else it says")
        began = time.monotonic()
        error = expect_failure(lambda: comm.allreduce(x))
        assert (error.operation, error.bytes, error.communicator) == ("allreduce", 16, "world")
        assert error.sequence == 2
        late = time.monotonic() - began
        assert late < 1 or os.getloadavg()[0] > os.cpu_count(), late
        # So does what is called later, and what does not need it goes on.
        expect_failure(comm.barrier)
        few.allreduce(x)
        assert x[0] == comm.size - 1
        print("told", flush=True)
        os._exit(0)


def uncaught():
    """Rank 1 raises where nothing but sys.excepthook sees it."""
    session = hoop.join()
    pass_barrier(session.world, 1)
    if session.world.rank == 1:
        raise ValueError("no such file")
    expect_failure(session.world.barrier)
    print("told", flush=True)
    os._exit(0)


def strangers():
    """Ranks that are connected to rank 1 by nobody but the coordinator."""
    with hoop.join(transport="tcp") as session:
        world = session.world
        # Neighbours in the ring are connected, and who shares a call.
        pair = world.create([1, 4]) if world.rank in (1, 4) else None
        pass_barrier(world, 1)
        if world.rank == 1:
            raise ValueError("no such file")
        if pair:
            expect_failure(pair.barrier)
        expect_failure(world.barrier)
        print("told", flush=True)
        os._exit(0)


def exits(code):
    """Rank 1 leaves the with statement by sys.exit()."""
    with hoop.join() as session:
        pass_barrier(session.world, 1)
        if session.world.rank == 1:
            sys.exit(int(code) if code.isdigit() else code)
        with pytest.raises(hoop.Error) as caught:
            session.world.barrier()
        print(f"{type(caught.value).__name__}: {caught.value}", flush=True)
        os._exit(0)


def outlived():
    """Rank 1 gives up, and ends when hooprun knows that rank 0 has, which had waited for it."""
    session = hoop.join()
    pass_barrier(session.world, 1)
    if session.world.rank != 1:
        session.world.barrier()
    session.abort("met a bad block")
    endings = pathlib.Path(os.environ["HOOP_ENDINGS"])
    deadline = time.monotonic() + 30
    while "rank 0 ended" not in endings.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sys.exit(3)


def alone(address):
    """Two of these, which nobody has launched."""
    raises(lambda: hoop.join(coordinator=address, job="alone", world_size=2))


PROGRAMS = {function.__name__: function for function in (raises, uncaught, strangers, exits, outlived, alone)}


def test_exception_reaches_all():
    """Its own traceback is shown as ever."""
    said, code = program(4, "raises")
    assert code == 1, said
    assert said.count("] told") == 3, said
    assert "[1] ValueError: no such file\n[1] and what else it says" in said


def test_uncaught_exception_reaches_all():
    """By sys.excepthook, which then does what it did."""
    said, code = program(3, "uncaught")
    assert code == 1, said
    assert said.count("] told") == 2, said
    assert "[1] ValueError: no such file" in said


def test_exception_reaches_who_is_not_connected():
    """By way of other ranks, or of the coordinator."""
    said, code = program(6, "strangers")
    assert code == 1, said
    assert said.count("] told") == 5, said


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("3", "RankFailed: barrier #2: rank 1 ("),
        ("disk is full", ") exited: disk is full;"),
        ("0", ") has left the job"),
    ],
)
def test_exit_is_told_unless_it_is_well(code, told):
    """What a shell would take for success is no failure."""
    said, _ = program(2, "exits", code)
    assert told in said, said


def test_reasons():
    """One line, and nothing of what all know."""
    told = [
        (ValueError("a\nb"), "raised ValueError: a"),
        (AssertionError(), "raised AssertionError"),
        (hoop.Mismatch("text"), "raised Mismatch: text"),
        (KeyboardInterrupt(), "was interrupted"),
        (SystemExit(2), "exited with code 2"),
        (SystemExit("why\nelse"), "exited: why"),
        (SystemExit(0), None),
        (SystemExit(None), None),
        (hoop.RankLost("text"), None),
        (hoop.RankFailed("text"), None),
        (GeneratorExit(), None),
    ]
    assert [_abort.reason(error) for error, _ in told] == [text for _, text in told]


@on_ranks(2)
def test_abort_ends_what_other_threads_wait_for(session):
    """On this rank, too; then only leave() is of use."""
    comm, ended = session.world.split(0), []

    def wait():
        try:
            comm.barrier()
        except hoop.RankFailed as error:
            ended.append(error)

    if comm.rank == 0:
        thread = threading.Thread(target=wait)
        thread.start()
        session.world.barrier()
        session.abort("ran out of disk space")
        session.abort("did it again")
        thread.join()
        assert "this rank ran out of disk space" in str(ended[0])
        with pytest.raises(hoop.RankFailed, match="ran out of disk space"):
            session.world.barrier()
    else:
        session.world.barrier()
        with pytest.raises(hoop.RankFailed, match=r"rank 0 \(.*\) ran out of disk space;"):
            session.world.barrier()


@contextlib.contextmanager
def coordinator(log):
    """A hoopd, which writes that log; its address."""
    with log.open("wb") as err:
        hoopd = subprocess.Popen(["hoopd", "--listen", "127.0.0.1:0", "--http", "none"], stderr=err)
    try:
        deadline = time.monotonic() + 30
        address = None
        while not address:
            assert time.monotonic() < deadline, log.read_text()
            address = address_of(log.read_text())
            time.sleep(0.01)
        yield address
    finally:
        hoopd.terminate()
        hoopd.wait()


@pytest.mark.parametrize("is_embedded", [True, False])
def test_hooprun_names_who_gave_up_first(is_embedded, tmp_path):
    """Not the one that ended first, since it had waited for that; and it takes its exit code."""
    with contextlib.ExitStack() as stack:
        options = () if is_embedded else ("--coordinator", stack.enter_context(coordinator(tmp_path / "log")))
        said, code = program(2, "outlived", options=options)
    assert code == 3, said
    told = [line for line in said.splitlines() if line.startswith("hooprun: ")]
    first = r"hooprun: rank 1 \(pid \d+\) met a bad block; rank 0 \(pid \d+\) exited with code 1"
    assert re.fullmatch(first, told[0]), said
    assert re.fullmatch(r"hooprun: then rank 1 \(pid \d+\) exited with code 3", told[1]), said


def test_without_a_launcher_and_what_hoopd_says(tmp_path):
    """Its log, and hoopctl's list of ranks, tell the reason."""
    log = tmp_path / "log"
    with coordinator(log) as address:
        folder = tmp_path / "folder"
        folder.mkdir()
        settings = {"HOOP_WAIT_NOTICE": "0", "HOOP_TIMEOUT": "30", "FOLDER": str(folder)}
        ranks = [
            subprocess.Popen(
                [sys.executable, "-B", "test_abort.py", "alone", address],
                cwd=HERE,
                env={**os.environ, **settings},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(2)
        ]
        said = [rank.communicate(timeout=60)[0] for rank in ranks]
        assert sorted(rank.returncode for rank in ranks) == [0, 1], said
        assert any("told" in text for text in said), said
        shown = subprocess.run(
            ["hoopctl", "--coordinator", address, "--job", "alone", "ranks"], capture_output=True, text=True, check=True
        ).stdout
        assert shown.count("raised ValueError: no such file") == 1, shown
        assert "has given up: raised ValueError: no such file" in log.read_text()


def address_of(log):
    """Where hoopd listens, as its log says."""
    for line in log.splitlines():
        for word in line.replace(",", " ").split():
            if word.startswith("127.0.0.1:") and word.rpartition(":")[2].isdigit():
                return word
    return None


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
