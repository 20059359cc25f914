"""Two texts side by side: every measure, and which text they share.

Tokens are made here once more, in plain Python, because marking needs to know where in the text each one stands;
the tests hold them to those of the kernels.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.apps.sets import similarities
from lookalike.data import ShingleRule, check_choice
from lookalike.kernels.unicode import ALONE, KIND, MARK, OTHER, PUNCTUATION, SPACE, tables

Side = Literal["left", "right"]
Span = tuple[int, int]
VOWELS_AND_TAILS = range(0x1160, 0x1200)  # of Hangul: normalisation joins them to the letter before
LATE_JOINERS = frozenset({0x16D67})  # of Unicode 16: no mark, and joined to the letter before all the same


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two texts have in common.

    measures: as `similarities` gives them. tokens, shingles: how many each has (shingles: different ones, or all with
    `rule.bag`). spans: character ranges (start, end) of each text, sorted and apart, whose tokens all stand in shared
    shingles; of a bag, in as many occurrences of a shingle as both texts have.
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
        """The text of one side in pieces, each with whether it is shared; together they are the whole text."""
        check_choice("side", side, ("left", "right"))
        text, spans = (self.left, self.spans_left) if side == "left" else (self.right, self.spans_right)
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        pieces = [(text[start:end], bool(number % 2)) for number, (start, end) in enumerate(pairwise(edges))]
        return [piece for piece in pieces if piece[0]]


def compare(left: str, right: str, *, rule: ShingleRule | None = None) -> Comparison:
    """Compare two texts under a shingle rule (5 words unless given): exact measures, and the shared text.

    Linear in the texts, about a second per megabyte.

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
    here, there = _shingles(mine, rule), _shingles(theirs, rule)
    return Comparison(
        left=left,
        right=right,
        rule=rule,
        measures=measures,
        tokens_left=len(mine),
        tokens_right=len(theirs),
        shingles_left=len(set(here)),
        shingles_right=len(set(there)),
        shared_shingles=len(set(here) & set(there)),
        spans_left=_spans(mine, here, set(there), rule.k),
        spans_right=_spans(theirs, there, set(here), rule.k),
    )


class Token(NamedTuple):
    """A token as it is compared (folded), and the characters of the text that it was made from."""

    text: Hashable
    start: int
    end: int


def tokens_of(text: str, rule: ShingleRule) -> list[Token]:
    """The tokens of a text, as the kernels make them (kernels/tokens.py), with their places in it.

    >>> tokens_of("Straße 京都", ShingleRule())
    [Token(text='strasse', start=0, end=6), Token(text='京', start=7, end=8), Token(text='都', start=8, end=9)]
    """
    if rule.normalize == "none":
        return list(_TOKENS[rule.unit](text, rule))
    pieces = list(_pieces(text))
    normal = pc.utf8_normalize(pa.array([text[start:end] for start, end in pieces], pa.string()), form=rule.normalize)
    origin = [piece for piece, made in zip(pieces, normal.to_pylist(), strict=True) for _ in made]
    made = _TOKENS[rule.unit]("".join(normal.to_pylist()), rule)
    return [Token(token.text, origin[token.start][0], origin[token.end - 1][1]) for token in made]


