"""What to judge next in a result, and its precision, recall and F1 at every threshold from what was judged."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.errors import InputError
from lookalike.evaluation.judged_quality import point_of, search_recall
from lookalike.evaluation.judging import NOT_JUDGED, SAME, VERDICT_LABELS, JudgedPairs, StrataPlan, pair_ranks
from lookalike.web.review import Review, verdicts_by_item

if TYPE_CHECKING:
    from lookalike.web.view import ResultView

MAX_POINTS = 64  # thresholds at which the quality is estimated
Answer = dict[str, Any]


class ReviewSample:
    """The sample of the pairs of a result that is to be judged."""

    def __init__(self, view: ResultView, review: Review) -> None:
        self.view, self.review = view, review
        self._changes, self._judged = -1, self._unjudged

    def following(self) -> Answer:
        """Return the pair that should be judged next, None if all are, and the progress."""
        if self.review.file.votes is not None and self.review.file.plan is None:
            self.review.file.add_plan(self._plan.as_dict())
        judged = self.judged
        chosen = self._pairs[judged.following(1)]
        graph = self.view.graph
        pair = None if not len(chosen) else [int(graph.left[chosen[0]]), int(graph.right[chosen[0]])]
        return {"pair": pair, **self.progress()}

    def progress(self) -> Answer:
        """Return how many pairs of the sample were judged, and how many pairs there are."""
        judged = self.judged
        return {
            "judged": int(judged.sample.sum()), "same": int((judged.labels[judged.sample] == SAME).sum()),
            "pairs": len(judged.labels), "others": int((judged.labels != NOT_JUDGED).sum() - judged.sample.sum()),
        }  # fmt: skip

    def quality(self) -> Answer:
        """Return the estimates at thresholds of the grid; none before a drawn pair was judged.

        Each has a cut, the number of pairs and of judged ones, and value, low and high of precision, recall and F1.
        """
        judged, graph = self.judged, self.view.graph
        found = search_recall(self.view.receipt)
        points: list[Answer] = []
        if judged.sample.any():
            cuts = np.unique(np.linspace(0, len(graph.cuts) - 1, min(MAX_POINTS, len(graph.cuts))).astype(np.int64))
            level = np.searchsorted(cuts, graph.level[self._pairs], side="right") - 1
            for at, (reported, seen, part, rest) in enumerate(judged.true_pairs_by_level(level, len(cuts))):
                if seen:
                    one = point_of(float(graph.cuts.values[cuts[at]]), reported, seen, part, rest, found)
                    made = {
                        name: [round(value, 6) for value in (share.value, share.low, share.high)]
                        for name in ("precision", "recall", "f1", "recall_of_all")
                        if (share := getattr(one, name)) is not None
                    }
                    points.append({"cut": int(cuts[at]), "pairs": reported, "judged": seen, **made})
        return {"points": points, **self.progress()}

    @property
    def judged(self) -> JudgedPairs:
        """The pairs with the verdicts of now."""
        file = self.review.file
        file.votes  # noqa: B018  (reads the file again if it has changed)
        if self._changes == file.changes:
            return self._judged
        plan = file.plan
        base = self._unjudged
        if plan is not None and (known := StrataPlan.from_dict(plan)) != base.plan:
            if known.column != self.view.column:
                raise InputError(
                    f"{file.path} has a sample by {known.column}, and this result has {self.view.column}; "
                    "use another file of verdicts."
                )
            base = self._of_plan(known)
            self.__dict__["_unjudged"] = base
        labels, drawn = base.labels.copy(), base.drawn.copy()
        was_drawn = {
            frozenset((str(one.left), str(one.right))) for one in file.in_force().pairs if one.drawn
        }  # fmt: skip
        for (left, right), verdict in verdicts_by_item(self.review).items():
            pair = self.view.graph.pair_of(left, right)
            at = -1 if pair is None else int(self._place[pair])
            if at >= 0:
                labels[at] = VERDICT_LABELS[verdict]
                drawn[at] = frozenset((str(self.view.key(left)), str(self.view.key(right)))) in was_drawn
        self._judged, self._changes = base.relabelled(labels, drawn), file.changes
        return self._judged

    @cached_property
    def _pairs(self) -> I64:
        """The pairs with a score; one that only a verdict joins has none."""
        return np.flatnonzero(np.isfinite(self.view.graph.shown))

    @cached_property
    def _place(self) -> I64:
        """The place of each pair of the graph among those with a score, or -1."""
        place = np.full(len(self.view.graph.shown), -1, np.int64)
        place[self._pairs] = np.arange(len(self._pairs))
        return place

    @cached_property
    def _plan(self) -> StrataPlan:
        return StrataPlan.of(self.view.graph.shown[self._pairs], self.view.column, self.view.sign)

    @cached_property
    def _unjudged(self) -> JudgedPairs:
        return self._of_plan(self._plan)

    def _of_plan(self, plan: StrataPlan) -> JudgedPairs:
        graph = self.view.graph
        names = [str(name) for ids in graph.ids for name in ids.to_pylist()]
        ranks = pair_ranks(names, graph.left[self._pairs], graph.right[self._pairs], plan.seed)
        n = len(self._pairs)
        scores = graph.shown[self._pairs]
        return JudgedPairs(plan, scores, ranks, np.full(n, NOT_JUDGED, np.int8), np.zeros(n, np.bool_))
