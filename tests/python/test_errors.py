"""tests/python/test_errors.py - each failure is an exception of its own, on every rank"""

import os
import pathlib
import pickle
import re
import time
from datetime import timedelta

import numpy as np
import pytest

import hoop
from hoop import Status
from hoop._error import CLASSES
from hoop._options import written
from ranks import on_ranks, run


def test_every_status_has_its_class():
    """Alike ones have a base of Python's, too, and all can be pickled."""
    assert set(CLASSES) == set(Status) - {Status.OK}
    for status, kind in CLASSES.items():
        error = kind("text", status, "allreduce", "path")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert str(again) == "text"
        assert (again.status, again.operation, again.path) == (status, "allreduce", "path")


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
    assert caught.value.operation == "allreduce"
    comm.barrier()


@on_ranks(2)
def test_timeout_names_who_is_missing(session):
    """The deadline is the communicator's."""
    comm = session.world
    comm.set_timeout(0.2)
    if comm.rank == 0:
        with pytest.raises(hoop.Timeout, match="rank 1"):
            comm.barrier()
    else:
        time.sleep(0.5)
    comm.set_timeout(None)


def lost(session):
    """Rank 1 ends without a word."""
    if session.world.rank == 1:
        os._exit(3)
    try:
        session.world.barrier()
    except hoop.RankLost as error:
        print("RankLost:", error, flush=True)
        os._exit(0)


lost.on_rank = lost


def test_death_is_told_to_the_others():
    """With how it died."""
    said, code = run(3, "ranks.py", "test_errors", "lost")
    assert code == 3
    for rank in (0, 2):
        assert f"[{rank}] RankLost: barrier #1: rank 1 " in said
    assert "exited with code 3" in said
