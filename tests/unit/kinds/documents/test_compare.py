"""The plain tokens of `compare` against those of the kernels, and the marked text against brute force."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import ShingleRule
from lookalike.errors import BadText, UsageError
from lookalike.kinds.documents.compare import _pieces, compare, tokens_of
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.sets import similarities

# letters that fold to several, marks, ideographs, kana, conjoining jamo, odd spaces, other planes, late Unicode
RICH = "\0aAbB_1ßİſéÅΣς\u0301\u0345\u093f京都かカﾊﾞ\u3099ᄀ\u1161\u11a8가ﬁ①½\u00ad\u200d🙂🇩𝔘𐐀\U00016d63\U00016d67"
SPACES = " \t\n\r\x0b\x1c\x85\u2028\u3000"
JOINED = ["か\u3099", "京\u0301a", "\u0301京", "e\u0301", "各\u1161", "STRASSE", "\r\n", " \u0301 ", " . "]
chars = st.one_of(st.sampled_from([*RICH, *SPACES, *" ,.-" * 3, *JOINED * 2]), st.characters(codec="utf-8"))
texts = st.lists(chars, max_size=24).map("".join)
rules = st.builds(
    ShingleRule,
    unit=st.sampled_from(["word", "char", "byte", "line"]),
    k=st.integers(1, 4),
    bag=st.booleans(),
    fold_case=st.booleans(),
    normalize=st.sampled_from(["none", "none", "NFC", "NFKC"]),
    strip_accents=st.booleans(),
    ignore_punctuation=st.booleans(),
    squeeze_space=st.booleans(),
    hash_bits=st.sampled_from([64, 32]),
)


@st.composite
def text_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts of a few common parts, so that they share shingles."""
    parts = draw(st.lists(st.lists(chars, min_size=1, max_size=8).map("".join), min_size=1, max_size=4))
    some = st.lists(st.sampled_from(parts), max_size=5)
    return "".join(draw(some)), "".join(draw(some))


def kernel_sizes(text: str, rule: ShingleRule, **changes: Any) -> int:
    options = rule.as_dict() | changes
    return int(shingle(pa.array([text], pa.large_string()), ShingleRule(**options)).sizes[0])


@settings(deadline=None, max_examples=400)
@given(texts, rules)
def test_tokens_are_those_of_the_kernels(text: str, rule: ShingleRule) -> None:
    tokens = tokens_of(text, rule)
    assert len(tokens.texts) == kernel_sizes(text, rule, k=1, bag=True)
    assert len(set(tokens.texts)) == kernel_sizes(text, rule, k=1, bag=False)


@settings(deadline=None, max_examples=400)
@given(text_pairs(), rules)
def test_shingles_are_those_of_the_kernels(pair: tuple[str, str], rule: ShingleRule) -> None:
    found = compare(*pair, rule=rule)
    assert found.shared_shingles == found.measures["overlap"]
    assert (found.shingles_left, found.shingles_right) == tuple(kernel_sizes(text, rule) for text in pair)
    assert (found.left, found.right, found.rule) == (*pair, rule)


@settings(deadline=None, max_examples=300)
@given(texts, rules)
def test_a_token_is_what_its_characters_say(text: str, rule: ShingleRule) -> None:
    before = (0, 0)
    for token, *place in triples(text, rule):
        start, end = place
        assert 0 <= start < end <= len(text)
        assert before[0] <= start
        assert before[1] <= end
        if rule.normalize == "none":
            assert before[1] <= start or before == (start, end)  # a letter that unfolds to several
        piece, before = text[start:end], (start, end)
        if token != " ":
            assert token in tokens_of(piece, rule).texts
        elif rule.normalize == "none":
            assert piece[0].isspace()
            assert piece[-1].isspace()


def triples(text: str, rule: ShingleRule) -> list[tuple[str | int, int, int]]:
    found = tokens_of(text, rule)
    return list(zip(found.texts, found.starts.tolist(), found.ends.tolist(), strict=True))


