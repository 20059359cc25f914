"""Pairs of strings that are larger than memory: strings in mapped files, keys in parts on disk, pairs in a store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U64
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.io.collection import Collection
from lookalike.kinds.strings.kernels import keys as edit_keys
from lookalike.kinds.strings.kernels import strings
from lookalike.kinds.strings.lengths import StringsByLength, ranked, variants
from lookalike.kinds.strings.local import (
    ALWAYS_EXACT,
    STRINGS_ADVICE,
    STRINGS_PER_TASK,
    KeyStage,
    StringsJoin,
    check_answer_size,
)
from lookalike.kinds.strings.spec import StringsJob
from lookalike.runtime.local.distinct_rows import find_copies
from lookalike.runtime.local.joins import Block, joined
from lookalike.runtime.local.listed_rows import StoredRows, check_stored_ids, output, pairs_in_memory, room_for
from lookalike.runtime.local.memory_needs import check_memory
from lookalike.runtime.local.pair_store import PairStore, keys_of
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.spill import PostingSpill, SpilledArray
from lookalike.runtime.local.text_pass import ID, FeaturePass, extract_features
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.local.workspace import open_work_folder
from lookalike.runtime.run_output import Request, RunOutput

DTYPES: dict[str, Any] = {"points": np.uint32, "lengths": np.uint32}
STRING_BYTES = 60  # bytes of memory for each string: numbers, ends, sides, and what sorting by length takes
TEXT_GROWTH = 12.0  # bytes of memory per byte of a text while it is decoded
PART_KEY_BYTES = 10  # bytes of memory for each key of a part while it is gathered and sorted
PART_KEYS = 1 << 23  # most keys of a part, so that each takes a few seconds
KEYS_PER_TASK = 1 << 17  # keys whose buckets are joined by one task
MOST_KEY_PARTS = 8  # bits: keys are divided into at most 2^8 parts


def strings_recipe(job: StringsJob) -> FeaturePass:
    """Define the pass that decodes texts to code points."""

    def make(texts: pa.Array, _: pa.Array) -> dict[str, Any]:
        some = StringsByLength.of(texts, fold_case=job.fold_case, strip_accents=job.strip_accents)
        return {"points": some.points.copy(), "lengths": some.lengths.astype(np.uint32)}

    options = {"fold_case": job.fold_case, "strip_accents": job.strip_accents}
    return FeaturePass("strings", options, DTYPES, "points", make, TEXT_GROWTH, "strings")


def run_on_disk(
    collections: Sequence[Collection], job: StringsJob, asked: Request, trace: Trace, place: ResourceLimits
) -> RunOutput:
    """Find the same pairs as `local.run`, within a memory budget."""
    column = preferred_column(asked.keep)
    extra: list[list[str]] = [[column] if column and not number else [] for number in range(len(collections))]
    recipe = strings_recipe(job)
    options = {name: value for name, value in job.as_dict().items() if name != "threads"}
    about = {"wants": "pairs", "compared": job.words(), "job": options}
    space = open_work_folder(collections, extra, recipe, about, place)
    with space, Pool(job.threads or usable_cores(), space.keeper.look) as pool:
        found = extract_features(collections, extra, recipe, pool, trace, space)
        for collection, table in zip(collections, found.columns, strict=True):
            if collection.id_column is not None and table.num_columns:
                check_stored_ids(table[ID], collection.name, space, room_for(space.keeper) // 2)
        lengths = found.numbers["lengths"]
        held = STRING_BYTES * len(lengths)
        check_memory(space.keeper, held, lambda: f"a run on {len(lengths):,} strings")
        texts = StringsByLength(found.numbers["points"], _ends(lengths))
        good = np.asarray(lengths > 0)
        trace.add(strings=len(texts), empty=int((~good).sum()))
        rows = _collapsed(texts, good, found.columns, job, space)
        trace.add(exact_duplicates=len(rows.copies.rows))
        known = rows.copies.sides(rows.mask, rows.split)
        sides = np.full(len(rows.mask), 3, np.uint8) if known is None else known
        firsts = rows.mask.rows_of(np.arange(len(rows.mask)))
        if asked.want == "pairs":
            check_answer_size(texts, firsts, sides, job, pool, trace)
        everyone = ranked(texts, firsts, sides, space.array)
        del texts, firsts
        join = StringsJoin(everyone, job.bar(), pool, trace, job.max_pairs)
        store = join_stored(join, space, max(room_for(space.keeper, held) // 2, 1 << 20))
        choice = Choice("exact", {}, ALWAYS_EXACT)
        out = output(
            rows, store, asked, choice, space, lengths=lambda some: lengths[some].astype(np.int64),
            max_pairs=job.max_pairs,
        )  # fmt: skip
        if out.streamed is None:  # nothing of the result is in the folder
            space.close()
        return out


def _ends(lengths: npt.NDArray[np.uint32]) -> I64:
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    return ends


def _collapsed(
    texts: StringsByLength, good: npt.NDArray[np.bool_], tables: list[pa.Table], job: StringsJob, space: Workspace
) -> StoredRows:
    """Find equal strings."""

    def prints(low: int, high: int) -> U64:
        out = np.empty(high - low, np.uint64)
        strings.fingerprints(texts.points, texts.ends[low : high + 1], out)
        return out

    def same(left: I64, right: I64) -> npt.NDArray[np.bool_]:
        out = np.empty(len(left), np.bool_)
        strings.equal(texts.points, texts.ends, left, right, out)
        return out

    copies = find_copies(prints, good, same, space, room_for(space.keeper, STRING_BYTES * len(texts)) // 2)
    counts = [table.num_rows for table in tables]
    return StoredRows(tables, counts, copies.mask(good), copies, float(job.by_similarity))


@dataclass(frozen=True)
class KeyParts:
    """The keys of a stage on disk, divided by their highest bits. runs: arrays with the end of each part in them."""

    spill: PostingSpill
    runs: list[tuple[SpilledArray, I64]]

    def part(self, number: int) -> U64:
        """Return the keys of a part."""
        spans = [(int(ends[number - 1]) if number else 0, int(ends[number])) for _, ends in self.runs]
        out, at = np.empty(sum(high - low for low, high in spans), np.uint64), 0
        for (array, _), (low, high) in zip(self.runs, spans, strict=True):
            out[at : at + high - low] = self.spill.get(array, low, high)
            at += high - low
        return out


def join_stored(join: StringsJoin, space: Workspace, room: int) -> PairStore:
    """Compare the strings by each part of the keys. A part, with a span of anchors of segments, is a step.

    A pair that shares several keys is found several times, and kept once.
    """
    stages = [(stage, _part_bits(stage, join, room)) for stage in map(_symmetric, join.stages())]
    about = {"strings": len(join.strings)}
    division = sum(bits << 8 * number for number, (_, bits) in enumerate(stages))
    store = PairStore(space, "pairs", most=pairs_in_memory(space.keeper), about=about, division=division)
    order, done = join.strings.order, 0
    with join.trace.stage("match") as report:
        for stage, bits in stages if not store.complete else []:
            spans = [] if stage.low == stage.high else [(stage.low, stage.high)]
            if not stage.alike:
                spans = _spans(stage.low, stage.high, STRINGS_PER_TASK)
            if done + (len(spans) << bits) <= store.steps:
                done += len(spans) << bits
                continue
            with PostingSpill(space.folder, stay=not bits) as spill:
                keys = KeyParts(spill, list(_divided(join, stage, bits, spill)))
                for number in range(1 << bits):
                    left = spans[max(0, store.steps - done) :]
                    done += len(spans)
                    if not left:
                        continue
                    for (one, other, scores), measured, done_with in _compared(
                        join, stage, keys.part(number), number, left
                    ):
                        low, high = order[one], order[other]
                        store.add(keys_of(np.minimum(low, high), np.maximum(low, high)), scores)
                        store.count(candidates=measured)
                        store.check_count(join.limit, STRINGS_ADVICE)
                        if done_with:
                            store.step()
                    report(number + 1, 1 << bits)
                    space.keeper.look()
        store.check_count(join.limit, STRINGS_ADVICE, last=True)
        store.finish()
    join.trace.add(candidates=store.counts.get("candidates", 0))
    return store


def _symmetric(stage: KeyStage) -> KeyStage:
    """Let partners store all keys that anchors look for, so that strings with a common key are a bucket."""
    if stage.probed is None:
        return stage
    each = np.maximum(stage.each, stage.probed)
    return stage._replace(each=each, counts=variants(each[: len(stage.counts)]), alike=True)


def _compared(
    join: StringsJoin, stage: KeyStage, words: U64, part: int, spans: list[tuple[int, int]]
) -> Iterator[tuple[Block, int, bool]]:
    """Yield pairs, the number of compared pairs, and whether a span is done."""
    if not stage.alike:
        compare = stage.join(join.indexed(stage, words), first=part == 0)
        for block, measured in join.pool.map(partial(join.task, compare), spans):
            yield block, measured, True
        return
    words.sort()
    words = words[: edit_keys.shared_only(words, join.bits)]
    edges = [0]
    while edges[-1] < len(words):
        edges.append(_bucket_end(words, edges[-1] + KEYS_PER_TASK, join.bits))
    tasks = list(itertools.pairwise(edges))
    for number, (block, measured) in enumerate(join.pool.map(lambda span: join.buckets(words, span), tasks)):
        yield block, measured, number == len(tasks) - 1
    if not tasks:
        yield joined([]), 0, True


def _bucket_end(words: U64, at: int, bits: int) -> int:
    """Return the first position from `at` on at which a bucket begins."""
    if at >= len(words):
        return len(words)
    following = ((words[at - 1] >> np.uint64(bits)) + np.uint64(1)) << np.uint64(bits)
    return int(np.searchsorted(words, following)) if following else len(words)


def _spans(low: int, high: int, step: int) -> list[tuple[int, int]]:
    return [(at, min(at + step, high)) for at in range(low, high, step)]


def _part_bits(stage: KeyStage, join: StringsJoin, room: int) -> int:
    """Return the number of bits that divide the keys of a stage into parts that fit."""
    sizes = np.diff(np.minimum(join.strings.starts, stage.stored))
    count = int((sizes[: len(stage.counts)] * stage.counts[: len(sizes)]).sum())
    parts = -(-count // min(PART_KEYS, max(1, room // PART_KEY_BYTES)))
    return min(MOST_KEY_PARTS, max(0, (parts - 1).bit_length()))


def _divided(join: StringsJoin, stage: KeyStage, bits: int, spill: PostingSpill) -> Iterator[tuple[SpilledArray, I64]]:
    """Write the keys of all strings to the spill, span by span, sorted by part."""

    def divide(span: tuple[int, int]) -> tuple[U64, I64]:
        words = join.words(stage, span)
        part = (words >> np.uint64(64 - bits)).astype(np.uint16) if bits else np.zeros(len(words), np.uint16)
        order = np.argsort(part, kind="stable")
        return words[order], np.cumsum(np.bincount(part, minlength=1 << bits))

    for words, ends in join.pool.map(divide, _spans(0, stage.stored, STRINGS_PER_TASK)):
        yield spill.put(words), ends
