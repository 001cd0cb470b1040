"""python/hoop/_coordinator.py - a coordinator that this process starts as its child

hoopd then ends by itself, but not before this process closes hoopd's standard input or
ends, and not before the last member of its jobs has left. If nobody joins, it ends, too.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping

from hoop._enums import Status
from hoop._error import Unavailable

START_S = 30.0
_HOOPD = os.path.join(os.path.dirname(__file__), "bin", "hoopd")
# The settings of a worker that hoopd reads, too; the other ones concern only the worker.
_PASSED = ("HOOP_TLS", "HOOP_INSECURE_OPEN", "HOOP_LEASE")

_started: list[Coordinator] = []
# The pids of coordinators that were released and may not have ended yet.
_children: list[int] = []


class Coordinator:
    """A hoopd that this process has started. It runs until close() or the end of a with statement.

    address is host:port, as in HOOP_COORDINATOR. token is the token of all its jobs. pid is the
    id of its process.
    """

    def __init__(self, address: str, token: str, pid: int, held: int) -> None:
        self.address = address
        self.token = token
        self.pid = pid
        self._held: int | None = held
        self._path: str | None = None
        _started.append(self)

    @property
    def settings(self) -> dict[str, str]:
        """The keyword arguments with which join() finds it."""
        return {"coordinator": self.address, "token": self.token}

    def publish(self, path: str) -> None:
        """Write its address and token into a file, which appears as a whole and stays until withdraw()."""
        made = f"{path}.{os.urandom(8).hex()}"
        # Other users may write to the folder, so links that they have put there are not followed.
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(f"{self.pid} {self.address} {self.token}")
        try:
            os.replace(made, path)
        except OSError:
            os.unlink(made)
            raise
        self._path = path

    def withdraw(self) -> None:
        """Remove the file, because all ranks have read it."""
        path, self._path = self._path, None
        if path and os.path.exists(path):
            os.unlink(path)

    def close(self) -> None:
        """Release the coordinator: it ends with its last member.

        The call does not wait. A second call does nothing.
        """
        if self._held is None:
            return
        self.withdraw()
        held, self._held = self._held, None
        _started.remove(self)
        _children.append(self.pid)
        os.close(held)

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _forget_in_child() -> None:
    """Release the coordinators in a forked child, since they belong to the parent."""
    for coordinator in list(_started):
        coordinator._path = None
        coordinator.close()
    _children.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def _reap() -> None:
    for pid in list(_children):
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                _children.remove(pid)
        except ChildProcessError:
            _children.remove(pid)


def _environment(environ: Mapping[str, str], token: str) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name.startswith(_PASSED) or not name.startswith("HOOP_")}
    return {**kept, "HOOP_TOKEN": token}


def _read_line(fd: int, pid: int) -> str:
    """Return the line that hoopd writes when it listens.

    It raises hoop.Unavailable if hoopd ends first, or is silent for too long.
    """
    said = b""
    poller = select.poll()  # it takes any descriptor, unlike select()
    poller.register(fd, select.POLLIN)
    while not said.endswith(b"\n"):
        ready = poller.poll(START_S * 1000)
        part = os.read(fd, 512) if ready else b""
        if not part:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            why = "it ended; its standard error says why" if ready else f"it was silent for {START_S:g} s"
            raise Unavailable(f"no coordinator was started: {why}", Status.UNAVAILABLE, "join")
        said += part
    return said.decode().strip()


def token_of(environ: Mapping[str, str]) -> str | None:
    """Return the token that environ has, or that is in the file which it names; None: there is none.

    The C library checks whether the token is valid.
    """
    token, path = environ.get("HOOP_TOKEN"), environ.get("HOOP_TOKEN_FILE")
    if token or not path:
        return token or None
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(4096).strip() or None
    except (OSError, ValueError):
        return None


def start(
    listen: str = "127.0.0.1:0",
    token: str | None = None,
    limit_s: int = 60,
    environ: Mapping[str, str] = os.environ,
) -> Coordinator:
    """Start a hoopd and wait until it listens.

    listen is host:port; with port 0 the system chooses one. token is by default that of environ,
    or else random. limit_s is how many seconds hoopd waits for the first member if it cannot see
    whether this process still holds it; as a child of this process it can. environ is hoopd's
    environment, with its settings.

    It raises hoop.Unavailable if hoopd did not start.
    """
    _reap()
    token = token or token_of(environ) or os.urandom(32).hex()
    # These descriptors are closed in programs that are executed.
    input_end, held = os.pipe()
    output_end, said = os.pipe()
    arguments = ["hoopd", f"--until-empty={limit_s}", "--listen", listen, "--http", "none", "--log-level", "error"]
    try:
        pid = os.posix_spawn(
            _HOOPD,
            arguments,
            _environment(environ, token),
            file_actions=[(os.POSIX_SPAWN_DUP2, input_end, 0), (os.POSIX_SPAWN_DUP2, said, 1)],
            # hoopd must not get the signals of Ctrl-C or of a closed terminal.
            setsid=True,
            setsigmask=[],
        )
    except OSError as error:
        os.close(held)
        os.close(output_end)
        raise Unavailable(f"cannot execute {_HOOPD}: {error.strerror}", Status.UNAVAILABLE, "join") from None
    finally:
        os.close(input_end)
        os.close(said)
    try:
        address = _read_line(output_end, pid)
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(output_end)
    return Coordinator(address, token, pid, held)
