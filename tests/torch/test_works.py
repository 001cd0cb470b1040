"""tests/torch/test_works.py - works, messages and groups: order, lifetime, futures

ENDURANCE_STEPS says how many steps have to leave nothing behind (1000).
"""

import gc
import os
import threading
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef

import hoop_torch
from ranks import run

STEPS = int(os.environ.get("ENDURANCE_STEPS", "1000"))
# Which keeps what is freed for a while.
HAS_ASAN = "asan" in os.environ.get("LD_PRELOAD", "")


def _many_works(rank, size):
    works = []
    for i in range(1000):
        # Nobody but the work refers to every second tensor.
        tensor = torch.full((3,), float(rank + i))
        works.append((dist.all_reduce(tensor, async_op=True), tensor if i % 2 else None, i))
    gc.collect()
    for work, tensor, i in reversed(works):
        work.wait()
        expected = float(sum(r + i for r in range(size)))
        result = work.get_future().value()[0] if tensor is None else tensor
        assert torch.equal(result, torch.full((3,), expected)), i


def test_a_thousand_works_in_flight_waited_for_in_reverse():
    """Each has its own result, whoever keeps its tensor."""
    run(2, _many_works)


def _many_of_all_kinds(rank, size):
    store = dist.group.WORLD.get_group_store()
    own = torch.tensor([float(rank)])
    total, expected = float(sum(range(size))), []
    works = []
    for i in range(250):
        tensor = torch.full((i,), float(rank))
        works.append(dist.all_reduce(tensor, async_op=True))
        expected.append((tensor, torch.full((i,), total)))
        tensor = torch.full((3, 2), float(rank + i)).t()
        works.append(dist.broadcast(tensor, i % size, async_op=True))
        expected.append((tensor, torch.full((2, 3), float(i % size + i))))
        tensor = torch.zeros(size)
        works.append(dist.all_gather_into_tensor(tensor, own, async_op=True))
        expected.append((tensor, torch.arange(float(size))))
        tensor = torch.zeros(1)
        works.append(dist.irecv(tensor, (rank - 1) % size, tag=i))
        expected.append((tensor, torch.tensor([float((rank - 1) % size + i)])))
    assert not any(work.is_completed() for work in works[3::4]), "nobody has sent"
    store.set(f"begun {rank}", "")
    store.wait([f"begun {r}" for r in range(size)])
    for i in range(250):
        dist.send(own + i, (rank + 1) % size, tag=i)
    order = torch.randperm(len(works), generator=torch.Generator().manual_seed(rank)).tolist()
    for i in order:
        works[i].wait()
        assert torch.equal(*expected[i]), i


def test_a_thousand_works_of_all_kinds_waited_for_in_any_order():
    """Ranks wait in orders of their own, and messages pass the collectives."""
    run(3, _many_of_all_kinds)


def _futures(rank, size):
    seen = []
    tensor = torch.tensor([float(rank)])
    future = dist.all_reduce(tensor, async_op=True).get_future()
    assert isinstance(future.wait(), list)
    assert future.value()[0].item() == sum(range(size))

    def chained(done):
        # As PowerSGD's hook does: a collective of a callback, and its result there.
        seen.append(threading.current_thread() is threading.main_thread())
        inner = dist.all_reduce(done.value()[0].clone(), async_op=True).get_future().wait()[0]
        return inner * 10

    works = [dist.all_reduce(torch.tensor([1.0]), async_op=True).get_future().then(chained) for _ in range(1)]
    assert [future.wait().item() for future in works] == [10.0 * size * size]
    # A future that is asked for when the work is done.
    work = dist.all_reduce(torch.tensor([1.0]), async_op=True)
    work.wait()
    assert work.get_future().value()[0].item() == size


def test_futures_and_callbacks_that_wait_for_collectives():
    """A callback may start a collective and wait for its future."""
    run(3, _futures)


def _messages_pass_collectives(rank, size):
    # Rank 1 enters the collective only when it has the message that rank 0 sends behind it.
    if rank == 0:
        work = dist.all_reduce(torch.ones(1 << 18), async_op=True)
        dist.send(torch.tensor([7]), 1, tag=3)
        work.wait()
    else:
        got = torch.zeros(1, dtype=torch.int64)
        dist.recv(got, 0, tag=3)
        assert got.item() == 7
        dist.all_reduce(torch.ones(1 << 18))