@settings(deadline=None, max_examples=300)
@given(text_pairs(), rules)
def test_the_marked_text_is_what_stands_in_shared_shingles(pair: tuple[str, str], rule: ShingleRule) -> None:
    found = compare(*pair, rule=rule)
    sides = (found.left, found.spans_left), (found.right, found.spans_right)
    for (text, spans), other in zip(sides, reversed(pair), strict=True):
        assert characters_in(spans) == slow_marks(text, other, rule)
        assert all(a[1] < b[0] for a, b in pairwise(spans))
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert bool(spans) == bool(found.shared_shingles)


def characters_in(spans: Any) -> set[int]:
    return {at for start, end in spans for at in range(start, end)}


def slow_marks(text: str, other: str, rule: ShingleRule) -> set[int]:
    """Mark every token of every shingle that the other text has (as often), then the gaps within runs of them."""
    tokens, left = triples(text, rule), Counter(windows(tokens_of(other, rule).texts, rule.k))
    marked, seen = set[int](), Counter[tuple[Any, ...]]()
    for at, window in enumerate(windows([token for token, _, _ in tokens], rule.k)):
        if seen[window] < left[window]:
            marked |= set(range(at, at + len(window)))
        seen[window] += rule.bag
    characters = set[int]()
    for at in marked:
        end = tokens[at + 1][1] if at + 1 in marked else 0
        characters |= set(range(tokens[at][1], max(tokens[at][2], end)))
    return characters


def windows(tokens: list[Any], k: int) -> list[tuple[Any, ...]]:
    k = min(k, len(tokens))
    return [tuple(tokens[at : at + k]) for at in range(len(tokens) - k + 1)] if tokens else []


@settings(deadline=None)
@given(text_pairs(), rules)
def test_the_pieces_are_the_text_in_turns(pair: tuple[str, str], rule: ShingleRule) -> None:
    found = compare(*pair, rule=rule)
    for side, text, spans in (("left", pair[0], found.spans_left), ("right", pair[1], found.spans_right)):
        pieces = found.marked(side)  # type: ignore[arg-type]
        assert "".join(piece for piece, _ in pieces) == text
        assert [piece for piece, shared in pieces if shared] == [text[start:end] for start, end in spans]
        assert all(piece for piece, _ in pieces)
        assert all(a[1] != b[1] for a, b in pairwise(pieces))


@settings(deadline=None, max_examples=400)
@given(st.one_of(texts, st.text()))
def test_pieces_can_be_normalised_one_by_one(text: str) -> None:
    spans = list(_pieces(text))
    assert "".join(text[start:end] for start, end in spans) == text
    for form in ("NFC", "NFKC"):
        parts = pc.utf8_normalize(pa.array([text[start:end] for start, end in spans], pa.string()), form=form)
        assert "".join(parts.to_pylist()) == pc.utf8_normalize(pa.scalar(text), form=form).as_py()


def test_no_character_joins_the_piece_before() -> None:
    """Each code point that begins a piece, after letters with which some compose: pieces agree with the whole."""
    points = [chr(point) for point in range(1, 0x20000) if not 0xD800 <= point < 0xE000]
    split = [char for char in points if len(list(_pieces("a" + char))) == 2]
    assert len(split) > 70_000
    for form in ("NFC", "NFKC"):
        alone = pc.utf8_normalize(pa.array(split, pa.string()), form=form)
        for letter in ("a", "ᄀ", "가", "\u09c7", "\U00016d63"):
            whole = pc.utf8_normalize(pa.array([letter + char for char in split], pa.string()), form=form)
            assert whole.equals(pc.binary_join_element_wise(letter, alone, ""))


