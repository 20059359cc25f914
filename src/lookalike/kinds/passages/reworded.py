"""Passages in other words: the run, with the score that no passage reaches by chance, and the measured recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.arrays import F32, F64, I64, U32
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.io.collection import Collection
from lookalike.kinds.passages.chance import Chance, chance_of
from lookalike.kinds.passages.inverted_lists import FingerprintLists, lists_of
from lookalike.kinds.passages.kernels import rewording as kernel
from lookalike.kinds.passages.kernels.rewording_text import locate
from lookalike.kinds.passages.local import Shared, spans_of, stretches_of, sums_of
from lookalike.kinds.passages.planted import PLANTED_COLLECTION, Planted, plant
from lookalike.kinds.passages.reading import authors_of, read_places, tokens_recipe
from lookalike.kinds.passages.spec import PassageJob
from lookalike.kinds.passages.tokens import PositionedTokens
from lookalike.kinds.passages.winnowing import (
    NOTHING,
    Flags,
    all_shingles,
    common_shingles,
    fingerprint,
    most_documents,
)
from lookalike.runtime.local.memory_budget import memory_size
from lookalike.runtime.local.memory_needs import PER_DOCUMENT, check_memory
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.local.workspace import open_workspace

HEAVIEST = 6.0  # nats: largest weight of a word
UNSEEN = 0.5  # occurrences that are assumed of a word that two texts have once each
INFORMATIVE = 1.5  # nats from which a word can form seeds
MOST_SEED_PAIRS_PER_WORD = 40  # pairs of equal seeds to look at for each informative word; longer lists are left out
MOST_SEED_PAIRS = 20_000_000  # pairs of equal seeds that are looked at in any case
BOILERPLATE_SHARE = 0.5  # text in a larger share of the documents is boilerplate, unless `max_share` is given
BOILERPLATE_DOCUMENTS = 10  # text in at most this number of documents is not
REWORDED_PER_TASK = 1 << 16  # passages that a task has room for; it is repeated if there are more
BYTES_PER_WORD = 260  # bytes of memory for each word of the texts
REWORDING_BYTES_PER_TEXT_BYTE = 45.0  # bytes of memory for each byte of text


@dataclass(frozen=True, kw_only=True)
class Reworded(Shared):
    """Shared passages in other words. score: f64[r], in nats, of each row; words: i64[r], its shared informative words;
    chance: what is found by chance; planted: the measured recall."""

    score: F64
    words: I64
    chance: Chance
    planted: Planted

    def facts(self) -> dict[str, Any]:
        """Return what a receipt says about chance and recall."""
        fewest = int(self.words.min()) if len(self.words) else None
        return {**self.chance.as_dict(), "fewest_informative_words": fewest, "planted": self.planted.as_dict()}


@dataclass(frozen=True)
class Informative:
    """The informative words of n documents. words: u32[c], number in the vocabulary; weights: f32[c]; at: i64[c], place
    among all tokens; offsets: i64[n+1]; counts: i64[vocabulary], places of each word."""

    words: U32
    weights: F32
    at: I64
    offsets: I64
    counts: I64

    @classmethod
    def of(cls, tokens: U32, offsets: I64, hidden: Flags) -> Informative:
        """Select the words that are informative in this collection. hidden: bool[total], tokens that do not count."""
        _, inverse, counts = np.unique(tokens, return_inverse=True, return_counts=True)
        words = inverse.astype(np.uint32)
        weights = np.empty(len(words), np.float32)
        order = np.argsort(words, kind="stable")
        elsewhere = np.maximum(counts - 2, UNSEEN)  # one occurrence in each of two texts says nothing about others
        kernel.rate_words(words, order, offsets, elsewhere / max(1, len(words)), HEAVIEST, weights)
        keep = weights >= INFORMATIVE
        keep[: len(hidden)] &= ~hidden
        at = np.flatnonzero(keep)
        return cls(words[at], weights[at], at, np.searchsorted(at, offsets), counts)

    def compared(self, documents: int, split: int) -> float:
        """Return the number of pairs of words that are compared, of two collections (split >= 0) or within one."""
        total = float(self.offsets[documents])
        if split >= 0:
            return float(self.offsets[split]) * (total - float(self.offsets[split]))
        return (total**2 - float(np.square(np.diff(self.offsets[: documents + 1]).astype(np.float64)).sum())) / 2


def run_reworded(
    collections: Sequence[Collection], job: PassageJob, trace: Trace, *,
    author: str | None = None, template: Collection | None = None, place: ResourceLimits | None = None,
) -> Reworded:  # fmt: skip
    """Find the passages in other words within one collection, or between the first and the second."""
    place = place or ResourceLimits(memory_size(None))
    recipe, names = tokens_recipe(job), authors_of(collections, author)
    asked = {"wants": "passages", "compared": job.words(), "job": {**job.as_dict(), "threads": None}}
    space = open_workspace(collections, names, recipe, asked, place, growth=REWORDING_BYTES_PER_TEXT_BYTE)
    with space, Pool(job.threads or usable_cores(), space.keeper.look) as pool:
        read = read_places(collections, job, pool, trace, space, author=author)
        placed, split = read.placed, read.split if len(collections) == 2 else -1
        needed = BYTES_PER_WORD * len(placed.tokens) + PER_DOCUMENT * len(placed)
        check_memory(space.keeper, needed, lambda: f"looking for reworded passages in {len(placed.tokens):,} words")
        with trace.stage("common"):
            barred = NOTHING
            if template is not None:
                given = read_places([template], job, pool, Trace(trace.progress), Workspace(space.keeper)).placed
                barred = all_shingles(given, job.k)
                trace.add(template_shingles=len(barred))
            common, counts = common_shingles(placed.tokens, placed.offsets, k=job.k, limit=_most(job, placed))
            trace.add(boilerplate_shingles=len(common))
            excluded = np.union1d(barred, common)
            covered = fingerprint(placed.tokens, placed.offsets, k=job.k, window=1, barred=excluded).covered
        planted, tokens, offsets = plant(placed)
        rivals = np.concatenate([read.rivals(split), np.full((len(planted.sources), 2), -1)])
        rivals[len(placed) :, 0] = PLANTED_COLLECTION
        informative = Informative.of(tokens, offsets, covered)
        trace.add(informative_words=len(informative.words))
        rows = _search(informative, rivals, job.max_pairs, pool, trace)
        own = rows[rows[:, kernel.RIGHT_TEXT] < len(placed)]
        by_chance = own[:, kernel.BY_CHANCE] > 0
        found = own[~by_chance]
        compared = informative.compared(len(placed), split)
        chance = chance_of(found[:, kernel.SCORE], own[by_chance, kernel.SCORE], job.precision, compared)
        planted = planted.measured(rows[rows[:, kernel.RIGHT_TEXT] >= len(placed)], len(placed), chance.least_score)
        found = found[found[:, kernel.SCORE] >= chance.least_score]
        with trace.stage("sum up"):
            made = np.empty((len(found), 8), np.int64)
            locate(found, informative.at, informative.offsets, tokens, offsets, covered, made)
            order = np.lexsort((made[:, 4], made[:, 2], made[:, 1], made[:, 0]))
            made, found = made[order], found[order]
            sums = sums_of(made, placed.offsets, covered)
            trace.add(pairs=len(sums), passages=len(made))
        hidden = np.add.reduceat(np.append(covered, False), placed.offsets[:-1]) if len(covered) else 0
        return Reworded(
            placed, read.ids, split, made, sums, placed.sizes - np.where(placed.sizes > 0, hidden, 0),
            stretches_of(placed, job.k, common, counts), None, space,
            score=found[:, kernel.SCORE], words=found[:, kernel.SHARED].astype(np.int64), chance=chance,
            planted=planted,
        )  # fmt: skip


def _most(job: PassageJob, placed: PositionedTokens) -> int:
    """Return the maximum number of documents of a shingle that is not boilerplate."""
    documents = int((placed.sizes > 0).sum())
    if job.max_share is not None:
        return most_documents(job.max_share, documents)
    return max(BOILERPLATE_DOCUMENTS, most_documents(BOILERPLATE_SHARE, documents))


def _search(informative: Informative, rivals: I64, most: int, pool: Pool, trace: Trace) -> F64:
    """Return f64[r, 10], the passages of all pairs of documents (see the columns in kernels.rewording)."""
    words, offsets = informative.words, informative.offsets
    room = kernel.FOLLOWING * len(words)
    hashes, ends = np.empty(room, np.uint64), np.empty(len(offsets) - 1, np.int64)
    firsts, seconds = np.empty(room, np.uint32), np.empty(room, np.uint32)
    with trace.stage("index"):
        count = kernel.word_pairs(words, offsets, hashes, firsts, seconds, ends)
        lists = lists_of(hashes[:count], pool.map)
        del hashes
        seeds = np.concatenate([[0], ends])
        owners = np.repeat(np.arange(len(ends), dtype=np.uint32), np.diff(seeds))[lists.order]
        firsts, seconds = firsts[:count][lists.order], seconds[:count][lists.order]
        sizes = np.repeat(lists.sizes(), lists.sizes()).astype(np.uint32)
        skipped = _too_long(lists, max(MOST_SEED_PAIRS, MOST_SEED_PAIRS_PER_WORD * len(words)), trace)

    def look(span: tuple[int, int]) -> F64:
        given = (
            *span, words, informative.weights, offsets, seeds, lists.place, lists.fresh, skipped, owners, firsts,
            seconds, sizes, informative.counts, rivals,
        )  # fmt: skip
        out = np.empty((REWORDED_PER_TASK, 10))
        if (count := kernel.find_reworded(*given, out)) > len(out):
            out = np.empty((count, 10))
            kernel.find_reworded(*given, out)
        return out[:count].copy()

    found, total = [np.empty((0, 10))], 0
    with trace.stage("match") as report:
        spans: Iterator[tuple[int, int]] = spans_of(offsets, max(1 << 14, len(words) // 64))
        known = [*spans]
        for (_, end), rows in zip(known, pool.map(look, known), strict=True):
            found.append(rows)
            if (total := total + len(rows)) > most:
                raise TooManyPairs(
                    f"more than {most:,} passages (`max_pairs`) may be reworded. Leave boilerplate out with `template` "
                    "or `max_share`, or raise `max_pairs`."
                )
            report(end, len(ends))
    return np.concatenate(found)


def _too_long(lists: FingerprintLists, most: int, trace: Trace) -> Flags:
    """Return bool[s]: by position, True in the lists that are left out, so that `most` pairs of seeds remain."""
    sizes = lists.sizes()
    ordered = np.sort(sizes)
    total = np.cumsum(ordered * (ordered - 1) // 2)
    if not len(total) or total[-1] <= most:
        return np.zeros(len(lists.fresh), np.bool_)
    limit = max(1, int(ordered[max(0, int(np.searchsorted(total, most, "right")) - 1)]))
    trace.warnings.append(
        f"two words that are near each other in more than {limit:,} places count for nothing: they would have made "
        f"{int(total[-1]):,} places to look at."
    )
    return np.repeat(sizes > limit, sizes)
