"""A linkage run over records: blocking, comparison of the candidates field by field, and scoring by learned rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32, F64, I64, U32, U64, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.exact_duplicates import Classes
from lookalike.core.trace import Trace
from lookalike.kinds.records.assignment import one_to_one
from lookalike.kinds.records.blocking import MAX_BLOCK_SIZE, index_keys, two_hop_pairs
from lookalike.kinds.records.blocking_analysis import describe_oversized_blocks
from lookalike.kinds.records.chance_pairs import above_chance, chance_pairs
from lookalike.kinds.records.comparisons import WholeRecords, compare
from lookalike.kinds.records.em import ENOUGH_FIELDS, weigh
from lookalike.kinds.records.exact_blocking import exact_candidates
from lookalike.kinds.records.explain import explain_pairs
from lookalike.kinds.records.fields import Field
from lookalike.kinds.records.match_probability import MatchModel, is_well_founded, match_model
from lookalike.kinds.records.pair_table import Mask, PairTable, Sides
from lookalike.kinds.records.random_pairs import RandomPairs
from lookalike.kinds.records.related_records import related_share
from lookalike.kinds.records.rules import CALIBRATED, EACH, RIVALS_OF, RecordRules
from lookalike.kinds.records.single_partner import competing_weights
from lookalike.kinds.records.spec import RecordJob, WeightsBy
from lookalike.kinds.records.threshold import (
    LEARNED,
    MIN_PAIRS,
    ThresholdEstimate,
    infer_cardinality,
    learn,
    settled,
    standing_cut,
    standing_scores,
)
from lookalike.runtime.local.pool import Pool

STANDARD_NEIGHBOURS = 10  # weights and thresholds are learned from this number of candidates per record
RECORDS_PER_TASK = 1 << 13  # records for which one task selects candidates
COMPARISONS_PER_TASK = 1 << 16  # pairs that one task compares
# From LARGE_TABLE records, at most FEWER candidates are selected for each record, and the weights of the keys that they
# share must add up to ENOUGH_BITS of log2(records), the bits that identify one record.
LARGE_TABLE, FEWER = 200_000, 4
ENOUGH_BITS = 0.8
# Expansion by two-hop pairs: maximum number of non-matching pairs per record, maximum number of rounds, and minimum
# share of matches for another round.
WIDER, CIRCLES, PAYS = 20, 8, 0.1
MAX_RELATED = 0.06  # maximum estimated share of related records among the pairs stated at 0.9 or more
CROWDS_SHOWN = 20  # oversized blocks to describe in the receipt


@dataclass(frozen=True)
class Compared:
    """Exceptions from the selection of candidates.

    also: pairs of records that are compared even if they share no key; apart i64[n]: records with the same number,
    except -1, are never compared.
    """

    also: tuple[I64, I64] | None = None
    apart: I64 | None = None


EVERYTHING = Compared()


@dataclass(frozen=True)
class Search:
    """The candidate pairs among the classes of equal records, with the similarity of each field."""

    fields: list[Field]
    whole: WholeRecords
    table: PairTable
    number: I64  # the class of each record, -1 for a record without values
    sizes: I64  # the number of records of each class
    apart: I64 | None = None  # classes with the same number are never compared, except those with -1

    @classmethod
    def of(cls, fields: Sequence[Field], classes: Classes, split: int, pool: Pool, trace: Trace, job: RecordJob,
           *, compared: Compared = EVERYTHING) -> Search:  # fmt: skip
        """Select the candidates and compare them.

        fields: the fields of all records; split: the number of records of the first table, or -1; compared: pairs
        that are compared in any case, and pairs that are never compared.
        """
        firsts = classes.firsts
        own = [replace(field, values=field.values[firsts]) for field in fields]
        side = int(np.count_nonzero(firsts < split)) if split >= 0 else -1
        number = classes.class_of(len(fields[0].values))
        if job.blocking_columns is not None:
            with trace.stage("candidates"):
                made = [exact_candidates(own, job.blocking_columns, side, limit=job.max_pairs)]
        else:
            made = cls._by_keys(own, side, pool, trace, job.neighbours)
        usual = made
        if job.blocking_columns is None and job.neighbours > STANDARD_NEIGHBOURS:
            usual = cls._by_keys(own, side, pool, Trace(), STANDARD_NEIGHBOURS)
        with trace.stage("candidates"):
            of_classes = None if compared.apart is None else compared.apart[firsts]
            if of_classes is not None:
                made, usual = ([pairs[_can_match(pairs, of_classes)] for pairs in found] for found in (made, usual))
            also = [] if compared.also is None else [_packed(number[compared.also[0]], number[compared.also[1]])]
            learned_from = _distinct(usual)
            pairs = _distinct([*made, *usual, *also])
            standard = None if len(pairs) == len(learned_from) else _among(pairs, learned_from)
            left, right = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
            trace.add(candidates=len(pairs))
        with trace.stage("compare"):
            whole = WholeRecords(own)
            alike = in_pieces(whole.compare, left, right, pool)
            similarities = [in_pieces(partial(compare, field), left, right, pool) for field in own]
        n = len(firsts)
        table = PairTable(left, right, similarities, alike, n, side, RandomPairs.of(own, n, side), standard=standard)
        return cls(own, whole, table, number, classes.counts, of_classes)

    @staticmethod
    def _by_keys(own: Sequence[Field], side: int, pool: Pool, trace: Trace, k: int) -> list[U64]:
        """Return for each record up to k candidates: the records with the highest total weight of shared keys."""
        n = len(own[0].values)
        with trace.stage("keys"):
            crowd = MAX_BLOCK_SIZE if n < LARGE_TABLE else MAX_BLOCK_SIZE // 2
            index, crowded, stranded = index_keys(own, side, pool.map, crowd=crowd)
            trace.add_buckets(index.sizes)
            trace.add(keys=len(index.keys), buckets=len(index.ends), crowded_buckets=len(crowded), stranded=stranded)
            trace.counts["crowded"] = [c.as_dict() for c in describe_oversized_blocks(own, crowded[:CROWDS_SHOWN])]
        with trace.stage("candidates") as report:
            weights = index.weights()
            spans = [(at, min(at + RECORDS_PER_TASK, n)) for at in range(0, n, RECORDS_PER_TASK)]
            few, least = (k, 0.0) if n < LARGE_TABLE else (min(k, FEWER), ENOUGH_BITS * float(np.log2(n)))
            made = []
            for piece in pool.map(lambda span: index.nearest(span, weights, side, few, least), spans):
                made.append(piece)
                report(len(made), len(spans))
        return made

    def scores(
        self, rules: RecordRules, by: WeightsBy, threshold: float | None, single: bool
    ) -> tuple[RecordRules, F32]:
        """Return the rules, with weights and a threshold, and the score of every candidate.

        Weights and a threshold that are given are not changed. single: restrict to a one-to-one assignment; pairs that
        are not part of it have the score 0.
        """
        cut = threshold if threshold is not None else rules.threshold
        if by == "em" or rules.prior is not None:
            return self._evidence(rules, cut, single)
        evidence = None
        if by == "auto" and cut is None and all(field.weight is None for field in rules.fields):
            model = match_model(self._learned_from.sample(LEARNED))
            if is_well_founded(model, one_table=self.table.split < 0):
                evidence = self._with_model(rules, model)
                if self.table.split >= 0 or model.dependence_measured:
                    return self._evidence(evidence, cut, single)
        if by == "equal":
            rules = rules.weighing([1.0 if f.weight is None else f.weight for f in rules.fields])
        made, score = self._sums(rules, cut, single)
        # Where the dependence between fields is assumed, match weights give way to competing pairs of one table.
        return (made, score) if evidence is None or made.rivals == EACH else self._evidence(evidence, cut, single)

    def _sums(self, rules: RecordRules, cut: float | None, single: bool) -> tuple[RecordRules, F32]:
        """Score the candidates by weighted sums of similarities, adjusted by competing pairs; see `scores`."""
        usual, given = self._learned_from, [field.weight for field in rules.fields]
        learned = learn(usual, given, rules.whole)
        rules = replace(rules.weighing(learned.weights), whole=learned.whole)
        score, usual_score = (table.similarity(learned.weights, rules.whole) for table in (self.table, usual))
        across = self.table.split >= 0
        if across and rules.rivals is True and not single:
            found = learned.sides or infer_cardinality(usual, usual_score, learned.cut.f1)
            rules = replace(rules, rivals=RIVALS_OF[found])
        if not across and cut is None and rules.rivals != EACH:
            free, cut = learned.cut, learned.cut.at
            if len(usual.own_fields) < ENOUGH_FIELDS and len(usual) >= MIN_PAIRS:
                cut = max(cut, self._cut_above_chance(rules, usual, usual_score))
            if cut > free.at:  # pairs by chance refute the model, and with it the F1 that it expects
                free = ThresholdEstimate(cut, 0.0)
            weights = None
            if rules.rivals is True:
                weights = competing_weights(usual, (learned.weights, given), rules.whole, free, self.sizes)
            if weights is not None:
                rules, cut = replace(rules.weighing(weights), rivals=EACH), None
                score, usual_score = (table.similarity(weights, rules.whole) for table in (self.table, usual))
        sides = rules.sides(across=across)
        rivals = any(sides)
        if cut is None:
            cut = standing_cut(usual, usual_score, sides).at if rivals else learned.cut.at
        rules = replace(rules, threshold=cut)
        if not single:
            return rules, self._standing(score, sides) if rivals else score
        keep = one_to_one(self.table.left, self.table.right, score, score >= cut)
        return rules, np.where(keep, settled(self.table, score, keep) if rivals else score, np.float32(0))

    def _cut_above_chance(self, rules: RecordRules, table: PairTable, score: F32) -> float:
        """Return the threshold above which more pairs are found than by chance; for one table with few fields."""
        alone, stands_for = chance_pairs(self.fields, self.sizes, STANDARD_NEIGHBOURS)
        pairs = (self.sizes[table.left] * self.sizes[table.right]).astype(np.float64)
        by_chance = alone.similarity([rule.weight or 0.0 for rule in rules.fields], rules.whole)
        return above_chance(score, pairs, by_chance, stands_for)

    def _evidence(self, rules: RecordRules, cut: float | None, single: bool) -> tuple[RecordRules, F32]:
        """Score the candidates by the match weights of the Fellegi-Sunter model; the score is a match probability."""
        if rules.prior is None or any(field.bits is None for field in rules.fields):
            rules = self._estimated(rules)
        cut = 0.5 if cut is None else cut
        score = weigh(self.table, rules.prior or 0.0, [field.bits or () for field in rules.fields], rules.explained)
        keep = one_to_one(self.table.left, self.table.right, score, score >= cut) if single else True
        return replace(rules, threshold=cut, whole=0.0, rivals=False), np.where(keep, score, np.float32(0))

    def _estimated(self, rules: RecordRules) -> RecordRules:
        """Return the rules with estimated match weights; those that are given are not changed."""
        return self._with_model(rules, match_model(self._learned_from.sample(LEARNED)))

    @property
    def _learned_from(self) -> PairTable:
        return self.table.to_learn_from()

    def _standing(self, score: F32, sides: Sides) -> F32:
        """Adjust the scores of all pairs by competing pairs; standard candidates compete with each other only.

        So a pair found among the standard candidates remains, however many others are compared.
        """
        adjusted = standing_scores(self.table, score, sides)
        if self.table.standard is not None:
            usual = self.table.standard
            adjusted[usual] = standing_scores(self._learned_from, score[usual], sides)
        return adjusted

    def _with_model(self, rules: RecordRules, model: MatchModel) -> RecordRules:
        columns = [field.column for field in rules.fields]
        explained: list[dict[str, tuple[float, ...]] | None] = [None for _ in columns]
        if model.explained is not None:
            explained = [{columns[by]: tuple(lift) for by, lift in one.items()} for one in model.explained]
        fields = tuple(
            replace(f, weight=None) if f.bits is not None else replace(f, bits=one, explained=less, weight=None)
            for f, one, less in zip(rules.fields, model.bits, explained, strict=True)
        )
        rules = replace(rules, fields=fields, prior=model.prior, basis=model.basis)
        if rules.basis in CALIBRATED and self._holds_related(rules):
            return replace(rules, basis="related records")
        return rules

    def _holds_related(self, rules: RecordRules) -> bool:
        """Return whether too many of the pairs stated as matches are those of related records."""
        table = self._learned_from
        return related_share(table, replace(self, table=table).plain_scores(rules)) > MAX_RELATED

    def pairs(self, score: F32, threshold: float) -> Pairs:
        """Return the pairs of classes at or above the threshold."""
        keep = np.flatnonzero(score >= np.float32(threshold))
        left, right = self.table.left[keep].astype(np.int64), self.table.right[keep].astype(np.int64)
        return Pairs(left, right, score[keep].astype(np.float64))

    def scores_of(self, score: F32, left: I64, right: I64) -> F64:
        """Return the scores of pairs of records: 1 if they are equal, 0 if one is empty or they are not candidates."""
        a, b = self.number[left], self.number[right]
        packed = np.minimum(a, b).astype(np.uint64) << np.uint64(32) | np.maximum(a, b).astype(np.uint64)
        known = self.table.packed
        at = np.minimum(np.searchsorted(known, packed), max(len(known) - 1, 0))
        seen = known[at] == packed if len(known) else np.zeros(len(packed), np.bool_)
        scores = np.where(seen, score[at], 0.0) if len(known) else np.zeros(len(packed))
        return np.where(np.minimum(a, b) < 0, 0.0, np.where(a == b, 1.0, scores)).astype(np.float64)

    def contributions(self, rules: RecordRules, left: I64, right: I64, similarity: F64) -> dict[str, pa.Array]:
        """Return the contribution of each field to the similarity of pairs of records, null where a value is missing.

        The contributions add up to the similarity, or to the match weight without the prior.
        """
        a, b = self.number[left].astype(np.uint32), self.number[right].astype(np.uint32)
        seen = [compare(field, a, b) for field in self.fields]
        population = self.table.population
        rare = population.rare(a, b) if population and rules.explained is not None else []
        rivals = any(rules.sides(across=self.table.split >= 0))
        made = explain_pairs(rules, seen, self.whole.compare(a, b), similarity, rare, rivals=rivals)
        return {name: as_arrow(part, np.isnan(part)) for name, part in made.items()}

    def rate(self, rules: RecordRules, left: U32, right: U32) -> tuple[PairTable, F32]:
        """Compare these pairs: return their field similarities, and their scores without competitor adjustment.

        The rules must be complete.
        """
        seen = [compare(field, left, right) for field in self.fields]
        table = replace(self.table, left=left, right=right, fields=seen, whole=self.whole.compare(left, right))
        return table, replace(self, table=table).plain_scores(rules)

    def reaches(self, rules: RecordRules, left: U32, right: U32, threshold: float) -> Mask:
        """Return which of these pairs have a score, without competitor adjustment, at or above the threshold. bool[p]

        Fields are compared in the order of their lengths, and only for pairs that the fields left may still lift to the
        threshold: a weighted mean does not fall if a similarity is replaced by 1. The rules must be complete.
        """
        cut = np.float32(threshold)
        if rules.prior is not None:
            return np.asarray(self.rate(rules, left, right)[1] >= cut)
        missing = [(field.values[left] < 0) | (field.values[right] < 0) for field in self.fields]
        best = [np.where(gone, np.float32(np.nan), np.float32(1)) for gone in missing]
        table = replace(self.table, left=left, right=right, fields=best, whole=self.whole.compare(left, right))
        place = np.arange(len(left))
        for number in np.argsort([int(field.offsets[-1]) / len(field.offsets) for field in self.fields], kind="stable"):
            open_ = np.flatnonzero(replace(self, table=table).plain_scores(rules) >= cut)
            table, place = table.take(open_), place[open_]
            fields = list(table.fields)
            fields[number] = compare(self.fields[number], table.left, table.right)
            table = replace(table, fields=fields)
        reached = np.zeros(len(left), np.bool_)
        reached[place] = replace(self, table=table).plain_scores(rules) >= cut
        return reached

    def plain_scores(self, rules: RecordRules) -> F32:
        """Return the score of every candidate, without competitor adjustment. The rules must be complete."""
        if rules.prior is not None:
            return weigh(self.table, rules.prior, [rule.bits or () for rule in rules.fields], rules.explained)
        return self.table.similarity([rule.weight or 0.0 for rule in rules.fields], rules.whole)

    def widened(self, rules: RecordRules, score: F32, trace: Trace) -> tuple[Search, F32]:
        """Also compare records that match a common third record: large groups have more pairs than candidates.

        For one table. Stops when few of the new pairs match (`PAYS`). The number of pairs that match is not limited,
        that of the others is (`WIDER` per record).
        """
        cut, room = np.float32(rules.threshold or 0), WIDER * self.table.records
        known, friends = self.table.packed, self.table.packed[score >= cut]
        more: list[tuple[PairTable, F32]] = []
        for _ in range(CIRCLES):
            pairs = two_hop_pairs(friends, self.table.records, room + len(friends))
            if self.apart is not None:
                pairs = pairs[_can_match(pairs, self.apart)]
            pairs.sort()
            pairs = pairs[~_among(pairs, known)]
            for table, _ in more:
                pairs = pairs[~_among(pairs, table.packed)]
            if not len(pairs):
                break
            more.append(self.rate(rules, (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)))
            matched = more[-1][1] >= cut
            friends, room = np.concatenate([friends, pairs[matched]]), room - int(np.count_nonzero(~matched))
            if matched.mean() < PAYS or room <= 0:
                break
        if not more:
            return self, score
        table, score = self.table, np.concatenate([score, *(rated for _, rated in more)])
        for part, _ in more:
            table = table.with_more(part)
        order = np.argsort(table.packed, kind="stable")
        trace.add(candidates=len(table) - len(self.table))
        return replace(self, table=table.take(order)), score[order]


def _distinct(parts: Sequence[U64]) -> U64:
    """Return the distinct pairs of all parts, sorted."""
    return np.unique(np.concatenate([np.empty(0, np.uint64), *parts]))


def _packed(left: I64, right: I64) -> U64:
    """Return pairs of different classes as lower << 32 | higher, without those of records that have no class (-1)."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    kept = (low >= 0) & (low != high)
    return np.asarray(low[kept].astype(np.uint64) << np.uint64(32) | high[kept].astype(np.uint64))


def _can_match(pairs: U64, apart: I64) -> Mask:
    """Return whether the classes of each pair may be compared."""
    one, other = apart[(pairs >> np.uint64(32)).astype(np.int64)], apart[pairs.astype(np.uint32)]
    return np.asarray((one != other) | (one < 0))


def _among(pairs: U64, known: U64) -> Mask:  # both sorted
    at = np.searchsorted(known, pairs)
    return np.asarray(known[np.minimum(at, len(known) - 1)] == pairs) if len(known) else np.zeros(len(pairs), np.bool_)


def in_pieces(function: Callable[[U32, U32], F32], left: U32, right: U32, pool: Pool) -> F32:
    """Evaluate function(left, right) in pieces, on all threads of the pool."""
    out = np.empty(len(left), np.float32)

    def work(at: int) -> None:
        out[at : at + COMPARISONS_PER_TASK] = function(
            left[at : at + COMPARISONS_PER_TASK], right[at : at + COMPARISONS_PER_TASK]
        )

    for _ in pool.map(work, range(0, len(left), COMPARISONS_PER_TASK)):
        pass
    return out
