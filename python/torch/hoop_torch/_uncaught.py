"""python/torch/hoop_torch/_uncaught.py - reports an exception that ends this rank's program to the other ranks"""

from __future__ import annotations

import atexit
import os
import sys
from multiprocessing import util

from hoop import _abort, _stack
from hoop_torch._backend import retire, world
from hoop_torch._error import Error

# The pid of the process that has called watch().
_watched: list[int] = []


def _tell(error: BaseException) -> None:
    """Report an exception, unless it says that another rank is lost, which all ranks know."""
    said = None if isinstance(error, Error) and error.status in ("PEER_LOST", "RANK_FAILED") else _abort.reason(error)
    session = world()
    if said is not None and session is not None:
        session.abort(said)


def _at_exit() -> None:
    """Report the exception with which a child of multiprocessing ends, since it reaches no excepthook.

    torch.multiprocessing.spawn() then exits with code 1 in the handler of the exception.
    """
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit) and error.code and error.__context__ is not None:
        error = error.__context__
    if error is not None:
        _tell(error)


def watch() -> None:
    """Report what ends this process's program to the other ranks of the default group.

    It also makes no callback run while Python ends, as that would end the process by SIGABRT.
    """
    _abort.watch(_tell)
    _stack.watch()
    if os.getpid() not in _watched:
        if not _watched:
            atexit.register(retire)
        _watched[:] = [os.getpid()]
        util.Finalize(None, _at_exit, exitpriority=100)
