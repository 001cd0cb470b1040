"""tests/python/test_spawn.py - ranks that a function is run on, and their coordinator"""

import itertools
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
import types
import typing

import pytest

import hoop
from hoop import _coordinator

HERE = pathlib.Path(__file__).parent
DEADLINE_S = 60


def add(session, x):
    """What all ranks sum, and who this is."""
    a = memoryview(bytearray([x + session.world.rank]))
    session.world.allreduce(a)
    return session.world.rank, a[0], os.environ["HOOP_JOB"]


@pytest.mark.parametrize(("method", "n"), [("spawn", 2), ("fork", 3), ("forkserver", 2)])
def test_results_come_by_rank(method, n):
    """From processes of any kind."""
    results = hoop.spawn(add, n, (10,), start_method=method)
    assert [result[:2] for result in results] == [(rank, sum(range(10, 10 + n))) for rank in range(n)]
    assert len({result[2] for result in results}) == 1


def test_one_rank_and_settings():
    """Settings are those of join()."""
    assert hoop.spawn(add, 1, (1,), timeout=30, join_timeout=20)[0][:2] == (0, 1)
    with pytest.raises(hoop.Invalid, match="strems"):
        hoop.spawn(add, 1, (1,), start_method="fork", strems=1)
    with pytest.raises(ValueError, match="n is 0"):
        hoop.spawn(add, 0)


def fail(session, rank):
    """One raises while the others wait for it."""
    if session.world.rank == rank:
        raise LookupError("told")
    session.world.barrier()


def test_first_exception_is_raised_with_its_traceback():
    """Not what it made the others raise."""
    with pytest.raises(LookupError, match="told") as caught:
        hoop.spawn(fail, 3, (2,), start_method="fork")
    cause = str(caught.value.__cause__)
    assert "rank 2 of 3 (pid " in cause
    assert 'raise LookupError("told")' in cause


class Unportable(Exception):
    """Cannot be made again of its arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def fail_unportably(session):
    """With an exception that pickle takes and does not give back."""
    raise Unportable("a", "b")


def test_exception_that_cannot_be_sent_is_told():
    """By its name and text."""
    with pytest.raises(RuntimeError, match="Unportable: a b"):
        hoop.spawn(fail_unportably, 2, start_method="fork")


def die(session, how):
    """Rank 1 ends without a word."""
    if session.world.rank == 1:
        if how:
            os.kill(os.getpid(), how)
        sys.exit(7)
    session.world.barrier()


@pytest.mark.parametrize(
    ("how", "words"), [(signal.SIGKILL, "was killed by SIGKILL"), (signal.SIGSEGV, "SIGSEGV"), (0, "with code 7")]
)
def test_death_is_told(how, words):
    """With its signal."""
    with pytest.raises(hoop.RankLost, match=rf"rank 1 of 3 \(pid \d+\) .*{words}"):
        hoop.spawn(die, 3, (how,), start_method="fork")


def stall(session):
    """Rank 0 returns, the others do not."""
    if session.world.rank:
        time.sleep(DEADLINE_S)


def test_timeout_names_who_is_late():
    """And leaves nobody."""
    with pytest.raises(hoop.Timeout, match=r"rank\(s\) 1, 2 of 3 had not returned"):
        hoop.spawn(stall, 3, start_method="fork", timeout=1)


NOTEBOOK = """
import hoop, sys
sys.modules["cloudpickle"] = None
def f(session): return session.world.rank
try:
    hoop.spawn(f, 2)
except TypeError as error:
    print(error)
