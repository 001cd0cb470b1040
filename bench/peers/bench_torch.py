#!/usr/bin/python3
"""bench/peers/bench_torch.py - torch.distributed over Gloo, measured

bench_torch.py PEER TRANSPORT OPS SCHEDULE, with RANK, SIZE and STORE (a folder
that all ranks see) in the environment: the loop of bench/peers/driver.h, as far
as this backend goes, BENCH_DATA and BENCH_WATCH with it. It has no reduce_scatter and no alltoall. Started by
launch.sh, since Debian 12's torchrun fails with its Python.
"""

import mmap
import os
import resource
import struct
import sys
import time

import numpy
import torch
import torch.distributed as dist

RANK = int(os.environ['RANK'])
SIZE = int(os.environ['SIZE'])


def schedule_rows(text):
    for row in text.split(','):
        size, repetitions = row.split(':')
        unit = {'K': 1 << 10, 'M': 1 << 20}.get(size[-1], 1)
        inner, batches = repetitions.split('x')
        yield int(size.rstrip('KM')) * unit, int(inner), int(batches)


def elements(rank, count):
    seven = torch.arange(7, dtype=torch.float32) + rank + 1
    return seven.repeat(count // 7 + 1)[:count]


def pingpong(buffer):
    if RANK == 0:
        dist.send(buffer, 1)
        dist.recv(buffer, 1)
    elif RANK == 1:
        dist.recv(buffer, 0)
        dist.send(buffer, 0)


def call(op, buffer, other):
    """The operation, to be called again and again."""
    part = buffer.numel() // SIZE
    parts = list(buffer[:part * SIZE].chunk(SIZE)) if part else []
    return {
        'allreduce': lambda: dist.all_reduce(buffer),
        'allgather': lambda: dist.all_gather(parts, other[:part]),
        'broadcast': lambda: dist.broadcast(buffer, 0),
        'reduce': lambda: dist.reduce(buffer, 0),
        'pingpong': lambda: pingpong(buffer),
        'barrier': dist.barrier,
    }[op]


def expected(op, count):
    """The result, or None where this rank has none."""
    if op == 'allreduce' or (op == 'reduce' and RANK == 0):
        return elements(0, count).mul_(SIZE).add_(SIZE * (SIZE - 1) // 2)
    if op == 'broadcast' or (op == 'pingpong' and RANK < 2):
        return elements(0, count)
    if op == 'allgather':
        return torch.cat([elements(rank, count // SIZE)
                          for rank in range(SIZE)])
    return None


def check(op, buffer, run):
    run()
    right = expected(op, buffer.numel())
    if right is not None and not torch.equal(buffer[:right.numel()], right):
        sys.exit(f'rank {RANK}: {op} of {buffer.numel()}: wrong')
    buffer.zero_()


def pattern(count):
    """What a batch begins with, as BENCH_DATA says; or None."""
    name = os.environ.get('BENCH_DATA')
    if name is None:
        return None
    if name == 'noise':
        dice = numpy.random.default_rng(RANK)
        bits = dice.integers(1 << 32, size=count, dtype=numpy.uint32)
        exponents = dice.integers(1, 251, size=count, dtype=numpy.uint32)
        bits = bits & 0x807fffff | exponents << 23
        return torch.from_numpy(bits.view(numpy.float32))
    held = numpy.fromfile(f'{name}.{RANK}', dtype=numpy.float32)
    return torch.from_numpy(numpy.resize(held, count))


class Watch:
    """bench/peers/watch.h: how the processors were while something ran."""

    STATES = {1: 'near', 2: 'far'}

    def __init__(self):
        self.page = None
        if 'BENCH_WATCH' in os.environ:
            with open(os.environ['BENCH_WATCH'], 'rb') as file:
                self.page = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)

    def look(self):
        """(state, number of changes)"""
        return struct.unpack('=II', self.page[:8]) if self.page else (0, 0)

    def since(self, before):
        """'' where nobody watches; None if that has changed."""
        if self.look()[1] != before[1]:
            return None
        return self.STATES.get(before[0], '')


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(watch, op, n_bytes, inner, batches):
    """Yields a state of the processors, and the medians, the least and the
    processor time in us of the batches in it; all on rank 0."""
    count = n_bytes // 4
    buffer = elements(RANK, count)
    other = elements(RANK, count if op == 'allgather' else 0)
    run = call(op, buffer, other)
    if op != 'barrier':
        check(op, buffer, run)
    start = pattern(count)
    ways = 2 if op == 'pingpong' else 1
    times = torch.zeros(batches, dtype=torch.float64)
    spent = torch.zeros(batches, dtype=torch.float64)
    states = []
    for batch in range(batches):
        if start is not None:
            buffer.copy_(start)
        dist.barrier()
        before = watch.look()
        cpu, begin = cpu_s(), time.perf_counter()
        for _ in range(inner):
            run()
        times[batch] = (time.perf_counter() - begin) * 1e6 / inner / ways
        spent[batch] = (cpu_s() - cpu) * 1e6 / inner / ways
        dist.barrier()
        states.append(watch.since(before))
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    dist.all_reduce(spent)
    for state in ('', *watch.STATES.values()):
        chosen = [batch for batch in range(batches) if states[batch] == state]
        if chosen:
            yield (state, times[chosen].quantile(0.5).item(),
                   times[chosen].min().item(), spent[chosen].mean().item())


def report(op, n_bytes, state, median_us, least_us, cpu_us):
    if RANK == 0:
        # Bandwidths are for whoever reads C's rows by eye.
        print(f'{sys.argv[1]},{sys.argv[2]},{op},{SIZE},{n_bytes},'
              f'{median_us:.2f},{least_us:.2f},0,0,{cpu_us:.2f},{state}',
              flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group(
        'gloo', init_method=f'file://{os.environ["STORE"]}/torch', rank=RANK,
        world_size=SIZE)
    rows = list(schedule_rows(sys.argv[4]))
    watch = Watch()
    for op in sys.argv[3].split(','):
        if op == 'startup':
            dist.barrier()
            passed = time.monotonic() * 1e6 - float(os.environ['STARTED_US'])
            report(op, 0, '', passed, passed, 0)
            continue
        for row in [(0, *rows[0][1:])] if op == 'barrier' else rows:
            if op != 'allgather' or row[0] >= 4 * SIZE:
                for result in measure(watch, op, *row):
                    report(op, row[0], *result)
    dist.destroy_process_group()


main()
