"""tests/python/test_pytest_plugin.py - tests on several ranks, run by pytest itself"""

import importlib.metadata
import os
import pathlib
import re
import signal
import sys

import pytest

pytest_plugins = ["pytester"]

DEADLINE_S = 120


@pytest.fixture
def ranks(pytester, monkeypatch):
    """Runs pytest with the plugin and few others, as a process; what it says, as one text."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def run(*arguments, tests, conftest=""):
        if conftest:
            pytester.makeconftest(conftest)
        pytester.makepyfile(test_it=tests)
        result = pytester.runpytest_subprocess("-p", "hoop.pytest_plugin", *arguments, timeout=DEADLINE_S)
        result.text = result.stdout.str() + result.stderr.str()
        return result

    return run


def test_entry_point_names_the_plugin():
    """Where the package is installed, and not only built."""
    entries = importlib.metadata.entry_points()
    found = entries.select(group="pytest11") if hasattr(entries, "select") else entries.get("pytest11", [])
    named = [entry for entry in found if entry.value == "hoop.pytest_plugin"]
    if not named:
        pytest.skip("the package is not installed")
    assert named[0].name == "hoop"


GOOD = """
import os, pytest, warnings

pids = {}

@pytest.fixture(scope="module")
def of_module():
    pids["made"] = pids.get("made", 0) + 1
    yield os.getpid()

@pytest.mark.ranks(4)
def test_sum(comm, rank, session):
    x = memoryview(bytearray([rank])).cast("B")
    comm.allreduce(x)
    assert (x[0], comm.size, comm.rank, session.world.size) == (6, 4, rank, 4)
    pids["first"] = os.getpid()

@pytest.mark.ranks(2, 4)
@pytest.mark.parametrize("text", ["a", "b"])
def test_sizes(comm, text, monkeypatch, tmp_path):
    monkeypatch.setenv("TEXT", text)
    assert comm.size in (2, 4)
    assert tmp_path.parent.name == f"rank{comm.rank}"
    assert os.environ["TEXT"] == text
    assert pids["first"] == os.getpid()

@pytest.mark.ranks(3)
def test_module_fixture(of_module):
    assert of_module == os.getpid()

@pytest.mark.ranks(3)
def test_module_fixture_is_made_once(of_module):
    assert pids["made"] == 1

def test_without_ranks(of_module):
    assert pids == {"made": 1}

class TestClass:
    @pytest.mark.ranks(2)
    def test_method(self, comm, from_conftest):
        comm.barrier()
        assert from_conftest == comm.rank

@pytest.mark.ranks(2)
def test_skipped_by_all():
    pytest.skip("not today")

@pytest.mark.ranks(2)
@pytest.mark.xfail(raises=LookupError)
def test_expected_to_fail(comm):
    raise LookupError

@pytest.mark.ranks(2)
def test_waits_for_nobody(rank):
    warnings.warn("be careful")
    assert rank in (0, 1)
"""

CONFTEST = """
import pytest

@pytest.fixture
def from_conftest(rank):
    return rank
"""


def test_what_passes_passes(ranks):
    """With fixtures of all scopes, parameters, sizes, classes, on processes that stay."""
    result = ranks("-v", tests=GOOD, conftest=CONFTEST)
    result.assert_outcomes(passed=10, skipped=1, xfailed=1, warnings=1)
    assert result.text.count("UserWarning: be careful") == 1
    for name in ("test_sizes[ranks2-a]", "test_sizes[ranks4-b]", "test_method"):
        assert f"{name} PASSED" in result.text
    result = ranks("-k", "ranks4", tests=GOOD, conftest=CONFTEST)
    result.assert_outcomes(passed=0, failed=2)
    assert "KeyError: 'first'" in result.text


BAD = """
import ctypes, os, signal, sys, pytest

@pytest.mark.ranks(4)
def test_differs(comm, rank):
    print("said by", rank)
    print("told", file=sys.stderr)
    left = {"a": 1, "rank": 0}
    assert left == {"a": 1, "rank": 0 if rank != 2 else 7}
    comm.barrier()

