"""Comparison of two texts: every similarity measure, and the character ranges that they share.

Texts are tokenised here in plain Python, because marking needs the position of each token in the text; the tests check
that the tokens equal those of the kernels.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, U64, ShingleRule, check_choice
from lookalike.kernels import hashing, shingles
from lookalike.kernels.unicode import ALONE, KIND, MARK, OTHER, PUNCTUATION, SPACE, tables
from lookalike.kinds.documents.sets import similarities

Side = Literal["left", "right"]
Span = tuple[int, int]
VOWELS_AND_TAILS = range(0x1160, 0x1200)  # Hangul jamo that normalisation joins to the previous character
LATE_JOINERS = frozenset({0x16D67})  # Unicode 16: not a mark, but normalisation joins it to the previous character


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The similarity measures and the shared text of two texts.

    measures: the result of `similarities`. tokens, shingles: counts for each text (distinct shingles, or all with
    `rule.bag`). spans: sorted, disjoint character ranges (start, end) of each text whose tokens are all in shared
    shingles; with bags, only as many occurrences of a shingle count as both texts have.
    """

    left: str
    right: str
    rule: ShingleRule
    measures: dict[str, float]
    tokens_left: int
    tokens_right: int
    shingles_left: int
    shingles_right: int
    shared_shingles: int
    spans_left: tuple[Span, ...]
    spans_right: tuple[Span, ...]

    def marked(self, side: Side) -> list[tuple[str, bool]]:
        """Split the text of one side into (piece, is_shared); the pieces together are the whole text."""
        check_choice("side", side, ("left", "right"))
        text, spans = (self.left, self.spans_left) if side == "left" else (self.right, self.spans_right)
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        pieces = [(text[start:end], bool(number % 2)) for number, (start, end) in enumerate(pairwise(edges))]
        return [piece for piece in pieces if piece[0]]


def compare(left: str, right: str, *, rule: ShingleRule | None = None) -> Comparison:
    """Compare two texts under a shingle rule (default: 5 words): exact measures, and the shared text.

    The cost is linear: a fifth of a second for a megabyte of ASCII, a few seconds for a megabyte of other text.

    >>> found = compare("Now a rose is a rose!", "A rose, is a tulip.", rule=ShingleRule(k=2))
    >>> found.shared_shingles, found.measures["jaccard"]
    (3, 0.6)
    >>> found.marked("left")
    [('Now ', False), ('a rose is a rose', True), ('!', False)]
    >>> found.marked("right")
    [('A rose, is a', True), (' tulip.', False)]
    """
    rule = rule or ShingleRule()
    options: Any = rule.as_dict()
    measures = similarities(left, right, **options)
    mine, theirs = tokens_of(left, rule), tokens_of(right, rule)
    numbers: dict[str | int, int] = {}
    here, there = _shingles(mine, rule, numbers), _shingles(theirs, rule, numbers)
    return Comparison(
        left=left,
        right=right,
        rule=rule,
        measures=measures,
        tokens_left=len(mine.texts),
        tokens_right=len(theirs.texts),
        shingles_left=len(np.unique(here)),
        shingles_right=len(np.unique(there)),
        shared_shingles=len(np.intersect1d(here, there)),
        spans_left=_spans(mine, np.isin(here, there), rule.k),
        spans_right=_spans(theirs, np.isin(there, here), rule.k),
    )


class Tokens(NamedTuple):
    """Folded tokens, as they are compared, and the character range of each in the text (starts, ends: i64[n])."""

    texts: list[str | int]
    starts: I64
    ends: I64


Placed = Iterator[tuple[str | int, int, int]]


def tokens_of(text: str, rule: ShingleRule) -> Tokens:
    """Tokenise a text as the kernels do (kernels/tokens.py), and return the tokens with their character ranges.

    >>> found = tokens_of("Straße 京都", ShingleRule())
    >>> found.texts, found.starts.tolist(), found.ends.tolist()
    (['strasse', '京', '都'], [0, 7, 8], [6, 8, 9])
    """
    if rule.normalize == "none":
        return _collect(_TOKENS[rule.unit](text, rule))
    pieces = list(_pieces(text))
    normal = pc.utf8_normalize(pa.array([text[start:end] for start, end in pieces], pa.string()), form=rule.normalize)
    parts: list[str] = normal.to_pylist()
    found = _collect(_TOKENS[rule.unit]("".join(parts), rule))
    origin = np.repeat(np.array(pieces, np.int64).reshape(-1, 2), [len(part) for part in parts], axis=0)
    return Tokens(found.texts, origin[found.starts, 0], origin[found.ends - 1, 1])


def _collect(found: Placed) -> Tokens:
    texts: list[str | int] = []
    places: list[int] = []
    for text, start, end in found:
        texts.append(text)
        places += start, end
    return Tokens(texts, np.array(places[::2], np.int64), np.array(places[1::2], np.int64))


