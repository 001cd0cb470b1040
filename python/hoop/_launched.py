"""python/hoop/_launched.py - finds the coordinator for ranks that another launcher has started

hooprun and spawn() set the address of the coordinator in the environment. torchrun, srun
and mpirun do not know of a coordinator: rank 0 starts it, and the other ranks find it by
the variables of their launcher. A process without a launcher is a world of one.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hoop import _coordinator
from hoop._coordinator import Coordinator
from hoop._enums import Status
from hoop._error import Refused, Timeout

_LOOK_S = 0.01
# The names that torchrun gives to runs without a name.
_NAMELESS = ("", "none")
# Counts the meetings of this process; all ranks of a run have had the same number.
_meetings = itertools.count()
# Innermost first, as the C library asks them (worker/session/launcher.c), by the
# names of the rank, the size, the ranks on this host, and the run.
_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"),
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"),
    ("mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"),
    ("srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_JOB_ID"),
)


class Launch(NamedTuple):
    """What a launcher tells this process: its rank, the number of ranks in all and on this host, and the run."""

    launcher: str
    rank: int
    size: int
    local_size: int
    run: str


def _number(text: str) -> int:
    """Return the number with which text begins: 4 for "4", and for Slurm's "4(x2)"."""
    found = re.match(r"\d+", text)
    return int(found.group()) if found else 0


def launch_of(environ: Mapping[str, str]) -> Launch | None:
    """Return what the launcher has set in environ, or None if no launcher has started this process."""
    for launcher, rank, size, local_size, run in _LAUNCHERS:
        if launcher == "srun" and "SLURM_STEP_ID" not in environ:
            continue  # this is a batch script, which also has a rank
        if environ.get(rank, "").isdigit() and environ.get(size, "").isdigit():
            ranks = _number(environ[size])
            local = _number(environ.get(local_size, "0"))
            name = environ.get(run, "") + "." + environ.get("SLURM_STEP_ID", "")
            return Launch(launcher, int(environ[rank]), ranks, local, name)
    return None


def _start(launch: Launch, environ: Mapping[str, str], listen: str) -> Coordinator:
    if not listen.startswith(("127.", "localhost")) and not _coordinator.token_of(environ):
        raise Refused(
            "join: ranks of several hosts need a token that strangers do not know: set HOOP_TOKEN, "
            "the same for all, as `openssl rand -hex 32` makes it",
            Status.PRECONDITION,
            "join",
        )
    return _coordinator.start(listen, limit_s=300, environ=environ)


def _file_of(launch: Launch, environ: Mapping[str, str], meeting: int) -> str:
    """Return the path of a file that all ranks of a run on this host share, and no other run uses."""
    said = [launch.run, environ.get("MASTER_PORT", ""), environ.get("TORCHELASTIC_RESTART_COUNT", ""), str(meeting)]
    if launch.run.partition(".")[0] in _NAMELESS or launch.launcher == "mpiexec":
        # The launcher is then the direct parent of all ranks.
        said.append(f"of-{os.getppid()}")
    safe = re.sub(r"[^\w.-]", "_", "-".join(said))
    return os.path.join(tempfile.gettempdir(), f"hoop-{os.getuid()}-{launch.launcher}-{safe}")


