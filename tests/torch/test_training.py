"""tests/torch/test_training.py - a rank fails within a step of training, and what the others see

Rank 1 fails in the forward pass, in the backward pass or in the optimizer of a
DistributedDataParallel model; the others are wherever that finds them.
"""

import importlib
import os
import pathlib
import re
import signal
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

import hoop_torch
from ranks import finish, run, start

# Of what is seen at once: a closed connection, or what a rank says itself.
SOON_S = 10.0
# With HOOP_FAILURE_TIMEOUT, as the suite has it.
FROZEN_S = 25.0
PHASES = ("forward", "backward", "optimizer")
STEP = 2


def misbehave(how):
    """What rank 1 does."""
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "frozen":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif how == "raises":
        raise LookupError("no such sample")
    elif how == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
    elif how == "exits":
        raise SystemExit(3)


class Model(torch.nn.Module):
    """Fails where it is told to."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        self.fault = {}

    def forward(self, x):
        """The loss, through both layers."""
        self.strike("forward")
        hidden = self.layers[1](self.layers[0](x))
        if hidden.requires_grad and "backward" in self.fault:
            hidden.register_hook(lambda gradient: self.strike("backward"))
        return self.layers[2](hidden)

    def strike(self, phase):
        """Fail, if it is here."""
        if phase in self.fault:
            self.fault[phase]()


def train(rank, n_steps, fault=None, phase=None):
    """Steps of training; fault strikes in the phase of the last of them."""
    torch.manual_seed(0)
    model = Model()
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
    for step in range(n_steps):
        if fault and step == STEP:
            model.fault[phase] = fault
        optimizer.zero_grad()
        loss = ddp(torch.full((4, 8), float(rank + step))).square().mean()
        loss.backward()
        model.strike("optimizer")
        optimizer.step()
    return [float(parameter.detach().sum()) for parameter in ddp.parameters()]


def _fails(rank, size, how, phase, path):
    def fault():
        # One clock for all processes.
        pathlib.Path(f"{path}.when").write_text(str(time.monotonic()))
        misbehave(how)

    try:
        train(rank, 1000, fault if rank == 1 else None, phase)
    except dist.DistBackendError as error:
        if rank == 1:
            raise
        caught = error
    elapsed = time.monotonic() - float(pathlib.Path(f"{path}.when").read_text())
    # Whatever is called later fails alike.
    with pytest.raises(hoop_torch.Error, match="rank 1 "):
        dist.all_reduce(torch.ones(1))
    # Those that are left go on, in the same processes: by a group of the old one, and by a new one.
    left = [other for other in range(size) if other != 1]
    group = dist.new_group(left, use_local_synchronization=True)
    total = torch.tensor([rank])
    dist.all_reduce(total, group=group)
    assert total.item() == sum(left)
    dist.destroy_process_group()
    dist.init_process_group(
        "hoop",
        init_method=f"file://{path}",
        rank=left.index(rank),
        world_size=len(left),
        timeout=timedelta(seconds=30),
    )
    weights = train(left.index(rank), 2)
    return elapsed, str(caught), type(caught), getattr(caught, "rank", None), weights


@pytest.fixture(scope="module", autouse=True)
def _warm():
    """What torch imports for the first step, before the processes are forked."""
    importlib.import_module("torch._dynamo")
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    optimizer.zero_grad()
    optimizer.step()


def outcome(how, phase, path, size=3):
    """What the ranks that are left have seen."""
    started = start(_fails, size, how, phase, str(path))
    try:
        alive = finish([item for rank, item in enumerate(started) if rank != 1], 90.0)
    finally:
        os.kill(started[1][0].pid, signal.SIGKILL)
        started[1][0].join()
    for result in alive:
        assert result is not None and result[0], result
    return [result[1] for result in alive]


VERDICTS = {
    "killed": "rank 1 .*(ended|lost|killed|reset|closed)",
    "raises": "rank 1 .*raised LookupError: no such sample",
    "interrupted": "rank 1 .*was interrupted",
    "exits": "rank 1 .*exited with code 3",
}


def check(results, pattern, limit_s=SOON_S):
    """All have seen the same, and have the same model at the end."""
    for elapsed, text, kind, rank, weights in results:
        assert elapsed < limit_s, text
        assert re.search(pattern, text), text
        assert (kind, rank) == (hoop_torch.Error, 1), text
        assert weights == results[0][4]


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("how", list(VERDICTS))
def test_rank_that_fails_is_named_and_the_others_go_on(how, phase, tmp_path):
    """In time, by the class and the text of the error."""
    check(outcome(how, phase, tmp_path / "store"), VERDICTS[how])


def test_rank_that_is_frozen_is_named_and_the_others_go_on(tmp_path):
    """After HOOP_FAILURE_TIMEOUT."""
    check(outcome("frozen", "backward", tmp_path / "store"), "rank 1 .*", FROZEN_S)


@pytest.fixture
def _detail():
    """As TORCH_DISTRIBUTED_DEBUG=DETAIL, for the processes that are forked."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    yield
    dist.set_debug_level(dist.DebugLevel.OFF)


@pytest.mark.usefixtures("_detail")
@pytest.mark.parametrize("how", ["killed", "raises"])
def test_rank_that_fails_is_named_where_torch_compares_calls(how, tmp_path):
    """Not by Gloo, over which torch compares them else."""
    check(outcome(how, "backward", tmp_path / "store"), VERDICTS[how])


def _differs(rank, size, phase):
    fault = (lambda: dist.all_reduce(torch.ones(3))) if rank == 1 else None
    with pytest.raises(hoop_torch.Error) as caught:
        train(rank, 1000, fault, phase)
    assert caught.value.status == "MISMATCH", caught.value
    assert re.search(r"rank 1 .*3 elements|3 elements.*rank [02] ", str(caught.value)), caught.value
    # The group can be used on, by a new model.
    return train(rank, 2)


@pytest.mark.parametrize("phase", PHASES)
def test_mismatch_is_told_on_every_rank_and_training_goes_on(phase):
    """Instead of a wait for what nobody calls."""
    results = run(3, _differs, phase)
    assert results == [results[0]] * 3
