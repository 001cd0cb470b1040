"""tests/torch/test_examples.py - the programs of examples/torch learn what one process does"""

import pathlib
import sys

import pytest
import torch

from ranks import finish, run, start, torchrun

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "torch"
sys.path.insert(0, str(EXAMPLES))

import ddp  # noqa: E402
import elastic  # noqa: E402
import fsdp  # noqa: E402
import pipeline  # noqa: E402
import tensor_parallel  # noqa: E402

STEPS = 20
PROGRAMS = {module.__name__: module for module in (ddp, elastic, fsdp, pipeline, tensor_parallel)}
BACKENDS = ["hoop", "gloo"]


def _alone(rank, size, program):
    """The losses of the whole model, with whole batches; nothing of torch.distributed has a part in it."""
    model = program.network()
    optimizer = program.optimizer_of(model)
    losses = []
    for step in range(STEPS):
        x, y = program.batch(step)
        found = model(x, step % 2) if program is ddp else model(x)
        loss = torch.nn.functional.mse_loss(found, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if program is ddp:
            model.mask = ddp.mask(step)
    return losses


@pytest.fixture(scope="module")
def alone():
    """What one process loses, by program; in a fork, since threads of autograd would not survive the next one."""
    return {name: run(1, _alone, program, backend="gloo")[0] for name, program in PROGRAMS.items()}


def _train(rank, size, program, options):
    return program.train(**{"steps": STEPS, **options})


def losses_of(size, program, backend="hoop", **options):
    """Of rank 0, which are those of all."""
    first, *others = run(size, _train, program, options, backend=backend)
    assert all(other == first for other in others)
    return first


def exactly(losses):
    """Sums may come in another order."""
    return pytest.approx(losses, rel=1e-9, abs=0)


@pytest.mark.parametrize(("size", "backend"), [(2, "hoop"), (4, "hoop"), (2, "gloo")])
@pytest.mark.parametrize("program", [pipeline, tensor_parallel], ids=lambda program: program.__name__)
def test_losses_are_those_of_one_process(program, size, backend, alone):
    """Whatever each rank has of the model."""
    assert losses_of(size, program, backend) == exactly(alone[program.__name__])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("size", "hook"), [(2, None), (4, None), (2, "allreduce")])
def test_ddp_losses_are_those_of_one_process(size, hook, backend, alone):
    """With rank 0's masks, heads that are unused, and gradients of two halves."""
    assert losses_of(size, ddp, backend, hook=hook) == exactly(alone["ddp"])


def test_ddp_in_float16_loses_what_it_does_over_gloo(alone):
    """Two addends have one sum, in whatever order."""
    found, expected = (losses_of(2, ddp, backend, hook="fp16") for backend in BACKENDS)
    assert found == pytest.approx(expected, rel=1e-6)
    assert found != exactly(alone["ddp"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_fsdp_goes_on_from_a_checkpoint_on_fewer_ranks(backend, alone, tmp_path):
    """As if it had been four all the time; or one."""
    options = {"steps": STEPS // 2, "checkpoint": str(tmp_path / "saved")}
    losses = [loss for size in (4, 2) for loss in losses_of(size, fsdp, backend, **options)]
    assert losses == exactly(alone["fsdp"])


def test_elastic_goes_on_without_the_rank_that_died(alone):
    """As if nobody had."""
    results = finish(start(_train, 4, elastic, {}))
    assert results.pop(elastic.VICTIM) is None
    for returned, losses in results:
        assert returned, losses
        assert losses == exactly(alone["elastic"])


def test_a_program_prints_its_losses(alone):
    """As its first lines say that it is started."""
    assert torchrun(2, EXAMPLES / "pipeline.py") == [f"loss {loss:.12g}" for loss in alone["pipeline"]]
