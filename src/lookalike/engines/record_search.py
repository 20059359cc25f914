"""One search among records: candidates by shared keys, compared field by field, scored by rules that may be learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from lookalike.data import F32, F64, I64, U32, Pairs
from lookalike.engines.pool import Pool
from lookalike.engines.record_job import RecordJob, WeightsBy
from lookalike.engines.trace import Trace
from lookalike.measures.fields import RIVALS, WHOLE, RecordRules
from lookalike.stages.assignment import one_to_one
from lookalike.stages.audit import Audit, measure
from lookalike.stages.comparisons import WholeRecords, compare
from lookalike.stages.crowds import describe_crowds
from lookalike.stages.duplicates import Classes
from lookalike.stages.evidence import estimate, field_bits, weigh
from lookalike.stages.fields import Field
from lookalike.stages.record_keys import CROWD, index_keys
from lookalike.stages.standing import ENOUGH, LIFT, PairTable, learn, standing, suggest_standing

BLOCK = 1 << 13  # records whose neighbours one task looks for
PIECE = 1 << 16  # pairs that one task compares
LARGE, FEWER = 200_000, 4  # records from which on each proposes fewer candidates,
ENOUGH_BITS = 0.8  # whose common keys weigh this share of the bits that tell one record from all others
AUDITED = 400_000  # comparisons that an audit may cost
CROWDS_SHOWN = 20
RANDOM = 5000  # pairs drawn at random


@dataclass(frozen=True)
class Search:
    """The classes of equal records, and the candidate pairs among them with what was compared."""

    fields: list[Field]
    whole: WholeRecords
    table: PairTable
    number: I64  # the class of each record, -1 for none

    @classmethod
    def of(cls, fields: Sequence[Field], classes: Classes, split: int, pool: Pool, trace: Trace, k: int,
           *, also: tuple[int, int] | None = None) -> Search:  # fmt: skip
        """Look for candidates and compare them. fields: over all records; split: records of the first table, or -1;
        also: two records that are compared in any case."""
        firsts = classes.firsts
        own = [replace(field, values=field.values[firsts]) for field in fields]
        side = int(np.count_nonzero(firsts < split)) if split >= 0 else -1
        with trace.stage("keys"):
            crowd = CROWD if len(firsts) < LARGE else CROWD // 2
            index, crowded, stranded = index_keys(own, side, pool.map, crowd=crowd)
            trace.add_buckets(index.sizes)
            trace.add(keys=len(index.keys), buckets=len(index.ends), crowded_buckets=len(crowded), stranded=stranded)
            trace.counts["crowded"] = [c.as_dict() for c in describe_crowds(own, crowded[:CROWDS_SHOWN])]
        with trace.stage("candidates") as report:
            weights, n = index.weights(), len(firsts)
            spans = [(at, min(at + BLOCK, n)) for at in range(0, n, BLOCK)]
            few, least = (k, 0.0) if n < LARGE else (min(k, FEWER), ENOUGH_BITS * float(np.log2(n)))
            made = []
            for piece in pool.map(lambda span: index.nearest(span, weights, side, few, least), spans):
                made.append(piece)
                report(len(made), len(spans))
            number = classes.class_of(len(fields[0].values))
            if also is not None and (low := min(number[list(also)])) >= 0:
                made.append(np.array([low << 32 | max(number[list(also)])], np.uint64))
            pairs = np.concatenate([np.empty(0, np.uint64), *made])
            pairs.sort()
            pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])] if len(pairs) else pairs
            left, right = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
            trace.add(candidates=len(pairs))
        with trace.stage("compare"):
            whole = WholeRecords(own)
            alike = in_pieces(whole.compare, left, right, pool)
            compared = [in_pieces(partial(compare, field), left, right, pool) for field in own]
        table = PairTable(left, right, compared, alike, n, side, compare_random(own, n, side))
        return cls(own, whole, table, number)

    def scores(
        self, rules: RecordRules, by: WeightsBy, threshold: float | None, single: bool
    ) -> tuple[RecordRules, F32]:
        """(the rules with weights and a threshold, the score of every candidate); 0 for what cannot be in the answer.

        Weights and threshold that the rules have, stay. single: each record with one partner at most.
        """
        cut = threshold if threshold is not None else rules.threshold
        if by == "em" or rules.prior is not None:
            return self._evidence(rules, cut, single)
        if by == "equal":
            rules = rules.weighing([1.0 if f.weight is None else f.weight for f in rules.fields])
        rounds = 4 if self.table.records < LARGE else 2  # so many pairs settle at once
        learned = learn(self.table, [field.weight for field in rules.fields], rules.whole, rounds=rounds)
        rules = rules.weighing(learned.weights)
        score = self.table.similarity(learned.weights, rules.whole)
        if self.table.split < 0 or not rules.rivals:
            cut = learned.threshold if cut is None else cut
            keep = one_to_one(self.table.left, self.table.right, score, score >= cut) if single else True
            return replace(rules, threshold=cut), np.where(keep, score, np.float32(0))
        if cut is None:
            cut = suggest_standing(self.table, score)[0]
        if single:
            keep = one_to_one(self.table.left, self.table.right, score, score >= cut)
            return replace(rules, threshold=cut), np.where(keep, self.table.settled(score, keep), np.float32(0))
        return replace(rules, threshold=cut), standing(score, self.table.margins(score))

    def _evidence(self, rules: RecordRules, cut: float | None, single: bool) -> tuple[RecordRules, F32]:
        """By the weights of evidence of Fellegi and Sunter; the score is a probability."""
        prior, bits = rules.prior, [field.bits for field in rules.fields]
        if prior is None or None in bits:
            prior, found = estimate(self.table)
            bits = [one if mine is None else mine for one, mine in zip(found, bits, strict=True)]
        told = [one for one in bits if one is not None]
        cut = 0.5 if cut is None else cut
        score = weigh(self.table, prior, told)
        keep = one_to_one(self.table.left, self.table.right, score, score >= cut) if single else True
        fields = tuple(replace(f, bits=one, weight=None) for f, one in zip(rules.fields, told, strict=True))
        made = replace(rules, fields=fields, prior=prior, threshold=cut, whole=0.0, rivals=False)
        return made, np.where(keep, score, np.float32(0))

    def pairs(self, score: F32, threshold: float) -> Pairs:
        """The pairs of classes at or above the threshold."""
        keep = np.flatnonzero(score >= np.float32(threshold))
        left, right = self.table.left[keep].astype(np.int64), self.table.right[keep].astype(np.int64)
        return Pairs(left, right, score[keep].astype(np.float64))

    def score_of(self, score: F32, left: int, right: int) -> float:
        """The score of two records; 1 where they are equal, 0 where one is empty or they are no candidates."""
        a, b = sorted((int(self.number[left]), int(self.number[right])))
        if a == b:
            return float(a >= 0)
        at = np.flatnonzero((self.table.left == a) & (self.table.right == b))
        return float(score[at[0]]) if len(at) else 0.0

    def contributions(self, rules: RecordRules, left: I64, right: I64, similarity: F64) -> dict[str, pa.Array]:
        """What each field adds to the similarity of pairs of records, null where a value is missing; they add up."""
        a, b = self.number[left].astype(np.uint32), self.number[right].astype(np.uint32)
        seen = [compare(field, a, b) for field in self.fields]
        names = [field.rule.column for field in self.fields]
        if rules.prior is not None:
            made = [field_bits(one, rule.bits or ()) for one, rule in zip(seen, rules.fields, strict=True)]
            return {n: pa.array(m, mask=np.isnan(s)) for n, m, s in zip(names, made, seen, strict=True)}
        weights = [rule.weight or 0.0 for rule in rules.fields]
        there = sum(w * ~np.isnan(one) for w, one in zip(weights, seen, strict=True))
        rivals = rules.rivals and self.table.split >= 0
        scale = np.minimum(1, there / max(sum(weights), 1e-9) / ENOUGH) / ((1 + LIFT) if rivals else 1)
        each = (1 - rules.whole) * scale / np.maximum(there, 1e-9)
        out = {n: w * one.astype(np.float64) * each for n, w, one in zip(names, weights, seen, strict=True)}
        out[WHOLE] = rules.whole * scale * self.whole.compare(a, b)
        if rivals:
            out[RIVALS] = similarity - sum(np.nan_to_num(part) for part in out.values())
        return {name: pa.array(part, mask=np.isnan(part)) for name, part in out.items()}

    def audit(self, rules: RecordRules, job: RecordJob, pool: Pool, trace: Trace) -> Audit:
        """How many of the pairs of sampled records whose fields reach the threshold are among the candidates."""
        n = self.table.records
        with trace.stage("audit"):
            size = min(job.audit, n, max(1, AUDITED // max(n, 1)))
            sample = np.sort(np.random.default_rng(job.seed).choice(n, size, replace=False)) if n else np.empty(0, int)
            true = list(pool.map(lambda x: self._partners(rules, job.threshold, int(x)), sample))
            left = np.concatenate(
                [np.empty(0, np.int64), *(np.minimum(x, y) for x, y in zip(sample, true, strict=True))]
            )
            right = np.concatenate(
                [np.empty(0, np.int64), *(np.maximum(x, y) for x, y in zip(sample, true, strict=True))]
            )
            packed = np.unique(left << 32 | right)
            truth = Pairs(packed >> 32, packed & 0xFFFFFFFF, np.ones(len(packed)))
            met = Pairs(self.table.left.astype(np.int64), self.table.right.astype(np.int64), np.ones(len(self.table)))
            return measure(truth, met, len(sample), ())

    def _partners(self, rules: RecordRules, threshold: float, record: int) -> I64:
        n, side = self.table.records, self.table.split
        others = np.arange(n, dtype=np.uint32)
        if side >= 0:
            others = others[side:] if record < side else others[:side]
        others = others[others != record]
        mine = np.full(len(others), record, np.uint32)
        seen = [compare(field, mine, others) for field in self.fields]
        table = PairTable(mine, others, seen, self.whole.compare(mine, others), n, side)
        if rules.prior is not None:
            score = weigh(table, rules.prior, [rule.bits or () for rule in rules.fields])
        else:
            score = table.similarity([rule.weight or 0.0 for rule in rules.fields], rules.whole)
        return np.asarray(others[score >= threshold], np.int64)


def compare_random(fields: Sequence[Field], records: int, split: int) -> list[F32]:
    """The similarity of random pairs in every field: what chance alone gives."""
    rng = np.random.default_rng(0)
    first, others = (split, records - split) if split >= 0 else (records, records - 1)
    if first < 1 or others < 1:
        return []
    left = rng.integers(0, first, RANDOM, dtype=np.uint32)
    right = rng.integers(0, others, RANDOM, dtype=np.uint32)
    right = right + np.uint32(split) if split >= 0 else right + (right >= left)
    return [compare(field, left, right.astype(np.uint32)) for field in fields]


def in_pieces(function: Callable[[U32, U32], F32], left: U32, right: U32, pool: Pool) -> F32:
    """function(left, right), a piece at a time on all threads."""
    out = np.empty(len(left), np.float32)

    def work(at: int) -> None:
        out[at : at + PIECE] = function(left[at : at + PIECE], right[at : at + PIECE])

    for _ in pool.map(work, range(0, len(left), PIECE)):
        pass
    return out
