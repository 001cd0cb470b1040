"""python/hoop/_abort.py - an exception that nobody catches here reaches the other ranks

A rank whose program fails calls nothing any more, and the others would wait for it
until their deadline. So it says what it raised before it goes.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from hoop._error import RankLost

if TYPE_CHECKING:
    from hoop._session import Session

# What sys.excepthook was before, and the sessions of this process; empty: it has not been replaced.
_hooks: list[tuple[Any, WeakSet[Session]]] = []


def reason(error: BaseException) -> str | None:
    """What others are told of it, behind this rank's name; None: nothing.

    Nothing is said of an exit that reports success, nor of a failure of another
    rank that is lost, which all know.
    """
    if isinstance(error, (GeneratorExit, RankLost)):
        return None
    if isinstance(error, KeyboardInterrupt):
        return "was interrupted"
    if isinstance(error, SystemExit):
        code = error.code
        if isinstance(code, int):  # a bool, too
            return f"exited with code {int(code)}" if code else None
        return None if code is None else f"exited: {str(code).strip().partition(chr(10))[0]}"
    text = str(error).strip().partition("\n")[0]
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """As sys.excepthook: say it before the traceback is shown, which may wait for a debugger."""
    hook, sessions = _hooks[0]
    # At a prompt the program goes on.
    if not sys.flags.interactive and not hasattr(sys, "ps1"):
        for session in list(sessions):
            session._fail(error)
    hook(kind, error, trace)


def watch(sessions: WeakSet[Session]) -> None:
    """Tell the ranks of these sessions of an exception that nobody catches in the main thread."""
    if not _hooks:
        _hooks.append((sys.excepthook, sessions))
        sys.excepthook = _uncaught
