"""Precision, recall and F1 of a result at every threshold, estimated from verdicts on a sample of its pairs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64
from lookalike.core.arrow import as_arrow, as_numpy
from lookalike.core.formatting import count, readable_thresholds
from lookalike.errors import InputError, UsageError
from lookalike.evaluation.ground_truth import receipt_of, score_scale
from lookalike.evaluation.judging import NOT_JUDGED, SAME, VERDICT_LABELS, JudgedPairs, StrataPlan, pair_ranks
from lookalike.evaluation.stratified import EstimatedTotal, f1_of, product_of, ratio_of
from lookalike.io.results import RECEIPT
from lookalike.io.tables import as_ids, open_table
from lookalike.io.verdicts import VerdictSet, read_verdicts

MOST_MORE = 64.0  # times as many verdicts as there are, up to which a need is stated


@dataclass(frozen=True)
class QualityPoint:
    """The quality at one threshold. recall: among the pairs of the result; recall_of_all: times that of the search."""

    threshold: float
    reported: int
    judged: int
    precision: EstimatedTotal
    recall: EstimatedTotal
    f1: EstimatedTotal
    recall_of_all: EstimatedTotal | None


@dataclass(frozen=True)
class JudgedQuality:
    """Precision, recall and F1 from verdicts, with 95 % intervals.

    points: strictest threshold first, from the first with a judged pair on. counts: of the verdicts. target: the
    precision that was asked for; chosen: the lowest threshold whose lower limit keeps it, None if there is none; more:
    how many more verdicts would let the next lower threshold keep it, None if 64 times the present ones would not.
    """

    column: str
    points: tuple[QualityPoint, ...]
    counts: Mapping[str, int]
    search_recall: EstimatedTotal | None
    target: float | None = None
    chosen: float | None = None
    more: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the quality as JSON-compatible data."""
        return {
            "score": self.column,
            "verdicts": dict(self.counts),
            "search_recall": None if self.search_recall is None else _as_dict(self.search_recall),
            "points": [
                {
                    "threshold": one.threshold, "reported": one.reported, "judged": one.judged,
                    **{
                        name: None if (made := getattr(one, name)) is None else _as_dict(made)
                        for name in ("precision", "recall", "f1", "recall_of_all")
                    },
                }
                for one in self.points
            ],
            "target_precision": self.target, "threshold": self.chosen, "more_verdicts": self.more,
        }  # fmt: skip


def _as_dict(made: EstimatedTotal) -> dict[str, Any]:
    return {"value": made.value, "interval_95": [made.low, made.high]}


@dataclass(frozen=True)
class ReadPairs:
    """The pairs of a result. left, right: ids as text; scores f64[p]; receipt: of the run, or empty."""

    left: pa.ChunkedArray
    right: pa.ChunkedArray
    scores: F64
    column: str
    sign: int
    receipt: Mapping[str, Any]

    @property
    def across(self) -> bool:
        return len(self.receipt.get("inputs", ())) == 2


def read_result_pairs(source: Any) -> ReadPairs:
    """Read the pairs of a result: a folder, a file or table of pairs, or a result in memory."""
    receipt = receipt_of(source)
    if removed := receipt.get("verdicts", {}).get("removed_pairs"):
        raise InputError(
            f"{count(removed, 'pairs')} judged different are not in this result, so the others say nothing about its "
            "precision. Use a result without `verdicts`; the receipt of this one has the estimates, if there are any."
        )
    if hasattr(source, "listed_pairs"):
        source = source.listed_pairs()
    if isinstance(source, str | os.PathLike) and (Path(source) / RECEIPT).is_file():
        source = Path(source, "pairs.parquet")
        if not source.is_file():
            raise InputError(f"{source.parent} has no pairs.parquet, so there are no pairs to judge.")
    table = open_table(source, name="the result")
    if not {"left", "right"} <= set(table.columns):
        raise InputError(f"{table.name} has no columns left and right; expected the pairs of a result.")
    scale = score_scale(table.columns)
    if scale is None:
        raise InputError(f"{table.name} has no scores; a sample needs them, and precision depends on them.")
    rows = table.read(["left", "right", scale.column])
    rows = rows.filter(pc.is_valid(rows[scale.column]))  # a pair that only a verdict joins has no score
    left, right = (as_ids(rows[name], what=f"column {name!r}").cast(pa.large_string()) for name in ("left", "right"))
    scores = as_numpy(rows[scale.column].cast(pa.float64()))
    return ReadPairs(left, right, scores, scale.column, scale.sign, receipt)