def test_messages_are_not_behind_a_blocked_collective():
    """A message goes its own way."""
    run(2, _messages_pass_collectives)


def _messages(rank, size):
    if rank == 0:
        for tag in (5, 4):
            dist.send(torch.full((2, 2), float(tag)), 1, tag=tag)
        dist.send(torch.arange(6).view(2, 3).t(), 1)
        dist.send(torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn), 1)
        dist.send(torch.zeros(0), 1)
        dist.send(torch.zeros(3), 1)
        requests = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.tensor([9.0]), 1)])
    else:
        for tag in (4, 5):
            got = torch.zeros(2, 2)
            assert dist.recv(got, 0, tag=tag) == 0
            assert torch.equal(got, torch.full((2, 2), float(tag)))
        got = torch.zeros(2, 3, dtype=torch.int64).t()
        assert dist.recv(got) == 0, "from any"
        assert torch.equal(got, torch.arange(6).view(2, 3).t())
        got = torch.zeros(2, dtype=torch.float32).to(torch.float8_e4m3fn)
        dist.recv(got, 0)
        assert got.float().tolist() == [1.0, 2.0]
        dist.recv(torch.zeros(0), 0)
        with pytest.raises(ValueError, match="3 elements came from rank 0, and .* have 5"):
            dist.recv(torch.zeros(5), 0)
        got = torch.zeros(1)
        requests = dist.batch_isend_irecv([dist.P2POp(dist.irecv, got, 0)])
        for request in requests:
            request.wait()
        assert got.item() == 9.0
    for request in requests:
        request.wait()


def test_messages_by_tag_from_any_and_of_every_layout():
    """What came is told, and what is not as expected is refused."""
    run(2, _messages)


def _groups(rank, size):
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)] * 34
    groups = []
    for a, b in pairs:
        # Only members make it, in an order of their own.
        if rank in (a, b):
            ranks = [b, a] if (a + b) % 2 else [a, b]
            groups.append((dist.new_group(ranks, use_local_synchronization=True), a, b))
    for group, a, b in groups:
        tensor = torch.tensor([rank])
        dist.all_reduce(tensor, group=group)
        assert tensor.item() == a + b
    began = len(os.listdir("/proc/self/fd"))
    for group, _, _ in groups:
        dist.destroy_process_group(group)
    assert len(os.listdir("/proc/self/fd")) <= began


def test_overlapping_groups_made_by_their_members():
    """204 groups, each formed by its members alone."""
    run(4, _groups)


