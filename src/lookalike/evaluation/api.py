"""Evaluate a result against the ground truth: precision, recall and F1, agreement of groups, and the worst errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Scale
from lookalike.errors import InputError, UsageError
from lookalike.evaluation.agreement import GroupCurve, PairCurve, group_agreement, pair_curve
from lookalike.evaluation.ground_truth import Listed, compared_two_tables, read_answer, read_truth, states_probabilities
from lookalike.evaluation.matches import PairSet, Partition, unmatched
from lookalike.evaluation.reliability import Reliability
from lookalike.evaluation.reliability import reliability as compare_with_truth
from lookalike.io.tables import numbered

MAX_CURVE_ROWS = 1000  # maximum number of points of a curve in a report
OF_PAIRS = ("threshold", "reported", "correct", "precision", "recall", "f1")
OF_GROUPS = (*OF_PAIRS, "groups", "bcubed_precision", "bcubed_recall", "bcubed_f1", "adjusted_rand")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of `evaluate`. pairs: the curve of reported pairs; groups: the agreement of groups; each may be None.

    misses: true pairs that were not reported; false_pairs: reported pairs that are not true, the most similar first;
    both have left, right, and the score of the truth or of the result. counts: of ids and pairs. scale: the score in
    which the thresholds of the curves are given. notes: remarks about the input, one line each. reliability: stated
    probabilities compared with the share of true pairs; None if the scores are not probabilities.
    """

    pairs: PairCurve | None
    groups: GroupCurve | None
    misses: pa.Table
    false_pairs: pa.Table
    counts: dict[str, int]
    scale: Scale
    notes: tuple[str, ...]
    reliability: Reliability | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation as JSON-compatible data.

        A curve has at most 1000 points, among them the first, the last and the best one.
        """
        return {
            "counts": self.counts,
            "score": {"column": self.scale.column, "nearer": "higher" if self.scale.sign > 0 else "lower"},
            "average_precision": None if self.pairs is None else self.pairs.average_precision,
            "pairs": None if self.pairs is None else _report(self.pairs, OF_PAIRS),
            "groups": None if self.groups is None else _report(self.groups, OF_GROUPS),
            "reliability": None if self.reliability is None else self.reliability.as_dict(),
            "misses": self.misses.to_pylist(),
            "false_pairs": self.false_pairs.to_pylist(),
            "notes": list(self.notes),
        }


def evaluate(
    pairs: Any,
    truth: Any,
    *,
    groups: bool = False,
    worst: int = 10,
    truth_id: str | None = None,
    truth_group: str | None = None,
    two_tables: bool | None = None,
    reliability: bool | None = None,
) -> Evaluation:
    """Measure the precision and recall of a result against the ground truth.

    A score is a similarity (a column similarity, cosine, agreement or shared_tokens) or a distance (distance, angle or
    bits), for which pairs at or below a threshold count.

    Pairs of one table are undirected; every pair counts once; ids are compared as text unless both sides have integers.
    A pair with an id that is not in the truth is false. Groups are compared over the ids of both sides; an id that one
    side does not list, or lists without a group, is a group of one there. Where true pairs are compared with groups,
    B-cubed and Rand use the connected components of the true pairs as true groups, and pairwise counts the pairs
    themselves. The cost of groups depends on the number of their members, not of their pairs.

    Parameters
    ----------
    pairs
        Pairs (left, right, and a score), groups (id, group), or a result folder, as a path, an Arrow table,
        anything that exports Arrow data, or a list of tuples.
    truth
        Pairs (left and right, or the first two columns), or groups (id and group, or the columns `truth_id` and
        `truth_group`).
    groups
        Whether to evaluate the connected components of the pairs at each threshold, too.
    worst
        The maximum number of misses, and of false pairs, to list.
    truth_id, truth_group
        The columns of a truth of groups.
    two_tables
        Whether `left` and `right` are ids of two tables, in the result and in the truth, so that (7, 3) is not (3,
        7) and (5, 5) is a pair; None to use the receipt of the result. A truth of groups has ids of one table.
    reliability
        Whether the similarities are match probabilities, to be compared with the share of true pairs; None to use
        the receipt of the result.

    Returns
    -------
    Evaluation
        Precision, recall and F1 at each threshold, agreement of groups, and the worst misses and false pairs.

    Examples
    --------
    >>> found = pa.table({"left": ["a", "a", "c"], "right": ["b", "c", "d"], "similarity": [0.9, 0.8, 0.7]})
    >>> made = evaluate(found, pa.table({"id": ["a", "b", "c", "d"], "group": [1, 1, 2, 2]}))
    >>> made.pairs.precision.round(2).tolist(), made.pairs.recall.tolist()
    ([1.0, 0.5, 0.67], [0.5, 0.5, 1.0])
    >>> made.false_pairs.to_pylist()
    [{'left': 'a', 'right': 'c', 'similarity': 0.8}]
    """
    if worst < 0:
        raise UsageError(f"worst is {worst}; expected 0 or more misses to list.")
    listed = [*read_answer(pairs), read_truth(truth, id_column=truth_id, group_column=truth_group)]
    numbers, ids = numbered([column for one in listed for column in one.ids])
    notes = [note for one in listed for note in one.notes] + _compared_as_text(listed)
    if _are_two_tables(two_tables, pairs, listed, notes):
        # Right ids get separate numbers, above those of the left ones.
        numbers = [column + len(ids) * (place % 2) for place, column in enumerate(numbers)]
        ids = pa.concat_arrays([ids, ids])
    *answers, true = [_Side.of(one, [numbers.pop(0) for _ in one.ids], ids, notes) for one in listed]
    paired = _with_all_scores(answers[0].matches, listed[0], notes)
    grouped = next((side.matches for side in answers if isinstance(side.matches, Partition)), None)
    unknown = _unknown_ids(answers[0], true, notes)
    curve = None if paired is None else _pair_curve(paired, true)
    agreement = _agreement(paired if groups and paired is not None else grouped, true, notes)
    scale = listed[0].scale
    asked = states_probabilities(pairs) if reliability is None else reliability
    reliable = _reliability(paired, true, listed[0], required=bool(reliability)) if asked else None
    true_scores = listed[-1].similarity
    true_scale = scale if true_scores is None or np.isnan(true_scores).all() else listed[-1].scale
    answer: PairSet | Partition = answers[0].matches if paired is None else paired
    whole = agreement if curve is None else curve
    return Evaluation(
        pairs=None if curve is None else curve.on(scale),
        groups=None if agreement is None else agreement.on(scale),
        misses=_named(*unmatched(true.matches, answer, worst), ids, true_scale),
        false_pairs=_named(*unmatched(answer, true.matches, worst), ids, scale),
        counts={
            "ids": int(np.count_nonzero(np.any([side.known for side in (*answers, true)], axis=0))),
            "unknown_ids": unknown,
            "reported_pairs": answer.total,
            "true_pairs": true.matches.total,
            "correct_pairs": int(whole.correct[-1]) if whole is not None and len(whole) else 0,
        },
        scale=scale,
        notes=tuple(notes),
        reliability=reliable,
    )


def _are_two_tables(asked: bool | None, answer: Any, listed: Sequence[Listed], notes: list[str]) -> bool:
    grouped = [one.name for one in listed if one.group is not None]
    if asked and grouped:
        raise UsageError(
            f"{grouped[0]} lists groups, which do not say of which table an id is; with two tables give pairs."
        )
    if asked is not None or grouped or not compared_two_tables(answer):
        return bool(asked)
    notes.append(f"{listed[0].name} compares two tables by its receipt: left and right have separate ids.")
    return True


@dataclass(frozen=True)
class _Side:
    """A result or the truth with numbered ids. known: bool[n], the ids that it lists."""

    name: str
    matches: PairSet | Partition
    known: np.ndarray[Any, np.dtype[np.bool_]]

    @classmethod
    def of(cls, listed: Listed, items: Sequence[I64], ids: pa.Array, notes: list[str]) -> _Side:
        known = np.zeros(len(ids), np.bool_)
        for numbers in items:
            known[numbers] = True
        if listed.group is None:
            return cls(listed.name, _pair_set(listed, items[0], items[1], notes), known)
        return cls(listed.name, _partition(listed, items[0], ids, notes), known)


def _pair_set(listed: Listed, left: I64, right: I64, notes: list[str]) -> PairSet:
    assert listed.similarity is not None
    pairs, repeated, selves = PairSet.of(left, right, listed.similarity)
    if repeated:
        notes.append(f"{listed.name}: {_count(repeated, 'repeated pair counts', 'repeated pairs count')} once.")
    if selves:
        notes.append(f"{listed.name}: {_count(selves, 'pair', 'pairs')} of an id with itself left out.")
    return pairs


def _partition(listed: Listed, items: I64, ids: pa.Array, notes: list[str]) -> Partition:
    assert listed.group is not None
    label = np.full(len(ids), -1, np.int64)
    label[items] = listed.group
    if len(twice := np.flatnonzero(label[items] != listed.group)):
        name = ids[int(items[twice[0]])].as_py()
        raise InputError(f"the id {name!r} is in two groups of {listed.name}; expected one group for each id.")
    if repeated := len(items) - int(np.count_nonzero(np.bincount(items, minlength=1))):
        notes.append(f"{listed.name}: {_count(repeated, 'repeated row counts', 'repeated rows count')} once.")
    return Partition.of(label)


def _compared_as_text(listed: Sequence[Listed]) -> list[str]:
    """Return a note if one side has integers and the other text: 7 and 007 are different ids then."""
    whole = [one.name for one in listed if all(pa.types.is_integer(column.type) for column in one.ids)]
    text = [one.name for one in listed if one.name not in whole]
    if not whole or not text or any(len(one.ids[0]) == 0 for one in listed):
        return []
    return [f"ids are integers in {whole[0]} and text in {text[0]}: compared as text."]


def _unknown_ids(answer: _Side, true: _Side, notes: list[str]) -> int:
    unknown = int(np.count_nonzero(answer.known & ~true.known))
    if answer.matches.total == 0:
        notes.append(f"{answer.name} holds no pairs: nothing was found.")
    if true.matches.total == 0:
        notes.append(f"{true.name} holds no pairs: recall has no meaning.")
    if unknown:
        listed = int(np.count_nonzero(answer.known))
        notes.append(
            f"{answer.name}: {unknown:,} of {listed:,} ids unknown to {true.name}; their pairs count as false."
        )
    return unknown


def _with_all_scores(matches: PairSet | Partition, listed: Listed, notes: list[str]) -> PairSet | None:
    """Give pairs without a score the loosest one; pairs are unchanged if none has a score. None for groups."""
    if isinstance(matches, Partition):
        return None
    similarity, without = matches.similarity, np.isnan(matches.similarity)
    if not without.any():
        return matches
    if without.all():
        notes.append(f"{listed.name} has no similarities: it is one answer, without thresholds.")
        return matches
    score, most = listed.scale.column, "lowest" if listed.scale.sign > 0 else "highest"
    words = _count(int(without.sum()), f"pair has no {score} and counts", f"pairs have no {score} and count")
    notes.append(f"{listed.name}: {words} at the {most} threshold only.")
    return PairSet(matches.keys, np.where(without, similarity[~without].min(), similarity))


def _pair_curve(pairs: PairSet, true: _Side) -> PairCurve:
    is_true = true.matches.holds(pairs.left, pairs.right)
    return pair_curve(pairs, is_true, true=true.matches.total)


def _reliability(pairs: PairSet | None, true: _Side, listed: Listed, *, required: bool) -> Reliability | None:
    """Compare stated probabilities with the truth; None if there are no probabilities (an error if `required`)."""
    stated = None if pairs is None else pairs.similarity
    if stated is not None and listed.scale.sign > 0 and bool(((stated >= 0) & (stated <= 1)).all()):
        assert pairs is not None
        return compare_with_truth(stated, true.matches.holds(pairs.left, pairs.right))
    if required:
        raise UsageError(
            f"{listed.name} has no probabilities; the reliability needs pairs with a similarity from 0 to 1 each."
        )
    return None


def _agreement(answer: PairSet | Partition | None, true: _Side, notes: list[str]) -> GroupCurve | None:
    if answer is None:
        return None
    from lookalike.evaluation import merge_tree  # imported here because only this needs the compiler

    true_pairs, true_groups = None, true.matches
    if isinstance(true_groups, PairSet):
        true_pairs, true_groups = true_groups, merge_tree.connected(true_groups, len(true.known))
        notes.append(f"{true.name} lists pairs: for B-cubed and Rand, all that they connect is one true group.")
    if isinstance(answer, PairSet):
        return merge_tree.grouped_curve(answer, true_groups, true_pairs)
    return group_agreement(answer, true_groups, true_pairs)


def _named(left: I64, right: I64, similarity: F64, ids: pa.Array, scale: Scale) -> pa.Table:
    scores = pa.array(scale.sign * similarity, mask=np.isnan(similarity))
    return pa.table({"left": ids.take(pa.array(left)), "right": ids.take(pa.array(right)), scale.column: scores})


def _report(curve: PairCurve, names: Sequence[str]) -> dict[str, Any]:
    best = _points(curve.take([curve.best]), names)[0] if len(curve) else None
    return {"best_f1": best, "points": _points(curve.take(thinned(curve, MAX_CURVE_ROWS)), names)}


def _points(curve: PairCurve, names: Sequence[str]) -> list[dict[str, Any]]:
    columns = [getattr(curve, name).tolist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def thinned(curve: PairCurve, most: int) -> list[int]:
    """Return at most `most` indices of the curve, evenly spread, with the first, the last and the best one."""
    if len(curve) <= most:
        return list(range(len(curve)))
    spread = np.linspace(0, len(curve) - 1, most - 1).round().astype(int).tolist()
    return sorted({*spread, curve.best})


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"
