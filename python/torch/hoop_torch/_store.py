"""python/torch/hoop_torch/_store.py - the store of a job as a torch Store, and init methods with hoop://"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

import torch.distributed as dist
from torch._C._distributed_c10d import Store

import hoop
from hoop import _launched
from hoop_torch import _bootstrap
from hoop_torch._backend import Session
from hoop_torch._error import Error
from hoop_torch._uncaught import watch

# The timeout of torch if the caller gives none.
_TIMEOUT = timedelta(minutes=5)
# The store of the last group, because C++ does not keep Python objects alive.
_stores: list[JobStore] = []


class JobStore(Store):
    """The key-value store that the coordinator keeps for a job that this process has joined."""

    # The timeout of get() and wait(). torch keeps it, and its PrefixStore sets it without calling Python.
    timeout: timedelta

    def __init__(self, session: Session, store: hoop.Store, timeout: timedelta) -> None:
        super().__init__()
        self._session: Session | None = session
        self._store = store
        self.set_timeout(timeout)

    def take_session(self) -> Session | None:
        """Return the session, which lives as long as its groups, or None if another group has it."""
        session, self._session = self._session, None
        return session

    def close(self) -> None:
        """Close the store's connections."""
        self._store.close()

    def set(self, key: str, value: Any) -> None:
        """Write the value of key."""
        self._store.set(key, value if isinstance(value, str) else bytes(value))

    def get(self, key: str) -> bytes:
        """Wait until key exists, and return its value."""
        self.wait([key])
        return self._store[key]

    def add(self, key: str, amount: int) -> int:
        """Add amount to the number at key, and return the sum. A key that does not exist counts as 0."""
        return self._store.add(key, amount)

    def compare_set(self, key: str, expected: Any, desired: Any) -> bytes:
        """Write desired if key has the value expected; "" also expects that key does not exist.

        It returns the value that key then has.
        """
        expected = expected.encode() if isinstance(expected, str) else bytes(expected)
        desired = desired if isinstance(desired, str) else bytes(desired)
        found = self._store.compare_set(key, expected or None, desired).value
        if found == expected == b"":
            # The key exists, and its value is "".
            found = self._store.compare_set(key, expected, desired).value
        return expected if found is None else found

    def delete_key(self, key: str) -> bool:
        """Delete key, and return whether it existed."""
        return self._store.pop(key, None) is not None

    def num_keys(self) -> int:
        """Return the number of keys, which counts those of all groups."""
        return len(self._store)

    def check(self, keys: list[str]) -> bool:
        """Return whether all keys exist."""
        return all(key in self._store for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys exist. It raises DistStoreError when timeout has passed."""
        limit = self.timeout if timeout is None else timeout
        try:
            self._store.wait(keys, timeout=min(limit, _bootstrap.LONGEST))
        except hoop.Timeout as error:
            raise dist.DistStoreError(str(error)) from None

    # The names by which C++ calls these methods.
    compareSet = compare_set  # noqa: N815
    deleteKey = delete_key  # noqa: N815
    getNumKeys = num_keys  # noqa: N815


def _number(query: dict[str, list[str]], name: str, launched: int | None) -> int:
    value = query.get(name, [""])[0] or os.environ.get(f"HOOP_{name.upper()}", "")
    if value:
        return int(value)
    if launched is None:
        raise ValueError(f"init_process_group: hoop:// needs {name}: give it, or use a launcher that says it")
    return launched


def _job_of(launch: _launched.Launch | None) -> str:
    """Return a name for the job that only the ranks of this run have."""
    run = launch.run.strip(".") if launch else ""
    if run in ("", "none"):
        raise ValueError(
            "init_process_group: hoop:// needs the name of a job, the same for all ranks and for no others: set "
            "HOOP_JOB, give hoop://host:port?job=NAME, or give torchrun --rdzv-id"
        )
    return f"torch-{run}.{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"


def rendezvous(url: str, timeout: timedelta = _TIMEOUT, **_: Any) -> Iterator[tuple[Store, int, int]]:
    """Join a job for hoop://host:port, and yield its store, this rank, and the number of ranks.

    torch calls it. The job is HOOP_JOB, or ?job=NAME of the address, or else the launcher's run.
    """
    parts = urlparse(url)
    query = parse_qs(parts.query)
    if parts.port is None:
        raise ValueError(f"init_process_group: {url} has no port: hoop://host:port is what a coordinator listens on")
    launch = _launched.launch_of(os.environ)
    rank = _number(query, "rank", launch.rank if launch else None)
    size = _number(query, "world_size", launch.size if launch else None)
    job = query.get("job", [""])[0] or os.environ.get("HOOP_JOB") or _job_of(launch)
    session = Session(job, _bootstrap.settings_of(_bootstrap.Place(parts.netloc, job, ""), rank, size, timeout))
    try:
        store = hoop.Store(coordinator=parts.netloc, job=job)
    except hoop.Error as error:
        raise Error(str(error), error.status.name) from None
    watch()
    while _stores:
        _stores.pop().close()
    _stores.append(JobStore(session, store, timeout))
    # The session must live as long as its groups, and not as long as this frame.
    del session
    yield _stores[0], rank, size
    raise RuntimeError("init_process_group: a group of hoop:// does not meet again; make another one")
