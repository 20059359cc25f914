"""Strings within edits: the pairs of a comparison of all, by the textbook's table, for short strings and long ones."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, Levenshtein

import lookalike as la
from lookalike.errors import TooManyPairs, UsageError
from lookalike.kernels import edits
from lookalike.kinds.strings import lengths as stage
from lookalike.kinds.strings import local as engine
from lookalike.kinds.strings.kernels import keys as kernels
from lookalike.textbook.distances import DISTANCES
from oracles import edits_apart, subsequences

PEERS = {"levenshtein": Levenshtein, "indel": Indel}


def distance(measure: str, a: str, b: str) -> int:
    return edits_apart(a, b, replace=measure == "levenshtein")


def matches(measure: str, a: str, b: str, max_edits: int | None, least: str | None) -> float | None:
    """What is reported for the two, or None."""
    if not a or not b:
        return None
    apart = PEERS[measure].distance(a, b)
    if least is None:
        return float(apart) if apart <= max_edits else None
    whole = max(len(a), len(b)) if measure == "levenshtein" else len(a) + len(b)
    return (whole - apart) / whole if Fraction(whole - apart, whole) >= Fraction(least) else None


def check(texts: list[str], measure: Any, max_edits: int | None = None, least: str | None = None) -> int:
    bound: Any = {"max_edits": max_edits} if least is None else {"threshold": float(least)}
    rows = la.strings.pairs(pa.array(texts, pa.string()), measure=measure, **bound).pairs.to_pylist()
    got = {(row["left"], row["right"]): row["distance" if least is None else "similarity"] for row in rows}
    assert len(got) == len(rows)
    scores = {
        (i, j): matches(measure, texts[i], texts[j], max_edits, least) for j in range(len(texts)) for i in range(j)
    }
    assert got == {pair: score for pair, score in scores.items() if score is not None}
    return len(got)


def edited(draw: random.Random, text: str, letters: str, count: int) -> str:
    out = list(text)
    for _ in range(count):
        at = draw.randrange(len(out) + 1)
        out[at : at + draw.randint(0, 1)] = draw.choice([[], [draw.choice(letters)]])
    return "".join(out)


def corpus(letters: str, longest: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    texts = ["".join(draw.choices(letters, k=draw.randint(0, longest))) for _ in range(50)]
    return texts + [edited(draw, draw.choice(texts), letters, draw.randint(0, 5)) for _ in range(70)]


@pytest.mark.parametrize("measure", ["levenshtein", "indel"])
@pytest.mark.parametrize(
    ("letters", "longest"), [("ab", 6), ("aé漢😀z", 14), ("abcdefgh", 40), ("abcdefghijklmno", 150)]
)
@pytest.mark.parametrize("bound", [0, 1, 2, 3, 6, "0.5", "0.8", "0.9", "1"])
def test_every_pair_and_no_other(measure: str, letters: str, longest: int, bound: Any) -> None:
    texts = corpus(letters, longest, seed=longest)
    assert check(texts, measure, **{"max_edits" if isinstance(bound, int) else "least": bound}) > 5


@pytest.mark.parametrize("measure", ["levenshtein", "indel"])
@pytest.mark.parametrize("bound", [40, "0.6", "0.9"])
def test_every_pair_of_long_strings(measure: str, bound: Any) -> None:
    draw = random.Random(5)
    firsts = ["".join(draw.choices("abcdefgh", k=draw.randint(20, 900))) for _ in range(25)]
    texts = firsts + [edited(draw, text, "abcdefgh", draw.randint(0, len(text) // 4)) for text in firsts]
    assert check(texts, measure, **{"max_edits" if isinstance(bound, int) else "least": bound}) > 5


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("abß漢", max_size=9), max_size=12), st.sampled_from(["levenshtein", "indel"]), st.integers(0, 5)
)
def test_any_strings(texts: list[str], measure: str, bound: int) -> None:
    check(texts, measure, max_edits=bound)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["levenshtein", "indel"]))
def test_the_kernels_are_the_table_and_the_peer(a: str, b: str, measure: str) -> None:
    assert DISTANCES[measure].between(a, b) == distance(measure, a, b) == PEERS[measure].distance(a, b)


@settings(deadline=None)
@given(st.text("abc", min_size=65, max_size=90), st.integers(0, 6), st.randoms(use_true_random=False))
def test_beyond_64_letters(a: str, count: int, draw: random.Random) -> None:
    b = edited(draw, a, "abcd", count)
    for measure, peer in PEERS.items():
        assert DISTANCES[measure].between(a, b) == peer.distance(a, b)


@settings(deadline=None)
@given(st.text("ab漢", min_size=1, max_size=12), st.text("ab漢", min_size=1, max_size=12), st.integers(0, 4))
def test_a_distance_above_the_bound_is_only_known_to_be_above(a: str, b: str, most: int) -> None:
    points = np.array([ord(c) for c in a + b], np.uint32) % 200
    ends, out = np.array([0, len(a), len(a) + len(b)]), np.empty(1, np.int64)
    for measure, name in ((edits.LEVENSHTEIN, "levenshtein"), (edits.INDEL, "indel")):
        edits.distances(measure, points, ends, np.array([0]), np.array([1]), most, 200, out)
        true = distance(name, a, b)
        assert out[0] == true or (out[0] > most and true > most)


@settings(deadline=None)
@given(st.text("aab", max_size=8), st.integers(0, 4))
def test_deletions_make_every_subsequence(text: str, gone: int) -> None:
    """Keys of what remains are as many as there are different strings, or a few more where one came twice."""
    points = np.array([ord(c) for c in text], np.uint32)
    heads, powers = np.empty(len(text) + 1, np.uint64), stage.powers(len(text) + 2)
    kernels.prefix_hashes(points, heads)

    def keys(of: str, deletions: int) -> set[int]:
        here = np.array([ord(c) for c in of], np.uint32)
        kernels.prefix_hashes(here, heads)
        out = np.empty(1000, np.uint64)
        count = kernels.shortened(here, deletions, heads, powers, np.empty(9, np.int64), np.empty(9, np.uint64), out)
        return set(out[:count].tolist())

    assert keys(text, gone) == {key for rest in subsequences(text, gone) for key in keys(rest, 0)}


def test_against_another_collection_and_threads() -> None:
    texts = corpus("abcdef", 12, seed=3)
    left, right = texts[:60], texts[60:]
    answers = [la.strings.pairs(left, against=right, max_edits=2, threads=n).pairs for n in (1, 3)]
    assert answers[0].equals(answers[1])
    got = {(row["left"], row["right"]) for row in answers[0].to_pylist()}
    assert got == {
        (i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a and b and Levenshtein.distance(a, b) <= 2
    }


def test_case_and_accents() -> None:
    texts = ["Straße", "STRASSE", "café", "CAFE"]
    assert la.strings.pairs(texts, max_edits=0).pairs.num_rows == 0
    folded = la.strings.pairs(texts, max_edits=0, fold_case=True).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in folded] == [(0, 1)]
    bare = la.strings.pairs(texts, max_edits=0, fold_case=True, strip_accents=True).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in bare] == [(0, 1), (2, 3)]


@pytest.mark.promise("docs/how-to/strings.md", "work as those of documents do, with the same outputs")
def test_groups_dedup_and_a_stricter_bound() -> None:
    names = ["Jon Smith", "John Smith", "John Smyth", "Ann Lee", ""]
    assert la.strings.groups(names, max_edits=1).groups["id"].to_pylist() == [0, 1, 2]
    done = la.strings.dedup(names, max_edits=1, keep="longest")
    assert done.kept["text"].to_pylist() == ["John Smith", "Ann Lee", ""]
    result = la.strings.pairs(names, max_edits=2)
    assert result.pairs.num_rows == 3
    assert result.rethreshold(1).pairs.num_rows == 2
    near = la.strings.pairs(names, threshold=0.8)
    assert near.pairs["similarity"].to_pylist() == [0.9, 0.8, 0.9]
    assert near.rethreshold(0.9).pairs.num_rows == 2
    assert near.receipt["choice"]["why"] == "strings are always joined exactly"


def test_room_for_more_pairs_than_a_task_has_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "STRING_PAIR_BUFFER", 1)
    assert check(corpus("ab", 5, seed=1), "levenshtein", max_edits=2) > 1000
    assert check(corpus("ab", 60, seed=1), "levenshtein", max_edits=9) > 50


def test_too_many_pairs() -> None:
    texts = [f"{a}{b}" for a in range(60) for b in range(60)]
    with pytest.raises(TooManyPairs, match=r"a sample of 2,000 strings .* Allow fewer edits"):
        la.strings.pairs(texts, max_edits=4, max_pairs=1000)
    with pytest.raises(TooManyPairs, match=r"more than 10 pairs"):
        la.strings.pairs(texts[:100], max_edits=4, max_pairs=10)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"max_edits": -1}, "max_edits is -1; expected a whole number, 0 or more."),
        ({"max_edits": 1.5}, "max_edits is 1.5; expected a whole number, 0 or more."),
        ({"threshold": 1.5}, "threshold is 1.5; expected a number above 0 and at most 1."),
        ({"threshold": 0.0}, "threshold is 0.0; expected a number above 0 and at most 1."),
        ({"max_edits": 1, "threshold": 0.5}, "max_edits and threshold do not go together; give one of them."),
        ({"measure": "hamming"}, "measure 'hamming' is unknown."),
    ],
)
def test_options_that_cannot_work(options: Any, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        la.strings.pairs(["a"], **options)
    assert line in str(caught.value)


def test_lists_of_tokens_are_no_strings() -> None:
    with pytest.raises(UsageError, match="the column holds lists of tokens; expected text"):
        la.strings.pairs([["a"], ["b"]])


def test_nothing_to_compare() -> None:
    for none in ([], [""], ["", None]):
        assert la.strings.pairs(none).pairs.num_rows == 0
        assert la.strings.dedup(none).kept.num_rows == len(none)
