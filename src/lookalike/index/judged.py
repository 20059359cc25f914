"""The groups of an index after verdicts on pairs of its items; the stored groups do not change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Pairs
from lookalike.core.judged_groups import Links, judged_groups
from lookalike.index.items import ids_of
from lookalike.index.kinds import IndexKind
from lookalike.index.scan import Budget
from lookalike.index.search import query_spans, scored
from lookalike.index.store import Store
from lookalike.io.verdicts import VerdictSet


def judged_members(store: Store, kind: IndexKind, items: I64, groups: I64, verdicts: VerdictSet) -> tuple[I64, I64]:
    """Return the items and their groups after the verdicts: pairs judged different are in no group together.

    items, groups i64[n]: of the stored groups. Only groups that hold a judged item are made again, from the matches
    among their items, the nearest first. The number of a group is that of its oldest item.
    """
    links = _links(store, verdicts)
    judged = np.unique(np.concatenate([*links.same, *links.different]))
    if not len(judged):
        return items, groups
    affected = np.unique(groups[np.isin(items, judged)])
    inside = np.isin(groups, affected)
    members = np.union1d(items[inside], judged)
    place = {int(item): at for at, item in enumerate(members)}
    found = _matches(store, kind, members)
    different = _placed(links.different, place)
    keys, apart = (_keys(*sides, len(members)) for sides in ((found.left, found.right), different))
    stays = ~np.isin(keys, apart)
    same = _placed(links.same, place)
    pairs = Pairs(
        np.concatenate([found.left[stays], same[0]]), np.concatenate([found.right[stays], same[1]]),
        np.concatenate([found.similarity[stays], np.full(len(same[0]), np.inf)]),
    )  # fmt: skip
    made, _ = judged_groups("components", pairs, np.arange(len(members)), Links(same, different))
    return (
        np.concatenate([items[~inside], members]),
        np.concatenate([groups[~inside], members[made.representative]]),
    )


def _links(store: Store, verdicts: VerdictSet) -> Links:
    """Return the items of the verdicts, without those that the index does not have."""
    sides = {}
    for name in ("same", "different"):
        pairs = [one for one in verdicts.pairs if one.verdict == name]
        left, right = (_numbers(store, [getattr(one, side) for one in pairs]) for side in ("left", "right"))
        known = (left >= 0) & (right >= 0) & (left != right)
        sides[name] = left[known], right[known]
    return Links(sides["same"], sides["different"])


def _numbers(store: Store, names: list[object]) -> I64:
    """Return the item numbers of ids, -1 for those that the index does not have."""
    if not names:
        return np.empty(0, np.int64)
    if store.id_type() != pa.int64():
        return store.numbers(ids_of([str(name) for name in names]))
    numbers = np.full(len(names), -1, np.int64)
    whole = [at for at, name in enumerate(names) if str(name).removeprefix("-").isdecimal()]
    if whole:
        numbers[whole] = store.numbers(ids_of([int(str(names[at])) for at in whole]))
    return numbers


def _matches(store: Store, kind: IndexKind, members: I64) -> Pairs:
    """Return the matches among these items, by their places."""
    features, budget = store.features(members), Budget()
    parts: list[tuple[I64, I64, F64]] = []
    for low, high in query_spans(kind, len(features)):
        part = features.part(low, high)
        query, others, score = scored(store, kind, part, kind.probes(part), kind.threshold, budget)
        at = np.minimum(np.searchsorted(members, others), len(members) - 1)
        ours = (members[at] == others) & (query + low < at)
        parts.append(((query + low)[ours], at[ours], score[ours]))
    left, right, score = (np.concatenate([part[at] for part in parts]) for at in range(3))
    return Pairs(left.astype(np.int64), right.astype(np.int64), score.astype(np.float64))


def _placed(sides: tuple[I64, I64], place: dict[int, int]) -> tuple[I64, I64]:
    left, right = (np.array([place[int(item)] for item in side], np.int64) for side in sides)
    return left, right


def _keys(left: I64, right: I64, n: int) -> I64:
    keys: I64 = np.minimum(left, right) * n + np.maximum(left, right)
    return keys