def _split_and_merge(rank, size):
    half = dist.group.WORLD.split_group([0, 2] if rank % 2 == 0 else [1, 3])
    tensor = torch.tensor([rank])
    half.allreduce([tensor]).wait()
    assert tensor.item() == (2 if rank % 2 == 0 else 4)
    assert (half.rank(), half.size()) == (rank // 2, 2)
    store = dist.PrefixStore("merge", dist.group.WORLD.get_group_store())
    merged = half.merge_remote_group(store, size, timedelta(seconds=20))
    tensor = torch.tensor([rank])
    merged.allreduce([tensor]).wait()
    assert tensor.item() == sum(range(size))


def test_groups_are_split_and_merged():
    """By their members, into groups of the same job."""
    run(4, _split_and_merge)


def _completion_hook(rank, size):
    world = dist.group.WORLD
    ended = []

    def hook(info):
        ended.append((info.op_type, info.seq))
        taken = info.time_finished - info.time_started
        assert timedelta(0) <= taken
        assert abs(taken - info.active_duration) < timedelta(milliseconds=1)
        if len(ended) == 1:
            # It may call what it is told of: no lock is held.
            dist.barrier()

    assert not world._has_hooks()
    dist.all_reduce(torch.ones(1))
    world._register_on_completion_hook(hook)
    assert world._has_hooks()
    with pytest.raises(dist.DistBackendError, match="has a completion hook already"):
        world._register_on_completion_hook(hook)
    dist.all_reduce(torch.ones(2))
    kinds = torch._C._distributed_c10d.OpType
    assert ended == [(kinds.ALLREDUCE, 2), (kinds.BARRIER, 3)]
    if rank == 0:
        dist.send(torch.ones(2), 1)
    else:
        dist.recv(torch.ones(2), 0)
    # Another thread may have seen its end, and is about to tell.
    world._wait_for_pending_works()
    assert ended[2][0] == (kinds.SEND if rank == 0 else kinds.RECV)
    # Nobody waits for these; then the hook has been told of all of them.
    for _ in range(50):
        dist.broadcast(torch.ones(3), 0, async_op=True)
    world._wait_for_pending_works()
    assert sorted(ended[3:]) == sorted((kinds.BROADCAST, 4 + i) for i in range(50))
    # One that fails ends, too.
    with pytest.raises(dist.DistBackendError):
        dist.all_reduce(torch.ones(3 + rank))
    assert ended[-1] == (kinds.ALLREDUCE, 54)
    # What it raises ends nothing.
    fails = dist.new_group([0, 1])
    fails._register_on_completion_hook(lambda info: 1 / 0)
    dist.barrier(fails)
    dist.all_reduce(torch.ones(1), group=fails, async_op=True)
    fails._wait_for_pending_works()


def test_completion_hook_is_told_of_every_work():
    """Also of those that nobody waits for; torch has it of NCCL alone."""
    run(2, _completion_hook)


def _durations(rank, size, delay_s):
    work = dist.all_reduce(torch.ones(1), async_op=True)
    work.wait()
    with pytest.raises(RuntimeError, match="the work is not timed"):
        work._get_duration()
    dist.group.WORLD._enable_collectives_timing()
    if rank == 1:
        dist.recv(torch.ones(1), 0)
        end = time.monotonic() + delay_s
        while time.monotonic() < end:
            time.sleep(delay_s / 10)
    began = time.monotonic()
    work = dist.all_reduce(torch.ones(1), async_op=True)
    if rank == 0:
        with pytest.raises(RuntimeError, match="has not ended"):
            work._get_duration()
        dist.send(torch.ones(1), 1)
    work.wait()
    longest = (time.monotonic() - began) * 1e3
    assert (delay_s * 1e3 if rank == 0 else 0) <= work._get_duration() <= longest


def test_durations_are_from_the_call_to_its_end():
    """That of the rank that comes first holds the time that it waited."""
    run(2, _durations, 0.1)


def _results(rank, size):
    kinds = torch._C._distributed_c10d.WorkResult
    work = dist.all_reduce(torch.ones(1), async_op=True)
    before = work.get_future_result()
    work.wait()
    assert before.wait() == work.get_future_result().value() == kinds.SUCCESS.value
    work = dist.all_reduce(torch.ones(1 + rank), async_op=True)
    assert work.get_future_result().wait() == kinds.COMM_ERROR.value
    if rank == 0:
        backend = dist.group.WORLD._get_backend(torch.device("cpu"))
        backend.set_timeout(timedelta(milliseconds=50))
        work = dist.irecv(torch.ones(1), 1)
        assert work.get_future_result().wait() == kinds.TIMEOUT.value
        backend.set_timeout(timedelta(seconds=30))
    dist.barrier()


def test_futures_of_how_a_work_ended():
    """Success, a time-out, or another failure, as numbers of torch."""
    run(2, _results)


def _reconfigured(rank, size):
    handles = [None] * size
    dist.all_gather_object(handles, dist._get_reconfigure_handle())
    assert dist._supports_reconfigure()
    if rank == 3:
        return
    # It orders them where torch leaves that to it.
    dist._reconfigure(1, {handles[2], handles[0], handles[1]}).wait()
    assert (dist.get_rank(), dist.get_world_size()) == (rank, 3)
    gathered = [None] * 3
    dist.all_gather_object(gathered, rank)
    assert gathered == [0, 1, 2]
    if rank == 1:
        with pytest.raises(ValueError, match="rank 1, is no member of the group"):
            dist._reconfigure(2, [handles[2], handles[0]])
        return
    dist._reconfigure(2, [handles[2], handles[0]]).wait()
    assert (dist.get_rank(), dist.get_world_size()) == (0 if rank == 2 else 1, 2)
    tensor = torch.full((2,), float(rank))
    dist.all_reduce(tensor)
    assert tensor.tolist() == [2.0, 2.0]
    dist.broadcast(tensor.fill_(rank), 0)
    assert tensor.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="a rank of job elsewhere cannot be"):
        dist._reconfigure(3, ["elsewhere 1"])


