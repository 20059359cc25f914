"""Agreement by chance in free text: how many pairs of unrelated records would reach each score.

With one or two columns, two classes of pairs are not identifiable from the agreement of fields (`em.ENOUGH_FIELDS`).
What can be measured is the number of pairs that agree by chance. The words of each column are permuted over its rows:
every value keeps its number of words and every word its frequency, but no row describes an entity. All matches of
such rows are matches by chance (like those of decoys in proteomics).

Words of a real table are not independent: names of one kind share phrases. The number of pairs by chance is therefore
a lower bound, and the threshold that follows from it is used where it is the stricter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32, F64, I64
from lookalike.core.arrow import as_arrow
from lookalike.kinds.records.blocking import index_keys
from lookalike.kinds.records.comparisons import WholeRecords, compare, folded_texts
from lookalike.kinds.records.fields import Field, make_field
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.threshold import NOISE

PERMUTED_ROWS = 10_000  # maximum number of permuted rows, and of records that these are compared with,
PERMUTED_LETTERS = (
    1_000_000  # or fewer: this divided by the mean length of a record, since words are compared crosswise
)
FEWEST_PERMUTED = 500
CHANCE_MARGIN = (
    1.1  # pairs must exceed this multiple of the pairs by chance: the words of a real table are not independent
)
CHANCE_SPREADS = 2  # and that by this many standard deviations of a count
THRESHOLDS_TRIED = 401  # number of thresholds that are compared


def permuted(field: Field, records: I64, rng: np.random.Generator) -> list[str | None]:
    """Return the values that these records have in a field, with their words permuted over the records.

    >>> from lookalike.kinds.records.rules import FieldRule
    >>> names = make_field(pa.chunked_array([["Ann Lee", None, "Bo Ray Poe"]]), FieldRule(column="name"))
    >>> made = permuted(names, np.arange(3), np.random.default_rng(0))
    >>> [None if one is None else len(one.split()) for one in made]
    [2, None, 3]
    """
    texts = [text.split() for text in folded_texts(field)]
    rows = [texts[value] if value >= 0 else [] for value in field.values[records].tolist()]
    words = [word for row in rows for word in row]
    order = iter(rng.permutation(len(words)).tolist())
    return [" ".join(words[next(order)] for _ in row) or None for row in rows]


def chance_pairs(fields: Sequence[Field], sizes: I64, neighbours: int) -> tuple[PairTable, F64]:
    """Return the candidates among permuted rows and records of one table, and the number of pairs that each represents.

    sizes i64[classes]: the number of records of each class, which are equal. Records are on the left side.
    """
    rng = np.random.default_rng(0)
    n, rows = len(sizes), int(sizes.sum())
    most = min(PERMUTED_ROWS, max(FEWEST_PERMUTED, int(PERMUTED_LETTERS * n / max(sum(map(_letters, fields)), 1))))
    kept = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    drawn = np.repeat(np.arange(n), sizes)
    if len(drawn) > most:
        drawn = rng.choice(drawn, most, replace=False)
    both = [_with_permuted(field, kept, drawn, rng) for field in fields]
    split = len(kept)
    index, _, _ = index_keys(both, split, map)
    packed = np.unique(index.nearest((0, len(index)), index.weights(), split, neighbours, 0.0))
    left, right = (packed >> np.uint64(32)).astype(np.uint32), packed.astype(np.uint32)
    seen = [compare(field, left, right) for field in both]
    table = PairTable(left, right, seen, WholeRecords(both).compare(left, right), len(index), split)
    return table, sizes[kept][left].astype(np.float64) * (0.5 * n / split * rows / len(drawn))


def _letters(field: Field) -> int:
    return int(np.append(np.diff(field.offsets), 0)[field.values].sum())


def _with_permuted(field: Field, kept: I64, drawn: I64, rng: np.random.Generator) -> Field:
    """Return a field of the kept records, followed by permuted ones; words have the weights of the whole table."""
    texts = pa.array(folded_texts(field), pa.large_string())
    values = field.values[kept]
    own = texts.take(as_arrow(np.maximum(values, 0))).to_pylist() if len(texts) else []
    column = [text if value >= 0 else None for text, value in zip(own, values.tolist(), strict=True)]
    column += permuted(field, drawn, rng)
    made = make_field(pa.chunked_array([pa.array(column, pa.large_string())]), field.rule)
    first, at = np.unique(field.word_hashes, return_index=True)
    if not len(first):
        return made
    weights = made.words.weights.copy()
    place = np.minimum(np.searchsorted(first, made.word_hashes), len(first) - 1)
    known = first[place] == made.word_hashes
    weights[made.words.ids[known]] = field.words.weights[field.words.ids[at[place[known]]]]
    return replace(made, words=made.words._replace(weights=weights))


def above_chance(score: F32, pairs: F64, chance: F32, by_chance: F64) -> float:
    """Return the threshold with the best expected F1, given the scores of candidates and of pairs by chance.

    score f32[p], pairs f64[p]: the candidates, and the number of pairs of records that each represents; chance,
    by_chance: the same for pairs by chance. Above every score where no score is reached more often than by chance.

    >>> score, chance = np.array([0.9] * 30 + [0.2] * 50, np.float32), np.full(50, 0.2, np.float32)
    >>> 0.2 < above_chance(score, np.ones(80), chance, np.ones(50)) < 0.9
    True
    """
    top = max(float(score.max(initial=0.0)), 1e-6)
    cuts = np.linspace(0, top, THRESHOLDS_TRIED)
    found, wrong = _reached(score, pairs, cuts), _reached(chance, by_chance, cuts)
    right = np.maximum(found - CHANCE_MARGIN * wrong - CHANCE_SPREADS * np.sqrt(wrong), 0)
    most = float(right.max())
    if most < 1:
        return min(1.0, 1.01 * top)
    f1 = 2 * right / np.maximum(found + most, 1)
    near = np.flatnonzero(f1 >= f1.max() - NOISE / most)
    return float(max((cuts[near[0]] + cuts[near[-1]]) / 2, 1e-6))


def _reached(score: F32, pairs: F64, cuts: F64) -> F64:
    """Return the number of pairs at or above each threshold."""
    order = np.argsort(score, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(pairs[order])])
    return np.asarray(below[-1] - below[np.searchsorted(score[order], cuts, side="left")])