@pytest.mark.ranks(4)
def test_all_alike():
    assert 1 == 2

@pytest.mark.ranks(3)
def test_raises(comm, rank):
    if rank == 1:
        raise LookupError("told")
    comm.barrier()

@pytest.mark.ranks(3)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, 0])
def test_dies(comm, rank, how):
    if rank == 1:
        if how:
            os.kill(os.getpid(), how)
        os._exit(7)
    comm.barrier()

@pytest.mark.ranks(3)
def test_fixture_fails(comm, broken):
    comm.barrier()

@pytest.fixture
def broken(rank):
    assert rank != 2
    yield

@pytest.mark.ranks(2)
def test_teardown_fails(comm, late):
    comm.barrier()

@pytest.fixture
def late(rank):
    yield
    assert rank == 0

@pytest.mark.ranks(3)
def test_goes_on(comm):
    comm.barrier()

def test_fixture_without_ranks(comm):
    pass
"""


def test_what_fails_fails_alone(ranks):
    """Each test by itself, with the traceback of the rank that failed first, and the others' verdicts."""
    result = ranks(tests=BAD)
    result.assert_outcomes(failed=6, passed=2, errors=3)
    text = result.text
    # Assertion rewriting, output by rank, others below.
    assert "AssertionError: assert {'a': 1, 'rank': 0} == {'a': 1, 'rank': 7}" in text
    assert "Differing items:" in text
    for number in range(4):
        assert f"Captured stdout call, rank {number}" in text
        assert f"said by {number}" in text
    assert "Captured stderr call, ranks 0-3" in text
    verdict = r".*RankFailed: barrier #1: rank 2 .* raised AssertionError"
    assert re.search(rf"other ranks than 2 -+\nranks? 0[-, 13]*: {verdict}", text), text
    assert "all 3 failed alike" in text
    assert "test_raises - rank 1 of 3: LookupError: told" in text
    for how in ("was killed by SIGKILL", "was killed by SIGSEGV", "exited with code 7"):
        assert re.search(rf"rank 1 of 3: its process \(pid \d+\) {how}", text), how
    assert "Fatal Python error: Segmentation fault" in text
    assert re.search(r"test_it.py\", line \d+ in test_dies", text)
    assert "ERROR test_it.py::test_fixture_fails - rank 2 of 3: " in text
    assert "ERROR test_it.py::test_teardown_fails - rank 1 of 2: " in text
    assert "mark the test with @pytest.mark.ranks(n)" in text


HANGS = """
import threading, pytest

@pytest.mark.ranks(3, timeout=1)
def test_hangs(comm, rank):
    if rank == 1:
        threading.Event().wait()
    comm.barrier()

@pytest.mark.ranks(3)
def test_goes_on(comm):
    comm.barrier()
"""


def test_a_hang_ends_with_stacks_and_who_waits_for_whom(ranks):
    """At its timeout."""
    result = ranks(tests=HANGS)
    result.assert_outcomes(failed=1, passed=1)
    text = result.text
    assert re.search(r"^ranks 0-2 of 3 had not ended after 1\.\d s", text, re.M)
    assert re.search(r"in barrier #1 of communicator 'test_hangs' for .* waits for rank 1 \(", text)
    for number in range(3):
        assert f"stacks of rank {number} -" in text
    # A thread without frames is the one that has read the stack for "who waits for whom".
    stack = r'  File ".*threading.py", line \d+ in wait\n.*\n.* in test_hangs'
    assert re.search(r"stacks of rank 1 -+\n(?:[^-].*\n)*?" + stack, text)
    assert text.count("in test_hangs\n") == 3
    assert "_pytest" not in text