def _file_read(path: str) -> dict[str, str] | None:
    """Return the settings that a coordinator has published in a file, or None if it does not run."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            if os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            pid, address, token = file.read().split(" ")
        os.kill(int(pid), 0)
    except (OSError, ValueError):
        return None
    return {"coordinator": address, "token": token}


@contextlib.contextmanager
def _closing_on_error(coordinator: Coordinator) -> Iterator[None]:
    try:
        yield
    except BaseException:
        coordinator.close()
        raise


def _meet_on_host(
    launch: Launch, environ: Mapping[str, str], limit_s: float, meeting: int
) -> tuple[dict[str, str], Coordinator | None]:
    path = _file_of(launch, environ, meeting)
    if launch.rank == 0:
        coordinator = _start(launch, environ, "127.0.0.1:0")
        with _closing_on_error(coordinator):
            coordinator.publish(path)
        return coordinator.settings, coordinator
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        found = _file_read(path)
        if found:
            return found, None
        time.sleep(_LOOK_S)
    text = f"join: rank 0, which starts the coordinator, has not said where within {limit_s:g} s ({path})"
    raise Timeout(text, Status.TIMEOUT, "join")


def _meet_in_store(
    launch: Launch, environ: Mapping[str, str], limit_s: float, meeting: int
) -> tuple[dict[str, str], Coordinator | None]:
    """Meet by the store that torchrun's agent serves at MASTER_ADDR and MASTER_PORT."""
    from datetime import timedelta

    host = environ["MASTER_ADDR"]
    # torch is installed if the program runs under torchrun.
    torch = importlib.import_module("torch.distributed")
    store = torch.TCPStore(host, int(environ["MASTER_PORT"]), None, False, timedelta(seconds=limit_s))
    key = f"hoop/{environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{meeting}"
    if launch.rank:
        address, token = store.get(key).decode().split(" ")
        return {"coordinator": address, "token": token}, None
    is_alone = launch.size == launch.local_size
    coordinator = _coordinator.start("127.0.0.1:0" if is_alone else "0.0.0.0:0", limit_s=300, environ=environ)
    # Use the same address as the other ranks, because a rank derives its own address from it.
    address = coordinator.address if is_alone else f"{host}:{coordinator.address.rpartition(':')[2]}"
    with _closing_on_error(coordinator):
        store.set(key, f"{address} {coordinator.token}")
    return {"coordinator": address, "token": coordinator.token}, coordinator


def _meet_at(launch: Launch, environ: Mapping[str, str], address: str) -> tuple[dict[str, str], Coordinator | None]:
    port = address.rpartition(":")[2]
    coordinator = _start(launch, environ, f"0.0.0.0:{port}") if launch.rank == 0 else None
    return {"coordinator": address, **({"token": coordinator.token} if coordinator else {})}, coordinator


def _slurm_address(environ: Mapping[str, str]) -> str:
    """Return the host of rank 0, and a port that steps of other jobs on this host are unlikely to use."""
    nodes = environ.get("SLURM_STEP_NODELIST", "")
    found = re.match(r"([^\[,]+)(?:\[(\d+))?", nodes)
    if not found:
        raise Refused("join: SLURM_STEP_NODELIST names no host", Status.PRECONDITION, "join")
    port = 20000 + (int(environ.get("SLURM_JOB_ID", "0")) * 7 + int(environ.get("SLURM_STEP_ID", "0"))) % 12000
    return f"{found.group(1)}{found.group(2) or ''}:{port}"


def _known(settings: dict[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Remove the token if environ names a file that has it; the C library reads and checks that file."""
    if environ.get("HOOP_TOKEN") or not environ.get("HOOP_TOKEN_FILE"):
        return settings
    return {name: value for name, value in settings.items() if name != "token"}


def meet(environ: Mapping[str, str], limit_s: float) -> tuple[dict[str, str], Coordinator | None]:
    """Return the settings with which this process joins if no setting names a coordinator.

    It also returns the coordinator if this process has started one. limit_s is how many seconds
    rank 0 has to publish the address of the coordinator.
    """
    launch = launch_of(environ)
    if launch is None or launch.size <= 1:
        coordinator = _coordinator.start(environ=environ)
        return {**_known(coordinator.settings, environ), "rank": "0", "world_size": "1"}, coordinator
    meeting = next(_meetings)
    if environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" and "MASTER_PORT" in environ:
        settings, started = _meet_in_store(launch, environ, limit_s, meeting)
    elif launch.size == launch.local_size:
        settings, started = _meet_on_host(launch, environ, limit_s, meeting)
    elif "MASTER_ADDR" in environ and "MASTER_PORT" in environ:
        settings, started = _meet_at(launch, environ, f"{environ['MASTER_ADDR']}:{environ['MASTER_PORT']}")
    elif launch.launcher == "srun":
        settings, started = _meet_at(launch, environ, _slurm_address(environ))
    else:
        raise Refused(
            f"join: {launch.launcher} has started {launch.size} ranks on several hosts, and nothing says where they "
            "meet: set HOOP_COORDINATOR, or MASTER_ADDR and MASTER_PORT to a free port of rank 0's host",
            Status.PRECONDITION,
            "join",
        )
    return {**_known(settings, environ), "rank": str(launch.rank), "world_size": str(launch.size)}, started
