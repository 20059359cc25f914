"""Texts and token lists to sets of hashed shingles, against the slow twin."""

from __future__ import annotations

import random
import re
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import Sets, ShingleRule
from lookalike.errors import UsageError
from lookalike.kinds.documents.features import shingle
from oracles import elements, shingles, tokens, words
from strategies import text_rules, texts, token_rules

STRING, INTS, STRINGS = pa.large_string(), pa.large_list(pa.int64()), pa.large_list(pa.large_string())


def of_texts(documents: list[str], **options: Any) -> Sets:
    return shingle(pa.array(documents, STRING), ShingleRule(**options))


def check(sets: Sets, documents: list[list[Any]], rule: ShingleRule) -> None:
    """The hashes are those of the formula; and, for any formula, sizes and overlaps are those of the shingles."""
    assert [sorted(sets[i].tolist()) for i in range(len(sets))] == [elements(tokens, rule) for tokens in documents]
    assert 0 not in sets.elements
    if rule.hash_bits == 32:  # two shingles may meet by chance
        return
    expected = [shingles(tokens, rule) for tokens in documents]
    assert sets.sizes.tolist() == [len(s) for s in expected]
    for i, j in combinations(range(len(sets)), 2):
        assert len({*sets[i].tolist()} & {*sets[j].tolist()}) == len(expected[i] & expected[j])


# the rule, in words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 3.14, don't_you KNOW?", ["it", "s", "3", "14", "don", "t_you", "know"]),
        ("STRASSE straße Straẞe", ["strasse", "strasse", "strasse"]),
        ("漢字かな交じり文 is 3字", ["漢", "字", "か", "な", "交", "じ", "り", "文", "is", "3", "字"]),
        ("か\u3099き", ["か\u3099", "き"]),
        ("हिन्दी ไทย", ["हिन्दी", "ไทย"]),
        ("\u0301a b\u0301c", ["\u0301a", "b\u0301c"]),
        ("😀 — ・ \0 \xa0", []),
    ],
)
def test_words_are_what_the_rule_says(text: str, expected: list[str]) -> None:
    rule = ShingleRule(k=1)
    assert words(text, rule) == expected
    assert sorted(of_texts([text], k=1)[0].tolist()) == elements(expected, rule)


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ("STRASSE", "straße", {}),
        ("ΐ", "ι\u0308\u0301", {}),
        ("Crème brûlée", "creme brulee", {"strip_accents": True}),
        ("Crème brûlée", "Cre\u0300me bru\u0302le\u0301e", {"normalize": "NFC"}),
        ("ﬁne ①", "fine 1", {"normalize": "NFKC"}),
        ("one,  two\n", " One two", {"unit": "char", "ignore_punctuation": True}),
        ("a\r\nb\r\n\r\n", "a\nb", {"unit": "line", "k": 2}),
        ("  a   b\n", "a b", {"unit": "line"}),
        ("a \u0301 b \u0301", "a b", {"unit": "char", "strip_accents": True}),
        ("a\n\u0301\nb", "a\nb", {"unit": "line", "k": 2, "strip_accents": True}),
    ],
)
def test_texts_that_count_as_equal(one: str, other: str, options: dict[str, Any]) -> None:
    sets = of_texts([one, other], **options)
    assert set(sets[0].tolist()) == set(sets[1].tolist())
    assert sets.sizes[0] > 0


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ("STRASSE", "straße", {"fold_case": False}),
        ("crème", "creme", {}),
        ("が", "か", {"strip_accents": True}),
        ("a  b", "a b", {"unit": "char", "squeeze_space": False}),
        ("a ", "a", {"unit": "line", "squeeze_space": False}),
        ("A", "a", {"unit": "byte"}),
        ("\0a", "a", {"unit": "char"}),
        ("\0a", "a", {"unit": "byte"}),
        ("\0a", "a", {"unit": "line", "k": 1}),
        ("\0", "\0\0", {"unit": "line", "k": 1}),
        ("ab c", "a bc", {"k": 2}),
        ("a b", "b a", {"k": 2}),
    ],
)
def test_texts_that_differ(one: str, other: str, options: dict[str, Any]) -> None:
    sets = of_texts([one, other], **options)
    assert not set(sets[0].tolist()) & set(sets[1].tolist())
    assert sets.sizes.min() > 0


@pytest.mark.promise("docs/choosing.md", "A document shorter than k units is one shingle")
@pytest.mark.parametrize("unit", ["word", "char", "byte", "line"])
def test_short_documents_are_one_shingle_and_empty_ones_none(unit: Any) -> None:
    sets = of_texts(["", "a", " \n\t", "a"], unit=unit, k=12, squeeze_space=True)
    assert sets.sizes.tolist() == ([0, 1, 1, 1] if unit == "byte" else [0, 1, 0, 1])
    assert sets[1].tolist() == sets[3].tolist()


def test_a_bag_numbers_what_repeats() -> None:
    as_set, as_bag = (of_texts(["x x x x y", "x x y"], k=1, bag=bag) for bag in (False, True))
    assert as_set.sizes.tolist() == [2, 2]
    assert as_bag.sizes.tolist() == [5, 3]
    assert set(as_bag[1].tolist()) < set(as_bag[0].tolist())


