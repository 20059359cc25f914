"""k-nearest-neighbour classifier on sets, with leave-one-out accuracy."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, Sets
from lookalike.core.binomial import clopper_pearson
from lookalike.kinds.documents.kernels import nearest_labelled
from lookalike.runtime.local.pool import Pool

Weight = Literal["idf", "none"]
QUERIES_PER_TASK = 256


@dataclass(frozen=True)
class LabelledNeighbours:
    """The labelled sets most similar to each query: nearest i64[m, k] (-1 for none), similarity f64[m, k]."""

    nearest: I64
    similarity: F64


@dataclass(frozen=True)
class LabelledSets:
    """The inverted lists of labelled sets.

    vocabulary u64[v], ascending; ends i64[v]; postings i64[p]; weights f64[v]: contribution of a shared element;
    lengths f64[n]: norm or size of each set; copies i64[n]: a number for each set, the same for equal sets.
    """

    vocabulary: Any
    ends: I64
    postings: I64
    weights: F64
    lengths: F64
    copies: I64
    weight: Weight

    @classmethod
    def of(cls, sets: Sets, weight: Weight) -> LabelledSets:
        vocabulary, number, count = np.unique(sets.elements, return_inverse=True, return_counts=True)
        owner = np.repeat(np.arange(len(sets)), sets.sizes)
        weights = np.ones(len(vocabulary))
        if weight == "idf":
            weights = (np.log((1 + len(sets)) / (1 + count)) + 1) ** 2
        postings = owner[np.argsort(number, kind="stable")]
        sums = np.bincount(owner, weights[number], minlength=len(sets))
        keys = [tuple(sorted(sets[i].tolist())) for i in range(len(sets))]
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        copies = np.array([first[key] for key in keys], np.int64)
        return cls(vocabulary, np.cumsum(count), postings, weights, _length(sums, weight), copies, weight)

    def neighbours(self, sets: Sets, k: int, pool: Pool, *, excluded: I64 | None = None) -> LabelledNeighbours:
        """Find the k labelled sets most similar to each set. excluded i64[m]: a number of `copies` to skip, or -1."""
        if excluded is None:
            excluded = np.full(len(sets), -1, np.int64)
        found = LabelledNeighbours(np.empty((len(sets), k), np.int64), np.empty((len(sets), k)))

        def work(start: int) -> None:
            stop = min(start + QUERIES_PER_TASK, len(sets))
            part = slice(start, stop)
            elements, offsets, lengths = self._known(sets, start, stop)
            nearest_labelled.nearest_sets(
                elements, offsets, lengths, self.ends, self.postings, self.weights, self.lengths, self.copies,
                excluded[part], self.weight == "idf", found.nearest[part], found.similarity[part],
            )  # fmt: skip

        for _ in pool.map(work, range(0, len(sets), QUERIES_PER_TASK)):
            pass
        return found

    def _known(self, sets: Sets, start: int, stop: int) -> tuple[I64, I64, F64]:
        """Return the vocabulary positions of the elements (ascending in each set), their offsets, and the set lengths.

        Elements outside the vocabulary are left out; in the lengths they have the highest possible weight.
        """
        elements = sets.elements[sets.offsets[start] : sets.offsets[stop]]
        owner = np.repeat(np.arange(stop - start), sets.sizes[start:stop])
        at = np.minimum(np.searchsorted(self.vocabulary, elements), max(0, len(self.vocabulary) - 1))
        known = self.vocabulary[at] == elements if len(self.vocabulary) else np.zeros(len(elements), np.bool_)
        unseen = (np.log(1 + len(self.copies)) + 1) ** 2 if self.weight == "idf" else 1.0
        weights = np.full(len(elements), unseen)
        weights[known] = self.weights[at[known]]
        sums = np.bincount(owner, weights, minlength=stop - start)
        order = np.lexsort((at[known], owner[known]))
        offsets = np.zeros(stop - start + 1, np.int64)
        np.cumsum(np.bincount(owner[known], minlength=stop - start), out=offsets[1:])
        return at[known][order].astype(np.int64), offsets, _length(sums, self.weight)


def _length(sums: npt.NDArray[Any], weight: Weight) -> F64:
    """Return the norm (idf) or the size of sets from the sums of their weights."""
    return np.sqrt(sums) if weight == "idf" else sums.astype(np.float64)


def subset(sets: Sets, items: I64) -> Sets:
    """Select the sets at these positions, in this order."""
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum(sets.sizes[items], out=offsets[1:])
    parts = [sets[i] for i in items]
    return Sets(np.concatenate(parts) if parts else np.empty(0, np.uint64), offsets)


def vote(neighbours: LabelledNeighbours, labels: list[str]) -> tuple[list[str | None], F64]:
    """Return, for each query, the label with the largest sum of similarities over its neighbours, and its share of it.

    Ties go to the label of the nearest neighbour. A query without neighbours gets no label (None, share 0).
    """
    chosen: list[str | None] = []
    shares = np.zeros(len(neighbours.nearest))
    for i, (nearest, similarity) in enumerate(zip(neighbours.nearest, neighbours.similarity, strict=True)):
        votes: defaultdict[str, float] = defaultdict(float)
        for item, score in zip(nearest.tolist(), similarity.tolist(), strict=True):
            if item >= 0:
                votes[labels[item]] += score
        total = sum(votes.values())
        if total == 0:
            chosen.append(None)
            continue
        label = max(votes, key=votes.__getitem__)  # ties go to the first label; neighbours are sorted by similarity
        chosen.append(label)
        shares[i] = votes[label] / total
    return chosen, shares


@dataclass(frozen=True)
class Accuracy:
    """Leave-one-out accuracy over a sample of the labelled texts.

    tested: size of the sample; correct: texts that get their own label from the others (exact duplicates of a text do
    not vote); baseline: share of the most frequent label; confusion: counts by (true, given), given None for no label.
    """

    tested: int
    correct: int
    baseline: float
    confusion: dict[tuple[str, str | None], int]

    def as_dict(self) -> dict[str, Any]:
        low, high = clopper_pearson(self.correct, self.tested)
        return {
            "tested": self.tested,
            "correct": self.correct,
            "accuracy": self.correct / self.tested,
            "interval_95": [low, high],
            "most_frequent_label": self.baseline,
        }


def leave_one_out(
    sets: Sets, labelled: LabelledSets, labels: list[str], k: int, pool: Pool, *, size: int, seed: int
) -> Accuracy | None:
    """Classify up to `size` random labelled texts by the others; None if there are fewer than two or size is 0."""
    if len(labels) < 2 or size == 0:
        return None
    sample = np.sort(np.random.default_rng(seed).choice(len(labels), min(size, len(labels)), replace=False))
    given, _ = vote(labelled.neighbours(subset(sets, sample), k, pool, excluded=labelled.copies[sample]), labels)
    confusion = Counter((labels[i], label) for i, label in zip(sample.tolist(), given, strict=True))
    correct = sum(count for (truth, label), count in confusion.items() if truth == label)
    baseline = max(Counter(labels).values()) / len(labels)
    return Accuracy(len(sample), correct, baseline, dict(confusion))
