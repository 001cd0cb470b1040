#!/usr/bin/env python3
"""bench/torch/measure.py - collectives and steps of DDP over hoop and Gloo, in turns in the same processes

measure.py collectives SCHEDULE, or measure.py MODEL STEPSxBATCHES with a model of
MODELS, started by hooprun. Rank 0 prints lines: NAME,BACKEND,BYTES,US. US is the
median over batches, each of which lasts as long as its slowest rank. A result that is
wrong, or differs between the two, is an error.
"""

from __future__ import annotations

import copy
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import hoop_torch  # noqa: F401, registers the backend

Call = Callable[[], object]
Group = dist.ProcessGroup
BACKENDS = ("hoop", "gloo")


def ping_pong(x: Tensor, group: Group) -> None:
    """There and back between ranks 0 and 1; the others do nothing."""
    rank = dist.get_rank()
    if rank > 1:
        return
    for source in (0, 1):
        if rank == source:
            dist.send(x, 1 - rank, group)
        else:
            dist.recv(x, 1 - rank, group)


def collectives(n_bytes: int, group: Group) -> dict[str, Call]:
    """Each with float32, whose larger buffer has n_bytes, or an element of each rank at least; barrier with 8."""
    rank, size = dist.get_rank(), dist.get_world_size()
    part = torch.ones(max(1, n_bytes // 4 // size))
    parts, out = torch.ones(size * part.numel()), torch.empty(size * part.numel())
    whole, zeros = torch.ones(n_bytes // 4), torch.zeros(n_bytes // 4)
    lists = [list(parts.chunk(size)) if rank == 0 else None, list(out.chunk(size)) if rank == 0 else None]
    return {
        "allreduce": lambda: dist.all_reduce(zeros, group=group),
        "broadcast": lambda: dist.broadcast(whole, 0, group),
        "reduce": lambda: dist.reduce(zeros, 0, group=group),
        "allgather": lambda: dist.all_gather_single(out, part, group),
        "gather": lambda: dist.gather(part, lists[1], 0, group),
        "scatter": lambda: dist.scatter(part, lists[0], 0, group),
        "reduce_scatter": lambda: dist.reduce_scatter_single(part, parts, group=group),
        "alltoall": lambda: dist.all_to_all_single(out, parts, group=group),
        "ping-pong": lambda: ping_pong(whole, group),
        **({"barrier": lambda: dist.barrier(group)} if n_bytes == 8 else {}),
    }


def check(group: Group) -> None:
    """The least that tells an operation that does nothing."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.arange(1000.0) + rank
    dist.all_reduce(x, group=group)
    if not torch.equal(x, torch.arange(1000.0) * size + size * (size - 1) / 2):
        sys.exit(f"rank {rank}: the sum over {group.name()} is wrong")


def slowest(times: list[float], group: Group) -> list[float]:
    """Of all ranks, for each batch."""
    found = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(found, dist.ReduceOp.MAX, group)
    result: list[float] = found.tolist()
    return result


def in_turns(calls: dict[str, Call], inner: int, batches: int, group: Group) -> dict[str, float]:
    """{name: us of a call}, the median over batches."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(batches):
        for name, call in calls.items():
            dist.barrier(group)
            begin = time.perf_counter()
            for _ in range(inner):
                call()
            times[name].append((time.perf_counter() - begin) * 1e6 / inner)
    return {name: statistics.median(slowest(us, group)) for name, us in times.items()}


def schedule(text: str) -> Iterator[tuple[int, int, int]]:
    """BYTES:INNERxBATCHES,... as numbers."""
    for row in text.split(","):
        size, _, repetitions = row.partition(":")
        inner, batches = repetitions.split("x")
        yield int(size), int(inner), int(batches)


class Transformer(nn.Module):
    """An encoder of 4.9 million parameters that guesses tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, 256)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 6)
        self.head = nn.Linear(256, 256)

    def forward(self, tokens: Tensor) -> Tensor:
        """[batch, length] to [batch, tokens, length]."""
        result: Tensor = self.head(self.encoder(self.embedding(tokens))).transpose(1, 2)
        return result


def mlp() -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """1.05 million parameters, and the loss of a batch of this rank."""
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
    x = torch.randn(32, 512, generator=torch.Generator().manual_seed(dist.get_rank()))
    return model, lambda module: nn.functional.mse_loss(module(x), x.roll(1, 1))


def transformer() -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """4.9 million parameters, and the same."""
    tokens = torch.randint(256, (2, 32), generator=torch.Generator().manual_seed(dist.get_rank()))
    return Transformer(), lambda module: nn.functional.cross_entropy(module(tokens), tokens.roll(1, 1))


MODELS = {"mlp": mlp, "transformer": transformer}


def step(model: nn.Module, loss_of: Callable[[nn.Module], Tensor], losses: list[Tensor]) -> None:
    """Make one, and tell its loss."""
    loss = loss_of(model)
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.sub_(parameter.grad, alpha=0.01)
                parameter.grad = None
    losses.append(loss.detach())


def silent(_: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """A hook of DDP that communicates nothing."""
    done: torch.futures.Future[Tensor] = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


# DDP looks at the types themselves.
silent.__annotations__ = {"bucket": dist.GradBucket, "return": torch.futures.Future[Tensor]}


def steps(name: str, groups: dict[str, Group], inner: int, batches: int) -> dict[str, float]:
    """{backend, "alone" or "silent", which is DDP that communicates nothing: us of a step}."""
    torch.manual_seed(0)
    module, loss_of = MODELS[name]()
    losses: dict[str, list[Tensor]] = {kind: [] for kind in ("alone", "silent", *BACKENDS)}
    calls: dict[str, Call] = {}
    for kind, found in losses.items():
        model = copy.deepcopy(module)
        if kind != "alone":
            model = DistributedDataParallel(model, process_group=groups.get(kind))
        if kind == "silent":
            model.register_comm_hook(None, silent)
        calls[kind] = functools.partial(step, model, loss_of, found)
    times = in_turns(calls, inner, batches, groups["gloo"])
    ours, theirs = (torch.stack(losses[backend]) for backend in BACKENDS)
    if not torch.allclose(ours, theirs, rtol=1e-4, atol=0):
        sys.exit(f"rank {dist.get_rank()}: {name}'s losses differ by {(ours - theirs).abs().max():g}")
    return times


def main() -> None:
    """Measures what the command line says."""
    what, rows = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("hoop")
    # Both of the same kind: the default group has only one of them.
    groups = {backend: dist.new_group(backend=backend) for backend in BACKENDS}
    lines = []
    for group in groups.values():
        check(group)
    if what == "collectives":
        for n_bytes, inner, batches in schedule(rows):
            both = {backend: collectives(n_bytes, group) for backend, group in groups.items()}
            for name in both["hoop"]:
                calls = {backend: both[backend][name] for backend in BACKENDS}
                found = in_turns(calls, inner, batches, groups["gloo"])
                lines += [f"{name},{backend},{n_bytes},{us:.3f}" for backend, us in found.items()]
    else:
        inner, batches = (int(number) for number in rows.split("x"))
        found = steps(what, groups, inner, batches)
        lines += [f"{what},{kind},0,{us:.3f}" for kind, us in found.items()]
    if dist.get_rank() == 0:
        print("\n".join(lines), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
