"""Local engine for strings: exact edit-distance join by shared deletion variants (short) or segments (long strings)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U32, U64, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.candidates import item_bits
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.method_choice import PLANNER_SAMPLE, Choice
from lookalike.core.size_limit import check_size
from lookalike.core.trace import Trace
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.kinds.strings.kernels import joins as edit_joins
from lookalike.kinds.strings.kernels import keys as edit_keys
from lookalike.kinds.strings.lengths import (
    VARIANTS,
    EditBar,
    LengthBounds,
    Ranked,
    StringsByLength,
    powers,
    ranked,
    variants,
)
from lookalike.kinds.strings.spec import StringsJob
from lookalike.runtime.local.joins import Block, Scored, joined, scored
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind, RunOutput

ALWAYS_EXACT = "strings are always joined exactly"
STRINGS_ADVICE = "Allow fewer edits, or raise `max_pairs`."
NOBODY = np.uint32(0xFFFFFFFF)
STRING_PAIR_BUFFER = 1 << 14  # initial number of pairs that the output arrays of a task can hold
STRINGS_PER_TASK = 1 << 13  # maximum number of strings of one task
DIRECTORY, BITMAP = 22, 1 << 18  # maximum bits of the directory of an index; number of words of its bitmap

# Bytes, from benchmarks/scale/memory_needs.py: of each string and each of its letters, and of a key of the index.
STRINGS_NEED = InputNeed("strings", row=220, byte=10, text_byte=12)
BYTES_PER_STRING_KEY = 16
KEYED_LETTERS = 14  # letters of a string, for an estimate before the strings are read


def run(
    collections: Sequence[Collection], job: StringsJob, want: OutputKind, trace: Trace, *, keep: str = "first",
    memory: MemoryLimit = UNLIMITED,
) -> RunOutput:  # fmt: skip
    """Find the pairs of one collection of strings, or the pairs between two; none is missed."""
    column = preferred_column(keep)
    extra: dict[str, pa.ChunkedArray] = {}
    ids, read = [], []
    trace.add(bytes=0, null_texts=0, bad_texts=0)
    with trace.stage("read"):
        for number, collection in enumerate(collections):
            batches = list(collection.texts([column] if column and not number else []))
            read.append(pa.concat_arrays([batch.texts for batch in batches] or [pa.array([], pa.large_string())]))
            for batch in batches:
                trace.add(null_texts=batch.null_texts, bad_texts=batch.bad_texts, bytes=batch.texts.nbytes)
            ids.append(ids_of_batches(batches))
            if collection.id_column is not None:
                collection.check_ids(ids[-1])
            if column and not number:
                extra[column] = pa.chunked_array(
                    [batch.extra[column] for batch in batches] or [pa.array([], pa.null())]
                )
        texts = StringsByLength.of(pa.concat_arrays(read), fold_case=job.fold_case, strip_accents=job.strip_accents)
        _check_memory(texts, job, memory)
        trace.add(strings=len(texts), empty=int((texts.lengths == 0).sum()))
    split = len(read[0]) if len(read) == 2 else -1
    with trace.stage("collapse"):
        best = preference(keep, texts.lengths[: len(read[0])], extra)
        best = np.concatenate([best, np.arange(len(read[0]), len(texts))])
        classes = texts.collapse(best)
        trace.add(exact_duplicates=len(classes.members) - len(classes))
    with Pool(job.threads or usable_cores(), memory.look) as pool:
        own = np.full(len(classes), float(job.by_similarity))
        choice = Choice("exact", {}, ALWAYS_EXACT)
        found = RunOutput(ids, split, classes, own, classes.ranked(best), choice)
        sides = classes.sides(split)
        if want == "pairs":
            check_answer_size(texts, classes.firsts, sides, job, pool, trace)
        everyone = ranked(texts, classes.firsts, sides)
        pairs = StringsJoin(everyone, job.bar(), pool, trace, job.max_pairs).pairs()
        return replace(found, pairs=Pairs(*pairs))


def check_answer_size(
    texts: StringsByLength, items: I64, sides: npt.NDArray[np.uint8], job: StringsJob, pool: Pool, trace: Trace
) -> None:
    """Raise TooManyPairs if a sample of these items has far too many pairs."""
    if len(items) <= PLANNER_SAMPLE:
        return
    with trace.stage("choose"):
        picked = np.sort(np.random.default_rng(job.seed).choice(len(items), PLANNER_SAMPLE, replace=False))
        sample = ranked(texts, items[picked], sides[picked])
        pairs = StringsJoin(sample, job.bar(), pool, Trace(), PLANNER_SAMPLE * PLANNER_SAMPLE).pairs()
        expected = round(len(pairs[0]) * (len(items) / PLANNER_SAMPLE) ** 2)
        sample_has = f"a sample of {PLANNER_SAMPLE:,} {job.noun} has"
        check_size(expected, job.max_pairs, sampled=len(pairs[0]), sample=sample_has, advice=STRINGS_ADVICE)
        trace.add(expected_pairs=expected)


def strings_need(job: StringsJob) -> InputNeed:
    """Return the memory that strings of KEYED_LETTERS letters need with their keys."""
    most = int(LengthBounds.of(job.bar(), KEYED_LETTERS).as_anchor[KEYED_LETTERS])
    keys = min(VARIANTS, int(variants(np.full(KEYED_LETTERS + 1, most))[-1])) * BYTES_PER_STRING_KEY
    need = STRINGS_NEED
    return replace(need, row=need.row + keys, text_byte=need.text_byte + keys / KEYED_LETTERS)


def _check_memory(texts: StringsByLength, job: StringsJob, memory: MemoryLimit) -> None:
    """Refuse strings whose keys do not fit: deletion variants of short strings, segments of the others."""
    lengths, counts = np.unique(texts.lengths, return_counts=True)
    if not len(lengths):
        return
    reach = LengthBounds.of(job.bar(), int(lengths[-1]))
    keys = np.zeros(len(reach.shortest), np.int64)
    short = slice(0, reach.short + 1)
    keys[short] = variants(reach.deletions(job.bar())[0][short])
    count = int((counts * np.maximum(keys[lengths], reach.as_anchor[lengths] + 1)).sum())
    needed = STRINGS_NEED.row * len(texts) + STRINGS_NEED.byte * len(texts.points) + BYTES_PER_STRING_KEY * count
    memory.check(needed, f"a run on {len(texts):,} strings with {count:,} keys")


def ids_of_batches(batches: Sequence[TextBatch]) -> pa.ChunkedArray:
    """Return the ids of all rows, or their row numbers if there is no id column."""
    if batches and batches[0].ids is not None:
        return pa.chunked_array([batch.ids for batch in batches])
    return pa.chunked_array([as_arrow(np.arange(sum(len(batch) for batch in batches)))])


KeyIndex = tuple[U64, I64, U64, int]  # sorted words, directory, bitmap, bits of the directory


class KeyStage(NamedTuple):
    """Anchors `low` to `high` - 1 and the keys by which they are compared with the first `stored` strings.

    write, each: the kernel that writes the keys, and its argument by length. counts: maximum number of keys of a
    string, by length. alike: anchors probe only keys that they also store, so only keys with at least two entries are
    kept. probed: of deletion variants, what `each` is for anchors. join: returns the kernel that compares anchors by
    an index of some of the keys.
    """

    low: int
    high: int
    write: Callable[..., int]
    each: I64
    stored: int
    counts: I64
    alike: bool
    join: Callable[..., Callable[..., int]]
    probed: I64 | None = None


class StringsJoin:
    """Exact join of distinct strings, sorted by length, with bounds on the lengths of their partners."""

    def __init__(self, strings: Ranked, bar: EditBar, pool: Pool, trace: Trace, limit: int) -> None:
        self.strings, self.bar, self.pool, self.trace, self.limit = strings, bar, pool, trace, limit
        self.reach = LengthBounds.of(bar, strings.longest)
        self.powers = powers(strings.longest + 2)
        self.bits = item_bits(len(strings))

    def pairs(self) -> Scored:
        """Return every pair that reaches the threshold, in the numbering before sorting by length."""

        def pieces() -> Iterator[tuple[Block, int]]:
            for stage in self.stages():
                with self.trace.stage("index"):
                    join = stage.join(self.indexed(stage, self._words(stage)), first=True)
                yield from self.pool.map(partial(self.task, join), self._spans(stage.low, stage.high))

        with self.trace.stage("match"):
            left, right, scores = scored(pieces(), self.trace, self.limit, advice=STRINGS_ADVICE)
        return self.strings.order[left], self.strings.order[right], scores

    def stages(self) -> list[KeyStage]:
        """Return the join of short strings by deletion variants, and of the others by segments."""
        one, reach = self.strings, self.reach
        turn = int(one.starts[reach.short + 1])  # the first anchor with too many deletion variants
        anchor, partner = reach.deletions(self.bar)
        counts = variants(partner[: reach.short + 1])
        alike = not np.any(anchor[: reach.short + 1] > partner[: reach.short + 1])
        shortened = partial(self._shortened, anchor)
        out = [KeyStage(0, turn, edit_keys.index_shortened, partner, turn, counts, alike, shortened, anchor)]
        if turn < len(one):
            pieces = np.where(reach.as_partner < np.arange(one.longest + 1), reach.as_partner + 1, 0)
            segments = partial(self._segments, pieces)
            out.append(
                KeyStage(turn, len(one), edit_keys.index_segments, pieces, len(one), pieces, alike=False, join=segments)
            )
        return out

    def _spans(self, first: int, last: int) -> list[tuple[int, int]]:
        step = max(64, min(STRINGS_PER_TASK, (last - first) // (8 * self.pool.threads)))
        return [(at, min(at + step, last)) for at in range(first, last, step)]

    def buckets(self, words: U64, span: tuple[int, int]) -> tuple[Block, int]:
        """Find the pairs of strings that share a key. span: of whole buckets of the sorted words."""
        one, room, blocks, measured = self.strings, STRING_PAIR_BUFFER, [], 0
        where = np.array([span[0], span[0]], np.int64)
        while where[0] < span[1]:
            tally = np.zeros(2, np.int64)
            left, right, scores = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room, np.float64)
            edit_joins.join_buckets(
                words, self.bits, where, span[1], *self.bar, one.texts.points, one.texts.ends, one.bags, one.letters,
                one.longest, one.sides, tally, left, right, scores,
            )  # fmt: skip
            count = int(tally[0])
            blocks.append((left[:count].copy(), right[:count].copy(), scores[:count].copy()))
            measured += int(tally[1])
            room *= 2
        return joined(blocks), measured

    def task(self, kernel: Callable[..., int], span: tuple[int, int]) -> tuple[Block, int]:
        """Find the pairs of some anchors; if the output is full, the last anchor is repeated with larger arrays."""
        low, high = span
        seen, room, blocks, measured = np.empty(len(self.strings), np.uint32), STRING_PAIR_BUFFER, [], 0
        while low < high:
            seen[:] = NOBODY
            tally = np.zeros(2, np.int64)
            left, right, scores = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room, np.float64)
            low = kernel(low, high, seen=seen, tally=tally, out=(left, right, scores))
            count = int(tally[0])
            blocks.append((left[:count], right[:count], scores[:count]))
            measured += int(tally[1])
            room *= 2
            if sum(len(block[0]) for block in blocks) > self.limit:
                break
        left, right, scores = (np.concatenate(column) for column in zip(*blocks, strict=True))
        return (left, right, scores), measured

    def _shortened(self, anchor: I64, index: KeyIndex, *, first: bool) -> Callable[..., int]:
        one = self.strings

        def join(low: int, high: int, *, seen: U32, tally: I64, out: Any) -> int:
            reached = edit_joins.join_shortened(
                low, high, anchor, self.powers, *index, self.bits, seen, *self.bar, one.texts.points, one.texts.ends,
                one.bags, one.letters, one.sides, np.empty(VARIANTS, np.uint64), tally, *out,
            )  # fmt: skip
            return int(reached)

        return join

    def _segments(self, pieces: I64, index: KeyIndex, *, first: bool) -> Callable[..., int]:
        """Return the kernel. first: also compare with the strings that are too short for segments."""
        one, reach = self.strings, self.reach
        wanted = pieces if first else np.where(pieces == 0, -1, pieces)

        def join(low: int, high: int, *, seen: U32, tally: I64, out: Any) -> int:
            reached = edit_joins.join_segments(
                low, high, reach.shortest, wanted, one.starts, self.powers, *index, self.bits, seen, *self.bar,
                one.texts.points, one.texts.ends, one.bags, one.letters, one.sides, tally, *out,
            )  # fmt: skip
            return int(reached)

        return join

    def _words(self, stage: KeyStage) -> U64:
        spans = self._spans(0, stage.stored)
        return np.concatenate([np.empty(0, np.uint64), *self.pool.map(partial(self.words, stage), spans)])

    def words(self, stage: KeyStage, span: tuple[int, int]) -> U64:
        """Return the keys of some strings, packed with the numbers of the strings."""
        one = self.strings
        lengths = one.texts.ends[span[0] + 1 : span[1] + 1] - one.texts.ends[span[0] : span[1]]
        out = np.empty(int(stage.counts[lengths].sum()), np.uint64)
        count = stage.write(one.texts.points, one.texts.ends, *span, stage.each, self.powers, self.bits, out)
        return out[:count]

    def indexed(self, stage: KeyStage, words: U64) -> KeyIndex:
        """Sort packed keys, in place, and index them."""
        words.sort()
        self.trace.add(postings=len(words))
        if stage.alike:
            words = words[: edit_keys.shared_only(words, self.bits)]
        size = min(DIRECTORY, max(1, len(words).bit_length()))
        cells, bitmap = np.zeros((1 << size) + 1, np.int64), np.zeros(BITMAP, np.uint64)
        edit_keys.directory(words, size, cells, bitmap)
        return words, cells, bitmap, size
