"""python/hoop/_abort.py - an exception that nobody catches here reaches the other ranks

A rank whose program fails calls nothing any more, and the others would wait for it
until their deadline. So it says what it raised before it goes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from hoop._error import RankLost

# The former sys.excepthook; the list is empty until it has been replaced.
_hooks: list[Any] = []
_tellers: list[Callable[[BaseException], None]] = []


def reason(error: BaseException) -> str | None:
    """Return what the other ranks are told of an exception, behind this rank's name; None tells nothing.

    An exit that reports success is not told, nor is the loss of another rank, which all ranks know.
    """
    if isinstance(error, (GeneratorExit, RankLost)):
        return None
    if isinstance(error, KeyboardInterrupt):
        return "was interrupted"
    if isinstance(error, SystemExit):
        code = error.code
        if isinstance(code, int):  # bool is an int
            return f"exited with code {int(code)}" if code else None
        return None if code is None else f"exited: {str(code).strip().partition(chr(10))[0]}"
    text = str(error).strip().partition("\n")[0]
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Handle an uncaught exception in place of sys.excepthook: tell it before the traceback is shown."""
    # At an interactive prompt the program goes on after an exception.
    if not sys.flags.interactive and not hasattr(sys, "ps1"):
        for tell in _tellers:
            tell(error)
    _hooks[0](kind, error, trace)


def watch(tell: Callable[[BaseException], None]) -> None:
    """Call tell with each exception that nobody catches in the main thread. A second call does nothing."""
    if tell not in _tellers:
        _tellers.append(tell)
    if not _hooks:
        _hooks.append(sys.excepthook)
        sys.excepthook = _uncaught
