"""The suggested length of shingles, against brute force."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from random import Random

import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError
from lookalike.kinds.documents.shingle_length import LENGTHS


def texts(seed: int, *, count: int = 12, words: int = 25) -> list[str]:
    draw = Random(seed)
    vocabulary = ["".join(draw.choices("abcd", k=draw.randint(1, 4))) for _ in range(30)]
    return [" ".join(draw.choices(vocabulary, k=words)) for _ in range(count)]


def shingles(text: str, unit: str, k: int) -> set[tuple[str, ...]]:
    tokens = text.split() if unit == "word" else list(text)
    return {tuple(tokens[i : i + k]) for i in range(max(1, len(tokens) - k + 1))}


def test_the_probability_is_that_of_brute_force() -> None:
    given = texts(1)
    survey = la.suggest_k(given)
    assert survey.documents == len(given)
    for one in survey.lengths:
        sets = [shingles(text, one.unit, one.k) for text in given]
        shares = [len(a & b) / len(a) for a, b in permutations(sets, 2)]
        assert one.measured == pytest.approx(sum(shares) / len(shares))


@pytest.mark.promise("docs/choosing.md", "suggests the smallest k for which this is rare")
def test_k_is_the_least_that_reaches_the_target() -> None:
    survey = la.suggest_k(texts(2), target=0.05)
    below = [one for one in survey.lengths if one.unit == survey.unit and one.measured <= 0.05]
    assert survey.unit == "word"
    assert survey.k == min(one.k for one in below)


def test_short_texts_are_compared_by_characters() -> None:
    names = ["ann lee", "bob stone", "cy young", "dee hall", "eve moss", "fay kerr"]
    assert la.suggest_k(names).unit == "char"


def test_related_documents_do_not_count() -> None:
    given = texts(3)
    assert la.suggest_k([*given, given[0], given[1] + " x"]).lengths == la.suggest_k(given).lengths


def test_texts_that_share_long_passages_get_the_longest_k() -> None:
    draw = Random(5)
    footer = " ".join(f"footer{i}" for i in range(12))
    given = [" ".join([*(f"w{draw.random()}" for _ in range(60)), footer]) for _ in range(6)]
    survey = la.suggest_k(given, target=0.0001)
    assert survey.best("word") is None
    assert survey.best("char") is None
    assert (survey.unit, survey.k) == ("word", LENGTHS["word"][-1])


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="target is 1; expected a probability above 0 and below 1"):
        la.suggest_k(["a", "b"], target=1)
    with pytest.raises(InputError, match="has fewer than 2 unrelated texts"):
        la.suggest_k(["a rose is a rose", "a rose is a rose", ""])
    with pytest.raises(UsageError, match="holds token lists"):
        la.suggest_k([["a"], ["b"]])