# any text, any rule


@given(documents=st.lists(texts, min_size=1, max_size=4), rule=text_rules)
@settings(max_examples=700, deadline=None)
@example(documents=["ΐ" * 30, "", "a", "ß\0ß"], rule=ShingleRule(unit="char", k=12))
@example(documents=["a b " * 40, "b a", "c"], rule=ShingleRule(k=3))
def test_texts_against_the_twin(documents: list[str], rule: ShingleRule) -> None:
    check(shingle(pa.array(documents, STRING), rule), [tokens(text, rule) for text in documents], rule)


@given(text=st.text(st.characters(max_codepoint=127), max_size=60), k=st.integers(1, 4), bag=st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_fast_path_for_ascii_is_the_slow_path(text: str, k: int, bag: bool) -> None:
    """A document with one other character takes the general path; its words are the same and one more."""
    rule = ShingleRule(k=k, bag=bag)
    words = tokens(text, rule)
    check(shingle(pa.array([text, text + " é"], STRING), rule), [words, [*words, "é"]], rule)


@given(
    lists=st.one_of(
        st.lists(st.lists(st.sampled_from(["", "a", "b", "ab", "é", "\0"]), max_size=12), min_size=1, max_size=4),
        st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2), max_size=12), min_size=1, max_size=4),
    ),
    rule=token_rules,
)
@settings(max_examples=200, deadline=None)
def test_token_lists_against_the_twin(lists: list[list[Any]], rule: ShingleRule) -> None:
    kind = STRINGS if any(isinstance(token, str) for tokens in lists for token in tokens) else INTS
    check(shingle(pa.array(lists, kind), rule), lists, rule)


@pytest.mark.parametrize("unit", ["word", "char", "byte", "line"])
@pytest.mark.parametrize("bag", [False, True])
def test_one_very_long_document_among_short_ones(unit: Any, bag: bool) -> None:
    draw = random.Random(1)
    vocabulary = [f"w{i}" for i in range(300)] + ["Straße", "漢字", "ไทย"]
    long = "".join(draw.choice(vocabulary) + draw.choice([" ", "\n", ". "]) for _ in range(8_000))
    rule = ShingleRule(unit=unit, k=2, bag=bag)
    documents = ["w1 w2", long, "w1 w2", "", long[:1000]]
    check(shingle(pa.array(documents, STRING), rule), [tokens(text, rule) for text in documents], rule)


@given(documents=st.lists(texts, min_size=2, max_size=6), rule=text_rules, data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_slice_gives_what_its_documents_give(documents: list[str], rule: ShingleRule, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(documents)))
    part = shingle(pa.array(documents, STRING).slice(start), rule)
    alone = [shingle(pa.array([text], STRING), rule)[0].tolist() for text in documents[start:]]
    assert [part[i].tolist() for i in range(len(part))] == alone


def test_a_slice_of_token_lists() -> None:
    lists = pa.array([[1, 2], [], [3], [2, 1, 1]], INTS)
    whole, part = (shingle(some, ShingleRule(unit="token", k=1)) for some in (lists, lists.slice(1, 3)))
    assert [part[i].tolist() for i in range(3)] == [whole[i].tolist() for i in range(1, 4)]


@pytest.mark.parametrize("kind", [STRING, INTS, STRINGS])
def test_no_documents(kind: pa.DataType) -> None:
    sets = shingle(pa.array([], kind), ShingleRule(unit="word" if kind == STRING else "token"))
    assert len(sets) == 0
    assert len(sets.elements) == 0


def test_32_bit_hashes_are_the_upper_half() -> None:
    wide, narrow = (of_texts(["one two three four"], k=1, hash_bits=bits) for bits in (64, 32))
    assert (wide.elements >> 32).tolist() == narrow.elements.tolist()


# messages


@pytest.mark.parametrize(
    ("texts", "rule", "message"),
    [
        (["a"], {"unit": "token"}, "unit 'token' needs a column of lists; this one holds text."),
        ([None], {}, "texts hold nulls; readers turn them into empty strings first."),
    ],
)
def test_messages_of_texts(texts: list[Any], rule: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        shingle(pa.array(texts, STRING), ShingleRule(**rule))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "words"}, "unit 'words' is unknown. Nearest: 'word'. Choices: word, char, byte, line, token."),
        ({"normalize": "NFD"}, "normalize 'NFD' is unknown."),
        ({"k": 0}, "k is 0; a shingle needs at least 1 token."),
        ({"hash_bits": 48}, "hash_bits is 48; expected 32 or 64."),
    ],
)
def test_messages_of_rules(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        ShingleRule(**options)


def test_the_usual_length_of_a_unit() -> None:
    assert [ShingleRule.for_unit(unit).k for unit in ("word", "char", "byte", "line", "token")] == [5, 9, 9, 1, 1]
    assert ShingleRule.for_unit("char", 4, bag=True) == ShingleRule(unit="char", k=4, bag=True)
