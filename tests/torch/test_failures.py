"""tests/torch/test_failures.py - what others' ends and mistakes look like"""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch.distributed as dist

import hoop_torch
from ranks import arrive, finish, run, start

PROMISED_S = 10.0


def _dies(rank, size, is_async):
    dist.all_reduce(torch.ones(1))
    arrive(1)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError, match="rank 1 ") as caught:
        if is_async:
            dist.all_reduce(torch.ones(1 << 16), async_op=True).wait()
        else:
            dist.all_reduce(torch.ones(1 << 16))
    assert time.monotonic() - began < PROMISED_S
    assert isinstance(caught.value, hoop_torch.Error)
    assert caught.value.rank == 1
    assert caught.value.status in ("PEER_LOST", "RANK_FAILED")
    with pytest.raises(hoop_torch.Error, match="rank 1 "):
        dist.all_reduce(torch.ones(1))
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    # Those that are left go on.
    left = backend.shrink([1], 0, None)
    tensor = torch.tensor([rank])
    left.allreduce([tensor]).wait()
    assert tensor.item() == sum(r for r in range(size) if r != 1)


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])
def test_a_rank_that_dies_is_named_on_every_other(is_async):
    """In time, by an exception that says so to programs, too; the others go on."""
    results = finish(start(_dies, 3, is_async))
    assert results[1] is None
    for result in (results[0], results[2]):
        assert result is not None and result[0], result


def _future_of_the_dead(rank, size):
    dist.all_reduce(torch.ones(1))
    arrive(1)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    future = dist.all_reduce(torch.ones(1 << 16), async_op=True).get_future()
    with pytest.raises(hoop_torch.Error, match="rank 1 "):
        future.wait()


def test_a_future_fails_with_the_rank_that_died():
    """As the work does."""
    results = finish(start(_future_of_the_dead, 2))
    assert results[0] is not None and results[0][0], results[0]


def _mismatch(rank, size):
    with pytest.raises(hoop_torch.Error) as caught:
        dist.all_reduce(torch.ones(4 if rank else 5))
        dist.barrier()
    assert caught.value.status == "MISMATCH"
    dist.all_reduce(torch.ones(2))


def test_a_mismatch_is_told_and_the_group_goes_on():
    """Instead of a hang."""
    run(2, _mismatch)


def _interrupted(rank, size):
    if rank == 1:
        time.sleep(1.0)
        return None
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        dist.all_reduce(torch.ones(1))
    return time.monotonic() - began


def test_control_c_ends_a_wait():
    """Soon, and not when the others have come."""
    results = finish(start(_interrupted, 2))
    assert results[0] is not None and results[0][0], results[0]
    assert results[0][1] < PROMISED_S


def _aborted(rank, size):
    group = dist.new_group(list(range(size)))
    if rank == 0:
        # The others do not call: nothing else ends this.
        timer = threading.Timer(0.3, group.abort)
        timer.start()
        with pytest.raises(hoop_torch.Error):
            dist.all_reduce(torch.ones(1), group=group)
        timer.join()
    dist.barrier()
    with pytest.raises(hoop_torch.Error):
        dist.all_reduce(torch.ones(1), group=group)
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor)
    assert tensor.item() == sum(range(size))


def test_abort_ends_what_others_wait_for():
    """On all ranks, and of that group alone."""
    run(3, _aborted)


def _wait_with_timeout(rank, size):
    from datetime import timedelta

    if rank == 0:
        tensor = torch.tensor([1.0])
        work = dist.all_reduce(tensor, async_op=True)
        with pytest.raises(dist.DistBackendError, match="timed out after 50 ms"):
            work.wait(timedelta(milliseconds=50))
        dist.send(torch.zeros(1), 1)
        work.wait()
        assert tensor.item() == 2.0
    else:
        dist.recv(torch.zeros(1), 0)
        dist.all_reduce(torch.tensor([1.0]))


def test_a_wait_that_times_out_may_be_made_again():
    """The work goes on meanwhile."""
    run(2, _wait_with_timeout)


def _forked(rank, size):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            dist.all_reduce(torch.ones(1))
        except dist.DistBackendError as error:
            code = 0 if "forked" in str(error) else 2
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    dist.all_reduce(torch.ones(1))


def test_a_forked_child_is_told_so():
    """And what it does is not the parent's."""
    run(2, _forked)


def test_another_torch_is_refused():
    """With both versions, instead of a symbol that is missing."""
    program = "import torch; torch.__version__ = '9.9.9'; import hoop_torch"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert f"built for torch {torch.__version__}, and this is torch 9.9.9" in ended.stderr
