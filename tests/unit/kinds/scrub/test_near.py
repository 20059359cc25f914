"""scrub with `gap`: which near copies are cut."""

from __future__ import annotations

import random

import pytest

import lookalike as la
from lookalike.errors import UsageError

VOCABULARY = [f"w{number}" for number in range(2000)]


def edited(words: list[str], rng: random.Random, edits: int) -> list[str]:
    """Replace, drop or insert single words, with at least 12 unchanged ones between two edits."""
    out = list(words)
    for number in range(edits):
        place = len(words) - 14 * (number + 1)
        out[place : place + 1] = rng.choice([["new"], [], ["new", "newer"]])
    return out


@pytest.mark.promise(
    "docs/how-to/clean-a-training-corpus.md", "shares a run of 12 equal words with the copy that stays"
)
def test_copies_with_edits_are_cut_whole() -> None:
    rng = random.Random(5)
    own = iter(range(10**6))

    def around(words: list[str]) -> str:
        return " ".join([*(f"a{next(own)}" for _ in range(20)), *words, *(f"a{next(own)}" for _ in range(20))])

    passages = [rng.choices(VOCABULARY, k=70) for _ in range(20)]
    copies = [edited(words, rng, 1 + number % 4) for number, words in enumerate(passages)]
    texts = [around(words) for words in [*passages, *copies]]
    exact, near = la.scrub(texts, threads=1), la.scrub(texts, gap=3, threads=1)
    assert near.kept["text"].to_pylist()[:20] == texts[:20]
    for text, rest in zip(texts[20:], near.kept["text"].to_pylist()[20:], strict=True):
        assert rest.split() == [word for word in text.split() if word[0] == "a"]
    assert exact.receipt["counts"]["tokens_removed"] < near.receipt["counts"]["tokens_removed"]


def test_a_near_copy_inside_of_its_own_document() -> None:
    rng = random.Random(6)
    words = rng.choices(VOCABULARY, k=60)
    text = " ".join([*words, "then", *words[:30], "other", *words[31:], "end"])
    (rest,) = la.scrub([text], gap=2, threads=1).kept["text"].to_pylist()
    assert rest == " ".join([*words, "then", "end"])


def test_text_that_differs_more_stays() -> None:
    rng = random.Random(7)
    words = rng.choices(VOCABULARY, k=60)
    changed = [word if place % 8 else f"x{place}" for place, word in enumerate(words)]  # no run of 12
    texts = [" ".join(words), " ".join(changed)]
    assert la.scrub(texts, gap=3, threads=1).kept["text"].to_pylist() == texts


def test_gap_is_for_words_at_words() -> None:
    with pytest.raises(UsageError, match="leave level, unit and at out"):
        la.scrub(["a"], gap=2, at="sentence")
