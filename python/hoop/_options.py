"""python/hoop/_options.py - settings as C takes them"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Union

from hoop._binding import ffi

Setting = Union[str, bool, int, float, timedelta, "os.PathLike[str]", None]


def written(value: Any) -> str:
    """Return a setting as hoop(7) writes it: a switch, a number, or seconds."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return str(value) if isinstance(value, int) else os.fspath(value)


_UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "h": 3600.0}


def seconds_of(value: Setting) -> float | None:
    """Return the seconds of a time as hoop(7) writes it. None means that it is no time; C then reports it."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?)(ms|s|m|h|)", "" if value is None else written(value))
    return float(found[1]) * _UNITS[found[2]] if found else None


def environment(settings: Mapping[str, Setting], environ: Mapping[str, str]) -> dict[str, str]:
    """Return environ with settings added, as the variables that mean the same."""
    given = {"HOOP_" + name.upper(): written(value) for name, value in settings.items() if value is not None}
    return {**environ, **given}


def listed(settings: Mapping[str, Setting]) -> tuple[Any, Any]:
    """Return the items of hoop_join_options.settings, and the objects that they borrow.

    A setting that is None has no item.
    """
    given = [f"{name}={written(value)}" for name, value in settings.items() if value is not None]
    items = [ffi.new("char[]", item.encode()) for item in given]
    return ffi.new("char *[]", [*items, ffi.NULL]), items