def _pieces(text: str) -> Iterator[Span]:
    """Ranges that can be normalised one by one: each begins with a character that joins no other before it."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or _stands_alone(text[at]):
            yield start, at
            start = at


@cache
def _stands_alone(char: str) -> bool:
    first = unicodedata.normalize("NFKD", char)[0]
    joins = ord(first) in VOWELS_AND_TAILS or ord(first) in LATE_JOINERS
    # a code point that this Python does not know may be a mark to Arrow, which does the normalising
    return not joins and unicodedata.category(first) not in ("Mn", "Mc", "Me", "Cn")


class _Folding(NamedTuple):
    """The tables of the kernels in a form that plain Python reads fast."""

    classes: bytes
    fold: Callable[[str], str]


@cache
def _folding(fold_case: bool, strip_accents: bool) -> _Folding:
    made = tables(fold_case, strip_accents)

    @cache
    def fold(char: str) -> str:
        target = int(made.folds[ord(char)])
        return chr(target) if target >= 0 else "".join(chr(part) for part in made.multi[-1 - target] if part)

    return _Folding(made.classes.tobytes(), fold)


def _words(text: str, rule: ShingleRule) -> Iterator[Token]:
    classes, fold = _folding(rule.fold_case, rule.strip_accents)
    word, start, alone = "", 0, False
    for at, char in enumerate(text):
        kind = classes[ord(char)] & KIND
        if kind in (OTHER, ALONE) or (alone and kind != MARK):
            if word:
                yield Token(word, start, at)
            word, alone = "", kind == ALONE
        if kind != OTHER:
            start = at if not word else start
            word += fold(char)
    if word:
        yield Token(word, start, len(text))


def _characters(text: str, rule: ShingleRule) -> Iterator[Token]:
    classes, fold = _folding(rule.fold_case, rule.strip_accents)
    begun, gap = False, None
    for at, char in enumerate(text):
        kind = classes[ord(char)]
        if rule.ignore_punctuation and kind & PUNCTUATION:
            continue
        if rule.squeeze_space and kind & SPACE:
            if begun:
                gap = (gap[0] if gap else at, at + 1)
            continue
        if gap:
            yield Token(" ", *gap)
            gap = None
        for part in fold(char):
            yield Token(part, at, at + 1)
            begun = True


def _lines(text: str, rule: ShingleRule) -> Iterator[Token]:
    classes, fold = _folding(rule.fold_case, rule.strip_accents)
    start = 0
    for line in text.split("\n"):
        spaced = "".join("\n" if classes[ord(char)] & SPACE else char for char in line)
        solid = spaced.strip("\n")
        if solid and rule.squeeze_space:
            at = start + spaced.index(solid[0])
            folded = " ".join("".join(map(fold, run)) for run in solid.split("\n") if run)
            yield Token(folded, at, at + len(solid))
        elif solid:
            yield Token("".join(map(fold, line)), start, start + len(line))
        start += len(line) + 1


def _bytes(text: str, rule: ShingleRule) -> Iterator[Token]:
    for at, char in enumerate(text):
        for byte in char.encode():
            yield Token(byte, at, at + 1)


_TOKENS: dict[str, Callable[[str, ShingleRule], Iterable[Token]]] = {
    "word": _words,
    "char": _characters,
    "line": _lines,
    "byte": _bytes,
}


def _shingles(tokens: Sequence[Token], rule: ShingleRule) -> list[Hashable]:
    """The shingle that begins at each token; of a bag, with the number of its occurrence."""
    k = min(rule.k, len(tokens))
    plain = [tuple(token.text for token in tokens[at : at + k]) for at in range(len(tokens) - k + 1)] if k else []
    if not rule.bag:
        return list(plain)
    seen: Counter[Hashable] = Counter()
    numbered: list[Hashable] = []
    for shingle in plain:
        numbered.append((shingle, seen[shingle]))
        seen[shingle] += 1
    return numbered


def _spans(tokens: Sequence[Token], shingles: Sequence[Hashable], shared: set[Hashable], k: int) -> tuple[Span, ...]:
    """Runs of tokens that stand in shared shingles; runs that touch or meet in one character are one."""
    spans: list[Span] = []
    reach = 0  # tokens before this one are in
    for at, shingle in enumerate(shingles):
        if shingle not in shared:
            continue
        last = min(at + k, len(tokens))
        start, end = tokens[at].start, tokens[last - 1].end
        if spans and (at <= reach or start <= spans[-1][1]):
            start = spans.pop()[0]
        spans.append((start, end))
        reach = last
    return tuple(spans)
