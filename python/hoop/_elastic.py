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
    """What Comm.state_sync() has done. Tensors are compared and sent in blocks.

    version is the version that every rank has now, and n_sources the number of ranks that
    had it before. n_blocks and n_bytes count the state of one rank. blocks_needed and
    bytes_needed count the blocks of this rank that differed and were received. bytes_sent
    counts what this rank sent, and bytes_moved what all ranks sent.
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
    """The calls of a communicator with which a job goes on after it has lost ranks, or grows.

    A call that needs a lost rank raises hoop.RankLost on every rank that waits for it. To go
    on, all survivors shrink the communicator:

        while True:
            try:
                comm.allreduce(x, total)
                break
            except hoop.RankLost:
                comm = comm.shrink()
    """

    def revoke(self) -> None:
        """Interrupt the communicator on all members: operations that run on it or are called later fail.

        They raise hoop.RankLost if a member is lost, and hoop.Aborted otherwise. One rank calls
        it and does not wait. Afterwards, agree(), shrink() and free() still work.
        It calls hoop_comm_revoke(); MPI calls this MPIX_Comm_revoke().
        """
        check(lib.hoop_comm_revoke(self._check("revoke")), "revoke")
        self._session._is_broken |= self is self._session.world

    def shrink(self) -> Comm:
        """Return a communicator of the members that are left, in the same order. All survivors call it.

        It returns when every member has called it that is neither lost nor has left. On the old
        communicator, agree(), failed(), another shrink() and free() still work.
        It calls hoop_comm_shrink(); MPI calls this MPIX_Comm_shrink().

        It raises hoop.Timeout if a survivor has not called it (the text names the rank),
        hoop.Aborted if this rank itself has been declared lost, and hoop.Unavailable if there is
        no coordinator.
        """
        return self._made("shrink", lib.hoop_comm_shrink)

    def grow(self, n_newcomers: int, timeout: Seconds) -> Comm:
        """Return a communicator with up to n_newcomers workers that join the job meanwhile. All members call it.

        Members keep their ranks, and newcomers get the ranks behind them; to a newcomer, the new
        communicator is its session's world. It returns as soon as n_newcomers have come, or
        after timeout (in seconds) with those that have. No member may be lost: call shrink()
        first. It calls hoop_comm_grow(); MPI does this with MPI_Comm_spawn() and
        MPI_Intercomm_merge().

        It raises hoop.Timeout if nobody has come or a member has not called it, hoop.RankLost if
        a member is lost, hoop.Aborted if a member shrinks the communicator or this rank has been
        declared lost, and hoop.Unavailable if there is no coordinator.
        """
        return self._made("grow", lib.hoop_comm_grow, n_newcomers, milliseconds(timeout))

    def _made(self, name: str, call: Any, *arguments: int) -> Comm:
        out = ffi.new("hoop_comm_t **")
        check_call(call(self._check(name), *arguments, out), name, lambda: lib.hoop_comm_free(out[0]))
        return self._session._add(out[0])

    @property
    def unfinished(self) -> int:
        """The number of the first collective of the former communicator that not all survivors have finished.

        It is known if shrink() has made this communicator. The number is the one that errors
        use; if the survivors have finished all collectives, it is that of the next one. It is 0
        for any other communicator. It calls hoop_comm_unfinished().
        """
        return int(lib.hoop_comm_unfinished(self._check("unfinished")))

    def agree(self, flags: int = 1) -> int:
        """Return the bitwise and of the flags of all members that are left; it is the same on all of them.

        flags are 64 bits, or True or False. If members die meanwhile, all ranks to which the call
        returns get the same result. It also works on a communicator that has failed or was
        revoked, and it interrupts nobody.
        It calls hoop_comm_agree(); MPI calls this MPIX_Comm_agree().

        It raises hoop.Timeout if a member has not called it (the text names the rank; call it
        again), hoop.Aborted if this rank has been declared lost, and hoop.Unavailable if there is
        no coordinator.
        """
        if not 0 <= flags < 2**64:
            raise ValueError(f"agree: flags are {flags}; they are 64 bits")
        out = ffi.new("uint64_t *", flags)
        check_call(lib.hoop_comm_agree(self._check("agree"), out), "agree")
        return int(out[0])

    def failed(self) -> list[int]:
        """Return the ranks that are lost or have left, as far as this rank knows, in ascending order.

        It calls hoop_comm_failed(); MPI calls this MPIX_Comm_get_failed().
        """
        return self._ranks("failed")

    def failed_agreed(self) -> list[int]:
        """Return the ranks that the last agree() or shrink() found failed; the list is the same on all members.

        It calls hoop_comm_failed_agreed(); MPI calls this MPIX_Comm_failure_get_acked().
        """
        return self._ranks("failed_agreed")

    def contributors(self) -> list[int]:
        """Return the ranks whose inputs are in the result of the last call; the list is the same on all members.

        Ranks can be missing from it if the session was joined with on_failure="retry". They are
        numbered as in the original world. Before the first call, and without that setting, the
        list has all members. It calls hoop_comm_contributors().
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
        """Give every rank the newest state that any rank has, as newcomers need it. All ranks call it.

        tensors maps names to buffers, as torch's state_dict() does; names, dtypes and shapes are
        the same on all ranks. version says which state the tensors hold, for example the number
        of a training step; 0 means that this rank has no state. The highest version of all ranks
        is distributed: tensors of ranks with an older one are overwritten. Only blocks whose
        hashes differ are sent. block_bytes is at least 1024; 0 means 256 KiB.
        It calls hoop_state_sync().

        It raises ValueError if a tensor is not C-contiguous, and TypeError if it is no writable
        buffer in this host's memory. It raises hoop.Mismatch if a tensor differs from rank 0's in
        name, dtype or shape, and hoop.Refused if no rank has a version, or if two ranks with the
        newest version differ. After hoop.RankLost or hoop.Timeout, the tensors of ranks that
        were behind are unspecified: treat them as version 0.
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
