"""Options of documents from judged examples."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError

KETTLES = """id,text
a1,kettle steel one litre with a whistle and a wooden handle
a2,kettle steel one litre with a whistle and a plastic handle
a3,kettle steel two litres with a whistle and a plastic handle
a4,kettle steel two litres with a whistle and a plastic grip
b1,teapot of white china for six cups
"""


@pytest.mark.promise("docs/how-to/review.md", "Two examples are enough to begin")
def test_two_examples_give_a_command_that_separates_them(tmp_path: Path, lookalike, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kettles.csv").write_text(KETTLES)
    done = lookalike("suggest", "kettles.csv", "--same", "a1", "a2", "--different", "a2", "a3")
    assert done.code == 0, done.err
    *_, last = done.out.strip().splitlines()
    assert last.startswith("Suggested: lookalike pairs kettles.csv --unit word")
    run = lookalike(*last.removeprefix("Suggested: lookalike ").split())
    found = [line.split("\t")[:2] for line in run.out.splitlines()[1:]]
    assert ["a1", "a2"] in found
    assert ["a2", "a3"] not in found
    assert "a3  a4" in done.out  # what else comes along


def test_a_suggestion_is_what_a_run_says() -> None:
    rng = random.Random(3)
    words = [f"w{at}" for at in range(300)]
    base = [" ".join(rng.choices(words, k=40)) for _ in range(30)]
    texts = base + [" ".join([*one.split()[:38], "new", "end"]) for one in base]  # copies with another end
    texts += [" ".join(rng.sample(one.split(), 40)) for one in base]  # the same words in another order
    judged = [{"left": at, "right": at + 30, "verdict": "same"} for at in range(10)]
    judged += [{"left": at, "right": at + 60, "verdict": "different"} for at in range(10)]
    made = la.suggest(texts, verdicts=judged)
    best = made.best
    assert (best.wrong, made.same, made.different) == (0, 10, 10)
    assert (best.unit, best.k) != ("word", 1)  # single words cannot tell these apart
    run = la.pairs(texts, unit=best.unit, k=best.k, measure=best.measure, threshold=best.threshold).pairs.to_pylist()
    assert len(run) == made.pairs == 30
    assert all(abs(row["left"] - row["right"]) == 30 for row in run)
    assert all(left >= 10 for left, _, _ in made.nearest)  # the examples themselves are not named


def test_examples_that_nothing_separates_are_counted() -> None:
    texts = ["a b c d e f", "a b c d e f", "a b c d e f", "u v w x y z"]
    assert la.suggest(texts, same=[(0, 1)], different=[(0, 2)]).best.wrong == 1


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"same": [(0, 1)]}, UsageError, "at least one pair that is the same and one that is different"),
        ({"same": [(0, 9)], "different": [(0, 1)]}, InputError, "no text has the id '9'"),
    ],
)
def test_wrong_examples_are_refused(options, error, said) -> None:
    with pytest.raises(error, match=said):
        la.suggest(["a b c", "a b d"], **options)