def judged_pairs(pairs: ReadPairs, verdicts: VerdictSet) -> JudgedPairs:
    """Match verdicts with the pairs of a result by their ids."""
    whole = pa.chunked_array([*pairs.left.chunks, *pairs.right.chunks], pa.large_string()).combine_chunks()
    coded = pc.dictionary_encode(whole)
    names, both = coded.dictionary, as_numpy(coded.indices).astype(np.int64)
    left, right = both[: len(pairs.scores)], both[len(pairs.scores) :]
    labels = np.full(len(left), NOT_JUDGED, np.int8)
    drawn = np.zeros(len(left), np.bool_)
    n = len(names) + 1
    keys = _pair_keys(left, right, n, across=pairs.across)
    order = np.argsort(keys, kind="stable")
    if verdicts.pairs and len(keys):
        sides = [
            pa.array([str(getattr(one, side)) for one in verdicts.pairs], pa.large_string())
            for side in ("left", "right")
        ]
        a, b = (as_numpy(pc.fill_null(pc.index_in(side, value_set=names), n - 1)).astype(np.int64) for side in sides)
        wanted = _pair_keys(a, b, n, across=pairs.across)
        place = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
        for one, at, key in zip(verdicts.pairs, place.tolist(), wanted.tolist(), strict=True):
            if keys[at] == key:
                labels[at], drawn[at] = VERDICT_LABELS[one.verdict], one.drawn
    if verdicts.plan is not None:
        plan = StrataPlan.from_dict(verdicts.plan)
        if plan.column != pairs.column:
            raise InputError(
                f"the sample was drawn by {plan.column}, and the result has {pairs.column}; "
                "judge it in a separate file of verdicts."
            )
    else:
        plan = StrataPlan.of(pairs.scores, pairs.column, pairs.sign)
    ranks = pair_ranks(names.to_pylist(), left, right, plan.seed)
    return JudgedPairs(plan, pairs.scores, ranks, labels, drawn)


def _pair_keys(left: Any, right: Any, n: int, *, across: bool) -> Any:
    return left * n + right if across else np.minimum(left, right) * n + np.maximum(left, right)


def judging_sample(result: Any, count: int = 200, *, verdicts: Any = None) -> pa.Table:
    """Draw the pairs to judge next, stratified by their score.

    The pairs are in the order in which to judge them; whenever the judging stops, the verdicts so far are a stratified
    sample.

    Parameters
    ----------
    result
        A result, its folder, or a file or table of its pairs.
    count
        Number of pairs to draw.
    verdicts
        Verdicts that exist; a file (.jsonl) also gets the plan of the sample, so that later verdicts continue it.

    Returns
    -------
    pa.Table
        The columns left, right, an empty verdict, the score, drawn.

    Examples
    --------
    >>> found = pa.table({"left": [1, 2, 3], "right": [4, 5, 6], "similarity": [0.9, 0.8, 0.7]})
    >>> judging_sample(found, 2).column_names
    ['left', 'right', 'verdict', 'similarity', 'drawn']
    """
    if count < 1:
        raise UsageError(f"count is {count}; expected at least 1 pair to judge.")
    pairs = read_result_pairs(result)
    made = judged_pairs(pairs, started(verdicts, pairs))
    chosen = as_arrow(made.following(count))
    return pa.table(
        {
            "left": pairs.left.take(chosen), "right": pairs.right.take(chosen),
            "verdict": pa.nulls(len(chosen), pa.string()), pairs.column: as_arrow(pairs.scores).take(chosen),
            "drawn": as_arrow(np.ones(len(chosen), np.bool_)),
        }
    )  # fmt: skip


def started(verdicts: Any, pairs: ReadPairs) -> VerdictSet:
    """Read the verdicts, and write the plan of the sample into their file if it has none yet."""
    from lookalike.io.verdicts import Verdicts

    if verdicts is None:
        return VerdictSet((), ())
    file = verdicts if isinstance(verdicts, Verdicts) else None
    if isinstance(verdicts, str | os.PathLike) and os.fspath(verdicts).endswith(".jsonl"):
        file = Verdicts(verdicts)
    known = file.read() if file is not None else read_verdicts(verdicts)
    if file is not None and known.plan is None:
        file.append([{"plan": StrataPlan.of(pairs.scores, pairs.column, pairs.sign).as_dict()}])
        known = file.read()
    return known


