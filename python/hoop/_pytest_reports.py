"""python/hoop/_pytest_reports.py - merges the reports of the ranks into one report of the test"""

from __future__ import annotations

import os
from typing import Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from hoop._pytest_pool import Outcome, Result

PHASES = ("setup", "call", "teardown")


def _told(report: pytest.TestReport) -> tuple[bool, float, str]:
    """Return what told_of() has found of a failure. For a failure that pytest itself reports, it is a guess."""
    is_verdict, when, line = getattr(report, "hoop_told", None) or (False, 0.0, "")
    return is_verdict, when, line or _first_line(str(report.longrepr))


def _first_line(text: str) -> str:
    """Return the line of a traceback that says what was raised."""
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return lines[0] if lines else (text.splitlines() or [""])[-1]


def _ranks(numbers: list[int]) -> str:
    """Return numbers as text, for example "rank 2" or "ranks 0-2, 5"."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in spans]
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(texts)


def _grouped(lines: dict[int, str]) -> str:
    """Return the lines of the ranks, with one line for all ranks that have the same text."""
    by_line: dict[str, list[int]] = {}
    for number, line in sorted(lines.items()):
        by_line.setdefault(line, []).append(number)
    return "\n".join(f"{_ranks(numbers)}: {line}" for line, numbers in by_line.items())


def _sections(reports: dict[int, pytest.TestReport]) -> list[tuple[str, str]]:
    """Return the captured output of the ranks, each kind of it by rank."""
    found: dict[str, dict[int, str]] = {}
    for number, report in sorted(reports.items()):
        for name, text in report.sections:
            found.setdefault(name, {})[number] = text
    sections = []
    for name, texts in found.items():
        by_text: dict[str, list[int]] = {}
        for number, text in texts.items():
            by_text.setdefault(text, []).append(number)
        sections += [(f"{name}, {_ranks(numbers)}", text) for text, numbers in by_text.items()]
    return sections


def _add(report: pytest.TestReport, name: str, text: str) -> None:
    """Add a section below the traceback, which is shown whichever captured output is shown."""
    longrepr: Any = report.longrepr
    if hasattr(longrepr, "addsection"):
        longrepr.addsection(name, text)
    else:
        report.longrepr = f"{report.longrepr}\n{f' {name} ':-^80}\n{text}"


def _head(report: pytest.TestReport, head: str) -> None:
    """Set the text that the line of the summary shows."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = f"{head}: {crash.message}"
    elif isinstance(report.longrepr, str):
        report.longrepr = f"{head}: {report.longrepr}"


def _merge(reports: dict[int, pytest.TestReport], n: int) -> pytest.TestReport:
    """Merge the reports of one phase."""
    failed = {number: report for number, report in reports.items() if report.failed}
    others = {number: report for number, report in reports.items() if not report.passed}
    xfailed = [number for number, report in others.items() if not report.failed and hasattr(report, "wasxfail")]
    if xfailed and all(_told(report)[0] for report in failed.values()):
        # This was expected, and the failures of other ranks follow from it.
        failed = {}
    if failed:
        first = min(failed, key=lambda number: _told(failed[number])[:2])
    elif xfailed:
        first = min(xfailed)
    elif len(others) == len(reports):
        first = min(others)
    else:
        # The test was skipped on some ranks only, so it was run.
        first = min(number for number in reports if number not in others)
    merged = reports[first]
    merged.sections = _sections(reports)
    merged.duration = max(report.duration for report in reports.values())
    if failed:
        _head(merged, f"rank {first} of {n}")
        alike = _told(failed[first])[2]
        lines = {
            number: _told(report)[2] if report.failed else report.outcome
            for number, report in reports.items()
            if number != first
        }
        if any(line != alike for line in lines.values()):
            _add(merged, f"other ranks than {first}", _grouped(lines))
        elif lines:
            _add(merged, f"other ranks than {first}", f"all {len(lines)} failed alike")
    return merged


def _verdicts(phases: dict[str, dict[int, pytest.TestReport]], result: Result) -> dict[int, str]:
    """Return how each rank has ended that has sent its reports."""
    lines = {}
    for number, outcome in enumerate(result.outcomes):
        if outcome.done is None:
            continue
        own = [phases[phase][number] for phase in PHASES if number in phases[phase]]
        failed = [report for report in own if report.failed]
        is_skipped = any(report.skipped for report in own)
        lines[number] = _told(failed[0])[2] if failed else "skipped" if is_skipped else "passed"
    return lines