def test_the_shared_words_are_marked() -> None:
    rule = ShingleRule(k=3)
    found = compare("Yes: the QUICK,  brown fox 🙂 ran", "A quick brown\nfox; the quick brown hare", rule=rule)
    assert found.marked("left") == [("Yes: ", False), ("the QUICK,  brown fox", True), (" 🙂 ran", False)]
    assert found.marked("right") == [
        ("A ", False), ("quick brown\nfox; the quick brown", True), (" hare", False),
    ]  # fmt: skip
    assert (found.tokens_left, found.tokens_right, found.shared_shingles) == (6, 8, 2)
    assert (found.shingles_left, found.shingles_right) == (4, 6)
    assert found.measures == similarities(found.left, found.right, k=3)


@pytest.mark.parametrize(
    ("left", "right", "rule", "marks"),
    [
        ("xStraßey", "XSTRASSE!", ShingleRule(unit="char", k=4), ["xStraße"]),
        ("aß", "as", ShingleRule(unit="char", k=2), ["aß"]),  # half of the letter counts as all of it
        ("🙂é京", "🙂è", ShingleRule(unit="byte", k=5), ["🙂é"]),
        ("one \t two\n", "zone two", ShingleRule(unit="char", k=7), ["one \t two"]),
        ("a\n  B \t c\n\nd", "b c\nx", ShingleRule(unit="line", k=1), ["B \t c"]),
        ("a\n  b c \nd", "  b c \nx", ShingleRule(unit="line", k=1, squeeze_space=False), ["  b c "]),
        ("x e\u0301te\u0301 y", "\u00e9t\u00e9", ShingleRule(k=1, normalize="NFC"), ["e\u0301te\u0301"]),
        ("ﬁn ①", "fin 1", ShingleRule(k=2, normalize="NFKC"), ["ﬁn ①"]),
        ("ﬁ", "f", ShingleRule(unit="char", k=1, normalize="NFKC"), ["ﬁ"]),
        ("がか\u3099き", "か\u3099", ShingleRule(k=1), ["か\u3099"]),
        ("東京都庁", "京都", ShingleRule(k=2), ["京都"]),
        ("r\u00e9sum\u00e9, a", "resume", ShingleRule(k=1, strip_accents=True), ["r\u00e9sum\u00e9"]),
        ("a, a, a", "a. a", ShingleRule(k=1, bag=True), ["a, a"]),
        ("a, a, a", "a. a", ShingleRule(k=1), ["a, a, a"]),
        ("short", "Short!", ShingleRule(), ["short"]),
        ("", "", ShingleRule(), []),
        ("?!", "?!", ShingleRule(), []),
        ("one", "two", ShingleRule(), []),
    ],
)
def test_what_is_marked_on_the_left(left: str, right: str, rule: ShingleRule, marks: list[str]) -> None:
    found = compare(left, right, rule=rule)
    assert [left[start:end] for start, end in found.spans_left] == marks
    assert [piece for piece, shared in found.marked("left") if shared] == marks
    assert bool(found.spans_right) == bool(marks)


def test_five_words_unless_told() -> None:
    assert compare("a b c d e f", "b c d e f g").shared_shingles == 1
    assert compare("a", "b").rule == ShingleRule()


def test_equal_texts_are_shared_as_a_whole() -> None:
    text = "Alle Wege führen nach Rom – 条条大路通罗马。"
    found = compare(text, text)
    assert found.measures["jaccard"] == 1.0
    assert found.marked("left") == found.marked("right") == [(text[:-1], True), ("。", False)]


def test_what_cannot_work_is_said_in_one_line() -> None:
    message = "side 'lefty' is unknown. Nearest: 'left'. Choices: left, right."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        compare("a", "b").marked("lefty")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^unit 'token' does not fit texts; units that do: word, char, byte, line\.$"):
        compare("a", "b", rule=ShingleRule(unit="token", k=1))
    with pytest.raises(BadText, match=r"^character 0 is half of a surrogate pair"):
        compare("\udc00", "b")
