"""tests/python/test_examples.py - the examples do what they say"""

import json
import pathlib
import re

import pytest

from ranks import run

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def example(n, name, *arguments, options=()):
    """What it printed on n ranks, each line with the rank in front."""
    said, code = run(n, str(EXAMPLES / name), *arguments, options=options)
    assert code == 0, said
    return said.splitlines()


def test_hello():
    """Every rank tells the sum."""
    assert sorted(example(4, "hello.py")) == [f"[{r}] rank {r} of 4: the ranks sum to 6" for r in range(4)]


def curve(lines):
    """Losses and accuracies of the epochs that rank 0 tells."""
    found = [re.fullmatch(r"(?:\[0\] )?epoch (\d+): loss ([\d.]+), accuracy ([\d.]+)%", line) for line in lines]
    assert [int(match[1]) for match in found] == list(range(1, len(lines) + 1))
    return [(float(match[2]), float(match[3])) for match in found]


def test_digits():
    """They are learned, and by one rank as by three."""
    alone, together = (curve(example(n, "digits.py", "8")) for n in (1, 3))
    for one, other in zip(alone, together):
        assert one == pytest.approx(other, abs=0.02, rel=0.01)
    assert together[-1][0] < together[0][0] / 10
    assert max(accuracy for _, accuracy in together) > 96


def test_elastic():
    """The death of a rank costs a rank, and nothing else."""
    lines = example(4, "elastic.py", options=("--on-exit", "continue"))
    said = "\n".join(lines)
    assert re.search(r"step 200: allreduce #\d+ .*rank 2 \(.*\) is lost: killed by signal 9", said)
    assert "[0] 3 ranks go on" in lines
    accuracy = re.search(r"\[0\] step 400: accuracy ([\d.]+)% on 3 ranks", said)
    assert float(accuracy[1]) > 96


def test_notebook(tmp_path):
    """Its last values are what it says."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("cloudpickle")
    notebook = nbformat.read(EXAMPLES / "hello.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    said = json.dumps(outputs)
    assert "[60, 60, 60]" in said
    assert "raised: no such luck" in said
