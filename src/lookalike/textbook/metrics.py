"""User-defined distances: test the metric axioms, and join with pivots and the triangle inequality."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64
from lookalike.core.formatting import count
from lookalike.errors import UsageError

Distance = Callable[[Any, Any], float]
AXIOMS = ("non-negative", "identity", "symmetric", "triangle inequality")
RELATIVE_TOLERANCE = 1e-9  # relative rounding error that is tolerated when distances are compared
TESTED_ITEMS = 20  # items whose pairs and triples are tested for the axioms before a join
PIVOTS = 16
PAIRS_PER_STEP = 1 << 12  # pairs whose pivot bounds are computed in one step


@dataclass(frozen=True)
class AxiomTest:
    """The result of testing the four axioms of a metric on a sample.

    pairs, triples: the numbers tested. counterexamples: for each axiom that failed, a sentence with the items.
    A sample cannot prove that a distance is a metric; a counterexample proves that it is not.
    """

    pairs: int
    triples: int
    counterexamples: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.counterexamples

    def __str__(self) -> str:
        tested = f"{count(self.pairs, 'pairs')} and {count(self.triples, 'triples')}"
        if self.passed:
            return f"All four axioms hold on {tested}."
        failed = " ".join(f"{axiom}: {words}" for axiom, words in self.counterexamples.items())
        return f"Not a metric (tested on {tested}). {failed}"


def check_axioms(items: Sequence[Any], distance: Distance, *, max_triples: int = 10_000, seed: int = 0) -> AxiomTest:
    """Test the four axioms of a metric on your own items.

    The axioms: d(x, y) >= 0; d(x, y) = 0 if and only if x = y; d(x, y) = d(y, x); d(x, z) <= d(x, y) + d(y, z).

    Parameters
    ----------
    items
        Objects that `distance` accepts.
    distance
        A function of two items that returns a number.
    max_triples
        Test all triples if there are at most this many, otherwise a random sample of this size.
    seed
        Seed of the sample.

    Returns
    -------
    AxiomTest
        The axioms that hold, and a counterexample for each axiom that fails.

    Examples
    --------
    >>> import lookalike as la
    >>> print(la.metrics.check_axioms([1, 2, 4], lambda x, y: abs(x - y)))
    All four axioms hold on 9 pairs and 6 triples.
    >>> la.metrics.check_axioms([1, 2, 4], lambda x, y: (x - y) ** 2).counterexamples["triangle inequality"]
    'd(1, 4) = 9 is more than d(1, 2) + d(2, 4) = 1 + 4.'
    """
    if not len(items):
        raise UsageError("no items came; expected a sample on which to test the distance.")
    if max_triples < 1:
        raise UsageError(f"max_triples is {max_triples}; expected at least 1.")
    known = _Known(items, distance)
    failed: dict[str, str] = {}
    pairs: set[tuple[int, int]] = set()
    triples = list(_triples(len(items), max_triples, seed))
    for i, j, k in triples:
        pairs |= {(i, j), (j, k), (i, k), (j, i), (k, j), (k, i), (i, i), (j, j), (k, k)}
    if not triples:
        pairs = {(i, j) for i in range(len(items)) for j in range(len(items))}
    for i, j in sorted(pairs):
        for axiom, words in known.pair(i, j):
            failed.setdefault(axiom, words)
    for i, j, k in triples:
        through = known(i, j) + known(j, k)
        if known(i, k) > through + RELATIVE_TOLERANCE * abs(through):
            failed.setdefault("triangle inequality", known.detour(i, j, k))
    return AxiomTest(len(pairs), len(triples), {axiom: failed[axiom] for axiom in AXIOMS if axiom in failed})


class _Known:
    """A cache of distances between items, by position."""

    def __init__(self, items: Sequence[Any], distance: Distance) -> None:
        self.items, self.distance = items, distance
        self.known: dict[tuple[int, int], float] = {}

    def __call__(self, i: int, j: int) -> float:
        if (i, j) not in self.known:
            self.known[i, j] = distance_of(self.distance, self.items[i], self.items[j])
        return self.known[i, j]

    def pair(self, i: int, j: int) -> Iterator[tuple[str, str]]:
        """Yield (axiom, explanation) for each axiom that fails for a pair."""
        there, back = self(i, j), self(j, i)
        x, y = self.items[i], self.items[j]
        if there < 0:
            yield "non-negative", f"{_call(x, y)} = {there:g} is negative."
        same = i == j or bool(np.all(x == y))
        if same and there != 0:
            yield "identity", f"{_call(x, y)} = {there:g}, but an item is at distance 0 from itself."
        if not same and there == 0:
            yield "identity", f"{_call(x, y)} = 0, but the two differ."
        if abs(there - back) > RELATIVE_TOLERANCE * max(abs(there), abs(back)):
            yield "symmetric", f"{_call(x, y)} = {there:g}, but {_call(y, x)} = {back:g}."

    def detour(self, i: int, j: int, k: int) -> str:
        x, y, z = (self.items[n] for n in (i, j, k))
        parts = f"{_call(x, y)} + {_call(y, z)} = {self(i, j):g} + {self(j, k):g}"
        return f"{_call(x, z)} = {self(i, k):g} is more than {parts}."


def _triples(n: int, most: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Yield all ordered triples of distinct items, or `most` random triples."""
    if n * (n - 1) * (n - 2) <= most:
        yield from permutations(range(n), 3)
        return
    draw = np.random.default_rng(seed)
    for _ in range(most):
        i, j, k = draw.choice(n, 3, replace=False).tolist()
        yield i, j, k


