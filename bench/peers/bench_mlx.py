"""bench/peers/bench_mlx.py - MLX's ring over TCP, measured

bench_mlx.py PEER TRANSPORT OPS SCHEDULE, started by launch.sh
(bench/peers/driver.py). Of the operations measured, its ring has allreduce and
allgather. An operation makes a new array.
"""

import json
import os

import driver
import mlx.core as mx
import numpy
from driver import RANK, SIZE

FIRST_PORT = 32400  # in a network of its own


def connect():
    path = os.path.join(os.environ['STORE'], f'hosts.{RANK}')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump([[f'127.0.0.1:{FIRST_PORT + rank}']
                   for rank in range(SIZE)], file)
    os.environ.update(MLX_HOSTFILE=path, MLX_RANK=str(RANK))
    return mx.distributed.init(strict=True, backend='ring')


class Ring:
    def __init__(self):
        self.group = connect()
        self.made = None

    def run(self, how, array):
        self.made = how(array, group=self.group, stream=mx.cpu)
        mx.eval(self.made)

    def barrier(self):
        self.run(mx.distributed.all_sum, mx.ones(1))

    def combined(self, how, numbers):
        self.run(how, mx.array(numbers, dtype=mx.float32))
        return self.made.tolist()

    def maximize(self, numbers):
        return self.combined(mx.distributed.all_max, numbers)

    def total(self, numbers):
        return self.combined(mx.distributed.all_sum, numbers)

    def prepare(self, op, buffer, other):
        part = other[:other.size // SIZE]
        how, array = {
            'allreduce': (mx.distributed.all_sum, buffer),
            'allgather': (mx.distributed.all_gather, part),
        }[op]
        own = mx.array(array)
        mx.eval(own)
        return lambda: self.run(how, own)

    def result(self):
        return numpy.array(self.made)


driver.drive(Ring())
