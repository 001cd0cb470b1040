"""examples/torch/pipeline.py - a network cut into stages, one for each rank, which take micro-batches in turns (1F1B)

torchrun --nproc-per-node 4 examples/torch/pipeline.py
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from launch import launch

BATCH, MICRO_BATCHES, WIDTH, LAYERS = 16, 8, 12, 8


def network() -> nn.Sequential:
    """Layers that 1, 2, 4 or 8 stages share; the same on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(LAYERS))).double()


def optimizer_of(model: nn.Module) -> torch.optim.SGD:
    """What makes the steps."""
    return torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of a step, both [BATCH, WIDTH]."""
    x = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return x, x.roll(1, 1).sin()


def train(steps: int) -> list[float]:
    """Train, and return the losses, which every rank has from the last."""
    rank, size = dist.get_rank(), dist.get_world_size()
    each = LAYERS // size
    module = network()[rank * each : (rank + 1) * each]
    stage = PipelineStage(module, rank, size, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=nn.functional.mse_loss)
    optimizer = optimizer_of(module)
    losses = []
    for step in range(steps):
        x, y = batch(step)
        of_parts: list[Tensor] = []
        inputs = (x,) if stage.is_first else ()
        if stage.is_last:
            schedule.step(*inputs, target=y, losses=of_parts)
        else:
            schedule.step(*inputs)
        optimizer.step()
        optimizer.zero_grad()
        loss = torch.stack(of_parts).mean().detach() if stage.is_last else torch.empty((), dtype=x.dtype)
        dist.broadcast(loss, src=size - 1)
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    launch(train, argparse.ArgumentParser())
