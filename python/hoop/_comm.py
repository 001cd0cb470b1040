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
    """A communicator: a fixed, ordered set of ranks that call collectives together.

    All of its ranks make the same calls in the same order. Several threads may use several
    communicators at once; one communicator is used by one thread at a time.
    Session.world, split() and create() make communicators. free(), the end of a with
    statement or the end of the session frees them.
    """

    @property
    def is_member(self) -> bool:
        """Whether this process is one of the communicator's ranks."""
        return bool(lib.hoop_comm_is_member(self._check()))

    @property
    def is_freed(self) -> bool:
        """Whether the communicator has been freed, so that it cannot be used any more."""
        return self._comm is None

    def world_rank(self, rank: int) -> int:
        """Return the rank in the session's world of a rank of this communicator.

        It raises ValueError if the communicator has no such rank.
        """
        comm = self._check()
        found = lib.hoop_comm_world_rank(comm, rank) if 0 <= rank < self.size else lib.HOOP_NO_RANK
        if found == lib.HOOP_NO_RANK:
            raise ValueError(f"there is no rank {rank} among {self.size}")
        return int(found)

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts on which the ranks run, by rank. It calls hoop_comm_host()."""
        comm = self._check()
        return [ffi.string(lib.hoop_comm_host(comm, rank)).decode() for rank in range(self.size)]

    @property
    def nodes(self) -> list[int]:
        """The nodes on which the ranks run, by rank; nodes are numbered from 0 in the order of their first ranks.

        A node is a host, unless HOOP_NODE says otherwise. It calls hoop_comm_node().
        """
        comm = self._check()
        lowest = [lib.hoop_comm_node(comm, rank) for rank in range(self.size)]
        numbers = {rank: number for number, rank in enumerate(sorted(set(lowest)))}
        return [numbers[rank] for rank in lowest]

    def set_timeout(self, timeout: Seconds | None) -> None:
        """Set how many seconds an operation that is called from now on may take; None sets the session's timeout.

        The timeout of the world also limits how long it takes to form other communicators.
        """
        ms = 0 if timeout is None else max(1, milliseconds(timeout))
        lib.hoop_comm_set_timeout(self._check(), ms)

    def set_name(self, name: str) -> None:
        """Set the name that this rank's errors and warnings use for the communicator."""
        check(lib.hoop_comm_set_name(self._check(), name.encode()), "set_name")

    def split(self, color: int | None, key: int = 0) -> Comm:
        """Divide the communicator: ranks of one color form a new one, ordered by their keys and then by their ranks.

        All ranks call it. A rank whose color is None gets a communicator of which it is not a
        member: calls on that return at once and touch nothing.
        It raises ValueError if color is negative.
        """
        if color is not None and color < 0:
            raise ValueError(f"color is {color}; it is 0 or more, or None")
        return self._made("split", lib.hoop_comm_split, lib.HOOP_NO_COLOR if color is None else color, key)

    def create(self, ranks: Sequence[int]) -> Comm:
        """Return a communicator of some of the ranks, in the given order. Only these ranks call it.

        It raises ValueError if a rank does not exist.
        """
        world_ranks = [self.world_rank(rank) for rank in ranks]
        out = ffi.new("hoop_comm_t **")
        session = lib.hoop_comm_session(self._check("create"))
        status = lib.hoop_comm_create(session, world_ranks, len(world_ranks), out)
        check_call(status, "create", lambda: lib.hoop_comm_free(out[0]))
        return self._session._add(out[0])

    def free(self) -> None:
        """Free the communicator without waiting for the other ranks.

        A second call does nothing, and neither does a call on the world.
        """
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
