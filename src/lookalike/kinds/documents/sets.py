"""Exact similarity of two sets: the shingles of two texts, or two collections of tokens."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import Recipe, RuleOptions, Sets, ShingleRule
from lookalike.core.measures import SET_MEASURES
from lookalike.errors import BadText, UsageError
from lookalike.io.texts import string_array
from lookalike.kernels import bounds
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.signatures import sketch

INT64_RANGE = range(-(1 << 63), 1 << 63)


def jaccard(a: str | Iterable[Hashable], b: str | Iterable[Hashable], **rule: Unpack[RuleOptions]) -> float:
    """Compute the exact Jaccard similarity of two texts or collections.

    The result equals the score that `la.pairs` reports for the two. Two empty sets have similarity 0, because an empty
    document never matches. The cost is linear in the input.

    Parameters
    ----------
    a, b
        Texts, or collections of hashable elements.
    rule
        Options of shingling, as for `la.pairs`: unit, k, bag and others. With `bag=True` elements are counted.

    Returns
    -------
    float
        The similarity, from 0 to 1.

    Examples
    --------
    >>> jaccard("a rose is a rose", "A rose is a tulip.", k=2)
    0.75
    >>> jaccard({"milk", "bread"}, {"milk", "eggs"}), jaccard([1, 1, 2], [1, 2, 2], bag=True)
    (0.3333333333333333, 0.5)
    """
    return _scores(shingle(*_pair(a, b, rule)))["jaccard"]


def similarities(
    a: str | Iterable[Hashable],
    b: str | Iterable[Hashable],
    *,
    num_hashes: int = 128,
    seed: int = 42,
    **rule: Unpack[RuleOptions],
) -> dict[str, float]:
    """Compute every similarity measure of two texts or collections, and the estimate from their signatures.

    Keys: jaccard, containment, dice, cosine, overlap (exact; of bags with `bag=True`), bag_jaccard (exact), estimate
    (of jaccard, from signatures of `num_hashes` values) and standard_error (of the estimate). All are 0 for empty sets.

    >>> found = similarities("a rose is a rose", "a rose is a tulip", k=2)
    >>> {name: round(value, 2) for name, value in found.items() if "_" not in name and name != "estimate"}
    {'jaccard': 0.75, 'containment': 1.0, 'dice': 0.86, 'cosine': 0.87, 'overlap': 3.0}
    """
    both, shingle_rule = _pair(a, b, rule)
    sets, bags = shingle(both, shingle_rule), shingle(both, replace(shingle_rule, bag=True))
    estimate, error = 0.0, 0.0
    if sets.sizes.all():
        estimate, error = sketch(sets, Recipe(seed=seed, length=num_hashes)).similarity(0, 1)
    return {**_scores(sets), "bag_jaccard": _scores(bags)["jaccard"], "estimate": estimate, "standard_error": error}


def _scores(sets: Sets) -> dict[str, float]:
    shared = len(np.intersect1d(sets[0], sets[1], assume_unique=True))
    left, right = sets.sizes.tolist()
    return {name: float(bounds.score(measure.code, shared, left, right)) for name, measure in SET_MEASURES.items()}


def _pair(a: Any, b: Any, rule: RuleOptions) -> tuple[pa.Array, ShingleRule]:
    """Return both inputs as one Arrow array of length 2, and the shingle rule."""
    options: dict[str, Any] = dict(rule)
    texts = isinstance(a, str)
    if texts != isinstance(b, str):
        other = type(b if texts else a).__name__
        raise UsageError(f"one is a text and the other of type {other}; give two texts or two collections.")
    unit = options.pop("unit", "word" if texts else "token")
    made = ShingleRule.for_unit(unit, options.pop("k", None), **options)
    if texts == (made.unit == "token"):
        what, fits = ("texts", "word, char, byte, line") if texts else ("collections", "token")
        raise UsageError(f"unit {unit!r} does not fit {what}; units that do: {fits}.")
    if texts:
        return string_array([_valid(text) for text in (a, b)], pa.large_string()), made
    left, right = _tokens(a, made.k), _tokens(b, made.k)
    ends = pa.array([0, len(left), len(left) + len(right)], pa.int64())
    return pa.LargeListArray.from_arrays(ends, _values(left + right)), made


def _tokens(collection: Any, k: int) -> list[Any]:
    if isinstance(collection, bytes | bytearray) or not isinstance(collection, Iterable):
        kind = type(collection).__name__
        raise UsageError(f"got {kind}; expected texts (decode bytes first) or collections of tokens, such as sets.")
    if k > 1 and isinstance(collection, AbstractSet):
        raise UsageError(f"k is {k}, but a set has no order to shingle; give lists, or k=1.")
    return list(collection)


def _values(tokens: list[Any]) -> pa.Array:
    """Convert tokens to Arrow: strings and 64-bit integers unchanged, so that they hash as in `la.pairs`; other tokens
    as the number of their first occurrence."""
    if all(type(token) is str for token in tokens):
        return pa.array([_valid(token) for token in tokens], pa.large_string())
    if all(type(token) is int and token in INT64_RANGE for token in tokens):
        return pa.array(tokens, pa.int64())
    numbers: dict[Hashable, int] = {}
    try:
        return pa.array([numbers.setdefault(token, len(numbers)) for token in tokens], pa.int64())
    except TypeError as error:
        raise UsageError(f"a token cannot be hashed ({error}); expected str, int, or the like.") from error


def _valid(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadText(
            f"character {error.start} is half of a surrogate pair; expected valid Unicode. "
            "Read the text with errors='replace'."
        ) from error
    return text
