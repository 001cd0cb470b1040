"""python/torch/hoop_torch/_replace.py - puts hoop in place of the backends that a script asks for

Names stay: get_backend() returns "nccl" if the script asked for it. Requests for CUDA go to
the CPU where that makes sense; one line says so the first time.
"""

from __future__ import annotations

import functools
import os
import sys
from datetime import timedelta
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

NAMES = ("nccl", "gloo")
# Much of this module is internal to torch and has no types.
c10d: Any = distributed_c10d
# The names of the backends that hoop replaces.
_names: set[str] = set()
_is_told = False


def parse(names: str) -> list[str]:
    """Return the names in text such as "nccl,gloo".

    It raises ValueError if hoop cannot replace one of them.
    """
    found = [name.strip().lower() for name in names.split(",") if name.strip()]
    for name in found or [names]:
        if name not in NAMES:
            raise ValueError(f"{name!r}: hoop takes the place of {' and '.join(NAMES)}, as in nccl,gloo")
    return found


def _tell(what: str) -> None:
    """Print once, on rank 0, what has no meaning without CUDA."""
    global _is_told
    if not _is_told and os.environ.get("RANK", "0") == "0":
        print(f"hoop_torch: {what} has no meaning here: everything runs on the CPU, over hoop", file=sys.stderr)
    _is_told = True


def _is_cuda(device: Any) -> bool:
    """Return whether device means a CUDA device. A number does."""
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return (isinstance(device, str) and device.partition(":")[0] == "cuda") or type(device) is int


def _wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(make(original)))


def _replace_groups() -> None:
    def config(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, backend: Any) -> None:
            original(self, backend)
            asked = self.device_backend_map
            if any(str(name) in _names for name in asked.values()):
                made = {device: "hoop" if str(name) in _names else name for device, name in asked.items()}
                # The tensors of a script for GPUs are on the CPU here.
                self.device_backend_map = {"cpu": "hoop", **made}

        return init

    def helper(original: Callable[..., Any]) -> Callable[..., Any]:
        def make(*arguments: Any, **named: Any) -> Any:
            group, store = original(*arguments, **named)
            if isinstance(group, dist.ProcessGroup):
                device = torch.device("cpu")
                if device in group._device_types and group._get_backend(device).name() == "hoop":
                    group._set_default_backend(dist.ProcessGroup.BackendType.CUSTOM)
            return group, store

        return make

    def with_device(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(*arguments: Any, **named: Any) -> None:
            if _is_cuda(named.get("device_id")):
                _tell("init_process_group(device_id=...)")
                named["device_id"] = None
            original(*arguments, **named)

        return init

    _wrap(c10d.BackendConfig, "__init__", config)
    _wrap(c10d, "_new_process_group_helper", helper)
    _wrap(c10d, "init_process_group", with_device)
    dist.init_process_group = c10d.init_process_group


def _replace_cuda() -> None:
    def without_effect(what: str) -> Callable[..., Any]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> None:
                _tell(what)

            return call

        return make

    def first(original: Callable[..., Any]) -> Callable[..., Any]:
        def current_device() -> int:
            _tell("torch.cuda.current_device()")
            return 0

        return current_device

    def stay(what: str) -> Callable[..., Any]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(self: Any, *arguments: Any, **named: Any) -> Any:
                _tell(what)
                return self

            return call

        return make

    def to_cpu(what: str) -> Callable[..., Any]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(self: Any, *arguments: Any, **named: Any) -> Any:
                if (arguments and _is_cuda(arguments[0])) or _is_cuda(named.get("device")):
                    _tell(what)
                    arguments = ("cpu", *arguments[1:]) if arguments and _is_cuda(arguments[0]) else arguments
                    if "device" in named:
                        named["device"] = "cpu"
                return original(self, *arguments, **named)

            return call

        return make

    def without_ids(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(
            self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *more: Any, **named: Any
        ) -> None:
            if device_ids or output_device is not None:
                _tell("DistributedDataParallel(device_ids=...)")
            original(self, module, None, None, *more, **named)

        return init

    def load_to_cpu(original: Callable[..., Any]) -> Callable[..., Any]:
        def load(f: Any, map_location: Any = None, *arguments: Any, **named: Any) -> Any:
            if isinstance(map_location, dict):
                map_location = {saved: "cpu" if _is_cuda(to) else to for saved, to in map_location.items()}
            elif _is_cuda(map_location):
                map_location = "cpu"
            return original(f, map_location, *arguments, **named)

        return load

    _wrap(torch.cuda, "set_device", without_effect("torch.cuda.set_device()"))
    _wrap(torch.cuda, "current_device", first)
    _wrap(torch.cuda, "synchronize", without_effect("torch.cuda.synchronize()"))
    _wrap(torch.Tensor, "cuda", stay("Tensor.cuda()"))
    _wrap(torch.nn.Module, "cuda", stay("Module.cuda()"))
    _wrap(torch.Tensor, "to", to_cpu('Tensor.to("cuda")'))
    _wrap(torch.nn.Module, "to", to_cpu('Module.to("cuda")'))
    _wrap(torch, "load", load_to_cpu)
    _wrap(torch.nn.parallel.DistributedDataParallel, "__init__", without_ids)


def replace(names: str) -> None:
    """Put hoop in place of the backends in names, for example "nccl,gloo", in this process.

    It raises ValueError if hoop cannot replace one of them.
    """
    new = set(parse(names)) - _names
    if not _names:
        _replace_groups()
    if "nccl" in new:
        if c10d.default_pg_nccl_timeout is None:
            # The value that torch has if it was built with NCCL.
            c10d.default_pg_nccl_timeout = timedelta(minutes=10)
        if not torch.cuda.is_available():
            _replace_cuda()
    for name in new:
        _names.add(name)
        c10d.Backend.backend_type_map[name] = dist.ProcessGroup.BackendType.CUSTOM
