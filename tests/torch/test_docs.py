"""tests/torch/test_docs.py - the programs in docs/pytorch.md run"""

import pathlib
import re

import pytest

from ranks import run, torchrun

PAGE = (pathlib.Path(__file__).parents[2] / "docs/pytorch.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_first_program_runs(tmp_path):
    """Without a word."""
    program = tmp_path / "program.py"
    program.write_text(BLOCKS[0], encoding="utf-8")
    assert torchrun(2, program) == []


def _execute(rank, size, code):
    exec(code, {})


@pytest.mark.parametrize("code", BLOCKS[1:])
def test_the_others_run_in_a_process_group(code, tmp_path, monkeypatch):
    """On four ranks."""
    monkeypatch.chdir(tmp_path)
    # A dump with stacks imports torch's compiler.
    run(4, _execute, code, deadline_s=150)
