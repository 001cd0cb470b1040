"""tests/torch/test_failures.py - what others' ends and mistakes look like"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

import hoop_torch
from ranks import arrive, finish, run, start

PROMISED_S = 10.0
LIMIT = timedelta(seconds=60)


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


def _splits_on_some(rank, size):
    splits = [2] * size if rank == 0 else None
    with pytest.raises(hoop_torch.Error, match="needs split sizes on all ranks, or on none") as caught:
        dist.all_to_all_single(torch.zeros(2 * size), torch.zeros(2 * size), splits, splits)
        dist.barrier()
    assert caught.value.status == "MISMATCH"


def test_split_sizes_on_some_ranks_are_told():
    """In words of torch."""
    run(2, _splits_on_some)


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


def _await_sleep(tid):
    """Until that thread of this process sleeps whenever it is looked at: it waits in a call."""
    stat = pathlib.Path(f"/proc/self/task/{tid}/stat")
    end = time.monotonic() + 30
    seen = 0
    while seen < 20:
        assert time.monotonic() < end
        seen = seen + 1 if stat.read_text("ascii").rpartition(")")[2].split()[0] == "S" else 0
        time.sleep(0.005)


def _signal_when_blocked(number):
    """Send it to this process once the calling thread waits."""
    tid = threading.get_native_id()

    def send():
        _await_sleep(tid)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def _blocked(ended):
    """A thread that is in a collective which nobody else makes; ended gets its error."""

    def reduce():
        try:
            dist.all_reduce(torch.ones(1))
        except dist.DistBackendError as error:
            ended.append(error)

    thread = threading.Thread(target=reduce)
    thread.start()
    _await_sleep(thread.native_id)
    return thread


def _handler(rank, size, action, is_over):
    """Rank 0 gets SIGTERM within a collective that the others make when is_over is set, if ever."""
    other = dist.new_group(list(range(size)))
    store = dist.distributed_c10d._get_default_store()
    done = []
    if rank == 0:
        signal.signal(signal.SIGTERM, lambda *_: done.append(action(other)) or store.set("handled", ""))
        thread = _signal_when_blocked(signal.SIGTERM)
        if is_over:
            dist.all_reduce(torch.ones(1))
        else:
            with pytest.raises((hoop_torch.Error, SystemExit)):
                dist.all_reduce(torch.ones(1))
        thread.join()
        return done
    if action is _reduces_in_another:
        dist.all_reduce(torch.ones(1), group=other)
    store.wait(["handled"], timedelta(seconds=30))
    if is_over:
        dist.all_reduce(torch.ones(1))
    return None


def _destroys(other):
    dist.destroy_process_group()
    return "destroyed"


def _reduces_in_another(other):
    total = torch.ones(1)
    dist.all_reduce(total, group=other)
    return total.item()


def _reduces(other):
    with pytest.raises(dist.DistBackendError, match="a signal handler has called a collective of the group") as caught:
        dist.all_reduce(torch.ones(1))
    return caught.type.__name__


@pytest.mark.parametrize(
    ("action", "is_over", "result"),
    [(_destroys, False, "destroyed"), (_reduces_in_another, True, 2.0), (_reduces, True, "DistBackendError")],
)
def test_signal_handler_may_call_the_backend(action, is_over, result):
    """Within a call of the group: to destroy it, or for another group; else it is told so, and nothing hangs."""
    assert run(2, _handler, action, is_over)[0] == [result]


def _interrupted_behind_a_handler(rank, size):
    """A handler that calls hoop has returned when Ctrl-C comes, within the same call."""
    other = dist.new_group(list(range(size)))
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        dist.all_reduce(torch.ones(1), group=other)
        store.wait(["interrupted"], timedelta(seconds=30))
        return None
    threads = []

    def handle(*_):
        _reduces_in_another(other)
        threads.append(_signal_when_blocked(signal.SIGINT))

    signal.signal(signal.SIGUSR1, handle)
    threads.append(_signal_when_blocked(signal.SIGUSR1))
    with pytest.raises(KeyboardInterrupt):
        dist.all_reduce(torch.ones(1))
    store.set("interrupted", "")
    for thread in threads:
        thread.join()
    return len(threads)


def test_control_c_ends_a_wait_behind_a_handler():
    """What the handler called has not taken the check of signals away."""
    results = finish(start(_interrupted_behind_a_handler, 2), 25.0)
    assert results[0] == (True, 2), results


def _destroyed_meanwhile(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["destroyed"], timedelta(seconds=30))
        return None
    ended = []
    thread = _blocked(ended)
    began = time.monotonic()
    dist.destroy_process_group()
    took = time.monotonic() - began
    thread.join()
    store.set("destroyed", "")
    assert len(ended) == 1
    return took


def test_group_is_destroyed_while_a_thread_waits_in_it():
    """Which ends its call, instead of the group's timeout."""
    assert run(2, _destroyed_meanwhile)[0] < PROMISED_S


def _forked_meanwhile(rank, size):
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["forked"], timedelta(seconds=30))
        dist.all_reduce(torch.ones(1))
        return None
    ended = []
    thread = _blocked(ended)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        with pytest.raises(dist.DistBackendError, match="forked"):
            dist.all_reduce(torch.ones(1))
        dist.destroy_process_group()
        os._exit(0)
    how = os.waitpid(pid, 0)[1]
    store.set("forked", "")
    thread.join()
    return how, ended


def test_child_forked_while_a_thread_waits_destroys_its_copy():
    """Whose locks nobody gives back."""
    assert run(2, _forked_meanwhile)[0] == (0, [])


def _allowed(rank, size, path):
    """Rank 1 comes when rank 0 has said that it waits."""
    store = dist.distributed_c10d._get_default_store()
    longer = timedelta(seconds=77)
    if rank == 1:
        store.wait(["group"], LIMIT)
        group = dist.new_group([0, 1], timeout=longer, use_local_synchronization=True)
        store.wait(["call"], LIMIT)
        dist.all_reduce(torch.ones(1), group=group)
        arrive(1)
        return
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)

    def said():
        with open(path) as file:
            return file.read()

    def tell():
        for what, key in (
            ("s; the call's deadline allows 77 s)", "group"),
            ("s of the 77 s that its communicator allows", "call"),
        ):
            end = time.monotonic() + 20.0
            while what not in said() and time.monotonic() < end:
                time.sleep(0.01)
            heard.append(what in said())
            store.set(key, "")

    heard = []
    thread = threading.Thread(target=tell)
    thread.start()
    group = dist.new_group([0, 1], timeout=longer, use_local_synchronization=True)
    dist.all_reduce(torch.ones(1), group=group)
    thread.join()
    assert heard == [True, True], said()
    # A group whose others do not come.
    with pytest.raises(hoop_torch.Error) as caught:
        dist.new_group([0, 1], timeout=timedelta(milliseconds=300), use_local_synchronization=True)
    assert caught.value.status == "TIMEOUT"
    assert "604800" not in said() + str(caught.value)
    arrive(1)


def test_a_group_may_wait_longer_than_the_first(tmp_path, monkeypatch):
    """And its members for less until they have made it; what is said names its timeout."""
    monkeypatch.setenv("HOOP_WAIT_NOTICE", "0.2")
    monkeypatch.setenv("HOOP_LATE_WARNING", "0.2")
    run(2, _allowed, str(tmp_path / "said"))


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
