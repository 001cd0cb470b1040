"""python/torch/hoop_torch/_error.py - what calls of the backend raise"""

from __future__ import annotations

from torch.distributed import DistBackendError


class ArgumentError(ValueError, RuntimeError):
    """A call was given what it cannot take; NCCL raises the one, and Gloo the other."""


class Error(DistBackendError):
    """A call of hoop's failed; the text says what, where, who, and what to do.

    status: the name of hoop's status, as "PEER_LOST". rank: of the world, at fault;
    None: not known. host: its host, communicator: the name of the group; "": not known.
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
