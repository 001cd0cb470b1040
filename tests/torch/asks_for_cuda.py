"""tests/torch/asks_for_cuda.py - a script as people have them: for GPUs and NCCL, and nothing of hoop

asks_for_cuda.py BACKEND [spawn]. Each rank prints its loss; with spawn they are processes of
torch.multiprocessing.
"""

import io
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(backend):
    """A few steps, as the tests compute them, too."""
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group(backend, device_id=torch.device("cuda", local_rank) if backend == "nccl" else None)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1).cuda(), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(5):
        x = torch.full((2, 4), float(dist.get_rank() + step)).to(local_rank, non_blocking=True)
        optimizer.zero_grad()
        loss = model(x.to("cuda")).square().mean()
        loss.backward()
        optimizer.step()
    # Its arguments by their places, and a checkpoint that is meant for a GPU.
    again = DistributedDataParallel(torch.nn.Linear(4, 1).cuda(), [local_rank], local_rank, 0, False)
    saved = io.BytesIO()
    torch.save({"module.weight": again.module.weight}, saved)
    for places in ("cuda:0", {"cpu": "cuda:0"}, torch.device("cuda", torch.cuda.current_device())):
        saved.seek(0)
        assert torch.load(saved, map_location=places)["module.weight"].equal(again.module.weight)
    group = dist.new_group([0])
    if dist.get_rank() == 0:
        dist.barrier(group=group)
    dist.all_reduce(loss := loss.detach())
    said = f"{dist.get_backend()} {dist.get_world_size()} {torch.cuda.is_available()} {loss.item():.6f}"
    sys.stdout.write(f"{dist.get_rank()}: {said}\n")
    sys.stdout.flush()
    dist.destroy_process_group()


def child(rank, backend, size):
    """A process of spawn()."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    train(backend)


if __name__ == "__main__":
    if sys.argv[2:] == ["spawn"]:
        torch.multiprocessing.spawn(child, (sys.argv[1], 2), nprocs=2)
    else:
        train(*sys.argv[1:])
