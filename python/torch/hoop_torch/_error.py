"""python/torch/hoop_torch/_error.py - the errors that calls of the backend raise"""

from __future__ import annotations

from torch.distributed import DistBackendError


class ArgumentError(ValueError, RuntimeError):
    """An argument is invalid. For such an error NCCL raises one of the two bases, and Gloo the other."""


class Error(DistBackendError):
    """A call of hoop has failed. The text says what failed, where, on which rank, and what to do.

    status is the name of hoop's status, for example "PEER_LOST". rank is the rank of the world at
    fault, or None if it is unknown. host is its host, and communicator the name of the group; they
    are "" if they are unknown.
    """

    def __init__(
        self,
        text: str,
        status: str = "UNKNOWN",
        rank: int | None = None,
        host: str = "",
        communicator: str = "",
    ) -> None:
        super().__init__(text)
        self.status = status
        self.rank = rank
        self.host = host
        self.communicator = communicator