needs_2_14 = pytest.mark.skipif(not hasattr(dist, "_reconfigure"), reason="torch has it since 2.14")


@needs_2_14
def test_a_group_is_reconfigured():
    """Without the rank that has failed, and in another order."""
    run(4, _reconfigured)


def _gathered_and_aborted(rank, size):
    output = torch.zeros(size, 2) if rank == 1 else torch.zeros(0)
    options = dist.GatherOptions()
    options.rootRank = 1
    dist.group.WORLD.gather_single(output, torch.full((2,), float(rank)), options).wait()
    if rank == 1:
        assert output.tolist() == [[float(each)] * 2 for each in range(size)]
    told = []
    alone = dist.new_group([rank], use_local_synchronization=True)
    backend = alone._get_backend(torch.device("cpu"))
    for name in "ab":
        backend.register_abort_hook(ord(name), lambda name=name: told.append(name))
    backend.unregister_abort_hook(ord("a"))
    backend.abort()
    assert told == ["b"]


@needs_2_14
def test_gathers_into_one_tensor_and_abort_hooks():
    """Both have come with torch 2.14."""
    run(3, _gathered_and_aborted)


def _checked(rank, size):
    tensor = torch.tensor([rank])
    dist.all_reduce(tensor)
    assert tensor.item() == sum(range(size))
    with pytest.raises(RuntimeError, match="mismatch between collectives"):
        dist.all_reduce(torch.ones(2 + rank))


def test_torchs_own_checks_of_collectives(monkeypatch):
    """TORCH_DISTRIBUTED_DEBUG=DETAIL wraps the backend."""
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "DETAIL")
    dist.set_debug_level_from_env()
    try:
        run(2, _checked)
    finally:
        monkeypatch.undo()
        dist.set_debug_level_from_env()


def _endurance(rank, size, n_steps):
    tensor, peer = torch.ones(64), 1 - rank

    def step(i):
        works = [dist.all_reduce(tensor, async_op=True) for _ in range(4)]
        outputs = [torch.zeros(2, 3).t() for _ in range(size)]
        works.append(dist.all_gather(outputs, torch.ones(2, 3).t(), async_op=True))
        works += dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, torch.ones(i % 7), peer), dist.P2POp(dist.irecv, torch.zeros(i % 7), peer)]
        )
        # Nobody waits for this one, nor for its callback.
        dist.all_reduce(torch.ones(3), async_op=True).get_future().then(lambda done: done.value()[0] + 1)
        for work in works:
            work.wait()
        tensor.fill_(1.0)

    def used():
        dist.barrier()
        gc.collect()
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmRSS"].split()[0]), int(fields["Threads"]), len(os.listdir("/proc/self/fd"))

    # The flight recorder has its 2000 collectives before.
    n_before = 500
    for i in range(n_before + n_steps):
        if i == n_before:
            before = used()
        step(i)
    after = used()
    assert after[1] <= before[1], "threads"
    assert after[2] <= before[2], "descriptors"
    assert HAS_ASAN or after[0] - before[0] < 512, f"{after[0] - before[0]} kB more after {n_steps} steps"
    return after[0] - before[0]


def test_steps_leave_nothing_behind():
    """Neither memory, nor threads, nor descriptors."""
    run(2, _endurance, STEPS, deadline_s=60 + STEPS / 20)


def _again(rank, size, path):
    for turn in range(3):
        if turn:
            dist.init_process_group("hoop", init_method=f"file://{path}-{turn}", rank=rank, world_size=size)
        tensor = torch.tensor([rank + turn])
        dist.all_reduce(tensor)
        assert tensor.item() == sum(r + turn for r in range(size))
        dist.destroy_process_group()