def distance_of(distance: Distance, x: Any, y: Any) -> float:
    """Return d(x, y) as a float; raises UsageError if it is not a number."""
    value = distance(x, y)
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{_call(x, y)} gave {value!r}; expected a number.") from error
    if math.isnan(number):
        raise UsageError(f"{_call(x, y)} is NaN; expected a number.")
    return number


def _call(x: Any, y: Any) -> str:
    return f"d({_short(x)}, {_short(y)})"


def _short(item: Any) -> str:
    text = " ".join(repr(item).split())
    return text if len(text) <= 40 else text[:37] + "..."


@dataclass(frozen=True)
class MetricPairs:
    """The pairs of items within a distance.

    pairs: columns left, right, distance. calls: number of distance computations; all_pairs: the number that comparing
    every pair would take.
    """

    pairs: pa.Table
    calls: int
    all_pairs: int

    def __len__(self) -> int:
        return int(self.pairs.num_rows)

    def __repr__(self) -> str:
        share = f"{count(self.calls, 'distances')} for {count(self.all_pairs, 'pairs')}"
        return f"<MetricPairs: {count(len(self), 'pairs')}, {share}>"


def pairs(
    items: Sequence[Any], distance: Distance, *, max_distance: float, against: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None, seed: int = 0,
) -> MetricPairs:  # fmt: skip
    """Find all pairs of items within `max_distance` under your own metric, exactly.

    Every item is compared with a few pivots; two items whose distances to a pivot differ by more than `max_distance`
    cannot be a pair (triangle inequality) and are not compared. The axioms are first tested on a small sample; a
    distance that violates one is rejected, because pairs could be missed.

    Parameters
    ----------
    items
        Any objects that `distance` accepts.
    distance
        A function of two items that returns a number and is a metric.
    max_distance
        The largest distance of a pair.
    against
        Another collection: find the pairs between it and the first.
    ids
        Ids for the items, instead of their positions (not with `against`).
    seed
        Seed of the choice of pivots.

    Returns
    -------
    MetricPairs
        The table `pairs` (left, right, distance), and the number of distances computed.

    Examples
    --------
    >>> import lookalike as la
    >>> la.metrics.pairs([3, 10, 4, 11], lambda x, y: abs(x - y), max_distance=1).pairs.to_pylist()
    [{'left': 0, 'right': 2, 'distance': 1.0}, {'left': 1, 'right': 3, 'distance': 1.0}]
    """
    if not max_distance >= 0:
        raise UsageError(f"max_distance is {max_distance}; expected 0 or more.")
    if ids is not None and (against is not None or len(ids) != len(items)):
        raise UsageError(f"{len(ids)} ids came for {len(items)} items; expected one for each, and none with against.")
    whole = [*items, *(against or ())]
    split = len(items) if against is not None else -1
    every = len(items) * len(against) if against is not None else math.comb(len(items), 2)
    drawn = np.random.default_rng(seed).permutation(len(whole))
    _refuse_non_metric([whole[i] for i in drawn[:TESTED_ITEMS]], distance)
    table = _PivotTable.of(whole, distance, max_distance, first=int(drawn[0]) if len(whole) else 0)
    left, right, near = table.join(max_distance, split)
    names = pa.array(ids) if ids is not None else None
    shown = [left, right - max(split, 0)]
    columns = [pa.array(side) if names is None else names.take(pa.array(side)) for side in shown]
    return MetricPairs(pa.table([*columns, pa.array(near)], ["left", "right", "distance"]), table.calls, every)


