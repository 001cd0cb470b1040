"""tests/torch/ranks.py - a function on several ranks, each a fork of this process"""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

import hoop_torch  # noqa: F401, registers the backend

_CONTEXT = multiprocessing.get_context("fork")

# A shell's background process ignores it, and so would all that are begun here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def arrive(last):
    """Rank last returns when all others have been here, which return at once; by torch's store.

    A rank that ends or fails just after a collective would end that of the others.
    """
    store = dist.distributed_c10d._get_default_store()
    if dist.get_rank() != last:
        store.set(f"arrived/{dist.get_rank()}", "")
    else:
        others = [rank for rank in range(dist.get_world_size()) if rank != last]
        store.wait([f"arrived/{rank}" for rank in others], timedelta(seconds=30))


def _rank(function, rank, size, path, out, backend, arguments):
    # A fork has none of the parent's threads, which OpenMP would wait for.
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            backend, init_method=f"file://{path}", rank=rank, world_size=size, timeout=timedelta(seconds=30)
        )
        result = function(rank, size, *arguments)
        if dist.is_initialized():
            dist.destroy_process_group()
        out.send((True, result))
    except BaseException:
        out.send((False, traceback.format_exc()))
        out.close()
        # Its end is that of any process that fails.
        raise
    out.close()
    os._exit(0)


def start(function, size, *arguments, backend="hoop"):
    """Processes and pipes of what they return, by rank. Each ends with the caller."""
    path = os.path.join(tempfile.mkdtemp(prefix="hoop-torch-"), "store")
    started = []
    for rank in range(size):
        ours, theirs = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(
            target=_rank, args=(function, rank, size, path, theirs, backend, arguments), daemon=True
        )
        process.start()
        theirs.close()
        started.append((process, ours))
    return started


def finish(started, deadline_s=60.0):
    """(whether it returned, what or the traceback) by rank; None: it died. Who is late is killed and named."""
    end = time.monotonic() + deadline_s
    results, late = [], []
    for rank, (_, out) in enumerate(started):
        if not out.poll(max(0.0, end - time.monotonic())):
            late.append(rank)
        else:
            try:
                results.append(out.recv())
            except EOFError:
                results.append(None)
    for process, _ in started:
        if late:
            process.kill()
        process.join()
    if late:
        raise AssertionError(f"ranks {late} were not done after {deadline_s:g} s")
    return results


def run(size, function, *arguments, backend="hoop", deadline_s=60.0):
    """What function(rank, size, *arguments) returns, by rank; fails with the traceback of the first that raised."""
    results = finish(start(function, size, *arguments, backend=backend), deadline_s)
    for rank, result in enumerate(results):
        if result is None:
            raise AssertionError(f"rank {rank} died")
        if not result[0]:
            raise AssertionError(f"rank {rank}: {result[1]}")
    return [result[1] for result in results]


def torchrun(n, program):
    """The lines that a program prints on n ranks, which the launcher of torch starts."""
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n), str(program)]
    done = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, text=True, timeout=100, check=True)
    return done.stdout.splitlines()
