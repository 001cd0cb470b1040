"""examples/torch/fsdp.py - training with sharded parameters (FSDP2), and a checkpoint (DCP)

torchrun --nproc-per-node 4 examples/torch/fsdp.py --checkpoint FOLDER --steps 10
torchrun --nproc-per-node 2 examples/torch/fsdp.py --checkpoint FOLDER --steps 10

Each rank keeps its part of parameters, gradients and of Adam's moments. The second
command goes on where the first has ended, on another number of ranks.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from launch import launch

BATCH, WIDTH = 16, 10


def network() -> nn.Sequential:
    """Three blocks, whose rows four ranks cannot share evenly; the same on every rank."""
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.LayerNorm(WIDTH)) for _ in range(3)]
    return nn.Sequential(*blocks).double()


def optimizer_of(model: nn.Module) -> torch.optim.Adam:
    """What makes the steps."""
    return torch.optim.Adam(model.parameters(), lr=1e-2)


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of a step, both [BATCH, WIDTH], for all ranks together."""
    x = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return x, x.roll(1, 1) * x


class Training(Stateful):
    """What a checkpoint holds: the model, its optimizer and the steps that were made."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.model, self.optimizer, self.step = model, optimizer, 0

    def state_dict(self) -> dict[str, Any]:
        """Of this rank's parts."""
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "step": self.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The same, as the file system had it."""
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optimizer"],
        )
        self.step = state_dict["step"]


def train(steps: int, checkpoint: str | None = None) -> list[float]:
    """Train from the checkpoint on, if there is one, and save it; the losses are those of the whole batch."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,))
    model = network()
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    training = Training(model, optimizer_of(model))
    if checkpoint and os.path.exists(os.path.join(checkpoint, ".metadata")):
        load({"training": training}, checkpoint_id=checkpoint)
    losses = []
    for _ in range(steps):
        x, y = (tensor[rank::size] for tensor in batch(training.step))
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        training.optimizer.step()
        training.optimizer.zero_grad()
        training.step += 1
        total = loss.detach()
        dist.all_reduce(total)
        losses.append(total.item() / size)
    if checkpoint:
        save({"training": training}, checkpoint_id=checkpoint)
    return losses


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--checkpoint", metavar="FOLDER")
    launch(train, arguments)