def _refuse_non_metric(sample: list[Any], distance: Distance) -> None:
    if len(sample) < 2:
        return
    test = check_axioms(sample, distance)
    broken = {axiom: words for axiom, words in test.counterexamples.items() if "differ" not in words}
    if broken:  # a pseudometric (distance 0 between different items) is accepted
        axiom, words = next(iter(broken.items()))
        raise UsageError(f"the distance is not a metric, so pairs could be missed; {axiom}: {words}")


class _PivotTable:
    """The distances of all items to a few pivots that are far apart, f64[n, p]."""

    def __init__(self, items: list[Any], distance: Distance) -> None:
        self.items, self.distance = items, distance
        self.calls = 0
        self.to_pivots: F64 = np.zeros((len(items), 0))

    @classmethod
    def of(cls, items: list[Any], distance: Distance, radius: float, first: int) -> _PivotTable:
        """Choose up to PIVOTS pivots, each farthest from the previous ones, until every item is within the radius."""
        table = cls(items, distance)
        pivot = first
        while items and table.to_pivots.shape[1] < min(PIVOTS, len(items)):
            column = np.array([table.between(pivot, i) for i in range(len(items))])
            table.to_pivots = np.column_stack([table.to_pivots, column])
            nearest = table.to_pivots.min(axis=1)
            pivot = int(nearest.argmax())
            if nearest[pivot] <= radius:
                break
        return table

    def between(self, i: int, j: int) -> float:
        self.calls += 1
        return distance_of(self.distance, self.items[i], self.items[j])

    def join(self, radius: float, split: int) -> tuple[I64, I64, F64]:
        """Return all pairs within the radius, sorted; with two collections, only pairs between them."""
        if not self.items:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        spread = self.to_pivots.max(axis=0) - self.to_pivots.min(axis=0)
        widest = int(spread.argmax())
        order = np.argsort(self.to_pivots[:, widest], kind="stable")
        bounds = self.to_pivots[order]
        slack = radius + RELATIVE_TOLERANCE * float(np.abs(bounds).max(initial=0.0))
        ends = np.searchsorted(bounds[:, widest], bounds[:, widest] + slack, side="right")
        found = []
        for a, end in enumerate(ends.tolist()):
            for start in range(a + 1, end, PAIRS_PER_STEP):
                part = bounds[start : min(end, start + PAIRS_PER_STEP)]
                close = start + np.flatnonzero(np.abs(part - bounds[a]).max(axis=1) <= slack)
                for b in close.tolist():
                    i, j = sorted((int(order[a]), int(order[b])))
                    if split >= 0 and not i < split <= j:
                        continue
                    distance = self.between(i, j)
                    if distance <= radius:
                        found.append((i, j, distance))
        found.sort()
        sides = np.array([(i, j) for i, j, _ in found], np.int64).reshape(-1, 2)
        return sides[:, 0], sides[:, 1], np.array([distance for _, _, distance in found], np.float64)
