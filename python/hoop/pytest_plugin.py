"""python/hoop/pytest_plugin.py - runs tests on several ranks

    @pytest.mark.ranks(4)
    def test_sum(comm):
        x = numpy.ones(1)
        comm.allreduce(x)
        assert x[0] == comm.size

Each rank is a process that runs the whole test, with its own fixtures. The test has one
report, with the traceback of the rank that failed first. A fixture whose scope is wider
than a test is made once in each process.
"""

from __future__ import annotations

import math
import pickle
import sys
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import pytest

import hoop
from hoop._pytest_rank import Debugger, RankProcess, now, told_of

# The rank that this process is; None in the main process.
_rank: RankProcess | None = None

_TIMEOUT_S = 60.0
# The greatest seed that HOOP_DEBUG_FAULT takes.
_SEED_MAX = 2**32 - 1
_MARK = (
    "ranks(n, ..., jitter=None, timeout=None): run the test on n ranks, once for each n; with the seed jitter "
    "for delays; ended after timeout seconds"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options of the command line and of the configuration."""
    group = parser.getgroup("hoop", "tests on several ranks (hoop)")
    group.addoption(
        "--jitter",
        type=int,
        metavar="N",
        help="run each test of several ranks with N seeds of random delays (20, say), until one fails",
    )
    group.addoption("--jitter-seed", type=int, metavar="SEED", help="run them with the delays of this seed")
    group.addoption(
        "--ranks-timeout",
        type=float,
        metavar="SECONDS",
        help=f"end a test of several ranks after so long, with the stacks of all ({_TIMEOUT_S:g}); 0: never",
    )
    parser.addini("ranks_timeout", "as --ranks-timeout", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the plugin's state."""
    config.addinivalue_line("markers", _MARK)
    _check_options(config)
    config.pluginmanager.register(Ranks(config), "hoop-ranks")


def _check_options(config: pytest.Config) -> None:
    seed, n_seeds = config.option.jitter_seed, config.option.jitter
    if seed is not None and not _is_number(seed, int, _SEED_MAX):
        raise pytest.UsageError(f"--jitter-seed={seed} is not a number from 0 to {_SEED_MAX}")
    if n_seeds is not None and not _is_number(n_seeds, int, _SEED_MAX):
        raise pytest.UsageError(f"--jitter={n_seeds} is not a number of seeds")
    limit = config.option.ranks_timeout
    if limit is None:
        limit = config.getini("ranks_timeout") or _TIMEOUT_S
    try:
        is_wrong = not _is_number(float(limit), (int, float), math.inf)
    except ValueError:
        is_wrong = True
    if is_wrong:
        raise pytest.UsageError(f"ranks_timeout is {limit}; it is a number of seconds, or 0 for no limit")


def _is_number(value: Any, kinds: Any, most: float) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and 0 <= value <= most


def _sizes(mark: pytest.Mark) -> list[int]:
    """Return the numbers of ranks that a marker lists."""
    sizes = list(mark.args)
    seed, limit = mark.kwargs.get("jitter"), mark.kwargs.get("timeout")
    if (
        not sizes
        or not all(_is_number(n, int, math.inf) and n > 0 for n in sizes)
        or set(mark.kwargs) - {"jitter", "timeout"}
        or not (seed is None or _is_number(seed, int, _SEED_MAX))
        or not (limit is None or _is_number(limit, (int, float), math.inf))
    ):
        raise pytest.Collector.CollectError(f"wrong marker {mark.args} {mark.kwargs}; {_MARK}")
    return sizes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Generate an item for each number of ranks, if the marker lists several."""
    mark = metafunc.definition.get_closest_marker("ranks")
    if mark is None:
        return
    sizes = _sizes(mark)
    if len(sizes) > 1:
        metafunc.fixturenames.append("_n_ranks")
        metafunc.parametrize("_n_ranks", sizes, ids=[f"ranks{n}" for n in sizes], indirect=True)


def _size_of(item: pytest.Item) -> int | None:
    """Return the number of ranks of an item, or None if it is a test without ranks."""
    mark = item.get_closest_marker("ranks")
    if mark is None:
        return None
    callspec = getattr(item, "callspec", None)
    if callspec and "_n_ranks" in callspec.params:
        return int(callspec.params["_n_ranks"])
    sizes = _sizes(mark)
    if len(sizes) > 1:
        raise pytest.Collector.CollectError(f"{mark.args} cannot be the ranks of this test; say one number of them")
    return sizes[0]


def _size_told(item: pytest.Item) -> int | None:
    """Return the number of ranks of an item whose marker has not been checked yet."""
    try:
        return _size_of(item)
    except pytest.Collector.CollectError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None


@pytest.fixture
def _n_ranks(request: pytest.FixtureRequest) -> Any:
    return request.param


def _own() -> RankProcess:
    if _rank is None or _rank.run is None:
        pytest.fail("mark the test with @pytest.mark.ranks(n), which says on how many ranks it runs", pytrace=False)
    return _rank


@pytest.fixture(scope="session")
def rank() -> int:
    """The rank of this process among those that run the test."""
    return _own().number


@pytest.fixture
def session() -> hoop.Session:
    """The session that the ranks have joined.

    Unless this test fails, the next test on as many ranks uses it again.
    """
    return _own().session()


@pytest.fixture
def comm(request: pytest.FixtureRequest) -> Iterator[hoop.Comm]:
    """A communicator of all ranks that only this test uses, so that unfinished calls disturb no other test."""
    # The fixture `session` may be one of the project.
    session = _own().session()
    made = session.world.create(range(session.world.size))
    made.set_name(request.node.name[:60])
    # After this barrier, a rank that fails and leaves disturbs no other rank in create().
    session.world.barrier()
    yield made
    made.free()


class Ranks:
    """The state of this plugin during a run."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the options of a configuration."""
        self.config = config
        self.pool: Any = None
        self.session: pytest.Session | None = None
        self.places: dict[str, int] = {}
        self.sizes: list[int | None] = []
        self.pdb: Any = None
        # Modules that the main process has imported, too, so that a rank may name their classes to it.
        self.modules: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Prepare to fork ranks, before any fixture is made."""
        if self.config.option.collectonly or _rank is not None:
            return
        self.sizes = [_size_told(item) for item in session.items]
        if not any(self.sizes):
            return
        from hoop._pytest_pool import Pool

        self.session = session
        self.modules = set(sys.modules)
        self.places = {item.nodeid: i for i, item in enumerate(session.items)}
        factory: Any = getattr(self.config, "_tmp_path_factory", None)
        self.pool = Pool(session, str(factory.getbasetemp()) if factory else "", self.begin)

    def begin(self, rank: RankProcess) -> None:
        """Make this process a rank."""
        global _rank
        _rank = rank
        self.pdb = self.config.pluginmanager.unregister(name="pdbinvoke") if self.config.option.usepdb else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test on ranks. In a rank itself, run the test and keep its reports."""
        if _rank is not None:
            from _pytest.runner import runtestprotocol

            _rank.reports = runtestprotocol(item, log=False, nextitem=nextitem)
            return True
        if self.pool is None or _size_of(item) is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        self._teardown(item, nextitem)
        return True

    def _teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Tear down the fixtures of earlier tests in this process that the next test does not use."""
        call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
        report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
        if report.failed:
            item.ihook.pytest_runtest_logreport(report=report)

    def _seeds(self, mark: pytest.Mark) -> list[int | None]:
        option = self.config.option
        if option.jitter_seed is not None:
            return [option.jitter_seed]
        if mark.kwargs.get("jitter") is not None:
            return [int(mark.kwargs["jitter"])]
        return list(range(1, option.jitter + 1)) if option.jitter else [None]

    def _limit_s(self, mark: pytest.Mark) -> float:
        told = mark.kwargs.get("timeout")
        if told is None:
            told = self.config.option.ranks_timeout
        if told is None:
            told = self.config.getini("ranks_timeout") or _TIMEOUT_S
        return float(told) or math.inf

    def _reports(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Return the reports of the first seed that fails, or of the last seed."""
        from hoop._pytest_reports import merged

        mark = item.get_closest_marker("ranks")
        n = _size_of(item)
        assert mark is not None
        assert n is not None
        seeds = self._seeds(mark)
        reports: list[pytest.TestReport] = []
        for i, seed in enumerate(seeds):
            place = self.places[item.nodeid]
            is_last = i == len(seeds) - 1

            def following(number: int, place: int = place, is_last: bool = is_last) -> int | None:
                return self._following(number, place) if is_last else place

            settings = {} if seed is None else {"debug_fault": f"do=jitter:{seed}"}
            debug = self._debug if self.config.option.usepdb else None
            result = self.pool.run(place, following, n, settings, self._limit_s(mark), debug)
            self._warn(item, result)
            quits = [outcome.done.quits for outcome in result.outcomes if outcome.done]
            if any(text is not None for text in quits):
                pytest.exit(next(text for text in quits if text is not None))
            reports = merged(item, result)
            failed = next((report for report in reports if report.failed), None)
            if failed and seed is not None:
                failed.sections.append(
                    ("jitter", f"failed with seed {seed}; again by: pytest '{item.nodeid}' --jitter-seed={seed}")
                )
            if failed:
                break
        return reports

    def _following(self, number: int, place: int) -> int | None:
        """Return the next test of a rank, for which it keeps its fixtures."""
        for i in range(place + 1, len(self.sizes)):
            if (self.sizes[i] or 0) > number:
                return i
        return None

    def _warn(self, item: pytest.Item, result: Any) -> None:
        """Repeat the warnings of the ranks, each once."""
        for text in result.notes:
            path, line, _ = item.location
            note = warnings.WarningMessage(RuntimeWarning(text), RuntimeWarning, path, (line or 0) + 1)
            self.config.hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": note, "when": "runtest", "nodeid": item.nodeid, "location": None}
            )
        told = set()
        for outcome in result.outcomes:
            for message, when, nodeid, location in outcome.done.warnings if outcome.done else ():
                if str(message) not in told:
                    told.add(str(message))
                    self.config.hook.pytest_warning_recorded.call_historic(
                        kwargs={"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
                    )

    def _debug(self, told: Debugger, number: int) -> None:
        """Give the terminal to a rank, or take it back for this process."""
        import signal

        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if told.begins:
            self._interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
            if reporter is not None:
                reporter.ensure_newline()
                reporter.write_line(f"rank {number} has failed; debugging it")
                reporter.flush() if hasattr(reporter, "flush") else None
            return
        signal.signal(signal.SIGINT, self._interrupt)
        if told.quits and self.session is not None:
            self.session.shouldstop = "Quitting debugger"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report at once that a rank has failed or stops, so that other ranks do not wait for it."""
        report = yield
        if _rank is not None and call.excinfo is not None:
            if report.failed:
                vars(report)["hoop_told"] = told_of(call, now())
            if call.when != "teardown":
                if report.failed or hasattr(report, "wasxfail"):
                    _rank.fail(call.excinfo.value)
                elif report.skipped and not getattr(call.excinfo.value, "_use_item_location", False):
                    # A skip is no failure, but other ranks may wait for this one, unless a marker skips it on all.
                    _rank.part(call.excinfo.value)
        return report

    @pytest.hookimpl
    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Start the debugger on only one of the ranks that fail."""
        if _rank is None or self.pdb is None or not isinstance(report, pytest.TestReport):
            return
        if _rank.may_debug():
            quits = False
            try:
                self.pdb.pytest_exception_interact(node=node, call=call, report=report)
            except pytest.exit.Exception:
                quits = True
            _rank.end_debugging(quits)

    @pytest.hookimpl
    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: Any, nodeid: str, location: Any
    ) -> None:
        """Keep a warning of a rank for the main process, which shows it."""
        if _rank is None:
            return
        message = warning_message
        told = warnings.WarningMessage(str(message.message), UserWarning, message.filename, message.lineno)
        if message.category.__module__ in self.modules:
            try:
                own = warnings.WarningMessage(
                    message.category(str(message.message)), message.category, message.filename, message.lineno
                )
                pickle.loads(pickle.dumps(own))
                told = own
            except Exception:  # its class has another constructor, or has no name
                pass
        _rank.warnings.append((told, when, nodeid, location))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End all ranks."""
        if self.pool is not None and _rank is None:
            self.pool.close()
            self.pool = None
