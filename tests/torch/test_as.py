"""tests/torch/test_as.py - scripts that ask for other backends run over hoop"""

import configparser
import os
import pathlib
import subprocess
import sys

import pytest
import torch

from test_launchers import TIMEOUT_S, by_hooprun, by_torchrun, environment

HERE = pathlib.Path(__file__).parent
SCRIPT = str(HERE / "asks_for_cuda.py")
TOLD = "has no meaning here: everything runs on the CPU, over hoop"
ROOT = HERE.parents[1]


def run(command, **more):
    """What it printed, and the lines of standard error that hoop_torch or hoop say."""
    done = subprocess.run(
        command,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "hoop" in line]


def losses(size):
    """What one process computes for all ranks: the sum of the last step's losses."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(5):
        each = [model(torch.full((2, 4), float(rank + step))).square().mean() for rank in range(size)]
        optimizer.zero_grad()
        torch.stack(each).mean().backward()
        optimizer.step()
    return float(sum(loss.item() for loss in each))


def check_said(said, backend, size):
    """All ranks say the same loss, that of one process."""
    lines = sorted(said.splitlines())
    assert len(lines) == size, said
    for rank, line in enumerate(lines):
        name, n, has_cuda, loss = line.removeprefix(f"{rank}: ").split(" ")
        assert (name, int(n), has_cuda) == (backend, size, "False")
        assert float(loss) == pytest.approx(losses(size), rel=1e-4)


def test_script_for_nccl_runs_under_torchrun():
    """It is told once that there is no CUDA."""
    said, told = run([*by_torchrun(2), "-m", "hoop_torch", "--as", "nccl,gloo", SCRIPT, "nccl"])
    check_said(said, "nccl", 2)
    # One line of the first thing, by one rank; and hoop takes HOOP_TORCH_AS for its own.
    assert [line for line in told if TOLD in line] == [f"hoop_torch: torch.cuda.set_device() {TOLD}"]
    assert not any("not a setting" in line for line in told)


def test_script_for_both_runs_under_hooprun():
    """By the names of devices."""
    command = [*by_hooprun(2), "-m", "hoop_torch", "--as", "nccl,gloo", SCRIPT, "cpu:gloo,cuda:nccl"]
    said, _ = run(command)
    check_said(said.replace("cpu:gloo,cuda:nccl", "both"), "both", 2)


def entry_points(folder):
    """What pip would install of python/torch/pyproject.toml's entry points."""
    project = configparser.ConfigParser()
    project.read(ROOT / "python" / "torch" / "pyproject.toml")
    made = folder / "hoop_torch-0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: hoop-torch\nVersion: 0\n")
    lines = []
    for section in project.sections():
        if section.startswith("project.entry-points."):
            lines.append(f"[{section.split('.', 2)[2].strip(chr(34))}]")
            lines += [f"{name} = {value.strip(chr(34))}" for name, value in project[section].items()]
    (made / "entry_points.txt").write_text("\n".join(lines) + "\n")


def test_installed_package_is_found_by_torch_and_by_children(tmp_path):
    """By its entry points and HOOP_TORCH_AS."""
    entry_points(tmp_path)
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(tmp_path)])
    said, _ = run([sys.executable, "-B", SCRIPT, "nccl", "spawn"], HOOP_TORCH_AS="nccl", PYTHONPATH=path)
    check_said(said, "nccl", 2)


def test_names_that_are_not_replaced_are_refused():
    """With those that are."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "hoop_torch", "--as", "ncll", SCRIPT],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 2
    assert "'ncll': hoop takes the place of nccl and gloo" in done.stderr
