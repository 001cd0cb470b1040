"""tests/torch/test_recorder.py - torch's flight recorder holds hoop's collectives, and its analyzer reads them

hoop's own recorder has those of a whole training.
"""

import json
import pathlib
import pickle
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from ranks import run

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "integration/recorder"), str(TESTS.parent / "examples/torch")]

import trace_check  # noqa: E402

import ddp  # noqa: E402

# What does not depend on when a call was made, and by which thread.
_COMPARED = (
    "collective_seq_id",
    "input_dtypes",
    "input_sizes",
    "is_p2p",
    "output_dtypes",
    "output_sizes",
    "p2p_seq_id",
    "process_group",
    "profiling_name",
    "record_id",
    "timeout_ms",
)


def _dump(**arguments):
    # For stacks torch imports its compiler, which takes seconds.
    return pickle.loads(torch._C._distributed_c10d._dump_fr_trace(**{"includeStackTraces": False, **arguments}))


def _calls(rank, size):
    x = torch.ones(2, 3)
    parts = [torch.zeros(2, 3) for _ in range(size)]
    group = dist.new_group(list(range(size)), group_desc="pairs")
    dist.all_reduce(x)
    dist.all_reduce(x.double(), async_op=True).wait()
    dist.broadcast(x, 1)
    dist.reduce(x, 0)
    if rank == 0:
        dist.send(x, 1)
    elif rank == 1:
        dist.recv(x, 0)
    dist.all_gather(parts, x)
    dist.gather(x, parts if rank == 0 else None, 0)
    dist.scatter(x, parts if rank == 0 else None, 0)
    dist.all_to_all_single(torch.zeros(size, 3), torch.ones(size, 3))
    dist.barrier(group)
    dist.all_reduce(torch.ones(4, dtype=torch.int64), group=group)
    return [{key: entry[key] for key in _COMPARED} for entry in _dump()["entries"]]


def test_entries_are_those_of_gloo():
    """Of the same calls, on each rank."""
    by_hoop, by_gloo = run(3, _calls), run(3, _calls, backend="gloo")
    assert len(by_hoop[0]) == 10
    assert by_hoop == by_gloo


def _where(rank, size):
    dist.all_reduce(torch.ones(1))
    dump = _dump(includeStackTraces=True)
    (entry,) = dump["entries"]
    assert dump["pg_config"] == {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    assert dump["pg_status"] == {
        "0": {"last_enqueued_collective": 1, "last_started_collective": 1, "last_completed_collective": 1}
    }
    assert dump["comm_lib_version"] == "hoop"
    assert entry["frames"][0]["name"] == "all_reduce"
    assert any(frame["name"] == "_where" and frame["filename"] == __file__ for frame in entry["frames"])
    assert 0 < entry["time_created_ns"] <= entry["time_discovered_completed_ns"]
    assert entry["duration_ms"] >= 0
    assert "frames" not in _dump()["entries"][0]
    assert "entries" not in _dump(includeCollectives=False)
    in_json = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())
    del entry["frames"]
    entry["process_group"] = list(entry["process_group"])
    assert in_json["entries"] == [entry]


def test_dumps_name_groups_places_and_times():
    """In both forms that torch has."""
    run(2, _where, deadline_s=150)


def _failed(rank, size):
    dist.all_reduce(torch.ones(1))
    with pytest.raises(dist.DistBackendError):
        dist.all_reduce(torch.ones(1 + rank))
    dist.barrier()
    done, failed = _dump()["entries"][:2]
    assert (done["state"], failed["state"], failed["retired"]) == ("completed", "started", True)
    assert [entry["collective_seq_id"] for entry in _dump(onlyActive=True)["entries"]] == [2]


def test_a_call_that_failed_is_not_completed():
    """It is retired without, as one of NCCL's that timed out."""
    run(2, _failed)


def _many(rank, size):
    for _ in range(10):
        dist.all_reduce(torch.ones(1))
    entries = _dump().get("entries", [])
    assert all(entry["state"] == "completed" and entry["retired"] for entry in entries)
    return [(entry["record_id"], entry["collective_seq_id"]) for entry in entries]


@pytest.mark.parametrize(("n_entries", "left"), [(4, [(6, 7), (7, 8), (8, 9), (9, 10)]), (0, [])])
def test_as_many_are_kept_as_torch_is_told(monkeypatch, n_entries, left):
    """The last ones, or none."""
    monkeypatch.setenv("TORCH_FR_BUFFER_SIZE", str(n_entries))
    assert run(2, _many) == [left] * 2


def _late(rank, size, folder):
    x = torch.ones(2)
    dist.all_reduce(x)
    dist.all_gather([torch.zeros(2) for _ in range(size)], x)
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.broadcast(x, 0, group=pair)
    work = dist.all_reduce(x, async_op=True) if rank != 1 else None
    with open(f"{folder}/rank_{rank}", "wb") as file:
        pickle.dump(_dump(), file)
    # Only now, so that the others cannot have ended it.
    (work or dist.all_reduce(x, async_op=True)).wait()


def test_torchs_analyzer_names_who_is_missing(tmp_path):
    """From the dumps of all ranks."""
    run(3, _late, str(tmp_path))
    analyzer = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", str(tmp_path), "--prefix", "rank_"]
    told = subprocess.run([*analyzer, "-o", f"{tmp_path}/found"], capture_output=True, text=True, timeout=200)
    assert told.returncode == 0, told.stderr
    text = told.stdout + told.stderr
    assert text.count("sequence number:") == 1, text
    for line in ("joining collective, sequence number: 3", "missing ranks: {1}", "collective state: started"):
        assert line in text, text
    _, found = pickle.loads((tmp_path / "found").read_bytes())
    whole = [(call.collective_name, call.expected_ranks) for call in found.collectives if not call.missing_ranks]
    everyone = {0, 1, 2}
    assert whole == [("gloo:all_reduce", everyone), ("gloo:all_gather", everyone), ("gloo:broadcast", {0, 1})]


def _train(rank, size):
    return ddp.train(steps=5)


def _record(folder, *options):
    return json.loads(subprocess.check_output(["hoopctl", "record", folder, *options], timeout=60))


def test_trace_of_a_ddp_job_is_whole(monkeypatch, tmp_path):
    """As tests/integration/recorder checks it: each event, each flow, and one clock."""
    monkeypatch.setenv("HOOP_RECORDER_DIR", str(tmp_path))
    losses = run(4, _train)
    assert len(losses[0]) == 5
    whole = _record(tmp_path, "--json")
    assert [rank["rank"] for rank in whole["ranks"]] == [0, 1, 2, 3]
    n_collectives, _ = trace_check.check(_record(tmp_path, "--format", "chrome"), whole)
    # At least one bucket of gradients in each step.
    assert n_collectives >= 5
