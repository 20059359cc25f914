"""Source code: names folded, comments on wish, languages by name or by file."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import MissingExtra
from lookalike.kinds.passages.source_code import place_code

ORIGINAL = '''
def mean_of(values, weights=None):
    """The mean of some values."""
    # weights may be missing
    total = 0.0
    for index, value in enumerate(values):
        total += value * (weights[index] if weights else 1)
    if not values:
        raise ValueError("nothing to average: " + repr(values))
    return total / (sum(weights) if weights else len(values))
'''
RENAMED = """
def average(xs, ws=None):
    acc = 0
    for i, x in enumerate(xs):  # quite my own work
        acc += x * (ws[i] if ws else 1)
    if not xs:
        raise ValueError('empty list: ' + repr(xs))
    return acc / (sum(ws) if ws else len(xs))
"""
OTHER = """
class Shop:
    def __init__(self):
        self.open = {}
    def sell(self, what, price):
        while what in self.open and price > 3:
            del self.open[what]
        assert isinstance(price, int), "no"
"""


def table(*texts: str) -> pa.Table:
    return pa.table({"id": [f"work/{i}.py" for i in range(len(texts))], "text": list(texts)})


def tokens(text: str, **options: bool) -> list[str]:
    placed = place_code(pa.array([text], pa.large_string()), ["a.py"], "auto", comments=options.get("comments", True))
    return [text[a:b] for a, b in zip(placed.starts, placed.ends, strict=True)]


@pytest.mark.promise("docs/how-to/passages.md", "renaming does not hide a copy")
@pytest.mark.promise("docs/how-to/detect-plagiarism.md", "`--language auto` counts all names as one")
def test_renaming_does_not_hide_a_copy() -> None:
    found = la.passages(table(ORIGINAL, RENAMED, OTHER), language="python", comments=False)
    assert [(row["left"], row["right"]) for row in found.pairs.to_pylist()] == [("work/0.py", "work/1.py")]
    row = found.passages.to_pylist()[-1]
    assert ORIGINAL[row["left_start"] : row["left_end"]] == ORIGINAL.strip()
    assert RENAMED[row["right_start"] : row["right_end"]] == RENAMED.strip()
    assert found.pairs["right_in_left"].to_pylist() == [1.0]
    assert la.passages(table(ORIGINAL, RENAMED, OTHER)).pairs.num_rows == 0  # as prose, they share nothing


def test_tokens_are_pieces_of_the_text() -> None:
    assert tokens("x = f(1, 'a b')  # Hi there\n") == ["x", "=", "f", "(", "1", ",", "'a b'", ")", "Hi", "there"]
    assert tokens("x = 1  # Hi there\n", comments=False) == ["x", "=", "1"]
    assert tokens("'é😀' + y\n") == ["'é😀'", "+", "y"]


def test_what_is_folded_and_what_is_not() -> None:
    def same(one: str, other: str, language: str = "python") -> bool:
        texts = pa.array([one, other], pa.large_string())
        placed = place_code(texts, ["", ""], language, comments=False)
        return placed[0].tolist() == placed[1].tolist()

    assert same("total = price + 1", "x = y + 275")
    assert same('say("hello")', "shout('bye now')")
    assert same("int total = price;", "int sum = cost; // why", "java")
    assert not same("a + b", "a - b")
    assert not same("if x: pass", "while x: pass")
    assert not same("len(x)", "print(x)")


def test_an_unknown_file_name_is_plain_text() -> None:
    placed = place_code(pa.array(["some words"], pa.large_string()), ["notes.zzz"], "auto", comments=True)
    assert len(placed.tokens) >= 1


def test_comments_count_unless_they_are_ignored() -> None:
    comment = "# " + " ".join(f"word{i}" for i in range(40))
    texts = table(f"{comment}\nx = 1\n", f"import os\n{comment}\n")
    assert la.passages(texts, language="auto").pairs.num_rows == 1
    assert la.passages(texts, language="auto", comments=False).pairs.num_rows == 0


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    with pytest.raises(MissingExtra, match=r'source code needs: pip install "lookalike\[code\]"'):
        la.passages(["x"], language="auto")
