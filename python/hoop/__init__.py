"""python/hoop/__init__.py - collectives for CPU clusters, CI runners and laptops

    import hoop, numpy
    with hoop.join() as session:  # HOOP_COORDINATOR, HOOP_JOB, ...
        x = numpy.ones(4, numpy.float32)
        session.world.allreduce(x)

run by `hooprun -n 4 python program.py`.
"""

from hoop._buffer import Buffer, Op
from hoop._comm import Comm
from hoop._elastic import StateReport
from hoop._enums import DType, ReduceOp, Status
from hoop._error import (
    Aborted,
    Cancelled,
    Closed,
    DataLoss,
    Denied,
    Error,
    Exhausted,
    Exists,
    Internal,
    Invalid,
    Mismatch,
    NotFound,
    OutOfRange,
    Pending,
    RankFailed,
    RankLost,
    Refused,
    Timeout,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from hoop._messages import ANY_SOURCE, Received, Recv, Send
from hoop._options import Setting
from hoop._session import Session, Stats, join
from hoop._spawn import spawn
from hoop._store import CompareSet, Store, StoreEvent, StoreWatch
from hoop._waiting import wait_all, wait_any
from hoop._work import Seconds, Work

__version__: str


def __getattr__(name: str) -> str:
    """Return __version__, the version that pip has installed. It is looked up on first use, as that takes time."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("hoop")
        except PackageNotFoundError:
            pass
    raise AttributeError(f"module 'hoop' has no attribute {name!r}")


__all__ = [
    "ANY_SOURCE",
    "Aborted",
    "Buffer",
    "Cancelled",
    "Closed",
    "Comm",
    "CompareSet",
    "DType",
    "DataLoss",
    "Denied",
    "Error",
    "Exhausted",
    "Exists",
    "Internal",
    "Invalid",
    "Mismatch",
    "NotFound",
    "Op",
    "OutOfRange",
    "Pending",
    "RankFailed",
    "RankLost",
    "Received",
    "Recv",
    "ReduceOp",
    "Refused",
    "Seconds",
    "Send",
    "Session",
    "Setting",
    "StateReport",
    "Stats",
    "Status",
    "Store",
    "StoreEvent",
    "StoreWatch",
    "Timeout",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Work",
    "join",
    "spawn",
    "wait_all",
    "wait_any",
]
