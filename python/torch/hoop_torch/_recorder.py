"""python/torch/hoop_torch/_recorder.py - hoop's collectives in the dumps of torch's flight recorder"""

from __future__ import annotations

import functools
import json
import pickle
from typing import Any

import torch

from hoop_torch import _backend

_c10d: Any = torch._C._distributed_c10d
_DEFAULTS = {"includeCollectives": True, "includeStackTraces": True, "onlyActive": False}


def _named(profiling_name: str) -> str:
    """Return a name that torch's analyzer accepts: of a backend and a collective that it knows."""
    backend, _, name = profiling_name.partition(":")
    return f"{'gloo' if backend == 'hoop' else backend}:{name.removeprefix('sparse_')}"


def _merged(dump: dict[str, Any], wanted: bool, stacks: bool, only_active: bool) -> dict[str, Any]:
    """Return torch's dump with the collectives that hoop has recorded."""
    recorded = _backend.recorded(stacks and wanted)
    if recorded is None:
        return dump
    for key in ("pg_config", "pg_status"):
        dump.setdefault(key, {}).update(recorded[key])
    dump["comm_lib_version"] = dump.get("comm_lib_version") or "hoop"
    if wanted:
        entries = dump.setdefault("entries", [])
        for entry in recorded["entries"]:
            entry["profiling_name"] = _named(entry["profiling_name"])
            if not only_active or entry["time_discovered_completed_ns"] is None:
                entries.append(entry)
    return dump


def _asked(given: tuple[bool | None, ...], named: dict[str, bool | None], names: tuple[str, ...]) -> list[bool]:
    """Return the values of names, given by position or by name. None means torch's default."""
    said = {**dict(zip(names, given)), **named}
    return [_DEFAULTS[name] if said.get(name) is None else bool(said[name]) for name in names]


def install() -> None:
    """Make torch's two functions that dump the flight recorder dump hoop's collectives, too."""
    if hasattr(_c10d._dump_fr_trace, "__wrapped__"):
        return
    torchs, torchs_json = _c10d._dump_fr_trace, _c10d._dump_fr_trace_json

    @functools.wraps(torchs)
    def dump(*given: bool | None, **named: bool | None) -> bytes:
        wanted, stacks, only_active = _asked(given, named, tuple(_DEFAULTS))
        own = pickle.loads(torchs(wanted, stacks, only_active))
        return pickle.dumps(_merged(own, wanted, stacks, only_active), protocol=2)

    @functools.wraps(torchs_json)
    def dump_json(*given: bool | None, **named: bool | None) -> bytes:
        wanted, only_active = _asked(given, named, ("includeCollectives", "onlyActive"))
        merged = _merged(json.loads(torchs_json(wanted, only_active)), wanted, False, only_active)
        for entry in merged.get("entries", []):
            # torch writes 0 here, too.
            entry["time_discovered_completed_ns"] = entry["time_discovered_completed_ns"] or 0
        for status in merged["pg_status"].values():
            status.update({key: str(value) for key, value in status.items()})
        return json.dumps(merged).encode()

    _c10d._dump_fr_trace, _c10d._dump_fr_trace_json = dump, dump_json
