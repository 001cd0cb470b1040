"""python/hoop/_elastic.py - what is left to do when ranks die or come"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hoop._binding import ffi, lib
from hoop._buffer import Buffer, place, shape
from hoop._error import check
from hoop._work import Operations, Seconds, check_call, milliseconds

if TYPE_CHECKING:
    from hoop._comm import Comm


class StateReport(NamedTuple):
    """What Comm.state_sync() has done; blocks are parts of tensors.

    version: that every rank has now. n_sources: ranks that had it before.
    n_blocks, n_bytes: of the state, of any rank's. blocks_needed, bytes_needed: those
    of this rank that differed, and came. bytes_sent: by this rank. bytes_moved: by all.
    """

    version: int
    n_sources: int
    n_blocks: int
    n_bytes: int
    blocks_needed: int
    bytes_needed: int
    bytes_sent: int
    bytes_moved: int


class Elastic(Operations):
    """Going on with those ranks that are left, or with more.

    A call that needs a rank that is lost raises hoop.RankLost on all who wait for it.
    Who wants to go on shrinks the communicator, as all survivors do:

        while True:
            try:
                comm.allreduce(x, total)
                break
            except hoop.RankLost:
                comm = comm.shrink()
    """

    def revoke(self) -> None:
        """Interrupt it on all its members: what runs on it and is called later fails.

        With hoop.RankLost where a member is lost, else hoop.Aborted. One rank calls it
        and does not wait; then it can be agreed on, shrunk and freed.
        hoop_comm_revoke(), MPIX_Comm_revoke().
        """
        check(lib.hoop_comm_revoke(self._check("revoke")), "revoke")
        self._session._is_broken |= self is self._session.world

    def shrink(self) -> Comm:
        """A communicator of those members that are left, in the same order; all that are left call it.

        It returns when all have called that are neither lost nor have left. The old one
        is good for agree(), failed(), another shrink() and free().
        hoop_comm_shrink(), MPIX_Comm_shrink().

        hoop.Timeout: the text names who has not called. hoop.Aborted: this rank has
        itself been declared lost. hoop.Unavailable: there is no coordinator.
        """
        return self._made("shrink", lib.hoop_comm_shrink)

    def grow(self, n_newcomers: int, timeout: Seconds) -> Comm:
        """Take in up to n_newcomers that join the job meanwhile; all members call it.

        Members keep their ranks, newcomers come behind them, to whom it is their
        session's world. It returns as soon as n_newcomers are there, or after timeout
        (seconds) with those that are. All members must be left: shrink() before.
        hoop_comm_grow(), MPI_Comm_spawn() and MPI_Intercomm_merge().

        hoop.Timeout: nobody has come, or a member has not called. hoop.RankLost: a
        member is lost. hoop.Aborted: a member shrinks it, or this rank has been declared
        lost. hoop.Unavailable: there is no coordinator.
        """
        return self._made("grow", lib.hoop_comm_grow, n_newcomers, milliseconds(timeout))

    def _made(self, name: str, call: Any, *arguments: int) -> Comm:
        out = ffi.new("hoop_comm_t **")
        check_call(call(self._check(name), *arguments, out), name, lambda: lib.hoop_comm_free(out[0]))
        return self._session._add(out[0])

    @property
    def unfinished(self) -> int:
        """Of what shrink() made: the number, as errors name it, of the old one's first
        collective that not all survivors have finished; the next one's, where all have.
        0: it was not made so. hoop_comm_unfinished().
        """
        return int(lib.hoop_comm_unfinished(self._check("unfinished")))

    def agree(self, flags: int = 1) -> int:
        """The bitwise and of the flags of all members that are left, the same on all.

        flags: 64 bits, or True or False. Whoever dies meanwhile: it returns the same on
        all to whom it returns. Also on what has failed or was revoked; it interrupts
        nobody. hoop_comm_agree(), MPIX_Comm_agree().

        hoop.Timeout: the text names who has not called; call it again. hoop.Aborted:
        this rank has been declared lost. hoop.Unavailable: there is no coordinator.
        """
        if not 0 <= flags < 2**64:
            raise ValueError(f"agree: flags are {flags}; they are 64 bits")
        out = ffi.new("uint64_t *", flags)
        check_call(lib.hoop_comm_agree(self._check("agree"), out), "agree")
        return int(out[0])

    def failed(self) -> list[int]:
        """Its ranks that are lost or have left, as far as is known here, in ascending order.

        hoop_comm_failed(), MPIX_Comm_get_failed().
        """
        return self._ranks("failed")

    def failed_agreed(self) -> list[int]:
        """failed() as its last agree() or shrink() found it, alike on all members.

        hoop_comm_failed_agreed(), MPIX_Comm_failure_get_acked().
        """
        return self._ranks("failed_agreed")

    def contributors(self) -> list[int]:
        """With on_failure="retry": whose inputs are in the last call's result, the same on all.

        They are numbered as the world's ranks were at first. Before the first call, and
        without that setting: the members. hoop_comm_contributors().
        """
        return self._ranks("contributors")

    def _ranks(self, name: str) -> list[int]:
        call, comm, out = getattr(lib, f"hoop_comm_{name}"), self._check(name), ffi.new("uint32_t *")
        capacity = 0
        while True:
            ranks = ffi.new("uint32_t[]", capacity + 1)
            check(call(comm, ranks, capacity, out), name)
            if out[0] <= capacity:
                return list(ranks[0 : out[0]])
            capacity = out[0]

    def state_sync(self, tensors: Mapping[str, Buffer], version: int, *, block_bytes: int = 0) -> StateReport:
        """Bring every rank the newest of their states, as newcomers need it; all ranks call it.

        tensors: by name, of the same names, dtypes and shapes on all ranks, as torch's
        state_dict(). version: of what they hold, as the number of the step; the highest
        of all ranks counts, 0 is that of who has nothing. Those of ranks that have an
        older one are written to. Only blocks whose hashes differ travel.
        block_bytes: 1024 at least; 0: 256 KiB. hoop_state_sync().

        ValueError: a tensor is not C-contiguous. TypeError: it is no buffer in this
        host's memory, or read-only. hoop.Mismatch: another tensor than rank 0's.
        hoop.Refused: no rank has a version, or two have the newest and differ.
        hoop.RankLost, hoop.Timeout: the tensors of ranks that were behind are then
        unspecified: their version is 0.
        """
        call = "state_sync"
        named = ffi.new("struct hoop_named_tensor[]", max(1, len(tensors)))
        kept = []
        for item, (name, tensor) in zip(named, tensors.items()):
            where, _, dtype = place(call, name, tensor, True)
            sizes = shape(call, name, tensor)
            if len(sizes) > lib.HOOP_MAX_DIMS:
                raise ValueError(f"{call}: {name} has {len(sizes)} dimensions, more than {lib.HOOP_MAX_DIMS}")
            c_name = ffi.new("char[]", name.encode())
            item.name, item.tensor.data, item.tensor.dtype = c_name, where, dtype
            item.tensor.shape = (len(sizes), sizes)
            kept.append((c_name, where))
        state = ffi.new("struct hoop_state *", (named, len(tensors), version, block_bytes))
        report = ffi.new("struct hoop_state_report *")
        check_call(lib.hoop_state_sync(state, self._check(call), report), call)
        del kept
        return StateReport(*(int(getattr(report, name)) for name in StateReport._fields))
