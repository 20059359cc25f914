"""Comparison functions: similarities of field values from 0 to 1, for many pairs at once; NaN for a missing value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, U32
from lookalike.errors import MissingExtra
from lookalike.kinds.records.fields import Field, number_hashes, rarity
from lookalike.kinds.records.kernels import similarity as likeness
from lookalike.kinds.records.rules import BY_RAPIDFUZZ

MONTH = 31  # number of days over which the similarity of two dates decreases to 0


def compare(field: Field, left: U32, right: U32) -> F32:
    """Return the similarity (f32[p]) of the values that the records left[i] and right[i] have in a field."""
    a, b = field.values[left], field.values[right]
    kind = field.rule.compare
    out = np.empty(len(left), np.float32)
    if kind == "words":
        likeness.compare_words(field.words, a, b, out)
        return out
    if kind == "codes":
        likeness.compare_codes_shared(field.words, a, b, out)
        return out
    if kind in ("code", "date"):
        likeness.compare_codes(field.letters, field.offsets, a, b, out)
        return np.fmax(out, _days_apart(field, a, b)) if kind == "date" else out
    both = (a >= 0) & (b >= 0)
    out.fill(np.nan)
    out[both] = a[both] == b[both]
    if kind == "number":
        one, other = field.numbers[a[both]], field.numbers[b[both]]
        larger = np.maximum(np.abs(one), np.abs(other))
        apart = np.abs(one - other)
        near = 1 - np.divide(apart, larger, out=np.ones(len(apart)), where=larger > 0)
        out[both] = np.where(np.isnan(near), out[both], np.clip(near, out[both], 1))
    elif kind in BY_RAPIDFUZZ:
        differ = np.flatnonzero(both & (a != b))
        out[differ] = _rapidfuzz(kind, field, a[differ], b[differ])
    return out


def _days_apart(field: Field, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> F32:
    """Return 1 for equal dates, 0.9 for one day apart, decreasing to 0 over a month; NaN where one is not a date."""
    days = field.days
    apart = np.abs(days[a] - days[b])  # a missing value (-1) indexes the last element, which is NaN
    return np.asarray(np.where(apart == 0, 1, 0.9 * np.clip(1 - (apart - 1) / MONTH, 0, 1)), np.float32)


def _rapidfuzz(kind: str, field: Field, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> F32:
    """Return the RapidFuzz scores of the folded values, scaled to the range from 0 to 1."""
    try:
        from rapidfuzz import distance, fuzz, process
    except ImportError as error:
        raise MissingExtra(f"the comparison {kind!r}", "records") from error
    scorers: dict[str, tuple[Any, int]] = {
        "edit": (distance.DamerauLevenshtein.normalized_similarity, 1),
        "jaro_winkler": (distance.JaroWinkler.similarity, 1),
        "token_set": (fuzz.token_set_ratio, 100),
        "token_sort": (fuzz.token_sort_ratio, 100),
    }
    scorer, scale = scorers[kind]
    texts = folded_texts(field)
    made = process.cpdist([texts[v] for v in a], [texts[v] for v in b], scorer=scorer, workers=-1)
    return np.asarray(made / scale, np.float32)


def folded_texts(field: Field) -> list[str]:
    """Return the distinct values of a field as folded text, in the form in which they are compared."""
    whole = field.letters.tobytes().decode("utf-16-le", "surrogatepass")
    return [whole[a:b] for a, b in zip(field.offsets[:-1].tolist(), field.offsets[1:].tolist(), strict=True)]


class WholeRecords:
    """The words of each record, from all its fields: words u32, sorted in each record; hashes u64[words].

    Words are numbered in the order of their hashes, so that the weights of common words are summed in an order that
    does not depend on the other records.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        n = len(fields[0].values)
        every = np.concatenate([field.word_hashes for field in fields])
        first, found = number_hashes(every)
        order = np.argsort(every[first])
        self.hashes = every[first][order]
        place = np.empty(len(order), np.uint32)
        place[order] = np.arange(len(order), dtype=np.uint32)
        numbers = place[found]
        ends = np.cumsum([len(field.word_hashes) for field in fields])[:-1]
        counts = np.zeros(n + 1, np.int64)
        for field in fields:
            counts[1:] += np.where(field.values >= 0, np.diff(field.words.offsets)[np.maximum(field.values, 0)], 0)
        self.offsets = np.cumsum(counts)
        self.words = np.empty(int(self.offsets[-1]), np.uint32)
        at = self.offsets[:-1].copy()
        for field, ids in zip(fields, np.split(numbers, ends), strict=True):
            likeness.spread_words(field.values, ids, field.words.offsets, at, self.words)
        repeated, self.offsets = self.offsets, np.empty(n + 1, np.int64)
        likeness.sort_words(self.words, repeated, self.offsets)
        self.words = self.words[: self.offsets[-1]]
        self.holders = np.bincount(self.words, minlength=len(self.hashes))
        self.weights = rarity(self.holders, n)

    def compare(self, left: U32, right: U32) -> F32:
        """Return the cosine similarity (f32[p]) of the weighted words of the records left[i] and right[i]."""
        out = np.empty(len(left), np.float32)
        likeness.compare_sets(self.words, self.offsets, self.weights, left, right, out)
        return out
