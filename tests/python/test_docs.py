"""tests/python/test_docs.py - what the pages show runs, and what they name is there"""

import pathlib
import re
import shlex

import pytest

import hoop
from hoop._buffer import operator
from hoop._work import Work
from ranks import run

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ("README.md", "docs/python.md", "docs/python-from-mpi4py-and-torch.md")


def blocks(page, language):
    """The blocks of code in a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


PROGRAMS = [pytest.param(code, id=f"{page}-{i}") for page in PAGES for i, code in enumerate(blocks(page, "python"))]
LAUNCHED = [
    pytest.param(line, id=line)
    for page in PAGES
    for block in blocks(page, "sh")
    for line in block.splitlines()
    if re.match(r"hooprun .*python", line)
]


@pytest.mark.parametrize("code", PROGRAMS)
def test_programs_run(code, tmp_path):
    """On four ranks."""
    program = tmp_path / "program.py"
    program.write_text(code, encoding="utf-8")
    said, status = run(4, str(program))
    assert status == 0, said


@pytest.mark.parametrize("line", LAUNCHED)
def test_commands_run(line):
    """Those that start ranks, as they stand there, in the root of a clone."""
    words = shlex.split(line.partition("#")[0])
    assert words[:2] == ["hooprun", "-n"]
    at = words.index("python")
    said, status = run(words[2], *words[at + 1 :], options=words[3:at], cwd=ROOT)
    assert status == 0, said


def test_the_page_shows_hello_as_it_is():
    """But for its docstring."""
    program = (ROOT / "examples/python/hello.py").read_text(encoding="utf-8")
    assert blocks("docs/python.md", "python")[0] == program.partition('"""\n\n')[2]


def first_cells(page):
    """What stands in the first column of its tables, in backquotes."""
    lines = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [code for line in lines for code in re.findall(r"`([^`]+)`", line.split(" | ")[0])]


def test_what_tables_name_is_there():
    """Attributes of a communicator, a work, a session and of the package."""
    kinds = {"comm": hoop.Comm, "work": Work, "session": hoop.Session, "hoop": hoop}
    cells = [cell for page in PAGES[1:] for cell in first_cells(page)]
    named = {found for cell in cells for found in re.findall(r"\b(comm|work|session|hoop)\.(\w+)", cell)}
    assert len(named) > 30
    assert not [f"{kind}.{name}" for kind, name in sorted(named) if not hasattr(kinds[kind], name)]


def test_every_call_of_a_communicator_has_its_row():
    """A call that is new has other names elsewhere, too."""
    cells = " ".join(first_cells("docs/python-from-mpi4py-and-torch.md"))
    calls = {name for name in dir(hoop.Comm) if not name.startswith("_") and not name.endswith("_start")}
    assert not sorted(name for name in calls if not re.search(rf"\bcomm\.{name}\b", cells))


def test_operators_and_dtypes_that_pages_name_are_there():
    """As calls take them; all dtypes are named."""
    text = (ROOT / "docs/python-from-mpi4py-and-torch.md").read_text(encoding="utf-8")
    operators = re.findall(r'"(\w+)"', re.search(r"^Operators are .*$", text, re.M).group())
    assert set(operators) > {"sum", "product"}
    assert all(operator(name) == hoop.ReduceOp[name.upper()] for name in operators)
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    named = " ".join(re.search(r"dtype is one of (\d+), or it is refused: ([^.]*)\.", text, re.S).groups())
    sized = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
    single = {dtype.name.lower() for dtype in hoop.DType} - sized
    assert "int and uint of 8 to 64 bits" in named
    assert set(re.findall(r"\b[a-z]+\d+\b|bool", named)) == single
    assert named.startswith(f"{len(sized | single)} ")
