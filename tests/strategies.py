"""What Hypothesis draws: texts of all Unicode planes, shingle rules, and families of sets that often tie."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from lookalike.core.arrays import Pairs, Sets, ShingleRule
from lookalike.core.candidates import Items
from lookalike.kernels.unicode import tables, unicode_version

# The tables are of one Unicode version, the running Python may be of another: a code point that either does not know
# may be classed and folded in two ways, so it is not drawn.
NEWER_PYTHON = tuple(map(int, unicodedata.unidata_version.split("."))) > tuple(map(int, unicode_version().split(".")))

TRICKY = [
    "ß", "ẞ", "STRASSE", "Straße", "İ", "I\u0307", "ı", "ΐ", "ŉ", "ﬃ", "Σ", "ς", "ǰ", "\u0345",  # foldings to 1, 2, 3
    "漢", "字", "々", "〇", "𠮷", "豈", "あ", "か\u3099", "が", "ア", "ｶﾞ", "ー", "・",  # Han and kana, marks, a dot
    "ไทย", "กำ", "हिन्दी", "क्ष", "عَرَب", "한국", "한",  # vowel signs and conjoining letters
    "e\u0301", "\u0301", " \u0301", "\u0301\u0301a", "a\u20dd", "≠", "Å", "Å", "ﬁ", "①", "½", "Ⅷ", "x²",
    "👩‍👩‍👧‍👦", "🇨🇭", "👍🏽", "😀",
    "\r\n", "\n", "\n\n", "\r", "\t", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\u200b", "\ufeff", " ", "  ",
    "\0", "\0a", "_", "__a", "a_b", "don't", "a-b", "3.14", ".", "...", "$", "\ue000", "\U000f0000",
]  # fmt: skip


def known(text: str) -> bool:
    """True where this Python and the tables both know every character."""
    classes = tables(False, False).classes
    assigned = all(unicodedata.category(char) != "Cn" for char in text)
    return assigned and not (NEWER_PYTHON and any(ord(char) > 127 and classes[ord(char)] == 0 for char in text))


characters = st.characters(exclude_categories=("Cs", "Cn"))
common = st.sampled_from([*"aabA é\n", "to", "be ", "or "])  # few, so that words and lines repeat
pieces = st.one_of(characters, st.sampled_from(TRICKY), common)
texts = st.lists(pieces, max_size=40).map("".join).filter(known)

text_rules = st.builds(
    ShingleRule,
    unit=st.sampled_from(["word", "char", "byte", "line"]),
    k=st.integers(1, 12),
    bag=st.booleans(),
    fold_case=st.booleans(),
    normalize=st.sampled_from(["none", "NFC", "NFKC"]),
    strip_accents=st.booleans(),
    ignore_punctuation=st.booleans(),
    squeeze_space=st.booleans(),
    hash_bits=st.sampled_from([32, 64]),
)
token_rules = st.builds(
    ShingleRule, unit=st.just("token"), k=st.integers(1, 6), bag=st.booleans(), hash_bits=st.sampled_from([32, 64])
)

# Elements that agree in their low 16, 32, 54 or 56 bits: hash tables, counters and postings must not take them for one.
elements = st.builds(
    lambda low, high: low + (high << 16), st.integers(1, 9), st.sampled_from([0, 0, 0, 1, 1 << 16, 1 << 38, 3 << 40])
)
families = st.lists(st.sets(elements, max_size=12), max_size=10)


def make_sets(sets: Sequence[Iterable[int]]) -> Sets:
    """The arrays of these sets, each in the order it has."""
    lists = [list(s) for s in sets]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Sets(np.array([e for s in lists for e in s], np.uint64), offsets)


def make_items(sets: Sequence[Iterable[int]], sides: Sequence[int] | None = None) -> Items:
    """The same as items of a join; sides: 1 left, 2 right, 3 both."""
    arrays = make_sets(sets)
    on = np.full(len(sets), 3, np.uint8) if sides is None else np.array(sides, np.uint8)
    return Items(arrays.elements, arrays.offsets[:-1], arrays.sizes, on)


def make_pairs(pairs: dict[tuple[int, int], float]) -> Pairs:
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return Pairs(left, right, np.array([*pairs.values()], np.float64))


def as_dict(left: Iterable[int], right: Iterable[int], similarity: Iterable[float]) -> dict[tuple[int, int], float]:
    """Pairs with the lower number first; a pair that comes twice is an error."""
    out: dict[tuple[int, int], float] = {}
    for i, j, s in zip(left, right, similarity, strict=True):
        pair = (min(int(i), int(j)), max(int(i), int(j)))
        assert pair not in out
        assert pair[0] != pair[1]
        out[pair] = float(s)
    return out
