"""Groups that respect verdicts: pairs judged the same are together, pairs judged different are never in one group.

Only the connected components that hold a verdict are grouped here, by plain loops; the others come from
`core.clusters`. A pair that was judged the same and not found has the score +inf.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, Groups, Pairs
from lookalike.core.clusters import MAKERS
from lookalike.kernels import graph

EDGES_AT_ONCE = 100_000  # edges between two sweeps that drop those within one group


@dataclass(frozen=True)
class Links:
    """Pairs of items that were judged: same and different, each as (left, right). i64[s], i64[d]"""

    same: tuple[I64, I64]
    different: tuple[I64, I64]


@dataclass
class KeptApart:
    """Pairs that would have joined two groups, but that a verdict keeps apart: (left, right), the nearest first."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    contradicted: list[tuple[int, int]] = field(default_factory=list)  # judged the same, against other verdicts


def judged_groups(grouping: str, pairs: Pairs, preference: I64, links: Links) -> tuple[Groups, KeptApart]:
    """Group the items by `grouping`, respecting the verdicts.

    A pair judged different is never in one group. Pairs judged the same are in one group, unless verdicts contradict
    one another: then "different" holds, and of the others those that come first. preference: item numbers, best first.
    """
    made = MAKERS[grouping](pairs, preference)
    root = np.arange(len(preference))
    graph.components(pairs.left, pairs.right, root)
    apart = links.different[0][root[links.different[0]] == root[links.different[1]]]
    touched = [apart] if grouping == "components" else [apart, links.same[0]]
    affected = np.zeros(len(root), np.bool_)
    affected[root[np.concatenate(touched)]] = True
    inside = affected[root]
    if not inside.any():
        return made, KeptApart()
    few = pairs_where(pairs, inside[pairs.left])
    certain = np.isin(_keys(few.left, few.right, len(root)), _keys(*links.same, len(root)))
    rank = np.empty(len(preference), np.int64)
    rank[preference] = np.arange(len(preference))
    enemies: dict[int, set[int]] = {}
    for one, other in zip(*(side.tolist() for side in links.different), strict=True):
        if root[one] == root[other]:
            enemies.setdefault(one, set()).add(other)
            enemies.setdefault(other, set()).add(one)
    cuts = KeptApart()
    members = preference[inside[preference]].tolist()
    if grouping == "components":
        joined = _Joined(members, enemies)
        _join(joined, Pairs(few.left, few.right, np.where(certain, np.inf, few.similarity)), cuts)
        representative = {joined.find(item): item for item in reversed(members)}
        for item in members:
            best = representative[joined.find(item)]
            made.representative[item], made.similarity[item] = best, 1.0 if best == item else np.nan
        return made, cuts
    units = _Joined(members, enemies)
    _join(units, Pairs(few.left[certain], few.right[certain], np.full(certain.sum(), np.inf)), cuts)
    walk = _stars if grouping == "stars" else _cliques
    for item, (best, score) in walk(units, members, few, rank).items():
        made.representative[item], made.similarity[item] = best, score
    return made, cuts


def pairs_where(pairs: Pairs, keep: npt.NDArray[np.bool_]) -> Pairs:
    """Return the pairs for which `keep` is true."""
    return Pairs(pairs.left[keep], pairs.right[keep], pairs.similarity[keep])


def _keys(left: I64, right: I64, n: int) -> I64:
    keys: I64 = np.minimum(left, right) * n + np.maximum(left, right)
    return keys


class _Joined:
    """Union-find over items, of which some must not be together. enemies: items from which an item is kept apart."""

    def __init__(self, members: Iterable[int], enemies: dict[int, set[int]]) -> None:
        self.parent = {item: item for item in members}
        self.enemies = {item: set(others) for item, others in enemies.items() if item in self.parent}

    def find(self, item: int) -> int:
        parent = self.parent
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def join(self, one: int, other: int) -> bool:
        """Join the groups of two items; return whether they are together now."""
        a, b = self.find(one), self.find(other)
        if a == b:
            return True
        hostile = self.enemies.get(b, set())
        if a in hostile:
            return False
        self.parent[b] = a
        if hostile:
            self.enemies.setdefault(a, set()).update(hostile)
            for enemy in self.enemies.pop(b):
                self.enemies[enemy].discard(b)
                self.enemies[enemy].add(a)
        return True


