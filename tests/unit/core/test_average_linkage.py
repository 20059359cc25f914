"""Average linkage against a slow twin that computes every mean again."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.core.arrays import Pairs
from lookalike.core.average_linkage import average_linkage


def slow(similarity: np.ndarray, threshold: float) -> list[int]:
    clusters = [[item] for item in range(len(similarity))]
    while True:
        means = [
            (-similarity[np.ix_(a, b)].mean(), a[0], b[0], i, j)
            for i, a in enumerate(clusters) for j, b in enumerate(clusters) if i < j
        ]  # fmt: skip
        if not means or -min(means)[0] < threshold:
            out = np.empty(len(similarity), int)
            for cluster in clusters:
                out[cluster] = min(cluster)
            return out.tolist()
        *_, i, j = min(means)
        clusters[i] = sorted(clusters[i] + clusters.pop(j))


@pytest.mark.promise(
    "docs/how-to/group-the-same-story.md", "joined while the mean similarity of their members is high enough"
)
@pytest.mark.parametrize("seed", range(20))
def test_it_is_that_of_a_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = np.triu(rng.random((14, 14)) * (rng.random((14, 14)) < 0.5), 1)
    left, right = np.nonzero(similarity)
    made = average_linkage(Pairs(left, right, similarity[left, right]), 14, 0.3)
    assert made.tolist() == slow(similarity + similarity.T, 0.3)


def test_nothing_to_merge() -> None:
    nothing = np.empty(0, np.int64)
    assert average_linkage(Pairs(nothing, nothing, np.empty(0)), 3, 0.5).tolist() == [0, 1, 2]
