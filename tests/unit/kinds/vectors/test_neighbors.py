"""The estimator against scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError

RANDOM = np.random.default_rng(3)
CENTRES = RANDOM.uniform(-20, 20, (40, 6))
DATA = np.concatenate([centre + RANDOM.standard_normal((12, 6)) for centre in CENTRES]).astype(np.float32)
PROBES = DATA[::7] + np.float32(0.1)


def as_sets(ragged: np.ndarray) -> list[set[int]]:
    return [set(row.tolist()) for row in ragged]


@pytest.mark.parametrize(("metric", "radius"), [("euclidean", 2.5), ("cosine", 0.02)])
def test_the_same_neighbours_as_scikit_learn(metric: str, radius: float) -> None:
    neighbors = pytest.importorskip("sklearn.neighbors")
    theirs = neighbors.NearestNeighbors(radius=radius, metric=metric, algorithm="brute").fit(DATA.astype(np.float64))
    ours = la.vectors.RadiusNeighbors(radius, metric=metric, method="exact").fit(DATA)
    for probes in (None, PROBES):
        distances, indices = ours.radius_neighbors(probes, sort_results=True)
        wide = None if probes is None else probes.astype(np.float64)
        assert as_sets(indices) == as_sets(theirs.radius_neighbors(wide, return_distance=False))
        assert all((np.diff(row) >= 0).all() for row in distances)
        graph = ours.radius_neighbors_graph(probes, mode="distance")
        other = theirs.radius_neighbors_graph(wide, mode="distance")
        assert graph.shape == other.shape
        assert abs(graph - other).max() < 1e-5
        assert as_sets(ours.radius_neighbors(probes, return_distance=False)) == as_sets(indices)


def test_dbscan_runs_on_the_graph() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    graph = la.vectors.RadiusNeighbors(2.5, method="exact").fit(DATA).radius_neighbors_graph(mode="distance")
    ours = cluster.DBSCAN(eps=2.5, min_samples=4, metric="precomputed").fit(graph).labels_
    theirs = cluster.DBSCAN(eps=2.5, min_samples=4).fit(DATA).labels_
    assert ours.tolist() == theirs.tolist()
    assert ours.max() > 20


def test_scikit_learn_can_clone_it() -> None:
    base = pytest.importorskip("sklearn.base")
    one = la.vectors.RadiusNeighbors(3.0, metric="angle", recall=0.9)
    assert base.clone(one).get_params() == one.get_params()
    assert one.set_params(radius=4.0).radius == 4.0


def test_angles_and_the_tables() -> None:
    near = la.vectors.RadiusNeighbors(8.0, metric="angle", method="lsh", recall=0.99).fit(DATA)
    exact = la.vectors.RadiusNeighbors(8.0, metric="angle", method="exact").fit(DATA)
    found, wanted = (as_sets(one.radius_neighbors(return_distance=False)) for one in (near, exact))
    assert all(some <= every for some, every in zip(found, wanted, strict=True))
    assert sum(map(len, found)) > 0.93 * sum(map(len, wanted))


def test_bad_wishes() -> None:
    with pytest.raises(UsageError, match="has not been fitted"):
        la.vectors.RadiusNeighbors().radius_neighbors()
    with pytest.raises(UsageError, match="metric 'manhattan' is unknown"):
        la.vectors.RadiusNeighbors(metric="manhattan").fit(DATA)
    with pytest.raises(UsageError, match="expected two dimensions"):
        la.vectors.RadiusNeighbors().fit([1.0, 2.0])
    with pytest.raises(UsageError, match="no parameter 'radios'"):
        la.vectors.RadiusNeighbors().set_params(radios=1)
    with pytest.raises(UsageError, match="mode 'both' is unknown"):
        la.vectors.RadiusNeighbors().fit(DATA).radius_neighbors_graph(mode="both")