RACE = """
import time, pytest

@pytest.mark.ranks(4{jitter})
def test_race(comm, rank):
    comm.barrier()
    x = memoryview(bytearray([1])).cast("B")
    work = comm.allreduce_start(x)
    end = time.monotonic() + 0.004
    while time.monotonic() < end:
        work.test()
    seen = x[0]
    work.wait()
    # It reads before it has waited; that goes well unless another, as rank 2, is late.
    assert rank != 0 or seen == 4
"""


def seed_that_fails(ranks):
    """The first of 50 by which the race is lost."""
    result = ranks("--jitter=50", tests=RACE.format(jitter=""))
    result.assert_outcomes(failed=1)
    found = re.search(
        r"failed with seed (\d+); again by: pytest 'test_it.py::test_race' --jitter-seed=\1\n", result.text
    )
    assert found, result.text
    assert 1 <= int(found[1]) <= 50
    return found[1]


def test_jitter_finds_a_race_and_plays_it_again(ranks):
    """Within 50 seeds; by the option and by the marker."""
    # On a busy machine a rank may be late by itself, which no seed plays again.
    for _ in range(4):
        seed = seed_that_fails(ranks)
        again = ranks(f"--jitter-seed={seed}", "test_it.py::test_race", tests=RACE.format(jitter=""))
        marked = ranks(tests=RACE.format(jitter=f", jitter={seed}"))
        if f"failed with seed {seed};" in again.text and f"failed with seed {seed};" in marked.text:
            again.assert_outcomes(failed=1)
            return
    raise AssertionError(marked.text)


MANY = """
import pytest

@pytest.mark.ranks(2)
@pytest.mark.parametrize("i", range(12))
def test_many(comm, i):
    comm.barrier()
    assert i != 5

@pytest.mark.ranks(2)
def test_last(comm):
    comm.barrier()
"""


MAIN = """
import pytest

@pytest.fixture(scope="module")
def of_main():
    yield
    raise LookupError("torn down")

def test_first(of_main):
    pass

@pytest.mark.ranks(2)
def test_last(rank):
    pass
"""


def test_teardown_in_the_main_process_is_told(ranks):
    """Of fixtures that it has made for tests without ranks."""
    result = ranks(tests=MAIN)
    result.assert_outcomes(passed=2, errors=1)
    assert "LookupError: torn down" in result.text


def test_under_xdist_and_until_the_first_failure(ranks):
    """Each worker has ranks of its own."""
    pytest.importorskip("xdist")
    result = ranks("-p", "xdist", "-n", "2", tests=MANY)
    result.assert_outcomes(failed=1, passed=12)
    result = ranks("-x", tests=MANY)
    result.assert_outcomes(failed=1, passed=5)


DEBUGGED = """
import pytest

@pytest.mark.ranks(2)
def test_debugged(comm, rank):
    here = f"of rank {rank}"
    assert rank == 5

@pytest.mark.ranks(2)
def test_goes_on(comm):
    comm.barrier()
"""


def test_one_rank_is_debugged(ranks, pytester, monkeypatch):
    """It has the terminal, then the tests go on."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=DEBUGGED)
    result = pytester.run(
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "hoop.pytest_plugin",
        "--pdb",
        stdin=b"p 'it is', here\nc\n",
        timeout=DEADLINE_S,
    )
    text = result.stdout.str()
    assert len(re.findall(r"\('it is', 'of rank [01]'\)", text)) == 1, text
    assert re.search(r"rank [01] has failed; debugging it", text)
    result.assert_outcomes(failed=1, passed=1)
    quits = pytester.run(
        sys.executable, "-m", "pytest", "-p", "hoop.pytest_plugin", "--pdb", stdin=b"q\n", timeout=DEADLINE_S
    )
    quits.assert_outcomes(failed=1)
    assert "Quitting debugger" in quits.stdout.str()


REPLAYED = """
import pytest

@pytest.mark.ranks(2)
@pytest.mark.parametrize("i", range(3))
def test_late(comm, rank, i):
    jobs.append(jobs_of(comm))
    comm.barrier()
    assert i < 2
    assert len(set(jobs)) == len(jobs)

