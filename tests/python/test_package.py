"""tests/python/test_package.py - what the package brings along, and what it does not"""

import pathlib
import subprocess
import sys

import pytest

import hoop

# Each of these takes longer to import than all of hoop may.
SLOW = {
    "asyncio",
    "concurrent.futures",
    "ctypes",
    "dataclasses",
    "email",
    "importlib.metadata",
    "inspect",
    "logging",
    "multiprocessing",
    "random",
    "selectors",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "traceback",
    "unittest",
    "urllib",
}
# Of Python's own that were there before, none of which is imported anew.
FOREIGN = {"_cffi_backend", "hoop"}


def imported(code):
    """The modules that the code loads into an interpreter without site-packages' own."""
    said = subprocess.check_output(
        [sys.executable, "-c", f"import sys; old = set(sys.modules); {code}; print(*sorted(set(sys.modules) - old))"],
        text=True,
    )
    return set(said.split())


def test_import_brings_cffi_alone():
    """No library of arrays, and nothing of Python's that takes long."""
    new = imported("import hoop")
    assert new >= FOREIGN
    assert not new & SLOW
    if sys.version_info >= (3, 10):
        known = sys.stdlib_module_names
        assert {name.partition(".")[0] for name in new} - known == FOREIGN


def test_programs_start_without_the_package():
    """Who waits for hooprun waits for nothing else."""
    beside = pathlib.Path(hoop.__file__).parents[1]
    if not (beside / "hoop_programs.py").exists():
        beside = pathlib.Path(__file__).parents[2] / "python"
    new = imported(f"sys.path.insert(0, {str(beside)!r}); import hoop_programs")
    assert new == {"hoop_programs"}


@pytest.mark.parametrize("name", ["hoop-checkpoint", "hoop-perf", "hoop-sim", "hoopctl", "hoopd", "hooprun"])
def test_programs_are_in_the_package(name):
    """Of the same version as all of it."""
    program = pathlib.Path(hoop.__file__).parent / "bin" / name
    said = subprocess.check_output([program, "--version"], text=True)
    assert said.split()[0] == name


def test_version_is_what_pip_has_installed(monkeypatch):
    """Where it has."""
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 1.2")
    assert hoop.__version__ == "hoop 1.2"
    with pytest.raises(AttributeError, match="no attribute 'allreduce'"):
        _ = hoop.allreduce
