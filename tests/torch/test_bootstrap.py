"""tests/torch/test_bootstrap.py - how ranks find their coordinator by torch's store"""

import os
import socket
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from hoop_torch import _bootstrap
from ranks import run

LIMIT = timedelta(seconds=30)


def _waits_in_vain(rank, size, path):
    store = dist.FileStore(path, 2)
    if rank == 0:
        store.wait(["told"], LIMIT)
        return
    with pytest.raises(dist.DistBackendError, match="rank 0 has not said") as caught:
        _bootstrap.join(store, rank, 2, timedelta(milliseconds=300))
    assert (caught.value.status, caught.value.rank) == ("TIMEOUT", 0)
    store.set("told", "")


def test_rank_0_that_does_not_come_is_named(tmp_path):
    """In time."""
    run(2, _waits_in_vain, str(tmp_path / "store"))


def _finds_what_is_stale(rank, size, path, stale):
    store = dist.FileStore(path, 2)
    if rank == 0:
        store.set("hoop/0", stale)
        store.set("begin", "")
        # It may have read what is stale by then, and has to look again.
        store.wait(["looks"], LIMIT)
    else:
        store.wait(["begin"], LIMIT)
        store.set("looks", "")
    session = _bootstrap.join(store, rank, 2, LIMIT)
    assert (session.rank, session.size) == (rank, 2)
    dist.barrier()
    # Nobody finds it any more.
    assert not store.check(["hoop/0"])


def test_coordinator_of_an_earlier_group_is_not_joined(tmp_path):
    """Though the store names it still."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    run(2, _finds_what_is_stale, str(tmp_path / "store"), f"127.0.0.1:{port} torch-before token")


def _longest(rank, size, path):
    dist.destroy_process_group()
    # What LLaMA-Factory's documents have.
    longest = timedelta(seconds=180_000_000)
    dist.init_process_group("hoop", init_method=f"file://{path}", rank=rank, world_size=size, timeout=longest)
    for group in (None, dist.new_group(list(range(size)), timeout=longest)):
        total = torch.tensor([rank])
        dist.all_reduce(total, group=group)
        assert total.item() == sum(range(size))


def test_timeouts_of_years_mean_the_longest(tmp_path):
    """Instead of being refused."""
    run(2, _longest, str(tmp_path / "store"))


@pytest.mark.parametrize("host", ["2001:db8::1", "node0"])
def test_address_and_token_are_told_as_they_are(host, monkeypatch):
    """IPv6 in brackets, and a token with a space."""
    monkeypatch.setattr(_bootstrap, "_host_of", lambda *_: host)
    monkeypatch.setattr(_bootstrap, "_listens", lambda _: True)
    store = dist.HashStore()
    place, started = _bootstrap._open(store, 2, {**os.environ, "HOOP_TOKEN": "one two"})
    try:
        store.set("hoop/0", " ".join(place))
        found = _bootstrap._find(store, "hoop/0", 1, LIMIT)
    finally:
        started.close()
    assert found == place
    assert found.token == "one two"
    assert found.address.rpartition(":")[0] == ("[2001:db8::1]" if ":" in host else host)


def _members_only(rank, size):
    # Ranks make other groups, in another order and as often as they like.
    for times in range(3 + rank):
        own = dist.new_group([rank], use_local_synchronization=True)
        total = torch.tensor([rank + times])
        dist.all_reduce(total, group=own)
        assert total.item() == rank + times
    pair = [0, 1] if rank < 2 else [2, 3]
    group = dist.new_group(pair, use_local_synchronization=True)
    total = torch.tensor([10**rank])
    dist.all_reduce(total, group=group)
    assert total.item() == sum(10**other for other in pair)
    dist.barrier()


def test_groups_are_made_by_their_members_only():
    """Others do not take part."""
    run(4, _members_only)


@pytest.mark.parametrize(
    ("environ", "host"),
    [
        ({}, None),
        ({"MASTER_ADDR": "localhost"}, None),
        ({"MASTER_ADDR": "node0", "RANK": "0", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4"}, None),
        ({"MASTER_ADDR": "node0", "RANK": "0", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}, "node0"),
    ],
)
def test_coordinator_listens_to_other_hosts_where_there_are_some(environ, host):
    """By the name that torch has of rank 0."""
    assert _bootstrap._host_of(dist.HashStore(), 4, environ) == host