def _pieces(text: str) -> Iterator[Span]:
    """Yield ranges that can be normalised separately: each begins with a character that never joins the one before."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or _stands_alone(text[at]):
            yield start, at
            start = at


@cache
def _stands_alone(char: str) -> bool:
    first = unicodedata.normalize("NFKD", char)[0]
    joins = ord(first) in VOWELS_AND_TAILS or ord(first) in LATE_JOINERS
    # a code point unknown to this Python may be a mark for Arrow, which normalises the text
    return not joins and unicodedata.category(first) not in ("Mn", "Mc", "Me", "Cn")


class _Folding(NamedTuple):
    """The folding tables of the kernels in a form that is fast in plain Python. plain: pattern of ASCII words; folds:
    folded form of each of their characters."""

    classes: bytes
    fold: Callable[[str], str]
    plain: re.Pattern[str]
    folds: dict[int, str]


@cache
def _folding(fold_case: bool, strip_accents: bool) -> _Folding:
    made = tables(fold_case, strip_accents)

    @cache
    def fold(char: str) -> str:
        target = int(made.folds[ord(char)])
        return chr(target) if target >= 0 else "".join(chr(part) for part in made.multi[-1 - target] if part)

    classes = made.classes.tobytes()
    letters = [chr(code) for code in range(128) if classes[code] & KIND != OTHER]
    return _Folding(
        classes, fold, re.compile(f"[{re.escape(''.join(letters))}]+"), {ord(char): fold(char) for char in letters}
    )


def _words(text: str, rule: ShingleRule) -> Placed:
    classes, fold, plain, folds = _folding(rule.fold_case, rule.strip_accents)
    if text.isascii():
        yield from ((found[0].translate(folds), *found.span()) for found in plain.finditer(text))
        return
    word, start, alone = "", 0, False
    for at, char in enumerate(text):
        kind = classes[ord(char)] & KIND
        if kind in (OTHER, ALONE) or (alone and kind != MARK):
            if word:
                yield word, start, at
            word, alone = "", kind == ALONE
        if kind != OTHER:
            start = at if not word else start
            word += fold(char)
    if word:
        yield word, start, len(text)


def _characters(text: str, rule: ShingleRule) -> Placed:
    classes, fold, *_ = _folding(rule.fold_case, rule.strip_accents)
    begun, gap = False, None
    for at, char in enumerate(text):
        kind, parts = classes[ord(char)], fold(char)
        if not parts or (rule.ignore_punctuation and kind & PUNCTUATION):
            continue
        if rule.squeeze_space and kind & SPACE:
            gap = (gap[0] if gap else at, at + 1) if begun else None
            continue
        if gap:
            yield " ", *gap
        for part in parts:
            yield part, at, at + 1
        begun, gap = True, None


def _lines(text: str, rule: ShingleRule) -> Placed:
    classes, fold, *_ = _folding(rule.fold_case, rule.strip_accents)
    start = 0
    for line in text.split("\n"):
        parts = ["\n" if classes[ord(char)] & SPACE else fold(char) for char in line]
        solid = [at for at, part in enumerate(parts) if part not in ("", "\n")]
        if solid and rule.squeeze_space:
            runs = [run for run in "".join(parts).split("\n") if run]
            yield " ".join(runs), start + solid[0], start + solid[-1] + 1
        elif solid:
            yield "".join(map(fold, line)), start, start + len(line)
        start += len(line) + 1


def _bytes(text: str, rule: ShingleRule) -> Placed:
    for at, char in enumerate(text):
        for byte in char.encode():
            yield byte, at, at + 1


_TOKENS: dict[str, Callable[[str, ShingleRule], Placed]] = {
    "word": _words,
    "char": _characters,
    "line": _lines,
    "byte": _bytes,
}


def _shingles(tokens: Tokens, rule: ShingleRule, numbers: dict[str | int, int]) -> U64:
    """Hash the shingle that begins at each token; for bags, together with the number of its occurrence.

    numbers: a number for each distinct token so far, shared by both texts and updated here.
    """
    each = [numbers.setdefault(text, len(numbers) + 1) for text in tokens.texts]
    hashes, out = np.empty(len(each), np.uint64), np.empty(len(each), np.uint64)
    hashing.mix_all(np.array(each, np.uint64), np.uint64(0), hashes)
    out = out[: shingles.roll(hashes, len(each), rule.k, False, out)]
    if not rule.bag:
        return out
    order = np.argsort(out, kind="stable")
    first = np.searchsorted(out[order], out[order])
    occurrence = np.empty(len(out), np.uint64)
    occurrence[order] = np.arange(len(out)) - first
    hashing.mix_all(out ^ occurrence * hashing.TOKENS, np.uint64(0), out)
    return out


def _spans(tokens: Tokens, shared: npt.NDArray[np.bool_], k: int) -> tuple[Span, ...]:
    """Return the character ranges of runs of tokens in shared shingles; ranges that touch or overlap are merged."""
    count = len(tokens.texts)
    steps = np.zeros(count + 1, np.int64)  # +1 where a shared shingle begins, -1 where it ends
    at = np.flatnonzero(shared)
    steps[at] += 1
    steps[np.minimum(at + k, count)] -= 1
    inside = np.diff(np.cumsum(steps) > 0, prepend=False)
    edges = np.flatnonzero(inside)
    spans: list[Span] = []
    for start, end in zip(tokens.starts[edges[::2]].tolist(), tokens.ends[edges[1::2] - 1].tolist(), strict=True):
        joined = spans.pop()[0] if spans and start <= spans[-1][1] else start
        spans.append((joined, end))
    return tuple(spans)
