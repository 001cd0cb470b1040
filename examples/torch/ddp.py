"""examples/torch/ddp.py - data parallel training by DistributedDataParallel

torchrun --nproc-per-node 4 examples/torch/ddp.py [--hook fp16]

Every rank takes its share of each batch, in two halves: the gradients of the first
are kept (no_sync), those of both are averaged by the second. One of two heads is
unused in each step. Rank 0 draws which inputs are dropped; the others get its mask
as a buffer of bool. A hook may send gradients as float16.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from launch import launch

BATCH, INPUTS = 16, 12


class Network(nn.Module):
    """An MLP with two heads, whose inputs are masked."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(INPUTS, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(32, 1), nn.Linear(32, 1)])
        self.mask = nn.Buffer(torch.ones(INPUTS, dtype=torch.bool))

    def forward(self, x: Tensor, head: int) -> Tensor:
        """[BATCH, INPUTS] to [BATCH, 1]."""
        result: Tensor = self.heads[head](self.body(x * self.mask))
        return result


def network() -> Network:
    """The same on every rank."""
    torch.manual_seed(0)
    return Network().double()


def optimizer_of(model: nn.Module) -> torch.optim.SGD:
    """What makes the steps."""
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Inputs [BATCH, INPUTS] and targets [BATCH, 1] of a step, for all ranks together."""
    x = torch.randn(BATCH, INPUTS, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return x, x[:, :4].prod(1, keepdim=True).sin()


def mask(step: int) -> Tensor:
    """Which inputs the step after this one takes, [INPUTS] of bool."""
    return torch.rand(INPUTS, generator=torch.Generator().manual_seed(step)) < 0.8


def train(steps: int, hook: str | None = None) -> list[float]:
    """Train, and return the losses, which are those of the whole batch."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = network()
    model = DistributedDataParallel(module, find_unused_parameters=True)
    if hook == "allreduce":
        model.register_comm_hook(None, default_hooks.allreduce_hook)
    elif hook == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    optimizer = optimizer_of(module)
    losses = []
    for step in range(steps):
        halves = [tensor[rank::size].chunk(2) for tensor in batch(step)]
        (x, more_x), (y, more_y) = halves
        with model.no_sync():
            loss = nn.functional.mse_loss(model(x, step % 2), y) / 2
            loss.backward()
        more = nn.functional.mse_loss(model(more_x, step % 2), more_y) / 2
        more.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            module.mask.copy_(mask(step))
        total = loss.detach() + more.detach()
        dist.all_reduce(total)
        losses.append(total.item() / size)
    return losses


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--hook", choices=["allreduce", "fp16"])
    launch(train, arguments)
