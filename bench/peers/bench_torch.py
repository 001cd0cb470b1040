"""bench/peers/bench_torch.py - torch.distributed over Gloo, measured

bench_torch.py PEER TRANSPORT OPS SCHEDULE, started by launch.sh
(bench/peers/driver.py).
"""

import os

import driver
import torch
import torch.distributed as dist
from driver import RANK, SIZE


def pingpong(buffer):
    for turn in (0, 1):
        if RANK == turn:
            dist.send(buffer, 1 - turn)
        elif RANK < 2:
            dist.recv(buffer, turn)


class Gloo:
    def __init__(self):
        torch.set_num_threads(1)
        dist.init_process_group(
            'gloo', init_method=f'file://{os.environ["STORE"]}/torch',
            rank=RANK, world_size=SIZE)
        self.made = None

    def barrier(self):
        dist.barrier()

    def combined(self, numbers, how):
        tensor = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(tensor, op=how)
        return tensor.tolist()

    def maximize(self, numbers):
        return self.combined(numbers, dist.ReduceOp.MAX)

    def total(self, numbers):
        return self.combined(numbers, dist.ReduceOp.SUM)

    def prepare(self, op, buffer, other):
        buffer, other = torch.from_numpy(buffer), torch.from_numpy(other)
        part = buffer.numel() // SIZE
        whole, own = buffer[:part * SIZE], other[:part]
        self.made = own if op == 'reduce_scatter' else buffer
        return {
            'allreduce': lambda: dist.all_reduce(buffer),
            'allgather': lambda: dist.all_gather_single(whole, own),
            'reduce_scatter':
                lambda: dist.reduce_scatter_single(own, whole),
            'alltoall':
                lambda: dist.all_to_all_single(whole, other[:part * SIZE]),
            'broadcast': lambda: dist.broadcast(buffer, 0),
            'reduce': lambda: dist.reduce(buffer, 0),
            'pingpong': lambda: pingpong(buffer),
            'barrier': dist.barrier,
        }[op]

    def result(self):
        return self.made.numpy()


driver.drive(Gloo())
dist.destroy_process_group()