jobs = []

def jobs_of(comm):
    from hoop.pytest_plugin import _rank
    return _rank.run.job
"""


def test_seed_plays_the_same_alone_and_behind_others(ranks):
    """Since each test of a seed has a job of its own, whose calls are counted from 1."""
    passing = ranks("--jitter=3", "-k", "not 2", tests=REPLAYED)
    passing.assert_outcomes(passed=2)
    result = ranks("--jitter-seed=3", tests=REPLAYED)
    result.assert_outcomes(failed=1, passed=2)
    assert "failed with seed 3;" in result.text


ALARMED = """
import signal, pytest

@pytest.mark.ranks(2)
def test_hangs(comm, rank):
    if rank == 1:
        signal.pause()
    comm.barrier()

@pytest.mark.ranks(2)
def test_goes_on(comm):
    comm.barrier()
"""

ALARM = """
import os, signal, pytest

def late(*_):
    pytest.fail("Timeout")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if item.name == "test_hangs" and "PYTEST_HOOP_RANK" not in os.environ:
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, 1.0)
    return (yield)
"""


def test_alarm_in_the_main_process_is_a_limit(ranks):
    """As pytest-timeout has one."""
    result = ranks(tests=ALARMED, conftest=ALARM)
    result.assert_outcomes(failed=1, passed=1)
    assert "INTERNALERROR" not in result.text
    assert "of 2 had not ended after" in result.text
    assert "stacks of rank 1 -" in result.text


BETWEEN = """
import os, signal, warnings, pytest
from multiprocessing.connection import wait

@pytest.fixture
def session():
    return "the project's own"

@pytest.fixture(scope="module")
def of_module(rank):
    return rank

@pytest.mark.ranks(2)
def test_leaves(comm, rank):
    if rank == 1:
        of_rank().session().leave()

@pytest.mark.ranks(2)
def test_gives_up(comm, rank, of_module):
    comm.barrier()
    if rank == of_module == 0:
        of_rank().session().abort("has had enough")

@pytest.mark.ranks(2)
def test_after_an_abort(comm, rank):
    comm.barrier()
    if rank == 0:
        of_rank().session().world.revoke()

@pytest.mark.ranks(2)
def test_after_a_revocation(comm, rank):
    comm.barrier()
    if rank == 1:
        of_rank().session().world.barrier_start()

@pytest.mark.ranks(2)
def test_after_those(comm, session):
    comm.barrier()
    assert session == "the project's own"

def test_kills_a_rank(request):
    pool = request.config.pluginmanager.getplugin("hoop-ranks").pool
    os.kill(pool.ranks[1].pid, signal.SIGKILL)
    wait([pool.ranks[1].pid_fd])

@pytest.mark.ranks(2)
def test_after_a_death(comm):
    comm.barrier()

def test_kills_hoopd(request):
    pool = request.config.pluginmanager.getplugin("hoop-ranks").pool
    os.kill(pool.coordinator.pid, signal.SIGKILL)
    os.waitid(os.P_PID, pool.coordinator.pid, os.WEXITED | os.WNOWAIT)

@pytest.mark.ranks(2)
def test_after_hoopds_death(comm):
    comm.barrier()

@pytest.mark.ranks(2)
def test_skipped_by_one(rank):
    if rank == 1:
        pytest.skip("not here")

@pytest.mark.ranks(2)
@pytest.mark.xfail(raises=LookupError)
def test_expected_of_one(comm, rank):
    if rank == 1:
        raise LookupError
    comm.barrier()

class OfTest(Warning):
    pass

@pytest.mark.ranks(2)
def test_warns(comm):
    warnings.warn("mine", OfTest)

def of_rank():
    from hoop.pytest_plugin import _rank
    return _rank
