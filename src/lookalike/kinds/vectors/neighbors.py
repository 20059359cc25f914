"""Estimators with scikit-learn's interface for neighbours; they do not need scikit-learn."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, Pairs, check_choice
from lookalike.core.run_options import RowMethod
from lookalike.core.trace import Trace
from lookalike.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from lookalike.kinds.vectors.spec import VectorJob
    from lookalike.runtime.run_output import RunOutput

METRICS = ("euclidean", "angle", "cosine")
MODES = ("connectivity", "distance")
MEASURES: dict[str, Any] = {"euclidean": "distance", "angle": "angle", "cosine": "cosine"}


class Estimator:
    """Get and set the arguments of the constructor by name, as scikit-learn does to copy an estimator."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise UsageError(f"no parameter {name!r}. Parameters: {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn, which alone calls this."""
        utils: Any = import_module("sklearn.utils")
        return utils.Tags(estimator_type=None, target_tags=utils.TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "_fitted")


class RadiusNeighbors(Estimator):
    """Find all neighbours within a radius, by hash tables of sign bits or exactly, with scikit-learn's method names.

    metric: "euclidean"; "angle" (degrees); "cosine", which here is 1 - cosine, as in scikit-learn. A neighbour at the
    radius is found with a probability of at least `recall`; no row beyond the radius is reported.

    >>> near = RadiusNeighbors(radius=1.5).fit([[0.0], [1.0], [3.0]])
    >>> distances, indices = near.radius_neighbors([[1.2]], sort_results=True)
    >>> indices[0].tolist(), distances[0].round(2).tolist()
    ([1, 0], [0.2, 1.2])
    """

    def __init__(
        self, radius: float = 1.0, *, metric: str = "euclidean", recall: float = 0.99, method: RowMethod = "auto",
        seed: int = 42, threads: int | None = None,
    ) -> None:  # fmt: skip
        self.radius = radius
        self.metric = metric
        self.recall = recall
        self.method = method
        self.seed = seed
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> RadiusNeighbors:  # noqa: N803  (scikit-learn's names)
        """Store the rows that are searched for neighbours. Nothing is hashed yet."""
        self._job(self.radius)
        self._fitted = _array(X)
        self.n_samples_fit_, self.n_features_in_ = self._fitted.shape
        return self

    def radius_neighbors(
        self,
        X: Any = None,  # noqa: N803
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Return (distances, indices) of the fitted rows within the radius of each row of X, as arrays of arrays.

        Without X, return the neighbours of the fitted rows themselves; a row is then not its own neighbour.
        """
        ends, indices, distances = self._neighbours(X, radius, by_distance=sort_results)
        spans = list(zip(np.concatenate([[0], ends[:-1]]).astype(np.int64).tolist(), ends.tolist(), strict=True))
        ragged = [np.empty(len(spans), object) for _ in range(2)]
        for row, (low, high) in enumerate(spans):
            ragged[0][row], ragged[1][row] = distances[low:high], indices[low:high]
        return (ragged[0], ragged[1]) if return_distance else ragged[1]

    def radius_neighbors_graph(
        self,
        X: Any = None,  # noqa: N803
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """Return a sparse matrix (SciPy CSR) with 1, or with mode="distance" the distance, for each neighbour.

        The distances can be used with DBSCAN(metric="precomputed"), which counts each row as its own neighbour.
        """
        check_choice("mode", mode, MODES)
        matrix = _sparse_matrix("radius_neighbors_graph")
        ends, indices, distances = self._neighbours(X, radius, by_distance=sort_results)
        data = np.ones(len(indices)) if mode == "connectivity" else distances
        return matrix((data, indices, np.concatenate([[0], ends])), shape=(len(ends), self.n_samples_fit_))

    def _job(self, radius: float) -> VectorJob:
        from lookalike.kinds.vectors.spec import VectorJob

        check_choice("metric", self.metric, METRICS)
        threshold = 1.0 - radius if self.metric == "cosine" else radius
        return VectorJob(
            measure=MEASURES[self.metric], threshold=threshold, recall=self.recall, method=self.method,
            seed=self.seed, audit=0, threads=self.threads, max_pairs=1 << 40,
        )  # fmt: skip

    def _neighbours(self, X: Any, radius: float | None, *, by_distance: bool) -> tuple[I64, I64, F64]:  # noqa: N803
        """Return (ends, fitted rows, distances), row by row: sorted by the fitted row, or by distance."""
        from lookalike.io.vectors import open_vectors
        from lookalike.kinds.vectors.local import find_pairs
        from lookalike.runtime.local.numeric_rows import read_rows
        from lookalike.runtime.local.pool import Pool, usable_cores

        if not hasattr(self, "_fitted"):
            raise UsageError("this RadiusNeighbors has not been fitted; call fit(X) first.")
        job = self._job(self.radius if radius is None else radius)
        sources = [open_vectors(self._fitted)] if X is None else [open_vectors(_array(X)), open_vectors(self._fitted)]
        with Pool(job.threads or usable_cores()) as pool:
            trace = Trace()
            rows = read_rows(sources, pool, trace, noun=job.noun, nonzero=job.measure != "distance")
            found = find_pairs(rows, job, "pairs", pool, trace)
        pairs = _expanded(found, job)
        near = 1.0 - pairs.similarity if job.measure == "cosine" else -pairs.similarity + 0.0
        if X is None:
            row, other = np.concatenate([pairs.left, pairs.right]), np.concatenate([pairs.right, pairs.left])
            near, count = np.concatenate([near, near]), self.n_samples_fit_
        else:
            row, other, count = pairs.left, pairs.right - found.split, found.split
        order = np.lexsort((other, near, row) if by_distance else (other, row))
        ends = np.cumsum(np.bincount(row, minlength=count)).astype(np.int64)
        return ends, other[order], near[order]


class NearestNeighbors(Estimator):
    """Find the nearest neighbours of each row, exactly, with scikit-learn's method names.

    metric: "euclidean"; "angle" (degrees); "cosine", which here is 1 - cosine, as in scikit-learn. Rows at equal
    distances are in the order of the fitted rows.

    >>> near = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, indices = near.kneighbors([[1.2]])
    >>> indices.tolist(), distances.round(2).tolist()
    ([[1, 0]], [[0.2, 1.2]])
    """

    def __init__(self, n_neighbors: int = 5, *, metric: str = "euclidean", threads: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.threads = threads

    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:  # noqa: N803  (scikit-learn's names)
        """Store the rows that are searched for neighbours."""
        check_choice("metric", self.metric, METRICS)
        self._fitted = _array(X)
        self.n_samples_fit_, self.n_features_in_ = self._fitted.shape
        return self

    def kneighbors(
        self,
        X: Any = None,  # noqa: N803
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Return (distances, indices) of the nearest fitted rows of each row of X, nearest first, one row for each.

        Without X, return the neighbours of the fitted rows themselves; a row is then not its own neighbour.
        """
        from lookalike.core.nearest_options import check_top
        from lookalike.io.vectors import open_vectors
        from lookalike.kinds.vectors.spec import VectorJob
        from lookalike.kinds.vectors.top_k import ranked
        from lookalike.runtime.local.numeric_rows import read_rows
        from lookalike.runtime.local.pool import Pool, usable_cores

        if not hasattr(self, "_fitted"):
            raise UsageError("this NearestNeighbors has not been fitted: call fit(X) before kneighbors.")
        top = self.n_neighbors if n_neighbors is None else n_neighbors
        check_top(top, "n_neighbors")
        others = self.n_samples_fit_ - (X is None)
        if top > others:
            raise UsageError(f"n_neighbors is {top}; expected at most {others}, the number of rows to choose from.")
        job = VectorJob(threshold=0.0, measure=MEASURES[self.metric], threads=self.threads, max_pairs=1 << 40)
        sources = [open_vectors(self._fitted)] if X is None else [open_vectors(_array(X)), open_vectors(self._fitted)]
        with Pool(job.threads or usable_cores()) as pool:
            rows = read_rows(sources, pool, Trace(), noun=job.noun, nonzero=job.measure != "distance")
            found = ranked(rows, top, -np.inf, job, pool, Trace())
        near = 1.0 - found.score if job.measure == "cosine" else -found.score + 0.0
        return (near, found.nearest) if return_distance else found.nearest

    def kneighbors_graph(
        self,
        X: Any = None,  # noqa: N803
        n_neighbors: int | None = None,
        mode: str = "connectivity",
    ) -> Any:
        """Return a sparse matrix (SciPy CSR) with 1, or with mode="distance" the distance, for each neighbour."""
        check_choice("mode", mode, MODES)
        matrix = _sparse_matrix("kneighbors_graph")
        near, indices = self.kneighbors(X, n_neighbors)
        data = np.ones(indices.size) if mode == "connectivity" else near.ravel()
        ends = np.arange(len(indices) + 1) * indices.shape[1]
        return matrix((data, indices.ravel(), ends), shape=(len(indices), self.n_samples_fit_))


def _sparse_matrix(method: str) -> Any:
    try:
        from scipy.sparse import csr_matrix
    except ImportError as error:
        raise MissingExtra(method, "graph") from error
    return csr_matrix


def _expanded(found: RunOutput, job: VectorJob) -> Pairs:
    from lookalike.core.exact_duplicates import expand

    assert found.pairs is not None
    return expand(
        found.pairs, found.classes, found.own, split=found.split, limit=job.max_pairs, advice="Take a smaller radius."
    )


def _array(values: Any) -> npt.NDArray[Any]:
    """Return the rows as an array of real numbers. Raises the types of errors that scikit-learn's estimators raise."""
    if hasattr(values, "tocoo"):
        raise UsageError("a sparse matrix is given; these estimators take dense arrays. Use `toarray()`.")
    whole = np.asarray(values)
    if whole.ndim != 2:
        raise UsageError(f"the array has shape {whole.shape}; expected two dimensions, one row per item.")
    if 0 in whole.shape:
        rows = f"{whole.shape[1]} feature(s) (shape={whole.shape})" if whole.shape[0] else "0 sample(s)"
        raise UsageError(f"the array has {rows} while a minimum of 1 is required.")
    if np.iscomplexobj(whole):
        raise UsageError("Complex data not supported: the array has complex numbers; expected real ones.")
    if whole.dtype == object:
        whole = whole.astype(np.float64)
    if whole.dtype.kind == "f" and not np.isfinite(whole).all():
        row = int(np.flatnonzero(~np.isfinite(whole).all(axis=1))[0])
        raise UsageError(f"row {row} has NaN or an infinite number (inf); expected finite numbers.")
    return whole
