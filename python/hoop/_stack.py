"""python/hoop/_stack.py - which line of the program this rank is at, for `hoopctl why`

C asks for it in a thread that lives for that question and takes the GIL as any thread does,
so nothing costs anything while nobody asks. Other threads may go on between two lines that are
read, so a thread that runs may show a mixture of two moments. The thread gets the GIL as soon
as the program computes in Python, sleeps, or waits for a lock. While other C code holds the
GIL, the stack is not known, and C says so.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from types import FrameType
from typing import Any, NamedTuple

from hoop._binding import ffi, lib

_FRAMES_MAX = 32
_OTHER_FRAMES_MAX = 8
_PACKAGE = os.path.dirname(__file__) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep


def _absolute(folder: str) -> str:
    """Return the path of a folder with a separator, or one that nothing begins with if there is none."""
    try:
        return os.path.abspath(folder) + os.sep
    except OSError:
        return "\0"


# The folder of the program, below which files are named without it.
_HERE = _absolute(sys.path[0] if sys.path else os.curdir)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# The process that has named the reader; the list is empty until one has.
_watched: list[int] = []


class _Frame(NamedTuple):
    path: str
    line: int
    function: str
    is_users: bool

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}"
        return place if self.function == "<module>" else f"{place} in {self.function}"


def _shown(path: str) -> tuple[str, bool]:
    """Return a path as it is shown, and whether it is the user's and no library's."""
    for folder in _INSTALLED:
        if folder in path:
            return path.rpartition(folder)[2], False
    if path.startswith((_LIBRARY, "<frozen ")):
        return path[len(_LIBRARY) :] if path.startswith(_LIBRARY) else path, False
    return path[len(_HERE) :] if path.startswith(_HERE) else path, True


def _frames(frame: FrameType | None, most: int) -> list[_Frame]:
    """Return the innermost frames of a thread, without those of this package at the top."""
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    found: list[_Frame] = []
    while frame is not None and len(found) < most:
        code = frame.f_code
        path, is_users = _shown(code.co_filename.replace("\n", " "))
        found.append(_Frame(path, frame.f_lineno or 0, getattr(code, "co_qualname", code.co_name), is_users))
        frame = frame.f_back
    return found


def _summary(frames: list[_Frame]) -> str:
    """Return where a thread is, and which line of the user's has called that."""
    caller = next((frame for frame in frames[1:] if frame.is_users), None)
    return f"{frames[0]}, called from {caller}" if caller else str(frames[0])


def describe() -> str:
    """Return where the main thread is on the first line, then its stack, then those of other threads."""
    main = threading.main_thread().ident
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    stacks = {ident: frame for ident, frame in sys._current_frames().items() if ident != threading.get_ident()}
    lines: list[str] = []
    for ident in sorted(stacks, key=lambda ident: ident != main):
        frames = _frames(stacks[ident], _FRAMES_MAX if ident == main else _OTHER_FRAMES_MAX)
        if not frames:
            continue
        if not lines:
            lines.append(_summary(frames))
        if ident != main:
            lines.append(f"thread {names.get(ident, ident)}:")
        lines += map(str, frames)
    return "\n".join(lines)


def _tell_nothing(*_: Any) -> None:
    pass


@ffi.def_extern(onerror=_tell_nothing)  # type: ignore[untyped-decorator]
def hoop_py_read_stack(text: Any, n_bytes: int) -> None:
    """Write what describe() returns, as many whole lines as there is room for."""
    said = (describe().encode("utf-8", "replace") + b"\n")[: n_bytes - 1]
    end = max(said.rfind(b"\n"), 0)
    ffi.memmove(text, said[:end] + b"\0", end + 1)


def _end() -> None:
    """Have no thread begin to read while Python ends, and wait for one that reads."""
    lib.hoop_set_stack_reader(ffi.NULL)


def watch() -> None:
    """Tell where this process is from now on. A second call does nothing."""
    if os.getpid() in _watched:
        return
    if not _watched:
        atexit.register(_end)
    _watched[:] = [os.getpid()]
    lib.hoop_set_stack_reader(lib.hoop_py_read_stack)
