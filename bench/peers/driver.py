"""bench/peers/driver.py - the measuring loop, for libraries of Python

It is that of bench/peers/driver.h, for programs PEER TRANSPORT OPS SCHEDULE with
RANK, SIZE and STORE (a folder that all ranks see) in the environment. BENCH_DATA
and BENCH_WATCH are as there. A library is an object with

  barrier()
  maximize(numbers), total(numbers)   over all ranks, of lists of floats
  prepare(op, buffer, other)          returns a function that does the operation
                                      once; of numpy arrays of floats, which are
                                      used in place if the library can
  result()                            the array with what the last one has made
"""

import mmap
import os
import resource
import struct
import sys
import time

import numpy

RANK = int(os.environ['RANK'])
SIZE = int(os.environ['SIZE'])
PARTED = ('allgather', 'reduce_scatter', 'alltoall')


def schedule_rows(text):
    for row in text.split(','):
        size, repetitions = row.split(':')
        unit = {'K': 1 << 10, 'M': 1 << 20}.get(size[-1], 1)
        inner, batches = repetitions.split('x')
        yield int(size.rstrip('KM')) * unit, int(inner), int(batches)


def elements(rank, count, first=0):
    seven = numpy.arange(first, first + 7, dtype=numpy.float32) % 7 + rank + 1
    return numpy.resize(seven, count)


def expected(op, count):
    """The result, or None where this rank has none."""
    part = count // SIZE
    if op in ('allreduce', 'reduce_scatter') or (op == 'reduce' and RANK == 0):
        sums = elements(0, count) * SIZE + SIZE * (SIZE - 1) // 2
        return (sums[part * RANK:part * (RANK + 1)] if op == 'reduce_scatter'
                else sums)
    if op == 'broadcast' or (op == 'pingpong' and RANK < 2):
        return elements(0, count)
    if op in ('allgather', 'alltoall'):
        first = part * RANK if op == 'alltoall' else 0
        return numpy.concatenate([elements(rank, part, first)
                                  for rank in range(SIZE)])
    return None


def check(op, library, run, count):
    run()
    right = expected(op, count)
    if right is not None and not numpy.array_equal(
            library.result()[:right.size], right):
        sys.exit(f'rank {RANK}: {op} of {count}: wrong')


def pattern(count):
    """What a batch begins with, as BENCH_DATA says; or None."""
    name = os.environ.get('BENCH_DATA')
    if name is None:
        return None
    if name == 'noise':
        dice = numpy.random.default_rng(RANK)
        bits = dice.integers(1 << 32, size=count, dtype=numpy.uint32)
        exponents = dice.integers(1, 251, size=count, dtype=numpy.uint32)
        return (bits & 0x807fffff | exponents << 23).view(numpy.float32)
    held = numpy.fromfile(f'{name}.{RANK}', dtype=numpy.float32)
    return numpy.resize(held, count)


STATES = {1: 'near', 2: 'far'}


class Watch:
    """bench/peers/watch.h: how the processors were while something ran."""

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
        return STATES.get(before[0], '')


def cpu_s():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(library, watch, op, n_bytes, inner, batches):
    """Yields a state of the processors, and the medians, the least and the
    processor time in us of the batches in it; all on rank 0."""
    count = n_bytes // 4
    buffer, other = elements(RANK, count), elements(RANK, count)
    run = library.prepare(op, buffer, other)
    if op != 'barrier':
        check(op, library, run, count)
    buffer[:], other[:] = 0, 0  # sums of sums would overflow
    start = pattern(count)
    ways = 2 if op == 'pingpong' else 1
    times, spent, states = [], [], []
    for _ in range(batches):
        if start is not None:
            buffer[:] = start
        library.barrier()
        before = watch.look()
        cpu, begin = cpu_s(), time.perf_counter()
        for _ in range(inner):
            run()
        times.append((time.perf_counter() - begin) * 1e6 / inner / ways)
        spent.append((cpu_s() - cpu) * 1e6 / inner / ways)
        library.barrier()
        states.append(watch.since(before))
    times, spent = library.maximize(times), library.total(spent)
    for state in ('', *STATES.values()):
        at = [number for number, found in enumerate(states) if found == state]
        if at:
            chosen = [times[number] for number in at]
            yield (state, numpy.median(chosen), min(chosen),
                   sum(spent[number] for number in at) / len(at))


def report(op, n_bytes, state, median_us, least_us, cpu_us):
    if RANK == 0:
        # Bandwidths are for whoever reads C's rows by eye.
        print(f'{sys.argv[1]},{sys.argv[2]},{op},{SIZE},{n_bytes},'
              f'{median_us:.2f},{least_us:.2f},0,0,{cpu_us:.2f},{state}',
              flush=True)


def drive(library):
    rows = list(schedule_rows(sys.argv[4]))
    watch = Watch()
    for op in sys.argv[3].split(','):
        if op == 'startup':
            library.barrier()
            passed = time.monotonic() * 1e6 - float(os.environ['STARTED_US'])
            report(op, 0, '', passed, passed, 0)
            continue
        for row in [(0, *rows[0][1:])] if op == 'barrier' else rows:
            if op not in PARTED or row[0] >= 4 * SIZE:
                for result in measure(library, watch, op, *row):
                    report(op, row[0], *result)