def _broken(item: pytest.Item, text: str) -> pytest.TestReport:
    """Return the report of a failure that is not an exception of the test.

    The summary shows the first line of text.
    """
    path, line, _ = item.location
    return pytest.TestReport(
        item.nodeid,
        item.location,
        dict.fromkeys(item.keywords, 1),
        "failed",
        ReprExceptionInfo(
            ReprTraceback([ReprEntryNative([f"{text}\n"])], None, "native"),
            ReprFileLocation(path, (line or 0) + 1, text.splitlines()[0]),
        ),
        "call",
    )


def own_frames(stacks: str) -> str:
    """Return stacks that faulthandler has written, without pytest's frames below those of the test."""
    kept, is_below = [], False
    for line in stacks.strip().splitlines():
        if not line.startswith("  "):
            is_below = False
        is_below = is_below or f"{os.sep}_pytest{os.sep}" in line
        if not is_below:
            kept.append(line)
    return "\n".join(kept)


def _death(item: pytest.Item, result: Result, verdicts: dict[int, str]) -> pytest.TestReport | None:
    """Return the report of ranks whose processes have ended, or None if none has."""
    dead = [number for number, outcome in enumerate(result.outcomes) if outcome.death]
    if not dead:
        return None
    first = min(dead, key=lambda number: result.outcomes[number].when)
    n = len(result.outcomes)
    report = _broken(item, f"rank {first} of {n}: {own_frames(result.outcomes[first].death)}")
    lines = {**verdicts, **{r: result.outcomes[r].death.splitlines()[0] for r in dead if r != first}}
    if lines:
        _add(report, f"other ranks than {first}", _grouped(lines))
    return report


def _hang(
    item: pytest.Item, result: Result, verdicts: dict[int, str], report: pytest.TestReport | None
) -> pytest.TestReport:
    """Return the report of ranks that had to be ended. report is that of an earlier failure, if there is one."""
    late = [number for number, outcome in enumerate(result.outcomes) if outcome.stacks]
    n = len(result.outcomes)
    if report is None:
        text = f"{_ranks(late)} of {n} had not ended after {result.time_s:.1f} s"
        report = _broken(item, text)
        if verdicts:
            _add(report, "other ranks", _grouped(verdicts))
    else:
        _add(report, "ranks that had to be ended", f"{_ranks(late)} of {n} went on")
    if result.account:
        _add(report, "who waits for whom", result.account.rstrip())
    for number in late:
        _add(report, f"stacks of rank {number}", own_frames(result.outcomes[number].stacks))
    return report


def merged(item: pytest.Item, result: Result) -> list[pytest.TestReport]:
    """Return one report for each phase, as a test without ranks has."""
    config, n = item.config, len(result.outcomes)
    phases: dict[str, dict[int, pytest.TestReport]] = {phase: {} for phase in PHASES}
    for number, outcome in enumerate(result.outcomes):
        for data in outcome.done.reports if outcome.done else ():
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            phases[report.when][number] = report
    verdicts = _verdicts(phases, result)
    reports = {phase: _merge(phases[phase], n) for phase in PHASES if phases[phase]}
    if "setup" in reports and not reports["setup"].passed and phases["call"]:
        # Ranks that reached the call could not go on without the others.
        called = reports.pop("call")
        if reports["setup"].failed:
            _add(reports["setup"], "ranks that were set up", _grouped({r: verdicts[r] for r in phases["call"]}))
            reports["setup"].sections += called.sections
    broken = _death(item, result, verdicts)
    if any(outcome.stacks for outcome in result.outcomes):
        own = next((r for r in reports.values() if r.failed and not _told(r)[0]), None)
        hang = _hang(item, result, verdicts, broken or own)
        broken = None if hang is own else hang
    if broken is not None:
        broken.sections = reports["call"].sections if "call" in reports else []
        broken.duration = reports["call"].duration if "call" in reports else result.time_s
        reports["call"] = broken
    # A phase that only some ranks have reached did not pass.
    return [reports[phase] for phase in PHASES if phase in reports]


__all__ = ["Outcome", "merged"]
