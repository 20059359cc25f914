"""Two sets against Python's own sets and counters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import BadText, UsageError
from lookalike.kinds.documents.sets import jaccard, similarities

tokens = st.one_of(
    st.lists(st.integers(-3, 3), max_size=8),
    st.lists(st.sampled_from(["", "a", "b", "ä", "京", "a b", "\0"]), max_size=8),
    st.lists(st.sampled_from([1, "1", (1, 2), None, 2.5, 1 << 70]), max_size=8),
)
texts = st.text("abAB ,.\n", max_size=30)


def windows(sequence: list[Any], k: int) -> list[Hashable]:
    """The k-shingles; all of it where it is shorter than k."""
    k = min(k, len(sequence))
    return [tuple(sequence[i : i + k]) for i in range(len(sequence) - k + 1)] if sequence else []


def slow_jaccard(a: list[Hashable], b: list[Hashable], *, bag: bool = False) -> float:
    left, right = (Counter(a), Counter(b)) if bag else (Counter(set(a)), Counter(set(b)))
    union = (left | right).total()
    return (left & right).total() / union if union else 0.0


@settings(deadline=None)
@given(tokens, tokens, st.booleans(), st.integers(1, 3))
def test_collections_as_python_counts_them(a: list[Any], b: list[Any], bag: bool, k: int) -> None:
    assert jaccard(a, b, bag=bag, k=k) == slow_jaccard(windows(a, k), windows(b, k), bag=bag)


@settings(deadline=None)
@given(texts, texts, st.booleans(), st.integers(1, 3))
def test_texts_as_python_counts_them(a: str, b: str, bag: bool, k: int) -> None:
    left, right = (windows(re.findall("[ab]+", text.lower()), k) for text in (a, b))
    assert jaccard(a, b, bag=bag, k=k) == slow_jaccard(left, right, bag=bag)


@settings(deadline=None)
@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_sets_have_no_order_and_iterators_are_read_once(a: set[int], b: set[int]) -> None:
    expected = slow_jaccard(list(a), list(b))
    assert jaccard(a, b) == jaccard(sorted(a), sorted(b, reverse=True)) == expected
    assert jaccard(iter(a), (x for x in b)) == expected
    assert similarities(iter(a), iter(b))["jaccard"] == expected


def test_defaults_are_five_words_and_one_token() -> None:
    assert jaccard("one two three four five six", "one two three four five") == 0.5
    assert jaccard(list("abc"), list("bcd")) == 0.5
    assert jaccard("aaaaaaaaaa", "aaaaaaaaa", unit="char") == 1.0  # nine characters
    assert jaccard("a b", "A, b!", unit="line") == 0.0
    assert jaccard("a\nb", "c\nA") == 0.0
    assert jaccard("a\nb", "c\nA", unit="line") == 1 / 3
    assert jaccard("Ab", "aB", unit="char", k=1, fold_case=False) == 0.0
    assert jaccard("cafe\u0301", "caf\u00e9", normalize="NFC") == 1.0
    assert jaccard("cafe", "caf\u00e9", strip_accents=True) == 1.0


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "a"), ("?!", "?!"), ([], []), (set(), {1})])
def test_the_empty_set_matches_nothing(a: Any, b: Any) -> None:
    assert jaccard(a, b) == 0.0
    assert set(similarities(a, b).values()) == {0.0}


@settings(deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1), st.lists(st.integers(0, 12), min_size=1))
def test_every_measure_by_its_formula(left: list[int], right: list[int]) -> None:
    found = similarities(left, right)
    a, b, c = len(set(left)), len(set(right)), len(set(left) & set(right))
    assert list(found) == [
        "jaccard", "containment", "dice", "cosine", "overlap", "bag_jaccard", "estimate", "standard_error",
    ]  # fmt: skip
    assert found["jaccard"] == jaccard(left, right)
    assert found["containment"] == c / min(a, b)
    assert found["dice"] == pytest.approx(2 * c / (a + b))
    assert found["cosine"] == pytest.approx(c / math.sqrt(a * b))
    assert found["overlap"] == c
    assert found["bag_jaccard"] == jaccard(left, right, bag=True)
    assert found["standard_error"] == pytest.approx(math.sqrt(found["estimate"] * (1 - found["estimate"]) / 128))


def test_of_bags_every_measure_is_of_bags() -> None:
    found = similarities([1, 1, 2], [1, 2, 2], bag=True)
    assert (found["jaccard"], found["overlap"], found["containment"]) == (0.5, 2.0, 2 / 3)
    assert found["bag_jaccard"] == 0.5


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1 << 32), st.sampled_from([str, int]), st.integers(0, 100))
def test_the_estimate_is_near_and_needs_no_order(seed: int, kind: type, shared: int) -> None:
    left = [kind(i) for i in range(100)]
    right = [kind(i) for i in range(100 - shared, 200 - shared)]
    found = similarities(left, right, num_hashes=1024, seed=seed)
    truth = shared / (200 - shared)
    # 1024 slots: the standard error is at most 1/64; six of them are passed twice in 10^9 times
    assert abs(found["estimate"] - truth) <= 6 * math.sqrt(truth * (1 - truth) / 1024)
    assert similarities(set(left), right[::-1], num_hashes=1024, seed=seed) == found


def test_equal_texts_have_estimate_one_without_error() -> None:
    found = similarities("to be or not to be", "To be, or not to be!")
    assert (found["jaccard"], found["estimate"], found["standard_error"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ("a", ["a"], {}, "one is a text and the other of type list; give two texts or two collections."),
        (None, "a", {}, "one is a text and the other of type NoneType; give two texts or two collections."),
        (None, {1}, {}, "got NoneType; expected texts (decode bytes first) or collections of tokens, such as sets."),
        (b"a", b"a", {}, "got bytes; expected texts (decode bytes first) or collections of tokens, such as sets."),
        ("a", "b", {"unit": "token"}, "unit 'token' does not fit texts; units that do: word, char, byte, line."),
        ([1], [2], {"unit": "word"}, "unit 'word' does not fit collections; units that do: token."),
        ({1}, [2], {"k": 2}, "k is 2, but a set has no order to shingle; give lists, or k=1."),
        ([[1]], [2], {}, "a token cannot be hashed (unhashable type: 'list'); expected str, int, or the like."),
        ("a", "b", {"k": 0}, "k is 0; a shingle needs at least 1 token."),
        (
            "a", "b", {"unit": "words"},
            "unit 'words' is unknown. Nearest: 'word'. Choices: word, char, byte, line, token.",
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said_in_one_line(a: Any, b: Any, options: Any, message: str) -> None:
    for function in (jaccard, similarities):
        with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
            function(a, b, **options)


@pytest.mark.parametrize("wrap", [str, lambda text: [text]])
def test_half_a_surrogate_pair_is_no_text(wrap: Any) -> None:
    with pytest.raises(BadText, match=r"^character 2 is half of a surrogate pair; expected valid Unicode\. Read the"):
        jaccard(wrap("ab\ud800"), wrap("ab"))
