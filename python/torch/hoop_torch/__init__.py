"""python/torch/hoop_torch/__init__.py - hoop as a backend of torch.distributed

torch itself imports hoop_torch. So this module loads everything but the names only when
the first group is made.
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


# If torch itself imports this module, a wrong version must not break torch: the first group fails instead.
if not getattr(torch.__spec__, "_initializing", False):
    _check_torch()


def _loaded(module: str) -> Any:
    """Import a module of this package that needs the compiled module."""
    _check_torch()
    return importlib.import_module(f"hoop_torch.{module}")


def create(
    store: Store, rank: int, size: int, timeout: timedelta = timedelta(minutes=30), name: str = "hoop"
) -> Backend:
    """Return the backend of a group of size ranks that share store.

    If all of them are in one job already, the group belongs to that job; otherwise they join a
    job of their own. name is the name by which torch calls the backend.
    It raises hoop_torch.Error if not all ranks have come.
    """
    session, ranks = _loaded("_bootstrap").meet(store, rank, size, timeout)
    made: Backend = _loaded("_backend").Backend(session, ranks, name, timeout)
    return made


def _create(options: Any, _: object) -> Any:
    """Make the backend of a group. torch calls it on the members of each group."""
    bootstrap, backend = _loaded("_bootstrap"), _loaded("_backend")
    if get_debug_level() == DebugLevel.DETAIL:
        _loaded("_gloo").check_by_hoop()
    ranks = list(options.global_ranks_in_group)
    session = backend.world() if ranks else None
    if session is None:
        # This is the default group, or a group whose default group has another backend.
        session = bootstrap.session_of(options.store, options.group_rank, options.group_size, options.timeout)
        if not ranks:
            backend.set_world(session)
        ranks = list(range(options.group_size))
    return backend.Backend(session, ranks, "hoop", options.timeout)


def _meet(url: str, **options: Any) -> Iterator[Any]:
    """Handle an init_method that begins with hoop://. torch calls it."""
    met: Iterator[Any] = _loaded("_store").rendezvous(url, **options)
    return met


def replace_gloo() -> None:
    """Make every ProcessGroupGloo that Python creates from now on a backend of hoop."""
    _loaded("_gloo").replace()


def register() -> None:
    """Register the backend "hoop" and the scheme hoop:// with torch.distributed.

    Importing hoop_torch calls it. If HOOP_TORCH_AS names backends, hoop replaces them.
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
