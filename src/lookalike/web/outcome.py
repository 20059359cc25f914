"""What verdicts make of a group that a page shows: the parts into which the next run divides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import I64, Pairs
from lookalike.core.judged_groups import Links, judged_groups

if TYPE_CHECKING:
    from lookalike.web.graph import Graph

MAX_DIVIDED = 5000  # members of the largest group that is divided


def parts_of(graph: Graph, members: I64, cut: int, verdicts: Mapping[tuple[int, int], str]) -> dict[int, int] | None:
    """Return the part of each member after the verdicts, the largest part first; None if they do not divide the group.

    The group is divided as `groups --grouping components --verdicts` does. Members of other groups that are judged the
    same as one of these are not added.
    """
    place = {int(item): at for at, item in enumerate(members)}
    inside = [
        (place[one], place[other], verdict)
        for (one, other), verdict in verdicts.items()
        if verdict in ("same", "different") and one in place and other in place
    ]
    if len(members) > MAX_DIVIDED or not any(verdict == "different" for _, _, verdict in inside):
        return None
    sides = {
        name: tuple(np.array([row[side] for row in inside if row[2] == name], np.int64) for side in (0, 1))
        for name in ("same", "different")
    }
    found = np.unique(np.concatenate([graph.pairs_of(int(item)) for item in members]))
    found = found[graph.level[found] >= cut]
    left, right = (np.array([place[int(item)] for item in side[found]], np.int64) for side in (graph.left, graph.right))
    score = np.nan_to_num(graph.cuts.sign * graph.shown[found], nan=np.inf)
    keys = np.minimum(left, right) * len(members) + np.maximum(left, right)
    apart = np.minimum(*sides["different"]) * len(members) + np.maximum(*sides["different"])
    stays = ~np.isin(keys, apart)
    same = sides["same"]
    pairs = Pairs(
        np.concatenate([left[stays], same[0]]), np.concatenate([right[stays], same[1]]),
        np.concatenate([score[stays], np.full(len(same[0]), np.inf)]),
    )  # fmt: skip
    made, _ = judged_groups("components", pairs, np.arange(len(members)), Links(same, sides["different"]))  # type: ignore[arg-type]
    roots, number = np.unique(made.representative, return_inverse=True)
    order = np.argsort(-np.bincount(number), kind="stable")
    rank = np.empty(len(roots), np.int64)
    rank[order] = np.arange(len(roots))
    return {int(item): int(rank[number[at]]) for item, at in place.items()}
