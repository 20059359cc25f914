"""Highlight what two items share and where they differ, as pieces that a page shows unchanged."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from lookalike.core.arrays import ShingleRule
from lookalike.errors import MissingExtra
from lookalike.io.contents import Content
from lookalike.kinds.documents.compare import compare
from lookalike.kinds.images.contact_sheet import thumbnail

Piece = tuple[str, int]  # a text, and 1 if the other item contains it too, else 0
MAX_COMPARED_CHARACTERS = 400_000  # longer texts are truncated before they are compared
MOST_ITEMS, MOST_NUMBERS = 5000, 256  # items of a basket and numbers of a vector that are shown
STAMP, LARGE_PICTURE_PIXELS = 88, 480  # edge of a picture in pixels: in a list, and side by side
LIKENESS_OF_LETTERS, MIN_SHARED_LETTERS = 0.6, 3  # of less similar strings only longer shared runs are marked
LETTERS = 2000  # characters of a field that are compared letter by letter
MAX_LETTERWISE_CHARACTERS = 500  # longest strings that are compared letter by letter


def side_by_side(
    left: Content,
    right: Content,
    job: dict[str, Any],
    adds: dict[str, float | None],
    runs: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """Return the data with which a page shows a pair side by side.

    job: the job of the receipt; adds: the contribution of each field to the score, for records; runs: (left_start,
    left_end, right_start, right_end) of shared passages, if they are known.
    """
    if "fields" in left and "fields" in right:
        names = list(dict.fromkeys([*left["fields"], *right["fields"]]))
        return {"kind": "fields", "rows": [_field(name, left, right) for name in names], "adds": list(adds.items())}
    if "items" in left and "items" in right:
        return _items(left["items"], right["items"])
    if "numbers" in left and "numbers" in right:
        return {"kind": "numbers", **{side: _fewer(one["numbers"]) for side, one in (("left", left), ("right", right))}}
    if "picture" in left and "picture" in right:
        return {"kind": "picture", "left": _picture(left), "right": _picture(right)}
    one, other = (str(side.get("text") or "") for side in (left, right))
    short = "rule" not in job and not runs and max(len(one), len(other)) <= MAX_LETTERWISE_CHARACTERS
    cut = max(len(one), len(other)) > MAX_COMPARED_CHARACTERS
    one, other = one[:MAX_COMPARED_CHARACTERS], other[:MAX_COMPARED_CHARACTERS]
    if runs:
        marked = [_pieces(one, [run[:2] for run in runs]), _pieces(other, [run[2:4] for run in runs])]
    elif "rule" in job or max(len(one), len(other)) > MAX_LETTERWISE_CHARACTERS:
        comparison = compare(one, other, rule=ShingleRule(**job["rule"]) if "rule" in job else None)
        marked = [_pieces(one, comparison.spans_left), _pieces(other, comparison.spans_right)]
    else:
        marked = list(letters(one, other))
    return {"kind": "text", "left": marked[0], "right": marked[1], "cut": cut, "short": short}


def letters(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    """Split two short strings into common and different pieces, letter by letter.

    >>> letters("Jon Smith", "John Smith")
    ([('Jo', 1), ('n Smith', 1)], [('Jo', 1), ('h', 0), ('n Smith', 1)])
    >>> letters("campbell", "ryan")  # single letters that unlike strings share say nothing
    ([('campbell', 0)], [('ryan', 0)])
    """
    left, right = left[:LETTERS], right[:LETTERS]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    least = 1 if matcher.ratio() >= LIKENESS_OF_LETTERS else MIN_SHARED_LETTERS
    spans = [(a, b, size) for a, b, size in matcher.get_matching_blocks() if size >= least]
    return _pieces(left, [(a, a + n) for a, _, n in spans]), _pieces(right, [(b, b + n) for _, b, n in spans])


def whole(content: Content) -> dict[str, Any]:
    """Return the data with which a page shows one item."""
    if "fields" in content:
        return {
            "kind": "fields",
            "rows": [{"name": k, "left": [(str(v or ""), 1)]} for k, v in content["fields"].items()],
        }
    if "items" in content:
        return {"kind": "items", "both": [str(item) for item in content["items"][:MOST_ITEMS]], "left": [], "right": []}
    if "numbers" in content:
        return {"kind": "numbers", "left": _fewer(content["numbers"])}
    if "picture" in content:
        return {"kind": "picture", "left": _picture(content)}
    text = str(content.get("text") or "")
    return {"kind": "text", "left": [(text[:MAX_COMPARED_CHARACTERS], 1)], "cut": len(text) > MAX_COMPARED_CHARACTERS}


def _field(name: str, left: Content, right: Content) -> dict[str, Any]:
    one, other = (str(side["fields"].get(name) or "") for side in (left, right))
    a, b = letters(one, other)
    return {"name": name, "left": a, "right": b}


def _items(left: Sequence[Any], right: Sequence[Any]) -> dict[str, Any]:
    one, other = (Counter(str(item) for item in side) for side in (left, right))
    both = one & other
    parts = {"both": both, "left": one - both, "right": other - both}
    listed: dict[str, Any] = {name: _listed(part.items()) for name, part in parts.items()}
    return {"kind": "items", **listed}


def _listed(items: Iterable[tuple[str, int]]) -> list[str]:
    return [name if count == 1 else f"{name} ×{count}" for name, count in sorted(items)][:MOST_ITEMS]


def _fewer(numbers: Sequence[float]) -> list[float]:
    """Return at most MOST_NUMBERS evenly spaced numbers; infinity and NaN become 0."""
    step = max(1, -(-len(numbers) // MOST_NUMBERS))
    return [float(f"{value:.5g}") if math.isfinite(value) else 0.0 for value in numbers[::step]]


def stamp(content: Content) -> str | None:
    """Return a thumbnail for a row of a list, or None if the item is not a picture."""
    return _picture(content, STAMP) if "picture" in content else None


def _picture(content: Content, edge: int = LARGE_PICTURE_PIXELS) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about odd metadata do not concern the user
            return thumbnail(content["picture"], edge)
    except MissingExtra:
        return ""


def _pieces(text: str, spans: Iterable[Sequence[int]]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for start, end in sorted((max(0, s[0]), min(len(text), s[1])) for s in spans):
        if end <= at:
            continue
        if start > at:
            pieces.append((text[at:start], 0))
        pieces.append((text[max(at, start) : end], 1))
        at = end
    return [*pieces, (text[at:], 0)] if at < len(text) or not pieces else pieces
