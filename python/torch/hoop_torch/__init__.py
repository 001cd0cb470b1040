"""python/torch/hoop_torch/__init__.py - hoop as a backend of torch.distributed

import hoop_torch, then torch.distributed.init_process_group("hoop").
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from hoop_torch._built import TORCH

if torch.__version__ != TORCH:
    raise ImportError(
        f"hoop_torch was built for torch {TORCH}, and this is torch {torch.__version__}: "
        "install that one, or build hoop-torch anew with this one"
    )

from hoop_torch import _backend
from hoop_torch._error import Error

if TYPE_CHECKING:
    from torch.distributed import Store

__all__ = ["Error", "create", "register", "replace_gloo"]


def create(
    store: Store, rank: int, size: int, timeout: timedelta = timedelta(minutes=30), name: str = "hoop"
) -> _backend.Backend:
    """The backend of a group of those who share store, size ranks.

    Where all of them are in one job already, the group is one of that job; else they
    join one of their own. name: what torch calls the backend. hoop_torch.Error: not
    all have come.
    """
    from hoop_torch import _bootstrap

    session, ranks = _bootstrap.meet(store, rank, size, timeout)
    return _backend.Backend(session, ranks, name, timeout)


def _create(options: Any, _: object) -> _backend.Backend:
    """What torch calls for each group of the backend."""
    from hoop_torch import _bootstrap

    ranks = list(options.global_ranks_in_group)
    session = _backend.world() if ranks else None
    if session is None:
        is_default = not ranks
        session, ranks = _bootstrap.meet(options.store, options.group_rank, options.group_size, options.timeout)
        if is_default:
            _backend.set_world(session)
    return _backend.Backend(session, ranks, "hoop", options.timeout)


def replace_gloo() -> None:
    """Have every ProcessGroupGloo that Python makes from now on be one of hoop's."""
    from hoop_torch import _gloo

    _gloo.replace()


def register() -> None:
    """Make torch.distributed know the backend "hoop"; importing hoop_torch does so."""
    if not hasattr(dist.Backend, "HOOP"):
        dist.Backend.register_backend("hoop", _create, extended_api=True, devices=["cpu"])


register()