def test_init_and_destroy_again_in_one_process(tmp_path):
    """Each init is a job of its own."""
    run(2, _again, str(tmp_path / "store"))


def _monitored(rank, size):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    backend.monitored_barrier(timedelta(seconds=20))
    if rank in (1, 3):
        time.sleep(0)
    else:
        with pytest.raises(dist.DistBackendError, match="Ranks 1, 3 failed to pass monitoredBarrier"):
            backend.monitored_barrier(timedelta(milliseconds=300), wait_all_ranks=True)
    dist.barrier()


def test_monitored_barrier_names_all_late_ranks():
    """On every rank that has come."""
    run(4, _monitored)


def _monitored_for_longer(rank, size):
    backend = dist.new_group([0, 1])._get_backend(torch.device("cpu"))
    backend.set_timeout(timedelta(milliseconds=300))
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["begun"], timedelta(seconds=30))
        # Longer than the group's.
        time.sleep(0.8)
    else:
        store.set("begun", "")
    backend.monitored_barrier(timedelta(seconds=30))
    dist.barrier()


def test_monitored_barrier_may_wait_longer_than_its_group():
    """Its own timeout counts."""
    run(2, _monitored_for_longer)


def _threads(rank, size):
    groups = [dist.new_group(list(range(size))) for _ in range(4)]
    failures = []

    def many(group, i):
        try:
            for turn in range(100):
                tensor = torch.tensor([rank * i + turn])
                dist.all_reduce(tensor, group=group)
                assert tensor.item() == sum(r * i + turn for r in range(size))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=many, args=(group, i)) for i, group in enumerate(groups)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_groups_of_several_threads():
    """Each thread has a group of its own."""
    run(2, _threads)


def _late(rank, name):
    """Rank 1 comes later than rank 0, by the store."""
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store.set(name, "")
    else:
        store.wait([name], timedelta(seconds=30))
        time.sleep(0.2)


def _in_place_of_gloo(rank, size):
    hoop_torch.replace_gloo()
    store = dist.PrefixStore("in place of Gloo", dist.distributed_c10d._get_default_store())
    group = dist.ProcessGroupGloo(store, rank, size, timedelta(seconds=30))
    assert isinstance(group, dist.ProcessGroupGloo) and group.create_device(interface="lo")
    assert group.options._timeout == timedelta(seconds=30)
    group._set_default_timeout(timedelta(seconds=29))
    assert group.options._timeout == timedelta(seconds=29)
    tensor = torch.tensor([float(rank)])
    group.allreduce([tensor]).wait()
    assert tensor.item() == sum(range(size))


def test_what_takes_the_place_of_gloo_has_what_programs_call_of_it():
    """Devices, which hoop needs none of, and the time that calls may take."""
    run(2, _in_place_of_gloo)


def _outstanding(rank, size):
    store = dist.distributed_c10d._get_default_store()
    dist.barrier()
    tensors = [torch.tensor([float(rank)]) for _ in range(4000)]
    if rank == 0:
        store.wait([f"begun/{other}" for other in range(1, size)], timedelta(seconds=30))
        # What is measured is what waiting costs.
        time.sleep(3)
        store.set("late", "")
        began = 0.0
    works = [dist.reduce(tensor, i % size, async_op=True) for i, tensor in enumerate(tensors)]
    if rank != 0:
        store.set(f"begun/{rank}", "")
        began = time.process_time()
        store.wait(["late"], timedelta(seconds=30))
    spent = time.process_time() - began
    for work in works:
        work.wait()
    dist.barrier()
    if rank == 0:
        assert all(tensor.item() == sum(range(size)) for tensor in tensors[::size])
        return 0.0
    return spent


def test_thousands_of_works_wait_for_a_late_rank_at_little_cost():
    """Ranks that wait ask each other what they do, but not for each work: else none has time to say that it lives."""
    spent = run(4, _outstanding)
    assert max(spent) < 0.3, spent


