"""tests/torch/test_launchers.py - ranks meet by whatever has launched them, and again"""

import importlib
import multiprocessing
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest
import torch

import hoop
import launched

HERE = pathlib.Path(__file__).parent
# Longer than any of it takes, with torch imported by each process.
TIMEOUT_S = 200


def free_port():
    """One that was free."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment(**more):
    """Without what this process has been launched with."""
    kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "MASTER_PORT")}
    return {**kept, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1", **more}


def launch(command, function, *arguments, codes=(0,), **more):
    """The lines that launched.py says, sorted."""
    done = subprocess.run(
        [*command, str(HERE / "launched.py"), function, *arguments],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode in codes, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


def by_hooprun(n):
    """The launcher, with its coordinator."""
    return ["hooprun", "--no-prefix", "-n", str(n), sys.executable, "-B"]


def by_torchrun(n, *options):
    """The launcher, with its store."""
    return [sys.executable, "-m", "torch.distributed.run", "--monitor-interval=0.1", f"--nproc-per-node={n}", *options]


def met(n):
    """What all ranks of meet() say."""
    return [f"rank {rank} of {n} has met 3 times" for rank in range(n)]


def test_hooprun_with_its_coordinator():
    """And its job, the first time."""
    assert launch(by_hooprun(3), "meet") == met(3)


def test_torchrun_without_a_coordinator():
    """Rank 0 starts one for each group."""
    assert launch(by_torchrun(2), "meet") == met(2)


def test_torchrun_with_a_coordinator_that_others_use_too():
    """A job of its own for each group."""
    with hoop._coordinator.start() as coordinator:
        settings = {"HOOP_COORDINATOR": coordinator.address, "HOOP_TOKEN": coordinator.token}
        assert launch(by_torchrun(2), "meet", **settings) == met(2)


@pytest.mark.parametrize("program", ["mpirun.openmpi", "mpirun.mpich"])
def test_mpirun(program):
    """Both know nothing of torch."""
    found = shutil.which(program)
    if not found:
        pytest.skip(f"{program} is not installed")
    is_open_mpi = program == "mpirun.openmpi"
    options = ["--oversubscribe", *(["--allow-run-as-root"] if os.getuid() == 0 else [])] if is_open_mpi else []
    assert launch([found, *options, "-n", "2", sys.executable, "-B"], "meet_by_mpi") == met(2)


def test_spawn(tmp_path):
    """Children of this process."""
    torch.multiprocessing.spawn(launched.spawned, (2, free_port(), str(tmp_path)), nprocs=2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0", "1"]


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("fail",), 1)], ids=["well", "by an exception"])
def test_program_that_ends_while_callbacks_run_has_its_own_exit_code(arguments, code):
    """Not that of a signal: threads that run Python may not outlive it."""
    said = launch(by_hooprun(2), "leave_callbacks", *arguments, codes=(code,))
    assert "rank 0 ends" in said or "rank 1 ends" in said


def test_exception_of_a_child_reaches_the_others(tmp_path):
    """Though torch.multiprocessing.spawn() catches it there."""
    arguments = (2, free_port())
    processes = [
        multiprocessing.get_context("fork").Process(
            target=importlib.import_module("torch.multiprocessing.spawn")._wrap,
            args=(launched.fail_in_child, rank, arguments, str(tmp_path / str(rank))),
        )
        for rank in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT_S)
    assert [process.exitcode for process in processes] == [launched.TOLD, 1]


def test_exception_of_a_program_reaches_the_others():
    """Though no with statement is there that would see it."""
    command = ["hooprun", "--no-prefix", "--on-exit=continue", "-n", "3", sys.executable, "-B"]
    # 0 if another ends later than the rank that fails.
    assert launch(command, "fail", codes=(0, 1)) == ["1 ValueError: no such sample"] * 2


def test_hoop_address_gives_rank_size_and_store():
    """With no store of torch."""
    assert launch(by_hooprun(3), "meet_by_hoop") == [f"rank {rank} of 3 has met by hoop" for rank in range(3)]


def test_second_round_of_torchrun_meets_anew():
    """After a failure, by the same store."""
    said = launch(by_torchrun(2, "--max-restarts=1"), "second_round")
    assert said == [f"rank {rank} of 2 is in the second round" for rank in range(2)]


def test_workers_of_a_data_loader_are_forked():
    """They leave the group alone."""
    assert launch(by_hooprun(2), "load") == [f"rank {rank} has loaded" for rank in range(2)]