"""


def test_what_a_test_leaves_behind_is_no_other_tests(ranks):
    """A session left, aborted, revoked or with work undone; a rank or hoopd that has ended; a skipped rank."""
    result = ranks("-o", "ranks_timeout=20", tests=BETWEEN)
    result.assert_outcomes(passed=11, xfailed=1, warnings=3)
    assert re.search(r"RuntimeWarning: rank 1 has ended since its last test: .* was killed by SIGKILL; ", result.text)
    assert re.search(r"RuntimeWarning: hoopd \(pid \d+\) has ended since the last test", result.text)
    assert "OfTest: mine" in result.text


EXITS = """
import pytest

@pytest.mark.ranks(2)
def test_exits(comm, rank):
    if rank == 1:
        pytest.exit("enough of it")
    comm.barrier()

@pytest.mark.ranks(2)
def test_is_not_run(comm):
    comm.barrier()
"""


def test_exit_in_a_rank_ends_the_tests(ranks):
    """As without ranks."""
    result = ranks(tests=EXITS)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Exit: enough of it" in result.text
    assert "passed" not in result.text


MANY_FILES = """
import os, resource, pytest

@pytest.fixture(scope="module", autouse=True)
def files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    yield
    for fd in kept:
        os.close(fd)

def test_opens():
    pass

@pytest.mark.ranks(2)
@pytest.mark.parametrize("i", range(2))
def test_with_many(comm, rank, i):
    comm.barrier()
    assert rank == 0 or i == 1
"""


def test_descriptors_beyond_1024(ranks):
    """Which select() cannot watch."""
    ranks(tests=MANY_FILES).assert_outcomes(passed=2, failed=1)


def test_wrong_limits_are_told(ranks):
    """Before a test is run; 0 is none."""
    for wrong in ("-oranks_timeout=off", "--ranks-timeout=-1", "--jitter-seed=-1"):
        result = ranks(wrong, tests="def test_it(): pass\n")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "ERROR: " in result.text
        assert "INTERNALERROR" not in result.text
    marked = (
        "import pytest, unittest\n"
        "class TestIt(unittest.TestCase):\n"
        "    @pytest.mark.ranks({})\n"
        "    def test_it(self): pass\n"
    )
    result = ranks(tests=marked.format("2, 3"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "TestIt::test_it: (2, 3) cannot be the ranks of this test" in result.text
    ranks("--ranks-timeout=0", tests=marked.format("2")).assert_outcomes(passed=1)


def test_wrong_markers_are_told(ranks, pytester):
    """When tests are collected."""
    for i, wrong in enumerate(("", "0", "'4'", "4, colour=1", "True", "2, jitter=-1", "2, timeout='1'")):
        pytester.makepyfile(**{f"test_{i}": f"import pytest\n@pytest.mark.ranks({wrong})\ndef test_it(): pass\n"})
    result = ranks(tests="def test_it(): pass\n")
    result.assert_outcomes(errors=7)
    assert result.text.count("ranks(n, ..., jitter=None, timeout=None): run the test on n ranks") == 7


def test_page_on_ci_shows_tests_that_pass(ranks):
    """Its first program."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "ci.md").read_text()
    program = page.split("```python\n")[1].split("```")[0]
    ranks(tests=program).assert_outcomes(passed=3)


def test_nobody_outlives_pytest(ranks, pytester):
    """That is killed in the middle of a test."""
    tests = (
        "import os, pytest, signal, time\n"
        "main = os.getpid()\n"
        "@pytest.mark.ranks(2)\n"
        "def test_it(comm, rank):\n"
        "    os.write(os.open('pids', os.O_WRONLY | os.O_CREAT | os.O_APPEND), f'{os.getpid()} '.encode())\n"
        "    comm.barrier()\n"
        "    if rank == 0: os.kill(main, signal.SIGKILL)\n"
        "    time.sleep(100)\n"
    )
    result = ranks(tests=tests)
    assert result.ret == -signal.SIGKILL
    from test_spawn import ended

    pids = [int(pid) for pid in (pytester.path / "pids").read_text().split()]
    assert len(pids) == 2
    assert all(ended(pid) for pid in pids)
    assert os.getpid() not in pids
