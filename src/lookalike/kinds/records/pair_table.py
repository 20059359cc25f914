"""Candidate pairs of records, with the similarity of each field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, U32, U64
from lookalike.kinds.records.kernels import matching
from lookalike.kinds.records.random_pairs import RandomPairs

Mask = npt.NDArray[np.bool_]
Sides = tuple[bool, bool]  # whether left records have at most one partner, and whether right ones do
BOTH: Sides = (True, True)
MIN_WEIGHT_SHARE = 0.3  # similarities are scaled down where the fields with values have less than this share of weights


@dataclass(frozen=True)
class PairTable:
    """Candidate pairs as columns.

    left, right u32[p]: record numbers; fields: the similarity of each field, f32[p] each, NaN where a value is missing;
    whole f32[p]: the similarity of the words of the whole records; records: the number of records; split: the number of
    records of the first of two tables, -1 for one table; population: agreement by chance; drawn: the share of the
    candidates that this sample contains; standard bool[p]: the candidates to learn from, None for all of them.
    """

    left: U32
    right: U32
    fields: Sequence[F32]
    whole: F32
    records: int
    split: int
    population: RandomPairs | None = None
    drawn: float = 1.0
    standard: Mask | None = None

    def __len__(self) -> int:
        return len(self.left)

    @property
    def packed(self) -> U64:
        """Return the pairs as u64[p]: left << 32 | right."""
        return self.left.astype(np.uint64) << np.uint64(32) | self.right.astype(np.uint64)

    def take(self, places: npt.NDArray[np.int64]) -> PairTable:
        """Return the pairs at these positions."""
        fields = [field[places] for field in self.fields]
        standard = None if self.standard is None else self.standard[places]
        return replace(
            self, left=self.left[places], right=self.right[places], fields=fields, whole=self.whole[places],
            standard=standard,
        )  # fmt: skip

    def to_learn_from(self) -> PairTable:
        """Return the standard candidates: what is learned does not depend on how many others were requested."""
        return self if self.standard is None else replace(self.take(np.flatnonzero(self.standard)), standard=None)

    def of_columns(self) -> PairTable:
        """Return the table without derived fields: their evidence is that of the columns they are derived from."""
        kept = self.own_fields
        if len(kept) == len(self.fields) or self.population is None:
            return self
        return replace(self, fields=[self.fields[n] for n in kept], population=self.population.select(kept))

    @property
    def own_fields(self) -> list[int]:
        """Return the numbers of the fields that are columns of the input."""
        known = self.population.fields if self.population else ()
        derived = {number for number, field in enumerate(known) if field.rule.sources}
        return [number for number in range(len(self.fields)) if number not in derived]

    def with_more(self, other: PairTable) -> PairTable:
        """Return the pairs of both tables, concatenated."""
        return replace(
            self,
            left=np.concatenate([self.left, other.left]),
            right=np.concatenate([self.right, other.right]),
            fields=[np.concatenate(both) for both in zip(self.fields, other.fields, strict=True)],
            whole=np.concatenate([self.whole, other.whole]),
            standard=None,
        )

    def sample(self, most: int) -> PairTable:
        """Return a sample of about `most` pairs: all pairs of randomly drawn left records (all, if there are fewer)."""
        if len(self) <= most:
            return self
        drawn = np.random.default_rng(0).random(self.records) < most / len(self)
        taken = np.flatnonzero(drawn[self.left])
        return replace(self.take(taken), drawn=max(len(taken), 1) / len(self))

    def similarity(self, weights: Sequence[float], whole: float) -> F32:
        """Return the weighted mean (f32[p]) of the fields that both records have, and of the whole record.

        It is scaled down where these fields have less than `MIN_WEIGHT_SHARE` of the weights.
        """
        total, there = np.zeros(len(self), np.float32), np.zeros(len(self), np.float32)
        for weight, field in zip(weights, self.fields, strict=True):
            known = ~np.isnan(field)
            there += np.float32(weight) * known
            total += np.float32(weight) * np.where(known, field, np.float32(0))
        share = there / np.float32(max(sum(weights), 1e-9))
        mean = np.divide(total, there, out=np.zeros_like(total), where=there > 0)
        return np.asarray(
            ((1 - whole) * mean + whole * self.whole) * np.minimum(1, share / MIN_WEIGHT_SHARE), np.float32
        )

    def margins(self, score: F32, sides: Sides = BOTH) -> F32:
        """Return the margin of each pair over the best competing pair: another pair of one of its two records.

        Only the pairs of records with at most one partner (`sides`) compete.
        """
        out = np.empty(len(self), np.float32)
        matching.score_margins(self.left, self.right, score, np.ones(len(self), np.bool_), sides, self.records, out)
        return out

    def settled_margins(self, score: F32, keep: Mask, alive: Mask | None = None, sides: Sides = BOTH) -> F32:
        """Return the margins of kept pairs over the competing pairs that are still available, among those in `alive`.

        A competing pair is available if its other record is unmatched, or kept in a pair with a lower score.
        """
        out = np.empty(len(self), np.float32)
        living = np.ones(len(self), np.bool_) if alive is None else alive
        matching.settled_margins(self.left, self.right, score, living, keep, sides, self.records, out)
        return out

    def greedy(self, score: F32, alive: Mask | None = None, sides: Sides = BOTH) -> Mask:
        """Return a greedy matching (bool[p]): pairs by descending score, each record with at most one partner.

        Only the records of the tables in `sides` are limited to one partner.
        """
        keep = np.zeros(len(self), np.bool_)
        living = np.ones(len(self), np.bool_) if alive is None else alive
        order = np.argsort(-score, kind="stable")
        matching.greedy_matching(order, self.left, self.right, living, sides, np.zeros(self.records, np.bool_), keep)
        return keep
