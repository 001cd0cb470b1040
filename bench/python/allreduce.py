#!/usr/bin/env python3
"""bench/python/allreduce.py - allreduce from Python, in the loop of bench/peers/driver.h

allreduce.py hoop|mpi4py SCHEDULE, started as hooprun or mpirun starts ranks: float32
in place, sums. The first result is checked. Rank 0 prints a line for each size, as
bench/peers/bench_hoop does: the least that a reader needs is columns 5 and 6, bytes
and the median in us over batches, each of which lasts as long as its slowest rank.
"""

import statistics
import sys
import time

import numpy as np


def of_hoop():
    """What a rank needs: itself, how many there are, and the calls."""
    import hoop

    comm = hoop.join().world
    return comm.rank, comm.size, comm.allreduce, comm.barrier, lambda x: comm.allreduce(x, op="max")


def of_mpi4py():
    """The same."""
    from mpi4py import MPI

    comm, in_place, reduce = MPI.COMM_WORLD, MPI.IN_PLACE, MPI.COMM_WORLD.Allreduce
    return (
        comm.rank,
        comm.size,
        lambda x: reduce(in_place, x),
        comm.Barrier,
        lambda x: reduce(in_place, x, MPI.MAX),
    )


def schedule(text):
    """BYTES:INNERxBATCHES,... as numbers."""
    for row in text.split(","):
        size, _, repetitions = row.partition(":")
        unit = {"K": 1 << 10, "M": 1 << 20}.get(size[-1], 1)
        inner, batches = repetitions.split("x")
        yield int(size.rstrip("KM")) * unit, int(inner), int(batches)


def main():
    """Measures all rows."""
    library, rows = sys.argv[1:]
    rank, size, allreduce, barrier, maximize = {"hoop": of_hoop, "mpi4py": of_mpi4py}[library]()
    for n_bytes, inner, batches in schedule(rows):
        x = np.arange(n_bytes // 4, dtype=np.float32) % 7 + rank + 1
        right = (x - rank - 1) * size + size * (size + 1) // 2
        allreduce(x)
        if not np.array_equal(x, right):
            sys.exit(f"rank {rank}: allreduce of {n_bytes} bytes: wrong")
        x[:] = 0
        times = np.empty(batches)
        for batch in range(batches):
            barrier()
            begin = time.perf_counter()
            for _ in range(inner):
                allreduce(x)
            times[batch] = (time.perf_counter() - begin) * 1e6 / inner
            barrier()
        maximize(times)
        if rank == 0:
            print(f"{library},python,allreduce,{size},{n_bytes},{statistics.median(times):.3f}", flush=True)


main()
