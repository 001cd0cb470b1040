"""python/hoop/_spawn.py - runs a function on ranks that are started for it

It is for notebooks, scripts and tests. The ranks are processes of multiprocessing on this
host. None of them outlives the call, or the process that has called.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar, cast

from hoop import _coordinator, _options
from hoop._enums import Status
from hoop._error import Error, RankLost, Timeout
from hoop._options import Setting
from hoop._session import join
from hoop._work import Seconds, seconds

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Result = TypeVar("Result")

# The seconds that other ranks have to report their failures after the first one.
_GRACE_S = 2.0
_numbers = iter(range(sys.maxsize))


class _RemoteTraceback(Exception):
    """The cause of an exception that spawn() raises. It holds the text of the rank's own traceback."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


class _Outcome(NamedTuple):
    """What a rank sends when it ends: its result or its exception, as bytes, and the time."""

    payload: bytes | None
    error: BaseException | None
    trace: str
    when: float


def end_with_parent(parent: int) -> None:
    """Make the kernel end this process when its parent ends, in whatever way."""
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _end_with_caller() -> None:
    """Make this process end when the caller of spawn() ends.

    It is used if the parent is a server, which lives as long as its children.
    """
    import multiprocessing
    import threading
    from multiprocessing.connection import wait

    caller = multiprocessing.parent_process()
    assert caller is not None

    def watch() -> None:
        wait([caller.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def environment(settings: Mapping[str, str], job: str, rank: int, n: int) -> dict[str, str]:
    """Return the variables that hooprun and torchrun set for a rank."""
    said = {
        "HOOP_COORDINATOR": settings["coordinator"],
        "HOOP_TOKEN": settings["token"],
        "HOOP_JOB": job,
    }
    for name, value in (("RANK", rank), ("WORLD_SIZE", n), ("LOCAL_RANK", rank), ("LOCAL_WORLD_SIZE", n)):
        said[name] = str(value)
        if name != "LOCAL_WORLD_SIZE":
            said["HOOP_" + name] = str(value)
    return said


def _portable(error: BaseException) -> BaseException:
    """Return error, or an exception with the same text if error cannot be pickled."""
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:
        again = None
    if type(again) is type(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


def _rank_main(
    link: Connection,
    parent: int | None,
    said: dict[str, str],
    settings: dict[str, Setting],
    function: Any,
    arguments: Any,
) -> None:
    """Run the function on one rank, and send its outcome."""
    if parent is None:
        _end_with_caller()
    else:
        end_with_parent(parent)
    os.environ.update(said)
    try:
        with join(**cast(Any, settings)) as session:
            try:
                if isinstance(function, bytes):
                    function, arguments = pickle.loads(function)
                payload = pickle.dumps(function(session, *arguments), pickle.HIGHEST_PROTOCOL)
                link.send(_Outcome(payload, None, "", time.monotonic()))
            except BaseException as error:
                # The outcome is sent before other ranks learn that this rank leaves.
                _tell(link, error)
                raise
    except SystemExit:
        raise
    except BaseException as error:
        _tell(link, error)
        sys.exit(1)


def _tell(link: Connection, error: BaseException) -> None:
    # An exit is reported as its exit code, and not as an exception.
    if link.closed or isinstance(error, SystemExit):
        return
    import traceback

    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    link.send(_Outcome(None, _portable(error), trace, time.monotonic()))
    link.close()


def _packed(function: Any, arguments: Sequence[Any]) -> bytes:
    """Pickle with cloudpickle if it is installed, which can pickle what a notebook defines."""
    try:
        dumps: Callable[[Any], bytes] = importlib.import_module("cloudpickle").dumps
    except ImportError:
        dumps = pickle.dumps
        main = sys.modules.get("__main__")
        if getattr(function, "__module__", "") == "__main__" and not hasattr(main, "__file__"):
            raise TypeError(
                f"spawn: {function!r} is defined where other processes cannot import it; define it in a module, "
                "install cloudpickle, or give start_method='fork'"
            ) from None
    try:
        return dumps((function, tuple(arguments)))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"spawn: {function!r} with its arguments cannot be sent to other processes ({error}); define it in a "
            "module, install cloudpickle, or give start_method='fork'"
        ) from None


def how_ended(code: int) -> str:
    """Return in words how a process ended. An exit code is multiprocessing's, so -n means signal n."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class _Ranks:
    """The processes of the ranks, and their outcomes."""

    def __init__(self, processes: list[BaseProcess], links: list[Connection]) -> None:
        self.processes = processes
        self.links = links
        self.outcomes: dict[int, _Outcome] = {}
        self.ended: dict[int, float] = {}

    def _receive(self, rank: int) -> None:
        try:
            if rank not in self.outcomes and self.links[rank].poll():
                self.outcomes[rank] = self.links[rank].recv()
        except (EOFError, OSError):
            pass

    def has_failed(self) -> bool:
        """Return whether a rank has raised an exception, or has ended without an outcome."""
        return any(rank not in self.outcomes for rank in self.ended) or any(
            outcome.payload is None for outcome in self.outcomes.values()
        )

    def wait(self, left: float | None) -> bool:
        """Wait until all ranks have ended, or one has failed and the others had time to report.

        It returns False if timeout has passed before.
        """
        from multiprocessing.connection import wait

        end = None if left is None else time.monotonic() + left
        grace = None
        while len(self.ended) < len(self.processes):
            if grace is None and self.has_failed():
                grace = time.monotonic() + _GRACE_S
            limit = grace if end is None else end if grace is None else min(grace, end)
            if limit is not None and time.monotonic() >= limit:
                return grace is not None
            waits: list[Any] = [p.sentinel for rank, p in enumerate(self.processes) if rank not in self.ended]
            waits += [self.links[r] for r in range(len(self.links)) if r not in self.outcomes and r not in self.ended]
            wait(waits, None if limit is None else max(0.0, limit - time.monotonic()))
            for rank, process in enumerate(self.processes):
                has_ended = process.exitcode is not None
                self._receive(rank)
                if has_ended and rank not in self.ended:
                    self.ended[rank] = time.monotonic()
        return True

    def end(self) -> None:
        """End all ranks that still run, and wait for them."""
        for process in self.processes:
            if process.exitcode is None:
                process.kill()
        for process in self.processes:
            process.join()
        for link in self.links:
            link.close()

    def failure(self) -> BaseException | None:
        """Return the first failure and its rank. The death of a rank counts before the errors that it caused."""
        n = len(self.processes)
        for rank in sorted(set(self.ended) - set(self.outcomes), key=self.ended.__getitem__):
            process = self.processes[rank]
            how = how_ended(process.exitcode or 0)
            text = f"spawn: rank {rank} of {n} (pid {process.pid}) {how} before it returned"
            return RankLost(text, Status.PEER_LOST, "spawn")
        failed = [(rank, outcome) for rank, outcome in self.outcomes.items() if outcome.error is not None]
        if not failed:
            return None
        rank, first = min(failed, key=lambda item: (isinstance(item[1].error, Error), item[1].when))
        error = first.error
        assert error is not None
        if hasattr(error, "add_note"):
            error.add_note(f"raised by rank {rank} of {n}")
        error.__cause__ = _RemoteTraceback(f"rank {rank} of {n} (pid {self.processes[rank].pid}):\n{first.trace}")
        return error


def spawn(
    fn: Callable[..., Result],
    n: int,
    args: Sequence[Any] = (),
    *,
    start_method: str = "spawn",
    timeout: Seconds | None = None,
    **settings: Setting,
) -> list[Result]:
    """Run fn(session, *args) on n ranks of this host, and return their results by rank.

    A coordinator is started for the ranks, unless settings name one; then they must also name
    the job. settings are those of join(). start_method is one of multiprocessing: spawn, fork or
    forkserver. With spawn and forkserver, fn and args are pickled: by cloudpickle if it is
    installed, which can pickle lambdas and the functions of a notebook. A script must then guard
    its call by `if __name__ == "__main__":`. Results are pickled.

    If ranks raise exceptions, the first one is raised here, with the rank's traceback as its
    cause; the other ranks are ended within 2 s. No rank outlives the call or this process.

    It raises hoop.RankLost if a rank was killed or has exited, hoop.Timeout if timeout seconds
    have passed, and TypeError if fn or args cannot be pickled.
    """
    import multiprocessing

    if n < 1:
        raise ValueError(f"spawn: n is {n}; there has to be a rank")
    context: Any = multiprocessing.get_context(start_method)
    is_forked = start_method == "fork"
    function, arguments = (fn, tuple(args)) if is_forked else (_packed(fn, args), ())
    # With forkserver, the parent of the ranks is the server.
    parent = None if start_method == "forkserver" else os.getpid()
    job = f"spawn-{os.getpid()}-{next(_numbers)}"
    if settings.get("coordinator") and not (settings.get("job") or os.environ.get("HOOP_JOB")):
        raise ValueError("spawn: a coordinator is given, and no job")
    environ = _options.environment(settings, os.environ)
    coordinator = None if settings.get("coordinator") else _coordinator.start(environ=environ)
    processes: list[BaseProcess] = []
    links: list[Connection] = []
    ranks = _Ranks(processes, links)
    try:
        if coordinator:
            meeting = coordinator.settings
        else:
            job = str(settings.pop("job", None) or os.environ["HOOP_JOB"])
            meeting = {
                "coordinator": str(settings.pop("coordinator")),
                "token": str(settings.pop("token", None) or os.environ.get("HOOP_TOKEN", "")),
            }
        for rank in range(n):
            own, other = context.Pipe(duplex=False)
            links.append(own)
            said = environment(meeting, job, rank, n)
            process = context.Process(
                target=_rank_main,
                args=(other, parent, said, settings, function, arguments),
                name=f"hoop rank {rank}",
            )
            process.start()
            other.close()
            processes.append(process)
        in_time = ranks.wait(None if timeout is None else seconds(timeout))
    finally:
        ranks.end()
        if coordinator:
            coordinator.close()
    failure = ranks.failure()
    if failure:
        raise failure
    if not in_time:
        late = ", ".join(str(rank) for rank in range(n) if rank not in ranks.outcomes)
        assert timeout is not None
        text = f"spawn: after {seconds(timeout):g} s rank(s) {late} of {n} had not returned"
        raise Timeout(text, Status.TIMEOUT, "spawn")
    return [pickle.loads(ranks.outcomes[rank].payload or b"") for rank in range(n)]
