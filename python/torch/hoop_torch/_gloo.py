"""python/torch/hoop_torch/_gloo.py - hoop in place of torch's ProcessGroupGloo"""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

import hoop_torch
from hoop_torch import _backend

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

_Gloo = distributed_c10d.ProcessGroupGloo


class _Replaced(type):
    """The metaclass of a class whose instances are backends of hoop."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, (_backend.Backend, _Gloo))

    def __getattr__(cls, name: str) -> Any:
        return getattr(_Gloo, name)

    def __call__(cls, store: Store, rank: int, size: int, timeout: timedelta | Any = timedelta(minutes=30)) -> Any:
        limit = timeout if isinstance(timeout, timedelta) else timeout._timeout
        return hoop_torch.create(store, rank, size, limit, "gloo")


class ProcessGroupGloo(metaclass=_Replaced):
    """The class that stands in for torch's class of the same name."""


def replace() -> None:
    """Make every ProcessGroupGloo that Python creates from now on a backend of hoop."""
    # Programs create devices for a group by its class, or by the group itself.
    for name in ("create_device", "create_default_device"):
        setattr(_backend.Backend, name, staticmethod(getattr(_Gloo, name)))
    for module in (distributed_c10d, dist):
        module.ProcessGroupGloo = ProcessGroupGloo  # type: ignore[attr-defined]


def check_by_hoop() -> None:
    """Make torch compare the calls of hoop's groups over hoop if TORCH_DISTRIBUTED_DEBUG=DETAIL is set.

    torch would compare them over Gloo, which does not say which rank is lost.
    """
    torchs: Any = distributed_c10d
    wrap = torchs._create_process_group_wrapper
    if hasattr(wrap, "__wrapped__"):
        return

    @functools.wraps(wrap)
    def wrapped(
        wrapped_pg: object, store_prefix: str, store: Store, rank: int, world_size: int, timeout: timedelta
    ) -> Any:
        if not isinstance(wrapped_pg, _backend.Backend):
            return wrap(wrapped_pg, store_prefix, store, rank, world_size, timeout)
        checking = hoop_torch.create(torchs.PrefixStore("checked", store), rank, world_size, timeout)
        return torchs._ProcessGroupWrapper(wrapped_pg, checking)

    torchs._create_process_group_wrapper = wrapped
