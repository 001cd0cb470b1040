"""python/torch/hoop_torch/_bootstrap.py - how ranks that share a store of torch's find their coordinator"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from hoop import _coordinator
from hoop_torch import _backend

if TYPE_CHECKING:
    from torch.distributed import Store

_KEY = "hoop/coordinator"


def join(
    store: Store, rank: int, size: int, timeout: timedelta, environ: Mapping[str, str] = os.environ
) -> _backend.Session:
    """Join the job of those who share store: as rank, of size ranks.

    Rank 0 tells where the coordinator is: that of HOOP_COORDINATOR, or else one
    that it starts. hoop_torch.Error: not all have come.
    """
    started = None
    if rank == 0:
        job = f"torch-{os.urandom(8).hex()}"
        address, token = environ.get("HOOP_COORDINATOR", ""), _coordinator.token_of(environ) or ""
        if not address:
            started = _coordinator.start("127.0.0.1:0", limit_s=300, environ=environ)
            address, token = started.address, started.token
        store.set(_KEY, f"{address} {job} {token}")
    address, job, token = store.get(_KEY).decode().split(" ")
    seconds = timeout.total_seconds()
    settings = {
        "coordinator": address,
        "job": job,
        "rank": str(rank),
        "world_size": str(size),
        "timeout": f"{max(1, round(seconds * 1000))}ms",
        "join_timeout": f"{max(1, round(seconds * 1000))}ms",
        **({"token": token} if token else {}),
    }
    try:
        return _backend.Session(job, [f"{name}={value}" for name, value in settings.items()])
    finally:
        if started is not None:
            started.close()


def meet(store: Store, rank: int, size: int, timeout: timedelta) -> tuple[_backend.Session, list[int]]:
    """The session of those who share store, and their ranks in it.

    That of the default group where all of them have it; else they join a job of
    their own, whose session becomes the default group's if there is none.
    """
    world = _backend.world()
    store.set(f"hoop/world/{rank}", f"{world.name} {world.rank}" if world else "none 0")
    places = [store.get(f"hoop/world/{other}").decode().split(" ") for other in range(size)]
    if world and all(name == world.name for name, _ in places):
        return world, [int(place) for _, place in places]
    session = join(store, rank, size, timeout)
    if world is None:
        _backend.set_world(session)
    return session, list(range(size))