print(hoop.spawn(f, 2, start_method="fork"))
"""


def test_function_of_a_notebook_is_refused_or_forked():
    """Where there is no cloudpickle: other processes cannot import it."""
    said = subprocess.run([sys.executable, "-B", "-c", NOTEBOOK], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "is defined where other processes cannot import it" in said
    assert said.endswith("[0, 1]\n")


def test_function_of_a_notebook_is_sent_by_cloudpickle():
    """With what it uses."""
    pytest.importorskip("cloudpickle")
    code = "import hoop; y = 5\nprint(hoop.spawn(lambda session, x: session.world.rank + x + y, 2, (10,)))"
    said = subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == "[15, 16]\n"


def test_what_cannot_be_sent_is_refused(monkeypatch):
    """With what to do."""
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match="start_method='fork'"):
        hoop.spawn(lambda session: None, 2)
    assert hoop.spawn(lambda session: session.world.size, 2, start_method="fork") == [2, 2]


def ended(pid, deadline_s=DEADLINE_S):
    """Waits for the end of a process that may be another's child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(fd):
        return bool(select.select([fd], [], [], deadline_s)[0])


PARENT = """
import os, signal, sys, time
sys.path.insert(0, {here!r})
import hoop

def stay(session, path):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(fd, f"{{os.getpid()}}\\n".encode())
    time.sleep(600)

if __name__ == "__main__":
    hoop.spawn(stay, 2, (sys.argv[1],), start_method={method!r})
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_nobody_outlives_a_parent_that_is_killed(tmp_path, method):
    """Neither the ranks nor the coordinator."""
    path = tmp_path / "pids"
    os.mkfifo(path)
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(here=str(HERE), method=method))
    # Ranks that are killed all at once have told nobody: hoopd waits for their leases.
    parent = subprocess.Popen([sys.executable, "-B", str(script), str(path)], env={**os.environ, "HOOP_LEASE": "1"})
    with open(path) as said:
        pids = [int(said.readline()) for _ in range(2)]
    daemons = [pid for pid in children(parent.pid) if "hoopd" in command(pid)]
    assert len(daemons) == 1
    parent.kill()
    parent.wait()
    assert all(ended(pid) for pid in pids + daemons)


def children(pid):
    """Of any of its threads."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def command(pid):
    """Its command line."""
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")


def test_coordinator_ends_when_it_is_let_go():
    """Also when it was not used."""
    with _coordinator.start() as coordinator:
        assert coordinator.address.startswith("127.0.0.1:")
        assert not ended(coordinator.pid, 0.5)
    assert ended(coordinator.pid)


def test_coordinator_outlives_its_starter_until_the_last_member():
    """Rank 0 of a job starts it, and ends first."""
    code = (
        "import hoop, sys; from hoop import _coordinator; c = _coordinator.start();"
        "print(c.address, c.token, c.pid, flush=True); s = hoop.join(rank=0, world_size=2, job='j', **c.settings);"
        "print('joined', flush=True); import os; os.kill(os.getpid(), 9)"
    )
    first = subprocess.Popen([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True)
    address, token, pid = first.stdout.readline().split()
    session = hoop.join(rank=1, world_size=2, job="j", coordinator=address, token=token)
    assert first.stdout.readline() == "joined\n"
    first.wait()
    with pytest.raises(hoop.RankLost):
        session.world.barrier()
    assert not ended(int(pid), 0.3)
    session.leave()
    assert ended(int(pid))
    first.stdout.close()


def test_many_coordinators_at_once():
    """Each has a port of its own."""
    started = [_coordinator.start() for _ in range(8)]
    assert len({coordinator.address for coordinator in started}) == 8
    for coordinator in started:
        coordinator.close()
    assert all(ended(coordinator.pid) for coordinator in started)


JOIN = """
import hoop, os, sys
with hoop.join() as session:
    x = bytearray(8); x[0] = 1
    session.world.allreduce(memoryview(x).cast("q"))
    sys.stdout.write(f"{session.world.rank} {session.world.size} {x[0]}\\n")
"""


def environ(**given):
    """Without what launchers have said."""
    names = ("HOOP_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_", "MASTER_", "LOCAL_")
    kept = {n: v for n, v in os.environ.items() if not n.startswith(names) and n not in ("RANK", "WORLD_SIZE")}
    return {**kept, "HOOP_TIMEOUT": "30", **given}


def joined(*environments, through=()):
    """What ranks print that are started with these environments, through another program."""
    ranks = [
        subprocess.Popen([*through, sys.executable, "-B", "-c", JOIN], env=env, stdout=subprocess.PIPE, text=True)
        for env in environments
    ]
    return [rank.communicate(timeout=DEADLINE_S)[0] for rank in ranks]


def test_join_of_nobodys_process_is_a_world_of_one():
    """As MPI's is."""
    assert joined(environ()) == ["0 1 1\n"]


def test_join_under_mpirun_on_one_host():
    """Rank 0 starts the coordinator; twice at once, and again."""
    for _ in range(2):
        names = "OMPI_COMM_WORLD_"
        size = {f"{names}SIZE": "2", f"{names}LOCAL_SIZE": "2"}
        runs = [
            environ(**size, **{f"{names}RANK": str(rank), "PMIX_NAMESPACE": f"{run}-{os.getpid()}"})
            for run in ("a", "b")
            for rank in (1, 0)
        ]
        # What is between the launcher and its ranks may be another process for each.
        assert joined(*runs, through=("sh", "-c", '"$@"; exit', "sh")) == ["1 2 2\n", "0 2 2\n"] * 2


def test_join_where_master_addr_says():
    """Ranks of several hosts; these are played by one."""
    with _coordinator.start() as free:
        port = free.address.rpartition(":")[2]
    assert ended(free.pid)
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "HOOP_TOKEN": "s" * 32}
    assert joined(environ(RANK="1", **told), environ(RANK="0", **told)) == ["1 2 2\n", "0 2 2\n"]


