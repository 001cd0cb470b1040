"""tests/torch/launched.py - what a rank does that some launcher has started

launched.py FUNCTION ARGUMENT... calls the function; each prints one line at the end,
which the tests look for.
"""

import contextlib
import os
import pathlib
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import hoop_torch
from ranks import arrive

LIMIT = timedelta(seconds=60)
# How a child ends that has been told of another's exception.
TOLD = 7


def check_group():
    """All ranks of the default group are there, and each has its number."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ranks = [torch.zeros(1, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(ranks, torch.tensor([rank]))
    assert [int(found) for found in ranks] == list(range(size))


def say(*words):
    """A line that another rank's does not come into."""
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


def meet(init_method=None):
    """Join, leave, join again, have the group aborted by rank 0, and join once more.

    All by one store, as that of torchrun's agent is: one of rank 0's would end with
    the group, while other ranks are at the next already.
    """
    store, rank, size = next(dist.rendezvous(init_method or "env://", timeout=LIMIT))
    for is_aborted in (False, True, False):
        dist.init_process_group("hoop", store=store, rank=rank, world_size=size, timeout=LIMIT)
        check_group()
        if is_aborted:
            store.set(f"checked/{rank}", "")
            if rank == 0:
                store.wait([f"checked/{other}" for other in range(size)], LIMIT)
                dist.distributed_c10d._abort_process_group()
            else:
                try:
                    dist.barrier()
                except hoop_torch.Error as error:
                    assert error.status == "ABORTED" and error.rank == 0, error
                else:
                    raise AssertionError("rank 0 was not in the barrier")
        if dist.is_initialized():
            dist.destroy_process_group()
    # The store is rank 0's: it goes last.
    if not os.environ.get("TORCHELASTIC_USE_AGENT_STORE") and rank == 0:
        store.wait([f"done/{other}" for other in range(1, size)], LIMIT)
    elif rank:
        store.set(f"done/{rank}", "")
    say(f"rank {rank} of {size} has met 3 times")


def meet_by_mpi():
    """The same under a launcher that says nothing in torch's words."""
    names = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")
    rank, size = next((os.environ[r], os.environ[s]) for r, s in names if r in os.environ)
    os.environ.update(RANK=rank, WORLD_SIZE=size)
    meet()


def meet_by_hoop():
    """By the coordinator alone, with torch's store kept by it."""
    for times in range(2):
        dist.init_process_group("hoop", init_method=f"hoop://{os.environ['HOOP_COORDINATOR']}", timeout=LIMIT)
        check_group()
        rank, size = dist.get_rank(), dist.get_world_size()
        store = dist.PrefixStore(f"own/{times}", dist.distributed_c10d._get_default_store())
        if rank == 0:
            time.sleep(0.05)
            store.set("said", b"\x00by 0")
        assert store.get("said") == b"\x00by 0"
        store.add("sum", rank + 1)
        dist.barrier()
        assert store.add("sum", 0) == size * (size + 1) // 2
        assert store.check(["sum"]) and not store.check(["sum", "none"])
        dist.barrier()
        if rank == size - 1:
            assert store.compare_set("sum", "no", "yes") == str(size * (size + 1) // 2).encode()
            assert store.compare_set("new", "", "yes") == b"yes"
            assert store.delete_key("new") and not store.delete_key("new")
            store.set("empty", "")
            assert store.compare_set("empty", "", "full") == store.get("empty") == b"full"
            limit = timedelta(milliseconds=20)
            store.set_timeout(limit)
            for wait, asked in ((store.wait, (["none"], limit)), (store.wait, (["none"],)), (store.get, ("none",))):
                try:
                    wait(*asked)
                except dist.DistStoreError:
                    pass
                else:
                    raise AssertionError("nobody has set it")
            store.set_timeout(LIMIT)
        half = dist.new_group([0, size - 1])
        if rank in (0, size - 1):
            total = torch.tensor([rank])
            dist.all_reduce(total, group=half)
            assert total.item() == size - 1
        dist.barrier()
        dist.destroy_process_group()
    say(f"rank {rank} of {size} has met by hoop")


class Squares(torch.utils.data.Dataset):
    """Of numbers; each is made in a worker, which has the parent's group and may not use it."""

    def __len__(self):
        return 16

    def __getitem__(self, i):
        assert torch.utils.data.get_worker_info() is not None
        return torch.tensor([float(i)]), torch.tensor([float(i * i)])


def load():
    """Workers of a DataLoader are forked while a group lives; DDP goes on, and so does the next epoch."""
    dist.init_process_group("hoop", timeout=LIMIT)
    torch.manual_seed(dist.get_rank())
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1).double())
    sampler = torch.utils.data.DistributedSampler(Squares())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(2):
        for x, y in torch.utils.data.DataLoader(Squares(), 2, sampler=sampler, num_workers=2):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x.double()), y.double()).backward()
            optimizer.step()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    all_weights = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(all_weights, weights)
    assert all(torch.equal(weights, other) for other in all_weights)
    say(f"rank {dist.get_rank()} has loaded")
    dist.destroy_process_group()


def second_round():
    """Rank 1 fails in the first round of torchrun; in the second all meet at once."""
    dist.init_process_group("hoop", timeout=LIMIT)
    check_group()
    arrive(1)
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if dist.get_rank() == 1:
            os._exit(3)
        with contextlib.suppress(hoop_torch.Error):
            dist.barrier()
        time.sleep(60)  # until torchrun ends it
    say(f"rank {dist.get_rank()} of {dist.get_world_size()} is in the second round")
    dist.destroy_process_group()


def fail():
    """Rank 1's program ends by an exception, in no with statement; the others print what they learn."""
    dist.init_process_group("hoop", timeout=LIMIT)
    check_group()
    arrive(1)
    if dist.get_rank() == 1:
        raise ValueError("no such sample")
    try:
        dist.barrier()
    except hoop_torch.Error as error:
        say(error.rank, str(error).partition("raised ")[2].partition(";")[0])


def leave_callbacks(how="well"):
    """Ends without destroying the group, while Python's callbacks run; with an exception if asked to."""
    dist.init_process_group("hoop", timeout=LIMIT)

    def add(future):
        total = 0
        for i in range(2000):
            total += i
        return future.value()[0]

    kept = [dist.all_reduce(torch.ones(1000), async_op=True).get_future().then(add) for _ in range(200)]
    kept.append(dist.irecv(torch.ones(5), 1 - dist.get_rank()).get_future().then(add))
    say(f"rank {dist.get_rank()} ends")
    if how == "fail":
        raise ValueError("no such sample")


def fail_in_child(rank, size, port):
    """A child of torch.multiprocessing.spawn(), in which no excepthook is called."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    dist.init_process_group("hoop", timeout=LIMIT)
    check_group()
    arrive(1)
    if rank == 1:
        raise ValueError("no such sample")
    try:
        dist.barrier()
    except hoop_torch.Error as error:
        assert error.rank == 1 and "raised ValueError: no such sample" in str(error), error
        os._exit(TOLD)


def spawned(rank, size, port, folder):
    """A child of torch.multiprocessing.spawn()."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(size))
    meet()
    pathlib.Path(folder, str(rank)).touch()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
