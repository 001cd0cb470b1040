"""examples/torch/tensor_parallel.py - a transformer's block whose layers are cut over ranks by DTensor

torchrun --nproc-per-node 4 examples/torch/tensor_parallel.py

Heads of the attention and hidden units of the MLP are shared out (ColwiseParallel,
RowwiseParallel); between them each rank normalizes its part of the sequence.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from launch import launch

BATCH, LENGTH, WIDTH, HEAD = 2, 8, 16, 4


class Attention(nn.Module):
    """Of as many heads as the projections have room for."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """[BATCH, LENGTH, WIDTH] to the same."""
        parts = (project(x).unflatten(-1, (-1, HEAD)).transpose(1, 2) for project in (self.query, self.key, self.value))
        query, key, value = parts
        found = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        result: Tensor = self.out(found.transpose(1, 2).flatten(2))
        return result


class Block(nn.Module):
    """Attention and an MLP, each behind a norm and beside what goes past it."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """[BATCH, LENGTH, WIDTH] to the same."""
        x = x + self.attention(self.attention_norm(x))
        result: Tensor = x + self.mlp(self.mlp_norm(x))
        return result


class Network(nn.Module):
    """Two blocks between two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.blocks = nn.Sequential(Block())

    def forward(self, x: Tensor) -> Tensor:
        """[BATCH, LENGTH, WIDTH] to the same."""
        result: Tensor = self.last(self.blocks(self.first(x)))
        return result


def network() -> Network:
    """The same on every rank."""
    torch.manual_seed(0)
    return Network().double()


def optimizer_of(model: nn.Module) -> torch.optim.SGD:
    """What makes the steps."""
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def batch(step: int) -> tuple[Tensor, Tensor]:
    """Inputs and targets of a step, both [BATCH, LENGTH, WIDTH]; every rank takes all of it."""
    x = torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return x, x.cumsum(1).sin()


def parallelize(model: Network) -> None:
    """Cut the layers over all ranks, in place."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        parallelize_module(
            block,
            mesh,
            {
                "attention_norm": SequenceParallel(),
                "attention": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
                **{f"attention.{name}": ColwiseParallel() for name in ("query", "key", "value")},
                "attention.out": RowwiseParallel(output_layouts=Shard(1)),
                "mlp_norm": SequenceParallel(),
                "mlp": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
                "mlp.0": ColwiseParallel(),
                "mlp.2": RowwiseParallel(output_layouts=Shard(1)),
            },
        )
    parallelize_module(
        model,
        mesh,
        {
            "first": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "last": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        },
    )


def train(steps: int) -> list[float]:
    """Train, and return the losses."""
    model = network()
    parallelize(model)
    optimizer = optimizer_of(model)
    losses = []
    for step in range(steps):
        x, y = batch(step)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    launch(train, argparse.ArgumentParser())