def _coalesced(rank, size):
    cpu, other = torch.device("cpu"), 1 - rank
    # torch makes one call of these.
    tensors = [torch.full((3,), float(rank + i)) for i in range(5)]
    with dist._coalescing_manager(device=cpu, async_ops=True) as held:
        for tensor in tensors:
            dist.all_reduce(tensor)
    held.wait()
    assert [tensor.tolist() for tensor in tensors] == [[2.0 * i + 1] * 3 for i in range(5)]
    # These it calls at once.
    got, gotten = torch.zeros(1), [torch.tensor([float(rank)]) for _ in range(3)]
    _late(rank, "mixed")
    with dist._coalescing_manager(device=cpu, async_ops=True) as held:
        # dist.broadcast() would wait for its work.
        tensor, options = torch.tensor([float(rank)]), dist.BroadcastOptions()
        options.rootRank, options.asyncOp = 1, False
        assert dist.group.WORLD.broadcast([tensor], options).is_completed()
        assert tensor.item() == 1.0, "before the call returns"
        dist.irecv(got, other)
        dist.isend(torch.tensor([10.0 + rank]), other)
        for each in gotten:
            dist.broadcast(each, 1, async_op=True)
    (work,) = held.works
    assert work.get_future().wait() == []
    work.wait()
    assert work.is_completed() and work.is_success() and work.result() == []
    assert got.item() == 10.0 + other
    assert [each.item() for each in gotten] == [1.0] * 3


def test_coalescing_changes_no_call():
    """Its work ends with all that was started meanwhile."""
    run(2, _coalesced)


def _coalescing_fails(rank, size):
    group = dist.group.WORLD
    got = torch.zeros(1)
    with pytest.raises(ZeroDivisionError), dist._coalescing_manager(device=torch.device("cpu"), async_ops=True):
        work = dist.irecv(got, 1 - rank, tag=5)
        raise ZeroDivisionError
    # torch itself would go on to hold back all_reduce().
    dist.distributed_c10d._world.pg_coalesce_state.pop(group)
    with pytest.raises(NotImplementedError):
        dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2).to_sparse(), 1 - rank)])
    _late(rank, "failed")
    tensor = torch.tensor([1.0 + rank])
    dist.all_reduce(tensor)
    assert tensor.item() == 3.0, "before the call returns"

    kept = []
    for is_async in [False, True] * 20:
        tensor = torch.ones(4)
        kept.append(StorageWeakRef(tensor.untyped_storage()))
        work_again = dist.all_reduce(tensor, async_op=is_async)
        if work_again:
            work_again.wait()
    del tensor, work_again
    assert sum(not ref.expired() for ref in kept) < 4
    # The next one knows nothing of it.
    group._start_coalescing(torch.device("cpu"))
    assert group._end_coalescing(torch.device("cpu")).is_completed()
    dist.send(torch.ones(1), 1 - rank, tag=5)
    work.wait()


def test_an_exception_while_coalescing_changes_no_later_call():
    """Nor is kept what ends later."""
    run(2, _coalescing_fails)


def _coalescing_threads(rank, size):
    group, cpu, other = dist.group.WORLD, torch.device("cpu"), 1 - rank
    failures, works = [], []

    def many():
        try:
            for i in range(300):
                got = torch.zeros(4)
                sent = dist.P2POp(dist.isend, torch.full((4,), float(i)), other, tag=1)
                for work in dist.batch_isend_irecv([sent, dist.P2POp(dist.irecv, got, other, tag=1)]):
                    work.wait()
                assert got.tolist() == [float(i)] * 4
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=many)
    thread.start()
    for i in range(300):
        tensor = torch.full((1000,), float(rank + i))
        dist.all_reduce(tensor)
        assert tensor[-1].item() == 2.0 * i + 1
    thread.join()
    assert not failures, failures
    # What another thread has started is not waited for.
    group._start_coalescing(cpu)
    thread = threading.Thread(target=lambda: works.append(dist.irecv(torch.zeros(1), other, tag=2)))
    thread.start()
    thread.join()
    assert group._end_coalescing(cpu).is_completed()
    dist.send(torch.ones(1), other, tag=2)
    works[0].wait()


def test_coalescing_is_of_one_thread():
    """Another may call of the same group meanwhile."""
    run(2, _coalescing_threads)