def test_join_of_several_hosts_needs_a_token(monkeypatch):
    """It is said, and nothing is started."""
    from hoop._launched import meet

    told = {"MASTER_ADDR": "n0", "MASTER_PORT": "1", "WORLD_SIZE": "2", "RANK": "0"}
    with pytest.raises(hoop.Refused, match="HOOP_TOKEN"):
        meet(told, 1)
    with pytest.raises(hoop.Refused, match="mpiexec has started 2 ranks.*MASTER_PORT"):
        meet({"PMI_RANK": "0", "PMI_SIZE": "2"}, 1)


class FakeStore:
    """What is used of torch's TCPStore."""

    keys: typing.ClassVar = {}

    def __init__(self, *_):
        pass

    def set(self, key, value):
        """Once for each key."""
        assert key not in self.keys
        self.keys[key] = value.encode()

    def get(self, key):
        """What is there already."""
        return self.keys[key]


@pytest.mark.parametrize(("local", "listens"), [("2", "127.0.0.1"), ("1", "0.0.0.0")])
def test_ranks_of_torchrun_are_told_the_same(monkeypatch, local, listens):
    """An address by which others reach rank 0, too; on one host nobody else gets at it. And twice."""
    from hoop import _launched

    monkeypatch.setattr(FakeStore, "keys", {})
    monkeypatch.setitem(sys.modules, "torch.distributed", types.SimpleNamespace(TCPStore=FakeStore))
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    said = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": local, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    said |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    found = []
    for rank in "01":
        monkeypatch.setattr(_launched, "_meetings", itertools.count())
        for _ in range(2):
            settings, started = _launched.meet({**said, "RANK": rank}, 1)
            found.append({name: settings[name] for name in ("coordinator", "token")})
            if started:
                assert started.address.startswith(listens + ":")
                started.close()
    assert found[:2] == found[2:]
    assert found[0] != found[1]
    assert all(settings["coordinator"].startswith("127.0.0.1:") for settings in found)


