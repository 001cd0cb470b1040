"""tests/python/test_examples.py - the examples do what they say"""

import pathlib

from ranks import run

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def test_hello():
    """Every rank tells the sum."""
    said, code = run(4, str(EXAMPLES / "hello.py"))
    assert code == 0, said
    assert sorted(said.splitlines()) == [f"[{r}] rank {r} of 4: the ranks sum to 6" for r in range(4)]
