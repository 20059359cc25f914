"""Stories by topics: articles whose rare words agree, joined by average linkage above a similarity by chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Pairs, ShingleRule
from lookalike.core.arrow import as_arrow
from lookalike.core.average_linkage import average_linkage
from lookalike.core.candidates import Items
from lookalike.core.results import ArrowRows
from lookalike.core.trace import Trace
from lookalike.io.collection import Collection
from lookalike.io.results import write_folder
from lookalike.kinds.documents.reading import read_features
from lookalike.kinds.documents.spec import Job
from lookalike.kinds.documents.weighted_join import weigh, weighted_pairs
from lookalike.kinds.documents.weights import WeightedSets
from lookalike.runtime.local.memory_budget import MemoryBudget, memory_size
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.receipt import NO_WORK, peak_memory, source_warnings, versions

SIMILARITY_SAMPLE, SAMPLED_ARTICLES = (
    2_000_000,
    300,
)  # pairs to look at, of at most this number of articles with all others
LEAST_LISTED = 0.01  # similarity of sampled pairs below which only their number counts
CHANCE_PARTNERS = 1.0  # articles that an article expects by chance above the threshold
LOWEST, HIGHEST = 0.08, 0.9  # bounds of the threshold
UNLISTED = 1 / 3  # pairs below this share of the threshold count 0 in a mean
BOTH_SIDES = 3  # the code of an item that is on the left and on the right


@dataclass(frozen=True, kw_only=True)
class TopicStories(ArrowRows):
    """The result of `stories(by="topics")`. Tables are built on first access.

    cluster: i64[n], the first article of the story of each; near: pairs of articles of one story, with similarity.
    """

    ids: pa.ChunkedArray
    cluster: I64
    near: Pairs
    receipt: dict[str, Any]

    @cached_property
    def stories(self) -> pa.Table:
        """The table of articles in stories of two or more: id, story (0, 1, ...; largest first), size, first."""
        return story_table(self.ids, self.cluster)

    @cached_property
    def pairs(self) -> pa.Table:
        """The table of pairs within stories that reach the threshold: left, right, similarity (cosine of tf-idf)."""
        left, right = (self.ids.take(as_arrow(side)) for side in (self.near.left, self.near.right))
        return pa.table({"left": left, "right": right, "similarity": as_arrow(self.near.similarity)})

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that `save` writes, by name."""
        return {"stories": self.stories, "pairs": self.pairs}

    @property
    def score_column(self) -> str:
        """The name of the column of scores in the table of pairs: similarity."""
        return "similarity"

    def to_arrow(self) -> pa.Table:
        """Return the stories."""
        return self.stories

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write stories.parquet, pairs.parquet and receipt.json into a new folder."""
        write_folder(self.tables, self.receipt, Path(folder), force=force)
        return Path(folder)

    def done(self) -> None:
        """Do nothing: the result keeps no files."""


def story_table(ids: pa.ChunkedArray, representative: I64) -> pa.Table:
    """Return the articles in stories of two or more: id, story (0, 1, ...; largest first), size, first."""
    number, size = np.unique(representative, return_inverse=True, return_counts=True)[1:]
    rank = np.empty(len(size), np.int64)
    rank[np.argsort(-size, kind="stable")] = np.arange(len(size))
    members = np.flatnonzero(size[number] > 1)
    members = members[np.argsort(rank[number[members]], kind="stable")]
    return pa.table(
        {
            "id": ids.take(as_arrow(members)),
            "story": as_arrow(rank[number[members]]),
            "size": as_arrow(size[number[members]]),
            "first": ids.take(as_arrow(representative[members])),
        }
    )


def topic_stories(
    collection: Collection, similarity: float | None, threads: int | None, place: ResourceLimits, trace: Trace
) -> TopicStories:
    """Group the articles of one topic. similarity: mean similarity of the articles of a story; None: from the data."""
    job = Job(rule=ShingleRule(k=1), measure="cosine", weight="idf", threads=threads)
    with Pool(threads or usable_cores()) as pool:
        space = Workspace(MemoryBudget(memory_size(place.memory)))
        features = read_features([collection], job.rule, pool, trace, space)
        sets = features.sets
        items = Items(sets.elements, sets.offsets[:-1], sets.sizes, np.full(len(sets), BOTH_SIDES, np.uint8))
        times = np.ones(len(sets), np.int64)
        _, weighted = weigh(items, times, len(sets), job.weighting(), job.set_measure(), trace)
        given = similarity is not None
        threshold = float(similarity) if similarity is not None else chance_similarity(weighted, pool, trace)
        found = weighted_pairs(
            weighted, items.sides, max(LEAST_LISTED, threshold * UNLISTED), pool, trace, job.max_pairs
        )
    with trace.stage("group"):
        cluster = average_linkage(Pairs(*found), len(sets), threshold)
    left, right, score = found
    within = (cluster[left] == cluster[right]) & (score >= threshold)
    near = Pairs(left[within], right[within], score[within])
    sizes = np.bincount(cluster, minlength=1)
    trace.counts |= {"pairs": len(near.left), "stories": int((sizes > 1).sum())}
    learned = "" if given else " (learned from chance)"
    receipt = {
        "asked": "stories",
        "inputs": [{**collection.describe(), "rows": len(features.ids[0])}],
        "items": "documents",
        "compared": f"cosine of tf-idf, {threshold:.3g} on average{learned}",
        "scale": {"column": "similarity", "sign": 1},
        "job": {"by": "topics", "similarity": threshold, "learned": not given, "rule": job.rule.as_dict()},
        "choice": {"method": "average-linkage"},
        "plan": None,
        "recall_at_threshold": 1.0,
        "recall_measured": None,
        "verified": True,
        "counts": trace.counts,
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": [*source_warnings([collection]), *trace.warnings],
        "left_out": list(getattr(collection, "left_out", ())),
        "work": NO_WORK,
        "versions": versions(),
    }
    return TopicStories(ids=features.ids[0], cluster=cluster, near=near, receipt=receipt)


def chance_similarity(sets: WeightedSets, pool: Pool, trace: Trace) -> float:
    """Return the similarity above which an article expects CHANCE_PARTNERS others by chance.

    Most pairs of articles tell different stories. The upper quarter of the similarities of sampled pairs, or the
    highest part of it if most are 0, decays exponentially; its decay is extrapolated.
    """
    articles = np.flatnonzero(np.diff(sets.offsets) > 0)
    if len(articles) < 3:
        return LOWEST
    count = max(1, min(SAMPLED_ARTICLES, SIMILARITY_SAMPLE // len(articles), len(articles)))
    of = np.sort(np.random.default_rng(0).choice(articles, count, replace=False))
    sides = np.full(len(sets), BOTH_SIDES, np.uint8)
    score: F64 = weighted_pairs(sets, sides, LEAST_LISTED, pool, Trace(trace.progress), 2 * SIMILARITY_SAMPLE, of=of)[2]
    pairs = count * (len(articles) - 1) - count * (count - 1) // 2
    ordered = np.sort(np.concatenate([score, np.zeros(max(0, pairs - len(score)))]))
    for low, high in ((0.5, 0.75), (0.75, 0.95), (0.9, 0.99), (0.99, 0.999)):
        start, end = np.quantile(ordered, [low, high])
        if start > 0:
            scale = (end - start) / np.log((1 - low) / (1 - high))
            above = (1 - high) * (len(articles) - 1) / CHANCE_PARTNERS
            return float(np.clip(end + scale * np.log(max(1.0, above)), LOWEST, HIGHEST))
    return LOWEST