def test_join_under_torchrun_again(tmp_path):
    """A program may leave a job and join the next."""
    pytest.importorskip("torch")
    if not os.environ.get("HOOP_TEST_TORCHRUN"):
        pytest.skip("takes 10 s, most of them to import torch; HOOP_TEST_TORCHRUN=1 runs it")
    program = tmp_path / "program.py"
    program.write_text(JOIN + JOIN)
    torchrun = [sys.executable, "-B", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    said = subprocess.run(
        [*torchrun, str(program)], env=environ(), stdout=subprocess.PIPE, text=True, check=True, timeout=DEADLINE_S
    ).stdout
    assert sorted(said.split("\n")) == ["", "0 2 2", "0 2 2", "1 2 2", "1 2 2"]


def test_nothing_of_others_is_written_to(tmp_path):
    """A file is made anew; where it cannot be put in its place nothing is left."""
    victim = tmp_path / "victim"
    victim.write_text("kept")
    path = tmp_path / "meeting"
    path.symlink_to(victim)
    (tmp_path / f"meeting.{os.getpid()}").symlink_to(victim)
    with _coordinator.start() as coordinator:
        coordinator.publish(str(path))
        assert path.read_text() == f"{coordinator.pid} {coordinator.address} {coordinator.token}"
    assert victim.read_text() == "kept"
    path.mkdir()
    with _coordinator.start() as coordinator, pytest.raises(OSError):
        coordinator.publish(str(path))
    assert {entry.name for entry in tmp_path.iterdir()} == {"victim", "meeting", f"meeting.{os.getpid()}"}


def test_a_coordinator_that_cannot_be_told_of_ends(monkeypatch, tmp_path):
    """Where the folder of the meeting takes no file."""
    from hoop._launched import meet

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    before = set(_coordinator._started)
    with pytest.raises(OSError):
        meet({"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}, 1)
    assert set(_coordinator._started) == before


def test_limit_of_a_join_is_as_hoop_writes_it():
    """A number of seconds, or with a unit."""
    from datetime import timedelta

    from hoop._options import seconds_of

    times = (2, 2.5, "2", "500ms", "1.5m", "1h", timedelta(seconds=3), None, "soon", "")
    assert [seconds_of(time) for time in times] == [2, 2.5, 2, 0.5, 90, 3600, 3, None, None, None]


@pytest.mark.parametrize("given", ["environment", "keyword"])
def test_rank_that_meets_nobody_waits_as_long_as_it_was_told(monkeypatch, given, tmp_path):
    """For rank 0, which is not there."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in set(os.environ) - set(environ()):
        monkeypatch.delenv(name)
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("LOCAL_WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOOP_JOIN_TIMEOUT", "100ms" if given == "environment" else "10m")
    with pytest.raises(hoop.Timeout, match=r"rank 0, which starts the coordinator.* 0.1 s"):
        hoop.join(**({} if given == "environment" else {"join_timeout": "100ms"}))


def test_settings_reach_the_coordinator(monkeypatch, tmp_path):
    """A token, or the file that has it, by join() or spawn(); the file has to be private."""
    for name in set(os.environ) - set(environ()):
        monkeypatch.delenv(name)
    file = tmp_path / "token"
    file.write_text("t" * 32 + "\n")
    file.chmod(0o600)
    for settings in ({"token": "t" * 32}, {"token_file": file}):
        with hoop.join(**settings) as session:
            assert session._coordinator.token == "t" * 32
    assert hoop.spawn(add, 1, (1,), start_method="fork", token_file=str(file))[0][:2] == (0, 1)
    file.chmod(0o644)
    with pytest.raises(hoop.Error, match="token"):
        hoop.join(token_file=file)


def test_keywords_tell_the_coordinator_of_tls(monkeypatch):
    """As the environment does."""
    seen = []
    monkeypatch.setattr(_coordinator.os, "posix_spawn", lambda _, __, environment, **___: seen.append(environment))
    monkeypatch.setattr(_coordinator, "_read_line", lambda *_: "127.0.0.1:1")
    from hoop._options import environment

    _coordinator.start(environ=environment({"tls": True, "timeout": 3}, {"HOOP_RANK": "1", "HOME": "/"})).close()
    _coordinator._children.clear()
    assert {name: value for name, value in seen[0].items() if name != "HOOP_TOKEN"} == {"HOOP_TLS": "on", "HOME": "/"}


def test_spawn_with_a_coordinator_needs_a_job():
    """Which is said."""
    with pytest.raises(ValueError, match="a coordinator is given, and no job"):
        hoop.spawn(add, 1, (1,), coordinator="127.0.0.1:1")
