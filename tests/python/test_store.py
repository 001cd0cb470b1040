"""tests/python/test_store.py - the store of a job is a mapping that all its ranks share"""

import os
import random
import threading
from collections.abc import MutableMapping
from datetime import timedelta

import pytest

import hoop
from hoop._store import _bytes, _key
from ranks import on_ranks


def test_keys_and_values_are_what_can_be_stored():
    """Before anything is sent."""
    assert [_bytes(v) for v in (b"x", bytearray(b"x"), memoryview(b"x"), "é", -5)] == [
        b"x",
        b"x",
        b"x",
        "é".encode(),
        b"-5",
    ]
    for value in (1.5, True, None, [b"x"]):
        with pytest.raises(TypeError, match="a value is"):
            _bytes(value)
    for key in ("", b"", "a\0b"):
        with pytest.raises(ValueError, match="empty, or has a byte 0"):
            _key(key)
    with pytest.raises(TypeError, match="a key is int"):
        _key(3)


def test_store_without_a_coordinator():
    """Says so when it is made, or when it is asked."""
    with pytest.raises(hoop.Invalid, match="corodinator.*coordinator"):
        hoop.Store(corodinator="x")
    store = hoop.Store(coordinator="127.0.0.1:1", timeout=0.1)
    with pytest.raises(hoop.Unavailable):
        store.get("x")
    store.close()
    store.close()
    with pytest.raises(hoop.Closed):
        store.get("x")
    assert repr(store) == "<hoop.Store, closed>"


@pytest.mark.ranks(1)
def test_mapping_is_as_a_dict(session):
    """Random calls, compared with a dict."""
    store, twin = session.store, {}
    assert isinstance(store, MutableMapping)
    draw = random.Random(23)
    keys = [f"{a}/{b}" for a in "xyz" for b in ("", "1", "é", "0" * 40)]
    for _ in range(400):
        key, value = draw.choice(keys), draw.randbytes(draw.choice([0, 1, 30]))
        call = draw.randrange(6)
        if call == 0:
            store[key] = value
            twin[key] = value
        elif call == 1:
            assert store.get(key) == twin.get(key)
            assert (key in store) == (key in twin)
        elif call == 2:
            assert store.pop(key, None) == twin.pop(key, None)
        elif call == 3:
            assert store.setdefault(key, value) == twin.setdefault(key, value)
        elif call == 4:
            prefix = draw.choice(["", "x", "y/", "z/0"])
            wanted = {k: v for k, v in sorted(twin.items()) if k.startswith(prefix)}
            assert list(store.keys(prefix)) == list(wanted)
            assert dict(store.items(prefix)) == wanted
            assert list(store.values(prefix)) == list(wanted.values())
            assert len(store.items(prefix)) == len(store.keys(prefix)) == len(wanted)
        elif key in twin:
            del store[key]
            del twin[key]
        else:
            with pytest.raises(KeyError):
                del store[key]
            with pytest.raises(KeyError):
                store[key]
    assert dict(store) == twin
    assert len(store) == len(twin)
    store.update(a="b", n=3)
    assert store.multi_get(["n", b"none", b"a"]) == [b"3", None, b"b"]
    store.clear()
    assert not len(store)


@pytest.mark.ranks(1)
def test_many_keys_and_large_values(session):
    """More than one call of the C library takes, and hands out."""
    store = session.store
    names = [f"k{i:05}" for i in range(1100)]
    for name in names:
        store[name] = name
    assert store.multi_get(reversed(names)) == [name.encode() for name in reversed(names)]
    assert list(store) == names
    store.clear()
    large = {f"l{i}": bytes([i]) * 1000_000 for i in range(6)}
    store.update(large)
    assert dict(store.items("l")) == large
    with pytest.raises(hoop.Error):
        store["too large"] = bytes(2**20 + 1)


@pytest.mark.ranks(4)
def test_counters_and_locks_count_everybody(session):
    """From two threads of each rank."""
    store, comm = session.store, session.world
    won = []

    def run():
        for _ in range(10):
            store.add("n", comm.rank + 1)
        won.append(store.compare_set("lock", None, str(comm.rank)).applied)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = comm.allgather_object(sum(won))
    assert sum(winners) == 1
    assert store["n"] == b"200"
    assert store.compare_set("lock", b"nobody", "x") == (False, store["lock"])
    comm.barrier()
    if comm.rank == 0:
        assert store.compare_set("lock", store["lock"], "free") == (True, b"free")
        assert store.compare_set("none", "x", "y") == (False, None)
        store["text"] = "word"
        with pytest.raises(hoop.Refused, match="no decimal number"):
            store.add("text")
        store["n"] = 2**63 - 1
        with pytest.raises(hoop.OutOfRange):
            store.add("n")


