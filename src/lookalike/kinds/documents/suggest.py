"""Choice of the unit, k, the measure and the threshold from pairs that were judged the same or different."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, ShingleRule, Unit
from lookalike.core.measures import SET_MEASURES
from lookalike.errors import InputError, TooManyPairs, UsageError, nearest
from lookalike.io.collection import Collection
from lookalike.io.read import open_collection
from lookalike.io.verdicts import VerdictSet, read_verdicts
from lookalike.kernels import bounds
from lookalike.kinds.documents.api import pairs as find_pairs
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.options import Measure

CONFIGURATIONS: tuple[tuple[Unit, range], ...] = (("word", range(1, 7)), ("char", range(3, 11)))
COMPARED_MEASURES: tuple[Measure, ...] = ("jaccard", "containment")
MAX_EXAMPLES = 2000  # judged pairs that are compared
SHOWN_NEIGHBOURS = 5  # other pairs that a suggestion names
LOOSEST = 0.05  # lowest threshold that is suggested
Id = str | int


@dataclass(frozen=True)
class Separation:
    """How one configuration separates the examples.

    threshold: between the two kinds; room: distance of the nearest same and different pair around it; wrong: number of
    examples on the wrong side.
    """

    unit: Unit
    k: int
    measure: Measure
    threshold: float
    room: float
    wrong: int


@dataclass(frozen=True)
class Suggestion:
    """The result of `suggest`. separations: best first. pairs: found in the data with the best, None if too many.

    nearest: the pairs, other than the examples, that are just above its threshold: (left, right, similarity).
    """

    separations: tuple[Separation, ...]
    same: int
    different: int
    pairs: int | None
    nearest: tuple[tuple[Any, Any, float], ...]

    @property
    def best(self) -> Separation:
        return self.separations[0]

    def as_dict(self) -> dict[str, Any]:
        """Return the suggestion as JSON-compatible data."""
        return asdict(self)


def suggest(
    source: Any,
    *,
    same: Iterable[tuple[Id, Id]] = (),
    different: Iterable[tuple[Id, Id]] = (),
    verdicts: Any = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002  (the name of the option)
) -> Suggestion:
    """Suggest the unit, k, the measure and the threshold that separate judged pairs of texts with most room.

    The best configuration has the fewest examples on the wrong side, then most room. It is run on the data, and the
    result has the pairs that would come along. Nothing is changed.

    Parameters
    ----------
    source
        Paths, a list of strings, or a table.
    same, different
        Pairs of ids whose texts mean the same, or not; at least one pair of each is needed.
    verdicts
        Such pairs in a file, as for `pairs`.
    text, id
        Columns of the texts and their ids, if not recognised.

    Returns
    -------
    Suggestion
        The configurations, best first, with the pairs that the best one finds in the data.

    Examples
    --------
    >>> texts = ["red kettle, one litre", "red kettle, 1 litre", "red kettle, two litres", "a blue cup"]
    >>> made = suggest(texts, same=[(0, 1)], different=[(0, 3)])
    >>> made.best.wrong, made.best.room > 0.5
    (0, True)
    """
    collection = open_collection(source, text=text, id=id)
    judged = [(a, b, True) for a, b in same] + [(a, b, False) for a, b in different]
    if verdicts is not None:
        judged += _of_verdicts(read_verdicts(verdicts))
    if not any(alike for *_, alike in judged) or all(alike for *_, alike in judged):
        raise UsageError("expected at least one pair that is the same and one that is different, by their ids.")
    if len(judged) > MAX_EXAMPLES:
        raise UsageError(
            f"{len(judged):,} judged pairs came; at most {MAX_EXAMPLES:,} are compared. Draw some of them."
        )
    names = list(dict.fromkeys(str(name) for a, b, _ in judged for name in (a, b)))
    texts = _texts(collection, names)
    place = {name: at for at, name in enumerate(names)}
    sides = np.array([(place[str(a)], place[str(b)]) for a, b, _ in judged])
    alike = np.array([one for *_, one in judged])
    found = [
        _separated(unit, k, measure, scores, alike)
        for unit, lengths in CONFIGURATIONS
        for k in lengths
        for measure, scores in _scores(texts, ShingleRule(unit=unit, k=k), sides).items()
    ]
    # Of configurations that separate equally well, the usual measure and the shorter shingle come first.
    order = sorted(found, key=lambda one: (one.wrong, -round(one.room, 2), one.measure != "jaccard", one.k))
    best = order[0]
    try:
        made = find_pairs(
            collection, unit=best.unit, k=best.k, measure=best.measure, threshold=best.threshold, audit=0
        ).pairs
    except TooManyPairs:
        return Suggestion(tuple(order), int(alike.sum()), int((~alike).sum()), None, ())
    near = made.sort_by([("similarity", "ascending")]).slice(0, SHOWN_NEIGHBOURS + len(judged)).to_pylist()
    known = {tuple(sorted((names[a], names[b]))) for a, b in sides.tolist()}
    others = [row for row in near if tuple(sorted((str(row["left"]), str(row["right"])))) not in known]
    shown = tuple((row["left"], row["right"], row["similarity"]) for row in others[:SHOWN_NEIGHBOURS])
    return Suggestion(tuple(order), int(alike.sum()), int((~alike).sum()), made.num_rows, shown)


def _of_verdicts(verdicts: VerdictSet) -> list[tuple[Id, Id, bool]]:
    decided = [one for one in verdicts.pairs if one.verdict in ("same", "different")]
    return [(one.left, one.right, one.verdict == "same") for one in decided]


def _texts(collection: Collection, names: Sequence[str]) -> list[str]:
    """Return the texts with these ids; InputError for one that the collection does not have."""
    ids = collection.ids()
    if ids is None:
        rows = [int(name) if name.isdecimal() else None for name in names]
    else:
        whole = ids.cast(pa.large_string()).combine_chunks()
        rows = pc.index_in(pa.array(names, pa.large_string()), value_set=whole).to_pylist()
    held = collection.picked(sorted({row for row in rows if row is not None}))
    for name, row in zip(names, rows, strict=True):
        if row not in held:
            hint = "" if ids is None else nearest(name, ids.slice(0, 10_000).cast(pa.string()).to_pylist())
            raise InputError(f"no text has the id {name!r}; expected ids of the input.{hint}")
    return [str(held[row] or "") for row in rows if row is not None]


def _scores(texts: list[str], rule: ShingleRule, sides: Any) -> dict[Measure, F64]:
    """Return the similarity of each judged pair, by measure."""
    sets = shingle(pa.array(texts, pa.large_string()), rule)
    sizes = sets.sizes
    shared = [len(np.intersect1d(sets[a], sets[b], assume_unique=True)) for a, b in sides.tolist()]
    return {
        name: np.array([
            float(bounds.score(SET_MEASURES[name].code, both, int(sizes[a]), int(sizes[b])))
            for both, (a, b) in zip(shared, sides.tolist(), strict=True)
        ])
        for name in COMPARED_MEASURES
    }  # fmt: skip


def _separated(unit: Unit, k: int, measure: Measure, scores: F64, alike: Any) -> Separation:
    """Choose the threshold with the fewest examples on the wrong side, and of these with most room."""
    values = np.unique(scores)
    edges = np.concatenate([[0.0], values, [1.0]])
    best: tuple[int, float, float] | None = None
    for low, high in pairwise(edges.tolist()):
        if high < LOOSEST or high == low:
            continue
        threshold = _round_between(max(low, LOOSEST - 1e-9), high)
        wrong = int(((scores >= threshold) != alike).sum())
        if best is None or (wrong, low - high) < (best[0], -best[1]):
            best = wrong, float(high - low), threshold
    assert best is not None  # the last edge is 1
    return Separation(unit, k, measure, best[2], round(best[1], 4), best[0])


def _round_between(low: float, high: float) -> float:
    """Return a number above low and at most high, near the middle, with few digits.

    >>> _round_between(0.333, 0.818), _round_between(0.5, 0.51), _round_between(0.0, 1.0)
    (0.6, 0.505, 0.5)
    """
    middle = (low + high) / 2
    for digits in range(1, 8):
        value = round(middle, digits)
        if low < value <= high and abs(value - middle) <= (high - low) / 8:
            return value
    return high
