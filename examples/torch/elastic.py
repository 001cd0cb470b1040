"""examples/torch/elastic.py - data parallel training that loses a rank in backward, and goes on without it

hooprun -n 4 --on-exit continue python examples/torch/elastic.py

A rank kills itself in the middle of a backward, which raises
hoop_torch.Error on the others. They shrink the process group, take weights and
moments of whoever has made the most steps, and cut the batches among fewer. The
losses are those of a training that lost nobody.
"""

from __future__ import annotations

import argparse
import os
import signal
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import hoop_torch
from launch import launch

# Four ranks share a batch evenly, and so do three: DDP averages over ranks.
BATCH, INPUTS = 12, 8
VICTIM = 2


def network() -> nn.Sequential:
    """The same on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(INPUTS, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).double()


def optimizer_of(model: nn.Module) -> torch.optim.Adam:
    """What makes the steps."""
    return torch.optim.Adam(model.parameters(), lr=1e-2)


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Inputs [BATCH, INPUTS] and targets [BATCH, 1] of a step, for all ranks together."""
    x = torch.randn(BATCH, INPUTS, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return x, x[:, :3].sum(1, keepdim=True).sin()


class Training:
    """A model, its optimizer, and the loss of each step made."""

    def __init__(self) -> None:
        self.module = network()
        self.optimizer = optimizer_of(self.module)
        self.model = DistributedDataParallel(self.module)
        self.losses: list[float] = []

    def step(self) -> None:
        """Make one; hoop_torch.Error: a rank is lost, and none of it counts."""
        rank, size = dist.get_rank(), dist.get_world_size()
        x, y = (tensor[rank::size] for tensor in batch(len(self.losses)))
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        total = loss.detach()
        dist.all_reduce(total)
        self.optimizer.step()
        self.losses.append(total.item() / size)

    def go_on(self, lost: int) -> None:
        """Without a rank: the group, and what the furthest of the others has."""
        dist.shrink_group([lost], shrink_flags=dist.distributed_c10d.SHRINK_ABORT)
        steps = torch.zeros(dist.get_world_size(), dtype=torch.int64)
        dist.all_gather_single(steps, torch.tensor([len(self.losses)]))
        state: list[Any] = [self.module.state_dict(), self.optimizer.state_dict(), self.losses]
        dist.broadcast_object_list(state, src=int(steps.argmax()))
        self.module.load_state_dict(state[0])
        self.optimizer.load_state_dict(state[1])
        self.losses = state[2]
        self.model = DistributedDataParallel(self.module)


def train(steps: int) -> list[float]:
    """Train while a rank dies halfway, and return the losses, which are those of the whole batch."""
    training = Training()
    if dist.get_rank() == VICTIM:

        def die(_: Tensor) -> None:
            if len(training.losses) == steps // 2:
                os.kill(os.getpid(), signal.SIGKILL)

        next(training.module.parameters()).register_hook(die)
    while len(training.losses) < steps:
        try:
            training.step()
        except hoop_torch.Error as error:
            if error.rank is None:
                raise
            training.go_on(error.rank)
            if dist.get_rank() == 0:
                print(f"step {len(training.losses)}: {error}", f"{dist.get_world_size()} ranks go on", sep="\n")
    return training.losses


if __name__ == "__main__":
    launch(train, argparse.ArgumentParser())
