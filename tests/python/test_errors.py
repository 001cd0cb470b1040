"""tests/python/test_errors.py - each failure is an exception of its own, on every rank"""

import os
import pathlib
import pickle
import re
from datetime import timedelta

import numpy as np
import pytest

import hoop
from hoop import Status
from hoop._error import CLASSES
from hoop._options import written
from ranks import arrive, blocked, on_ranks, release, run


def test_every_status_has_its_class():
    """Alike ones have a base of Python's, too, and all can be pickled."""
    assert set(CLASSES) == set(Status) - {Status.OK}
    for status, kind in CLASSES.items():
        error = kind("text", status, "allreduce", "path")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert str(again) == "text"
        assert (again.status, again.operation, again.path) == (status, "allreduce", "path")
        assert (again.rank, again.elapsed) == (None, None)
        assert repr(again) == f"{kind.__name__}('text', operation='allreduce')"
    error.rank, error.waited_for = 3, 0
    again = pickle.loads(pickle.dumps(error))
    assert (again.rank, again.waited_for) == (3, 0)
    assert repr(again).endswith("('text', operation='allreduce', rank=3, waited_for=0)")


def test_settings_are_written_as_hoop_reads_them():
    """Switches, seconds, paths."""
    told = {True: "on", False: "off", 4: "4", 0.000001: "0.000001", 2.5: "2.5", "x": "x"}
    assert {value: written(value) for value in told} == told
    assert written(2.0) == "2"
    assert written(timedelta(milliseconds=1500)) == "1.5"
    with pytest.raises(TypeError):
        written(object())


def test_type_checkers_know_the_settings():
    """The library knows each of them; and they know those that its header shows."""
    from hoop._settings import Settings

    names = set(Settings.__annotations__)
    header = pathlib.Path(__file__).parents[2] / "include" / "hoop" / "session.h"
    assert {name.lower() for name in re.findall(r"/\* HOOP_(\w+)", header.read_text(encoding="utf-8"))} <= names
    for name in names:
        given = {"coordinator": "127.0.0.1:1", "world_size": 1, "rank": 0, "join_timeout": 0.01, name: "?"}
        with pytest.raises(hoop.Error) as caught:
            hoop.join(**given)
        assert "unknown setting" not in str(caught.value)


def test_join_says_what_is_wrong():
    """Before anything is sent."""
    with pytest.raises(hoop.Invalid, match="strems.*streams") as caught:
        hoop.join(strems=4)
    assert isinstance(caught.value, ValueError)
    assert caught.value.status is Status.INVALID
    assert caught.value.operation == "join"
    assert (caught.value.rank, caught.value.bytes) == (None, None)
    assert "hoop_join" in caught.value.path
    with pytest.raises(hoop.Unavailable):
        hoop.join(coordinator="127.0.0.1:1", job=None, join_timeout=0.2, world_size=1)


@on_ranks(2)
def test_mismatch_is_told_to_both(session):
    """Then the communicator goes on."""
    comm = session.world
    x = np.ones(4, np.float32)
    with pytest.raises(hoop.Mismatch, match="sum.*max|max.*sum") as caught:
        comm.allreduce(x, op="sum" if comm.rank else "max")
    error = caught.value
    assert error.operation == "allreduce"
    # One of the two has found it, of whom the other differs.
    assert error.rank in (0, 1)
    assert f"rank {error.rank} ({error.host}:{error.pid}) called" in str(error)
    assert (error.sequence, error.bytes, error.communicator) == (1, 16, "world")
    comm.barrier()


@on_ranks(2)
def test_timeout_names_who_is_missing(session):
    """The deadline is the communicator's."""
    comm = session.world
    comm.set_timeout(0.2)
    if comm.rank == 0:
        comm.set_name("of two")
        with pytest.raises(hoop.Timeout, match="rank 1") as caught:
            comm.barrier()
        error = caught.value
        assert (error.rank, error.waited_for, error.sequence) == (1, 1, 1)
        assert (error.communicator, error.bytes, error.allowed) == ("of two", 0, 0.2)
        assert 0.2 <= error.elapsed < 30
    else:
        blocked(comm)
        # It is told when it calls; it has to wait for nobody.
        with pytest.raises(hoop.Timeout, match=r"rank 0 \(.*\) timed out") as caught:
            comm.barrier()
        assert (caught.value.rank, caught.value.pid, caught.value.waited_for) == (1, os.getpid(), None)
    if comm.rank == 0:
        release(1)


def lost(session):
    """Rank 1 ends without a word."""
    arrive(session.world, 1, "joined")
    if session.world.rank == 1:
        os._exit(3)
    try:
        session.world.barrier()
    except hoop.RankLost as error:
        print("RankLost:", error, flush=True)
        print("by", error.rank, error.operation, error.sequence, error.waited_for, error.pid, flush=True)
        os._exit(0)


lost.on_rank = lost


def test_death_is_told_to_the_others():
    """With how it died."""
    said, code = run(3, "ranks.py", "test_errors", "lost")
    assert code == 3
    for rank in (0, 2):
        assert f"[{rank}] RankLost: barrier #1: rank 1 " in said, said
        assert f"[{rank}] by 1 barrier 1 " in said
    assert "exited with code 3" in said


@on_ranks(2)
def test_ranks_that_cannot_be_are_refused(session):
    """By ValueError, before anything is sent; who is no member may name any."""
    comm = session.world
    x = np.ones(1)
    for rank in (-1, 2, 1 << 33):
        with pytest.raises(ValueError, match=f"no rank {rank} among 2"):
            comm.world_rank(rank)
        with pytest.raises(ValueError, match=f"no rank {rank} among 2"):
            comm.create([rank])
    for rank in (-1, 1 << 33):
        for call in (comm.broadcast, comm.broadcast_start, comm.reduce, comm.broadcast_object, comm.gather_object):
            with pytest.raises(ValueError, match=f"root is {rank}"):
                call(x, root=rank)
        with pytest.raises(ValueError, match=f"dest is {rank}"):
            comm.send(x, rank)
        with pytest.raises(ValueError, match=f"source is {rank}"):
            comm.recv_start(x, rank)
    for tag in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"tag is {tag}"):
            comm.send(x, 0, tag)
    for flags in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"flags are {flags}"):
            comm.agree(flags)
    with comm.split(None) as nobodys:
        nobodys.broadcast(x, root=1)
    comm.barrier()
