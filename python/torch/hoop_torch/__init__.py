"""python/torch/hoop_torch/__init__.py - hoop as a backend of torch.distributed

import hoop_torch, then torch.distributed.init_process_group("hoop"). An installed
hoop_torch is imported by torch itself, so that all but the names is loaded when the
first group is made.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import DebugLevel, get_debug_level
from torch.distributed.rendezvous import register_rendezvous_handler

from hoop_torch._error import ArgumentError, Error

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

    from hoop_torch._backend import Backend

__all__ = ["ArgumentError", "Error", "create", "register", "replace_gloo"]


def _check_torch() -> None:
    from hoop_torch._built import TORCH

    if torch.__version__ != TORCH:
        raise ImportError(
            f"hoop_torch was built for torch {TORCH}, and this is torch {torch.__version__}: "
            "install that one, or build hoop-torch anew with this one"
        )


# Where torch itself imports this, it is to be of use without it: then the first group is refused.
if not getattr(torch.__spec__, "_initializing", False):
    _check_torch()


def _loaded(module: str) -> Any:
    """A module of this package that needs the compiled one."""
    _check_torch()
    return importlib.import_module(f"hoop_torch.{module}")


def create(
    store: Store, rank: int, size: int, timeout: timedelta = timedelta(minutes=30), name: str = "hoop"
) -> Backend:
    """The backend of a group of those who share store, size ranks.

    Where all of them are in one job already, the group is one of that job; else they
    join one of their own. name: what torch calls the backend. hoop_torch.Error: not
    all have come.
    """
    session, ranks = _loaded("_bootstrap").meet(store, rank, size, timeout)
    made: Backend = _loaded("_backend").Backend(session, ranks, name, timeout)
    return made


def _create(options: Any, _: object) -> Any:
    """What torch calls for each group of the backend, of its members only."""
    bootstrap, backend = _loaded("_bootstrap"), _loaded("_backend")
    if get_debug_level() == DebugLevel.DETAIL:
        _loaded("_gloo").check_by_hoop()
    ranks = list(options.global_ranks_in_group)
    session = backend.world() if ranks else None
    if session is None:
        # That of the default group, or of one whose default group has another backend.
        session = bootstrap.session_of(options.store, options.group_rank, options.group_size, options.timeout)
        if not ranks:
            backend.set_world(session)
        ranks = list(range(options.group_size))
    return backend.Backend(session, ranks, "hoop", options.timeout)


def _meet(url: str, **options: Any) -> Iterator[Any]:
    """What torch calls for an init_method that begins with hoop://."""
    met: Iterator[Any] = _loaded("_store").rendezvous(url, **options)
    return met


def replace_gloo() -> None:
    """Have every ProcessGroupGloo that Python makes from now on be one of hoop's."""
    _loaded("_gloo").replace()


def register() -> None:
    """Make torch.distributed know the backend "hoop" and hoop://; importing hoop_torch does so.

    Where HOOP_TORCH_AS names backends, hoop takes their place.
    """
    if hasattr(dist.Backend, "HOOP"):
        return
    dist.Backend.register_backend("hoop", _create, extended_api=True, devices=["cpu"])
    register_rendezvous_handler("hoop", _meet)
    names = os.environ.get("HOOP_TORCH_AS")
    if names:
        from hoop_torch import _replace

        _replace.replace(names)


register()
