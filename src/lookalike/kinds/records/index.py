"""The index kind of records: blocking keys and weighted similarity under rules that are fixed at creation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, SIMILARITY, U32, U64, Scale
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.index.items import ITEMS_PER_CHUNK, Batch
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys, ends_of
from lookalike.kernels import hashing
from lookalike.kinds.records.blocking import CROSSED, MAX_BLOCK_SIZE, ValueKeys
from lookalike.kinds.records.codes import columns_of, field_values
from lookalike.kinds.records.comparisons import WholeRecords, compare
from lookalike.kinds.records.em import weigh
from lookalike.kinds.records.fields import Field, make_field, number_hashes, rarity
from lookalike.kinds.records.local import load, searched
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.rules import FieldRule, RecordRules
from lookalike.kinds.records.rules_file import read_settings
from lookalike.kinds.records.source import open_records
from lookalike.runtime.local.pool import Pool, usable_cores

EXPECTED_RECORDS = 1_000_000  # index size for which the sample decides whether the block of a key is oversized
MAX_SAMPLED_TERMS = 20_000  # maximum number of words (of each field), and of keys, whose sample counts are stored
ONE = np.uint64(1)


@dataclass(frozen=True)
class FrequentTerms:
    """Counts of frequent words or keys in a sample. hashes u64[m], sorted; counts i64[m]."""

    hashes: U64
    counts: I64

    @classmethod
    def of(cls, hashes: U64, least: int) -> FrequentTerms:
        """Count the hashes that occur at least `least` times; at most MAX_SAMPLED_TERMS, the most frequent ones."""
        known, counts = np.unique(hashes, return_counts=True)
        often = np.flatnonzero(counts >= least)
        often = np.sort(often[np.argsort(-counts[often], kind="stable")][:MAX_SAMPLED_TERMS])
        return cls(known[often], counts[often].astype(np.int64))

    def look(self, hashes: U64) -> I64:
        """Return the count of each hash, 0 if it is not stored."""
        at = np.minimum(np.searchsorted(self.hashes, hashes), max(0, len(self.hashes) - 1))
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int64)
        return np.where(self.hashes[at] == hashes, self.counts[at], 0)

    def as_dict(self) -> dict[str, Any]:
        return {"hashes": [f"{one:016x}" for one in self.hashes.tolist()], "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, made: Mapping[str, Any]) -> FrequentTerms:
        return cls(np.array([int(one, 16) for one in made["hashes"]], np.uint64), np.array(made["counts"], np.int64))


NEVER = FrequentTerms(np.empty(0, np.uint64), np.empty(0, np.int64))


@dataclass(frozen=True)
class SampleStatistics:
    """Statistics of a sample of records.

    records: the number of records; words: the frequent words of each field and, last, of whole records; keys: the keys
    of oversized blocks.
    """

    records: int
    words: tuple[FrequentTerms, ...]
    keys: FrequentTerms

    @classmethod
    def of(cls, fields: Sequence[Field]) -> SampleStatistics:
        n = len(fields[0].values)
        of_fields = [_words_of(field) for field in fields]
        words = [FrequentTerms.of(_once(hashes, records), 2) for records, hashes in of_fields]
        both = [np.concatenate(column) for column in zip(*of_fields, strict=True)]
        words.append(FrequentTerms.of(_once(both[1], both[0]), 2))
        crowd = max(3, MAX_BLOCK_SIZE * n // EXPECTED_RECORDS)
        return cls(n, tuple(words), FrequentTerms.of(_plain_keys(fields)[1], crowd))

    def as_dict(self) -> dict[str, Any]:
        return {"records": self.records, "words": [o.as_dict() for o in self.words], "keys": self.keys.as_dict()}

    @classmethod
    def from_dict(cls, made: Mapping[str, Any]) -> SampleStatistics:
        words = tuple(FrequentTerms.from_dict(one) for one in made["words"])
        return cls(made["records"], words, FrequentTerms.from_dict(made["keys"]))


@dataclass(frozen=True, kw_only=True)
class RecordKind:
    """The kind of an index of records (see `lookalike.records`). Rules and sample statistics are fixed at creation."""

    name: ClassVar[str] = "records"
    scheme: ClassVar[str] = "fields-1"
    queries_at_once: ClassVar[int | None] = None
    is_own_feature: ClassVar[bool] = False
    scale: ClassVar[Scale] = SIMILARITY

    rules: RecordRules
    known: SampleStatistics

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("threshold", "sample", "settings", "fields")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        """Create the kind from a sample, from settings (a TOML file or RecordRules), or from both."""
        if "rules" in options:
            return cls(rules=_rules_of(options["rules"]), known=SampleStatistics.from_dict(options["known"]))
        settings, sample = options.get("settings"), options.get("sample")
        rules = settings if settings is None or isinstance(settings, RecordRules) else read_settings(settings)
        threshold = options.get("threshold")
        if rules is not None and threshold is not None:
            rules = replace(rules, threshold=threshold)
        if sample is None:
            if rules is None or not rules.learned or rules.threshold is None:
                raise UsageError(
                    "an index of records needs rules with weights and a threshold: give settings, a sample table to "
                    "learn them from, or both."
                )
            return cls(rules=rules, known=SampleStatistics(0, (NEVER,) * (len(rules.fields) + 1), NEVER))
        table = open_records(sample)
        if rules is None or not rules.learned or rules.threshold is None:
            asked = {} if threshold is None else {"threshold": threshold}
            with Pool(usable_cores()) as pool:
                rules = rules or load([table], None, options.get("fields"), pool, Trace())[1]
            # Scores of an index do not depend on other records, so pairs do not compete.
            made = searched([table], {**asked, "audit": 0}, Trace(), rules=replace(rules, rivals=False))
            rules = replace(made.job.rules, threshold=float(made.job.threshold))
        with Pool(usable_cores()) as pool:
            loaded, _ = load([table], rules, None, pool, Trace())
        return cls(rules=rules, known=SampleStatistics.of(loaded.fields))

    @property
    def threshold(self) -> float:
        return float(self.rules.threshold or 0.5)

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Read the items of a source in batches, with their ids."""
        if column is not None:
            raise UsageError("records have the columns that the index was created with; leave `column` out.")
        table = open_records(source, id=id)
        read = table.read(table.usable())
        ids = table.ids(read).combine_chunks() if table.id_column else None
        yield read, ids

    def settings(self) -> dict[str, Any]:
        return {"rules": self.rules.as_dict(), "known": self.known.as_dict()}

    def plan(self) -> dict[str, Any]:
        fields = ", ".join(rule.column for rule in self.rules.fields)
        return {"shape": f"keys of {fields}", "crowded_keys": len(self.known.keys.hashes), "recall_at_threshold": None}

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        if not self.threshold <= threshold <= 1:
            raise UsageError(
                f"threshold is {threshold:g}; this index finds records of a similarity from {self.threshold:g} to 1."
            )
        return threshold

    def pieces(self, items: Any) -> Iterator[pa.Table]:
        if isinstance(items, pa.RecordBatch):
            items = pa.Table.from_batches([items])
        elif hasattr(items, "__arrow_c_stream__") and not isinstance(items, pa.Table):
            items = pa.table(items)
        elif not isinstance(items, pa.Table):
            if isinstance(items, str | bytes | dict) or not isinstance(items, Iterable):
                raise UsageError(f"got one {type(items).__name__}; expected a table, or a list of dicts.")
            items = _table(list(items))
        for at in range(0, items.num_rows, ITEMS_PER_CHUNK):
            yield items.slice(at, ITEMS_PER_CHUNK)

    def features(self, piece: pa.Table) -> Blobs:
        """Return the texts of the fields of each record, as a JSON list."""
        names = columns_of(self.rules.fields)
        read = open_records(piece).read(names)
        columns = {name: read.column(name) for name in names}
        rows = zip(*(field_values(columns, rule).to_pylist() for rule in self.rules.fields), strict=True)
        return Blobs.of([json.dumps(row, ensure_ascii=False).encode() for row in rows])

    def _fields(self, rows: Sequence[bytes]) -> list[Field]:
        """Make fields that can be compared, with word weights from the sample statistics."""
        values = [json.loads(row) for row in rows]
        made = []
        for number, (rule, often) in enumerate(zip(self.rules.fields, self.known.words, strict=False)):
            column = pa.chunked_array([pa.array([row[number] for row in values], pa.large_string())])
            field = make_field(column, rule)
            weights = self._weights(often, field.word_hashes[number_hashes(field.word_hashes)[0]])
            made.append(replace(field, words=field.words._replace(weights=weights)))
        return made

    def _weights(self, often: FrequentTerms, hashes: U64) -> Any:
        return rarity(often.look(hashes), max(self.known.records, 1))

    def keys(self, features: Blobs) -> StoredKeys:
        """Return the blocking keys of the records.

        Keys of oversized blocks, by the sample, are replaced by their intersections; a record with no other key than
        these, and no intersections, keeps them.
        """
        n = len(features)
        if not n:
            return StoredKeys(np.empty(0, np.uint64), np.zeros(1, np.int64))
        records, hashes = _plain_keys(self._fields([features[row] for row in range(n)]))
        holders = self.known.keys.look(hashes)
        free = holders == 0
        crossed = _crossed(records[~free], hashes[~free], holders[~free], n)
        alone = np.ones(n, np.bool_)
        alone[records[free]] = alone[crossed[0]] = False
        stay = ~free & alone[records]  # records whose keys are all of oversized blocks and have no intersections
        both = np.concatenate([records[free], records[stay], crossed[0]])
        out = np.concatenate([hashes[free], hashes[stay], crossed[1]])
        order = np.argsort(both, kind="stable")
        return StoredKeys(out[order], ends_of(np.bincount(both, minlength=n)))

    probes = keys

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        asked, left = np.unique(found.query, return_inverse=True)
        there = [found.data[a:b].tobytes() for a, b in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]
        fields = self._fields([*(queries[int(query)] for query in asked), *there])
        one = left.astype(np.uint32)
        other = (len(asked) + np.arange(len(there))).astype(np.uint32)
        score = self._similarity(fields, one, other)
        out = np.where(score >= np.float32(threshold), score.astype(np.float64), -np.inf)
        return np.asarray(out, np.float64)

    def _similarity(self, fields: list[Field], one: U32, other: U32) -> Any:
        rules = self.rules
        whole = WholeRecords(fields)
        whole.weights = self._weights(self.known.words[-1], whole.hashes)
        seen = [compare(field, one, other) for field in fields]
        table = PairTable(one, other, seen, whole.compare(one, other), len(fields[0].values), -1)
        if rules.prior is not None:
            score = weigh(table, rules.prior, [rule.bits or () for rule in rules.fields], rules.explained)
        else:
            score = table.similarity([rule.weight or 0.0 for rule in rules.fields], rules.whole)
        same = np.all([field.values[one] == field.values[other] for field in fields], axis=0)
        full = np.any([field.values[one] >= 0 for field in fields], axis=0)
        return np.where(same & full, np.float32(1), score)

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return 0.0

    def raw(self, piece: pa.Table) -> Blobs:
        rows = [json.dumps(row, ensure_ascii=False, default=str).encode() for row in piece.to_pylist()]
        return Blobs.of(rows)

    def item(self, raw: bytes) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(raw)
        return made