@pytest.mark.ranks(2)
def test_wait_and_watch(session):
    """Rank 1 sees what rank 0 does, in its order, until it goes."""
    store, comm = session.store, session.world
    if comm.rank == 0:
        comm.barrier()
        store["w/1"] = b"one"
        store.set("w/2", b"two", ttl=timedelta(milliseconds=50))
        store["other"] = b"x"
        del store["w/1"]
        comm.barrier()
        return
    with pytest.raises(hoop.Timeout, match='nobody has set key "w/1"'):
        store.wait(["w/1"], timeout=0.05)
    watch = store.watch("w/", timeout=20)
    with pytest.raises(hoop.Timeout, match=r"begins with 'w/' has changed within 0.05 s"):
        watch.next(0.05)
    every = store.watch()
    comm.barrier()
    assert store.wait("other", timeout=20) == {"other": b"x"}
    told = [next(watch) for _ in range(4)]
    assert {event[:2] for event in told} == {
        ("set", "w/1"),
        ("set", "w/2"),
        ("deleted", "w/1"),
        ("expired", "w/2"),
    }
    revisions = [event.revision for event in told]
    assert revisions == sorted(set(revisions))
    assert [event.key for event, _ in zip(every, range(3))][:2] == ["w/1", "w/2"]
    comm.barrier()


@on_ranks(2)
def test_stores_of_others_and_after_the_end(session):
    """Who is no member says where; a session's store ends with it, also for threads."""
    store, comm = session.store, session.world
    assert session.store is store
    # hooprun says it in the environment.
    with hoop.Store() as other, hoop.Store(job=os.environ.get("HOOP_JOB"), timeout=timedelta(seconds=3)) as third:
        other[f"from{comm.rank}"] = b"x"
        assert third.wait([f"from{r}" for r in range(2)], timeout=20) == {"from0": b"x", "from1": b"x"}
        assert set(store) == {"from0", "from1"}
        assert "hoop.Store of job" in repr(other)
        with hoop.Store(job="nobodys") as nobody, pytest.raises(hoop.NotFound):
            nobody.get("x")
    comm.barrier()
    ends = []

    def look():
        try:
            for _ in store.watch():
                pass
        except hoop.Error as error:
            ends.append(type(error))

    thread = threading.Thread(target=look)
    thread.start()
    session.leave()
    thread.join(30)
    assert not thread.is_alive()
    assert len(ends) == 1
    with pytest.raises(hoop.Closed):
        store.get("x")
    with pytest.raises(hoop.Closed):
        _ = session.store


@on_ranks(1)
def test_forked_child_has_its_own_connections(session):
    """And its parent keeps its own."""
    with hoop.Store() as store:
        store["parent"] = b"here"
        pid = os.fork()
        if pid == 0:
            is_right = store["parent"] == b"here" and store.add("n") == 1
            os._exit(0 if is_right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert store["n"] == b"1"


@pytest.mark.ranks(3)
def test_hosts(session):
    """All on this one, and of one node."""
    import socket

    comm = session.world
    assert comm.hosts == [socket.gethostname()] * 3
    assert comm.nodes == [0, 0, 0]
    with comm.split(0 if comm.rank else None) as part:
        assert part.hosts == [socket.gethostname()] * part.size


@on_ranks(1)
def test_zero_is_expected_as_a_number(session):
    """As its digit."""
    store = session.store
    store["n"] = 0
    assert store.compare_set("n", 0, 1) == (True, b"1")
    store["empty"] = b""
    assert store.compare_set("empty", "", "x") == (True, b"x")
    assert store.compare_set("empty", None, "y") == (False, b"x")


@on_ranks(1)
def test_views_contain_what_they_iterate(session):
    """Not what the store has besides, whatever they are given as a prefix."""
    store = session.store
    store.update({"a/é": b"1", "a/2": b"2", "b/1": b"3"})
    for prefix in ("a/", b"a/"):
        keys, items, values = store.keys(prefix), store.items(prefix), store.values(prefix)
        assert {key for key in ("a/é", "a/2", "b/1", "a/none", 3) if key in keys} == set(keys) == {"a/é", "a/2"}
        assert "a/é".encode() in keys
        assert b"b/1" not in keys
        pairs = [("a/é", b"1"), ("a/2", b"1"), ("b/1", b"3"), ("a/none", None), "a/", 3]
        assert [pair in items for pair in pairs] == [True] + [False] * 5
        assert [value in values for value in (b"1", b"2", b"3")] == [True, True, False]
    every = store.keys()
    assert "b/1" in every
    assert ("b/1", b"3") in store.items()


@on_ranks(1)
def test_keys_are_utf8(session):
    """Others would end every iteration over the store; what comes from elsewhere does not."""
    from hoop._binding import ffi
    from hoop._store import _text

    for call in (session.store.set, session.store.setdefault):
        with pytest.raises(ValueError, match="UTF-8"):
            call(b"\xff", b"x")
    assert list(session.store) == []
    key = _text(ffi.new("char[]", b"a\xff"))
    assert ffi.string(_key(key)) == b"a\xff"


@on_ranks(1)
def test_stores_that_are_dropped_close_their_connections(session):
    """Not those that a forked child has copies of."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        store = hoop.Store()
        assert store.get("x") is None
    pid = os.fork()
    if pid == 0:
        del store
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert store.get("x") is None
    del store
    assert len(os.listdir("/proc/self/fd")) == before
