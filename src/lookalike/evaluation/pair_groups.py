"""Groups of pairs that another program found: a list of pairs in place of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, SIMILARITY, Pairs, Scale
from lookalike.core.arrow import as_arrow
from lookalike.core.exact_duplicates import Classes
from lookalike.core.formatting import count
from lookalike.core.keep_policy import preference
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.evaluation.ground_truth import Listed, read_pairs
from lookalike.evaluation.matches import PairSet
from lookalike.io.tables import numbered
from lookalike.runtime.run_output import RunOutput

MAX_LISTED_PAIRS = 1 << 62  # the pairs are in memory already


@dataclass(frozen=True, kw_only=True)
class ListedPairs:
    """What the pairs of a list state: the column of their score, and its worst value."""

    noun: ClassVar[str] = "items"
    verify: ClassVar[bool] = False
    max_pairs: ClassVar[int] = MAX_LISTED_PAIRS

    threshold: float
    scale: Scale = SIMILARITY
    scored: bool = True

    def words(self) -> str:
        worst = f"{self.scale.column} {self.scale.bound} {self.threshold:g}" if self.scored else "without scores"
        return f"pairs of another search, {worst}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class PairList:
    """The table of pairs as the input of a run. columns: none, for it has no row for each item."""

    name: str
    columns: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[pa.RecordBatch]:
        raise UsageError(f"{self.name} lists pairs, so there are no rows of items to keep; ask for pairs or groups.")

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "pairs_of_ids": True}


def listed_output(source: Any, keep: str, trace: Trace) -> tuple[ListedPairs, PairList, RunOutput]:
    """Return the job, the input and the output of a run whose items are the ids of a list of pairs.

    source: a path or table with the columns left, right and optionally a score. Items have the order in which the list
    first names them, the left one of a pair before the right one. keep: first or last, in this order.
    """
    if keep not in ("first", "last"):
        raise UsageError(f"keep is {keep!r}; a list of pairs has ids only, so expected first or last.")
    with trace.stage("read"):
        listed = read_pairs(source, named=True)
        (left, right), ids = _in_order_of_appearance(listed)
        similarity = _scores(listed)
        pairs, repeated, selves = PairSet.of(np.minimum(left, right), np.maximum(left, right), similarity)
        trace.add(items=len(ids), pairs=len(pairs))
    places = PairList(listed.name)
    if not len(left):
        places.warnings.append(f"{listed.name} has no pairs, so there are no groups.")
    if selves:
        places.warnings.append(f"{listed.name}: {count(selves, 'pairs')} of an id with itself left out.")
    if repeated:
        places.warnings.append(f"{listed.name}: {count(repeated, 'pairs')} listed before, the best score counts.")
    scored = listed.similarity is not None and not np.isnan(listed.similarity).all()
    worst = float(listed.scale.sign * pairs.similarity.min()) if len(pairs) else 0.0
    job = ListedPairs(threshold=worst, scale=listed.scale, scored=scored)
    order = preference(keep, np.zeros(len(ids), np.int64), {})
    found = Pairs(pairs.left, pairs.right, pairs.similarity)
    return job, places, output_of([pa.chunked_array([ids])], found, order)


def output_of(ids: Sequence[pa.ChunkedArray], pairs: Pairs, order: I64) -> RunOutput:
    """Return the output of a run without a search, in which no two items are equal. order: best to keep first."""
    items = sum(map(len, ids))
    classes = Classes(np.arange(items), np.arange(1, items + 1))
    choice = Choice("given", {}, "the pairs were given")
    return RunOutput(list(ids), -1, classes, np.ones(items), order, choice, pairs=pairs)


def distinct(left: I64, right: I64, similarity: F64) -> Pairs:
    """Sort pairs of items, and keep the highest similarity of a pair that is listed more than once."""
    pairs, _, _ = PairSet.of(left, right, similarity)
    return Pairs(pairs.left, pairs.right, pairs.similarity)


def _in_order_of_appearance(listed: Listed) -> tuple[tuple[I64, I64], pa.Array]:
    """Number the ids of both columns by the place at which each is named first."""
    (left, right), ids = numbered(listed.ids)
    _, first = np.unique(np.column_stack([left, right]).ravel(), return_index=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    return (rank[left], rank[right]), ids.take(as_arrow(order))


def _scores(listed: Listed) -> F64:
    """Return the scores, higher for nearer pairs. Pairs without one get the worst of the list, 1 if there is none."""
    if listed.similarity is None or np.isnan(listed.similarity).all():
        return np.ones(len(listed.ids[0]))
    return np.asarray(np.nan_to_num(listed.similarity, nan=np.nanmin(listed.similarity)), np.float64)