def _rules_of(made: Mapping[str, Any]) -> RecordRules:
    fields = [{**field, "keys": tuple(field["keys"]), "sources": tuple(field.get("sources", ()))}
              for field in made["fields"]]  # fmt: skip
    for field in fields:
        if "bits" in field:
            field["bits"] = tuple(field["bits"])
        if "explained" in field:
            field["explained"] = {column: tuple(lift) for column, lift in field["explained"].items()}
    return RecordRules(**{**made, "fields": tuple(FieldRule(**field) for field in fields)})


def _table(rows: list[Any]) -> pa.Table:
    if not all(isinstance(row, Mapping) for row in rows):
        odd = next(type(row).__name__ for row in rows if not isinstance(row, Mapping))
        raise UsageError(f"an item is of type {odd}; expected a table, or a list of dicts.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    try:
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    except pa.ArrowException as error:
        raise UsageError(f"these records do not make a table: {error}.") from error


def _words_of(field: Field) -> tuple[I64, U64]:
    """Return (record, hash) of every word of every record."""
    return _spread(field, field.words.offsets, field.word_hashes)


def _spread(field: Field, offsets: I64, values: U64) -> tuple[I64, U64]:
    """Return (record, value) for the elements that belong to the distinct value of each record."""
    records = np.flatnonzero(field.values >= 0)
    of = field.values[records]
    counts = np.diff(offsets)[of]
    at = np.repeat(offsets[of] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    return np.repeat(records, counts), values[at]


def _once(hashes: U64, records: I64) -> U64:
    """Return the distinct hashes of each record."""
    return _each_once(records, hashes)[1]


def _each_once(records: I64, hashes: U64) -> tuple[I64, U64]:
    order = np.lexsort((hashes, records))
    records, hashes = records[order], hashes[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (records[1:] != records[:-1]) | (hashes[1:] != hashes[:-1])
    return records[new], hashes[new]


def _plain_keys(fields: Sequence[Field]) -> tuple[I64, U64]:
    """Return (record, key) for the distinct keys of each record, over all fields."""
    parts = []
    for number, field in enumerate(fields):
        made = ValueKeys.of(field, number, field.rule.keys)
        parts.append(_spread(field, made.offsets, made.keys))
    records, hashes = (np.concatenate(column) for column in zip(*parts, strict=True))
    mixed = np.empty(len(hashes), np.uint64)
    hashing.mix_all(hashes, np.uint64(11), mixed)
    return _each_once(records, mixed)


def _crossed(records: I64, hashes: U64, holders: I64, n: int) -> tuple[I64, U64]:
    """Return (record, key) for the intersections of two oversized blocks of each record, the least frequent ones."""
    order = np.lexsort((hashes, holders, records))
    records, hashes = records[order], hashes[order]
    rank = np.arange(len(records)) - np.searchsorted(records, records)
    some = np.zeros((n, CROSSED), np.uint64)
    few = rank < CROSSED
    some[records[few], rank[few]] = hashes[few]
    parts: list[tuple[I64, U64]] = []
    for a, b in combinations(range(CROSSED), 2):
        there = np.flatnonzero(some[:, b] != 0)
        low, high = np.minimum(some[there, a], some[there, b]), np.maximum(some[there, a], some[there, b])
        key = np.empty(len(there), np.uint64)
        hashing.mix_all(low + (high << ONE), np.uint64(13), key)
        parts.append((there, key))
    crossed, keys = (np.concatenate(column) for column in zip(*parts, strict=True))
    return crossed, keys