def _join(joined: _Joined, pairs: Pairs, cuts: KeptApart) -> None:
    """Join the pairs, the nearest first, and note those that verdicts keep apart, one for each two groups."""
    order = np.lexsort((pairs.right, pairs.left, -pairs.similarity))
    left, right, score = pairs.left[order], pairs.right[order], pairs.similarity[order]
    noted: set[tuple[int, int]] = set()
    while len(left):
        few = slice(0, EDGES_AT_ONCE)
        for one, other, near in zip(left[few].tolist(), right[few].tolist(), score[few].tolist(), strict=True):
            if not joined.join(one, other):
                a, b = sorted((joined.find(one), joined.find(other)))
                if (a, b) not in noted:
                    noted.add((a, b))
                    (cuts.contradicted if near == np.inf else cuts.pairs).append((one, other))
        left, right, score = left[EDGES_AT_ONCE:], right[EDGES_AT_ONCE:], score[EDGES_AT_ONCE:]
        if len(left) > EDGES_AT_ONCE:
            roots = [np.fromiter(map(joined.find, side.tolist()), np.int64, len(side)) for side in (left, right)]
            keep = roots[0] != roots[1]
            left, right, score = left[keep], right[keep], score[keep]


Walked = dict[int, tuple[int, float]]  # the representative of each item, and its similarity to it


def _neighbours(members: list[int], pairs: Pairs) -> dict[int, dict[int, float]]:
    near: dict[int, dict[int, float]] = {item: {} for item in members}
    for one, other, score in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist(), strict=True):
        near[one][other] = near[other][one] = score
    return near


def _units(joined: _Joined, members: list[int]) -> dict[int, list[int]]:
    """Return the sets of items judged the same by their root, each by preference, the best first."""
    units: dict[int, list[int]] = {}
    for item in members:
        units.setdefault(joined.find(item), []).append(item)
    return units


def _scored(unit: list[int], best: int, near: dict[int, dict[int, float]]) -> Walked:
    made = {item: (best, near[item].get(best, np.nan)) for item in unit if item != best}
    return made | ({best: (best, 1.0)} if best in unit else {})


def _stars(joined: _Joined, members: list[int], pairs: Pairs, rank: I64) -> Walked:
    """Assign each unit, in order of preference, to the nearest kept item that no verdict forbids, or keep its best."""
    near, made, inside = _neighbours(members, pairs), Walked(), dict[int, set[int]]()
    for root, unit in _units(joined, members).items():
        stars: dict[int, float] = {}
        for item in unit:
            for other, score in near[item].items():
                if other in inside and score > stars.get(other, -np.inf):
                    stars[other] = score
        hostile = joined.enemies.get(root, set())
        open_ = [star for star in stars if not hostile & inside[star]]
        best = min(open_, key=lambda star: (-stars[star], rank[star]), default=unit[0])
        inside.setdefault(best, set()).add(root)
        made |= _scored(unit, best, near)
    return made


def _cliques(joined: _Joined, members: list[int], pairs: Pairs, rank: I64) -> Walked:
    """Assign each unit to the group all of whose members are pairs with all of its items, or let it begin one."""
    near, made = _neighbours(members, pairs), Walked()
    inside, size = dict[int, set[int]](), dict[int, int]()
    for root, unit in _units(joined, members).items():
        shared: dict[int, list[float]] = {}
        for item in unit:
            for other, score in near[item].items():
                if other in made:
                    shared.setdefault(made[other][0], []).append(score)
        hostile = joined.enemies.get(root, set())
        open_ = {
            group: min(scores)
            for group, scores in shared.items()
            if len(scores) == size[group] * len(unit) and not hostile & inside[group]
        }
        best = min(open_, key=lambda group: (-open_[group], rank[group]), default=unit[0])
        inside.setdefault(best, set()).add(root)
        size[best] = size.get(best, 0) + len(unit)
        made |= _scored(unit, best, near)
    return made
