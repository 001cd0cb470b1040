"""examples/torch/launch.py - what the programs of this folder do around their training

Each is started by torchrun or hooprun, on any number of ranks, and takes the
backend's name: --backend gloo does the same over Gloo.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

import torch.distributed as dist


def launch(train: Callable[..., list[float]], parser: argparse.ArgumentParser) -> None:
    """Call train(steps=..., ...) with what the command line says, in a process group; rank 0 prints the losses."""
    parser.add_argument("--backend", default="hoop")
    parser.add_argument("--steps", type=int, default=20)
    options = vars(parser.parse_args())
    backend = options.pop("backend")
    if backend == "hoop":
        # As torch does by itself where hoop-torch is installed.
        importlib.import_module("hoop_torch")
    dist.init_process_group(backend)
    losses = train(**options)
    if dist.get_rank() == 0:
        for loss in losses:
            print(f"loss {loss:.12g}")
    dist.destroy_process_group()