def quality(result: Any, verdicts: Any, *, target_precision: float | None = None) -> JudgedQuality:
    """Estimate precision, recall and F1 of a result at every threshold from verdicts, with 95 % intervals.

    Verdicts on pairs that were drawn (see `judging_sample`) are used, or all of them if each pair of the result was
    judged.

    Parameters
    ----------
    result
        A result, its folder, or a file or table of its pairs.
    verdicts
        As for `pairs`.
    target_precision
        Choose the lowest threshold whose lower limit of the precision is at least this.

    Returns
    -------
    JudgedQuality
        The points (threshold, precision, recall, F1), and the chosen threshold.

    Examples
    --------
    >>> found = pa.table({"left": [1, 2, 3], "right": [4, 5, 6], "similarity": [0.9, 0.8, 0.7]})
    >>> judged = [{"left": a, "right": a + 3, "verdict": "same" if a < 3 else "different"} for a in (1, 2, 3)]
    >>> [(point.threshold, round(point.precision.value, 2)) for point in quality(found, judged).points][-1]
    (0.7, 0.67)
    """
    if target_precision is not None and not 0 < target_precision < 1:
        raise UsageError(f"target_precision is {target_precision}; expected a share above 0 and below 1.")
    pairs, known = read_result_pairs(result), read_verdicts(verdicts)
    made = judged_pairs(pairs, known)
    sample = made.sample
    if not sample.any():
        judged = int((made.labels != NOT_JUDGED).sum())
        raise InputError(
            f"{judged:,} of the pairs of the result were judged, and none of these was drawn at random, so they say "
            "nothing about the others. Judge pairs that `lookalike verdicts next` or the explorer draws."
        )
    found = search_recall(pairs.receipt)
    near = pairs.scores * pairs.sign
    thresholds = readable_thresholds(float(pairs.scores.min()), float(pairs.scores.max()))
    ends = {float(pairs.scores.min()), *thresholds} if pairs.sign > 0 else {float(pairs.scores.max()), *thresholds}
    ordered = sorted(ends, key=lambda one: -pairs.sign * one)
    cuts = [(one, near >= pairs.sign * one) for one in ordered]
    points = tuple(_point(made, one, above, sample, found) for one, above in cuts if (sample & above).any())
    judged = int((made.labels != NOT_JUDGED).sum())
    counts = {
        "judged": judged, "drawn": int(sample.sum()),
        "same": int((made.labels[sample] == SAME).sum()), "not_in_the_result": len(known.pairs) - judged,
    }  # fmt: skip
    if target_precision is None:
        return JudgedQuality(pairs.column, points, counts, found)
    keeps = [one for one in points if one.precision.low >= target_precision]
    chosen = keeps[-1].threshold if keeps else None
    following = [one for one in points if chosen is None or pairs.sign * one.threshold < pairs.sign * chosen]
    more = next(
        (
            need
            for one in (following if chosen is not None else following[::-1])
            if one.precision.value > target_precision
            and (need := _more(made, near >= pairs.sign * one.threshold, target_precision, int(sample.sum())))
            is not None
        ),
        None,
    )
    return JudgedQuality(pairs.column, points, counts, found, target_precision, chosen, more)


def _point(
    made: JudgedPairs, threshold: float, above: npt.NDArray[np.bool_], sample: npt.NDArray[np.bool_],
    found: EstimatedTotal | None,
) -> QualityPoint:  # fmt: skip
    counts = int(above.sum()), int((sample & above).sum())
    return point_of(threshold, *counts, made.true_pairs(above), made.true_pairs(~above), found)


def point_of(
    threshold: float, reported: int, judged: int, part: EstimatedTotal, rest: EstimatedTotal,
    found: EstimatedTotal | None,
) -> QualityPoint:  # fmt: skip
    """Return the quality at a threshold. part, rest: true pairs at it and beyond it; found: recall of the search."""
    precision = EstimatedTotal(part.value / reported, part.low / reported, part.high / reported)
    recall = ratio_of(part, rest)
    return QualityPoint(
        threshold, reported, judged, precision, recall, f1_of(part, rest, float(reported)),
        None if found is None else product_of(recall, found),
    )  # fmt: skip


def _more(made: JudgedPairs, above: npt.NDArray[np.bool_], target: float, judged: int) -> int | None:
    """Return about how many more verdicts lift the lower limit of the precision to the target."""
    reported = int(above.sum())

    def keeps(times: float) -> bool:
        return made.true_pairs(above, times).low / reported >= target

    if not keeps(MOST_MORE):
        return None
    low, high = 1.0, MOST_MORE
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return max(1, round((high - 1) * judged))


def search_recall(receipt: Mapping[str, Any]) -> EstimatedTotal | None:
    """Return the recall of the search that the run measured, or 1 if it could miss nothing; None if it is unknown."""
    measured = receipt.get("recall_measured")
    if measured and measured.get("recall") is not None:
        low, high = measured["interval_95"]
        return EstimatedTotal(float(measured["recall"]), float(low), float(high))
    exact = receipt.get("recall_at_threshold") == 1 and receipt.get("plan") is None
    return EstimatedTotal(1.0, 1.0, 1.0) if exact else None
