"""python/hoop/_comm.py - communicators: ranks that call collectives together"""

from __future__ import annotations

from collections.abc import Sequence

from hoop._binding import ffi, lib
from hoop._collectives import Collectives
from hoop._elastic import Elastic
from hoop._error import check
from hoop._messages import Messages
from hoop._objects import Objects
from hoop._tensors import Tensors
from hoop._work import Seconds, check_call, milliseconds


class Comm(Collectives, Tensors, Messages, Objects, Elastic):
    """A fixed, ordered set of ranks that call collectives together.

    All of them make the same calls in the same order. Several communicators may be
    used at once, by several threads; one, by one thread at a time.
    Made by Session.world, split() and create(); freed by free(), at the end of a
    with statement, or with its session.
    """

    @property
    def is_member(self) -> bool:
        """Whether this process is one of its ranks."""
        return bool(lib.hoop_comm_is_member(self._check()))

    @property
    def is_freed(self) -> bool:
        """Whether it can be used no more."""
        return self._comm is None

    def world_rank(self, rank: int) -> int:
        """The rank in the session's world of a rank of this communicator."""
        comm = self._check()
        found = lib.hoop_comm_world_rank(comm, rank) if 0 <= rank < self.size else lib.HOOP_NO_RANK
        if found == lib.HOOP_NO_RANK:
            raise ValueError(f"there is no rank {rank} among {self.size}")
        return int(found)

    @property
    def hosts(self) -> list[str]:
        """The name of the host that each rank runs on, by rank. hoop_comm_host()."""
        comm = self._check()
        return [ffi.string(lib.hoop_comm_host(comm, rank)).decode() for rank in range(self.size)]

    @property
    def nodes(self) -> list[int]:
        """The node that each rank runs on, by rank, numbered from 0 as they come first.

        A node is a host, or as HOOP_NODE says. hoop_comm_node().
        """
        comm = self._check()
        lowest = [lib.hoop_comm_node(comm, rank) for rank in range(self.size)]
        numbers = {rank: number for number, rank in enumerate(sorted(set(lowest)))}
        return [numbers[rank] for rank in lowest]

    def set_timeout(self, timeout: Seconds | None) -> None:
        """How long operations that are called from now on may take, in seconds; None: as the session's.

        Of the world it is how long forming others may take, too.
        """
        ms = 0 if timeout is None else max(1, milliseconds(timeout))
        lib.hoop_comm_set_timeout(self._check(), ms)

    def set_name(self, name: str) -> None:
        """What this rank's errors and warnings call it."""
        check(lib.hoop_comm_set_name(self._check(), name.encode()), "set_name")

    def split(self, color: int | None, key: int = 0) -> Comm:
        """Divide it: ranks of one color form a communicator, in the order of their keys, then of their ranks.

        All ranks call it. Who says None gets one that it is no member of: calls on
        that return at once and touch nothing.
        """
        if color is not None and color < 0:
            raise ValueError(f"color is {color}; it is 0 or more, or None")
        return self._made("split", lib.hoop_comm_split, lib.HOOP_NO_COLOR if color is None else color, key)

    def create(self, ranks: Sequence[int]) -> Comm:
        """A communicator of some of its ranks, in the order given; these alone call it."""
        world_ranks = [self.world_rank(rank) for rank in ranks]
        out = ffi.new("hoop_comm_t **")
        session = lib.hoop_comm_session(self._check("create"))
        status = lib.hoop_comm_create(session, world_ranks, len(world_ranks), out)
        check_call(status, "create", lambda: lib.hoop_comm_free(out[0]))
        return self._session._add(out[0])

    def free(self) -> None:
        """Free it, without waiting for the other ranks. A second time does nothing; the world stays."""
        if self._comm is None or self is self._session.world:
            return
        comm, self._comm = self._comm, None
        self._session._comms.discard(self)
        lib.hoop_comm_free(comm)

    def __enter__(self) -> Comm:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def __repr__(self) -> str:
        if self._comm is None:
            return "<hoop.Comm, freed>"
        return f"<hoop.Comm, rank {self.rank} of {self.size}>" if self.is_member else "<hoop.Comm, no member>"

    def _forget(self) -> None:
        self._comm = None
