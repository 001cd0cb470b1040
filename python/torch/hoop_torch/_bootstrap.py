"""python/torch/hoop_torch/_bootstrap.py - how the ranks of a process group find their coordinator

Rank 0 says in torch's store where it is: that of HOOP_COORDINATOR, or else one that it
starts. A store may outlive a group, as that of torchrun's agent does, so that what it
says may be of an earlier group: rank 0 deletes it when all have come, and nobody
takes what it has used before, or a coordinator that does not listen any more.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import hoop
from hoop import _coordinator, _launched
from hoop_torch import _recorder
from hoop_torch._backend import Session, set_world, world
from hoop_torch._error import Error
from hoop_torch._uncaught import watch

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

_LOOK_S = 0.01
_CONNECT_S = 5.0
# The seconds that a coordinator waits for the first rank if it cannot watch this process.
_LIMIT_S = 300
# The longest timeout of hoop. The session uses it, because each group has its own.
LONGEST = timedelta(weeks=1)
# The jobs that this process has joined.
_used: set[str] = set()

_recorder.install()


class Place(NamedTuple):
    """Where a group meets: the coordinator's address, the job, and the token ("" if there is none)."""

    address: str
    job: str
    token: str


def settings_of(place: Place, rank: int, size: int, timeout: timedelta) -> list[str]:
    """Return the settings for hoop_join()."""
    settings = {
        "coordinator": place.address,
        "job": place.job,
        "rank": rank,
        "world_size": size,
        "timeout": f"{LONGEST.total_seconds():g}s",
        "join_timeout": f"{max(1, round(min(timeout, LONGEST).total_seconds() * 1000))}ms",
        **({"token": place.token} if place.token else {}),
    }
    return [f"{name}={value}" for name, value in settings.items()]


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _inner(store: Any) -> Any:
    """Return the store without the prefixes that torch wraps around it."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store


def _host_of(store: Store, size: int, environ: Mapping[str, str]) -> str | None:
    """Return the name by which all ranks reach rank 0's host, or None if they are all on that host."""
    launch = _launched.launch_of(environ)
    if launch is not None and launch.size == launch.local_size == size:
        return None
    host = getattr(_inner(store), "host", None) or environ.get("MASTER_ADDR") or "localhost"
    return None if _is_loopback(host) else host


def _job(size: int, environ: Mapping[str, str]) -> str:
    """Return the launcher's job, whose members it watches, or a name that no other job has."""
    job = environ.get("HOOP_JOB", "")
    if job and job not in _used and environ.get("HOOP_WORLD_SIZE") == str(size):
        return job
    return f"torch-{os.urandom(8).hex()}"


def _open(store: Store, size: int, environ: Mapping[str, str]) -> tuple[Place, _coordinator.Coordinator | None]:
    """Do rank 0's part: return where all ranks meet, and the coordinator if this process has started it."""
    job = _job(size, environ)
    address = environ.get("HOOP_COORDINATOR", "")
    if address:
        return Place(address, job, _coordinator.token_of(environ) or ""), None
    host = _host_of(store, size, environ)
    is_numeric_6 = host is not None and ":" in host
    listen = "127.0.0.1:0" if host is None else "[::]:0" if is_numeric_6 else "0.0.0.0:0"
    try:
        started = _coordinator.start(listen, limit_s=_LIMIT_S, environ=environ)
    except hoop.Error as error:
        raise Error(str(error), error.status.name) from None
    port = started.address.rpartition(":")[2]
    found = started.address if host is None else f"[{host}]:{port}" if is_numeric_6 else f"{host}:{port}"
    return Place(found, job, started.token), started


def _listens(address: str) -> bool:
    """Return whether a coordinator may listen at address. The C library reports a malformed address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except ConnectionRefusedError:
        return False
    except (OSError, ValueError):
        pass
    return True


def _find(store: Store, key: str, rank: int, timeout: timedelta) -> Place:
    """Do the part of the other ranks: return the place that rank 0 has published."""
    end = time.monotonic() + timeout.total_seconds()
    while True:
        left = max(0.001, end - time.monotonic())
        try:
            store.wait([key], timedelta(seconds=left))
            place = Place(*store.get(key).decode().split(" ", 2))
            if place.job not in _used and _listens(place.address):
                return place
        except RuntimeError as error:
            # The key may be deleted between wait() and get().
            if time.monotonic() < end and "timeout" not in str(error).lower():
                raise Error(f"init_process_group: rank {rank} cannot read the store: {error}", "UNAVAILABLE") from error
        if time.monotonic() >= end:
            text = (
                f"init_process_group: rank 0 has not said to rank {rank} where the coordinator is within "
                f"{timeout.total_seconds():g} s: it has not come, or its store is another"
            )
            raise Error(text, "TIMEOUT", rank=0)
        time.sleep(_LOOK_S)


def join(store: Store, rank: int, size: int, timeout: timedelta, environ: Mapping[str, str] = os.environ) -> Session:
    """Join the job of the ranks that share store, as rank of size ranks.

    It raises hoop_torch.Error if not all ranks have come within timeout, or if there is no
    coordinator.
    """
    timeout = min(timeout, LONGEST)
    key = f"hoop/{environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    started = None
    try:
        if rank == 0:
            place, started = _open(store, size, environ)
            store.set(key, " ".join(place))
        else:
            place = _find(store, key, rank, timeout)
        session = Session(place.job, settings_of(place, rank, size, timeout))
    finally:
        if rank == 0:
            # The store may be gone; the next call then reports it.
            with contextlib.suppress(RuntimeError):
                store.delete_key(key)
        if started is not None:
            started.close()
    _used.add(place.job)
    watch()
    return session


def session_of(store: Store, rank: int, size: int, timeout: timedelta) -> Session:
    """Return the session of the ranks that share store: the one that hoop:// has joined, or a new one."""
    take = getattr(_inner(store), "take_session", None)
    session: Session | None = take() if take else None
    return session or join(store, rank, size, timeout)


def meet(store: Store, rank: int, size: int, timeout: timedelta) -> tuple[Session, list[int]]:
    """Return the session of the ranks that share store, and their ranks in it.

    It is the default group's session if all of them have that session. Otherwise they join a
    job of their own, whose session becomes that of the default group if it has none.
    """
    default = world()
    store.set(f"hoop/world/{rank}", f"{default.name} {default.rank}" if default else "none 0")
    places = [store.get(f"hoop/world/{other}").decode().split(" ") for other in range(size)]
    if default and all(name == default.name for name, _ in places):
        return default, [int(place) for _, place in places]
    session = join(store, rank, size, timeout)
    if default is None:
        set_world(session)
    return session, list(range(size))
