"""An estimator with scikit-learn's interface for radius neighbours; it does not need scikit-learn."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, Pairs
from lookalike.core.run_options import RowMethod
from lookalike.core.trace import Trace
from lookalike.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from lookalike.kinds.vectors.spec import VectorJob
    from lookalike.runtime.run_output import RunOutput

METRICS = ("euclidean", "angle", "cosine")


class RadiusNeighbors:
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> RadiusNeighbors:
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise UsageError(f"no parameter {name!r}. Parameters: {', '.join(known)}.")
            setattr(self, name, value)
        return self

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
        if mode not in ("connectivity", "distance"):
            raise UsageError(f"mode {mode!r} is unknown. Choices: connectivity, distance.")
        try:
            from scipy.sparse import csr_matrix
        except ImportError as error:
            raise MissingExtra("radius_neighbors_graph", "graph") from error
        ends, indices, distances = self._neighbours(X, radius, by_distance=sort_results)
        data = np.ones(len(indices)) if mode == "connectivity" else distances
        return csr_matrix((data, indices, np.concatenate([[0], ends])), shape=(len(ends), self.n_samples_fit_))

    def _job(self, radius: float) -> VectorJob:
        from lookalike.kinds.vectors.spec import VectorJob

        if self.metric not in METRICS:
            raise UsageError(f"metric {self.metric!r} is unknown. Choices: {', '.join(METRICS)}.")
        measures: dict[str, Any] = {"euclidean": "distance", "angle": "angle", "cosine": "cosine"}
        threshold = 1.0 - radius if self.metric == "cosine" else radius
        return VectorJob(
            measure=measures[self.metric], threshold=threshold, recall=self.recall, method=self.method,
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


def _expanded(found: RunOutput, job: VectorJob) -> Pairs:
    from lookalike.core.exact_duplicates import expand

    assert found.pairs is not None
    return expand(
        found.pairs, found.classes, found.own, split=found.split, limit=job.max_pairs, advice="Take a smaller radius."
    )


def _array(values: Any) -> npt.NDArray[Any]:
    whole = np.asarray(values)
    if whole.ndim != 2:
        raise UsageError(f"the array has shape {whole.shape}; expected two dimensions, one row per item.")
    return whole
