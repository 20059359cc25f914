"""How large the answer will be; where it is too large, what makes it so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookalike.data import I64, Pairs
from lookalike.engines.choice import Preview
from lookalike.engines.room import fewer_pairs
from lookalike.engines.size_limit import FAR, SURE
from lookalike.errors import TooManyPairs
from lookalike.stages.duplicates import Classes
from lookalike.stages.groups import components

SHOWN = 3  # crowds, and members of each
CROWD = 5  # sampled members that make a crowd: fewer may be chance


@dataclass(frozen=True)
class Crowd:
    """Items that are alike. size: how many, or about how many; equal: whether they are copies; some: a few of them."""

    size: int
    equal: bool
    some: I64

    def words(self, name: Callable[[int], str], grow: float = 1.0) -> str:
        """name: what to call an item. grow: how many times as many there are among all items."""
        about, kind = ("" if grow == 1.0 else "about ", "copies") if self.equal else ("about ", "look-alikes")
        members = ", ".join(name(int(item)) for item in self.some)
        return f"{about}{round(self.size * grow):,} {kind}: {members}{' ...' if self.size > len(self.some) else ''}"


@dataclass(frozen=True)
class Size:
    """copies: pairs of equal items, exactly; expected: all pairs, foretold where there was a sample."""

    copies: int
    expected: int
    sampled: int
    crowds: list[Crowd]

    def check(self, limit: int, name: Callable[[int], str], *, cross: bool) -> None:
        """Refuse, before the work, an answer that is surely too large.

        name: what to call an item. cross: the pairs are between two collections.
        """
        if self.copies > limit:
            begin = f"the answer has at least {self.copies:,} pairs, more than --max-pairs {limit:,}."
        elif self.sampled >= SURE and self.expected > FAR * limit:
            begin = f"about {self.expected:,} pairs are to be expected, far more than --max-pairs {limit:,}."
        else:
            return
        largest = "; ".join(crowd.words(name) for crowd in self.crowds)
        advice = fewer_pairs("pairs", cross=cross, method="")
        raise TooManyPairs(f"{begin} The largest crowds: {largest}. {advice}")


def size_of(classes: Classes, seen: Preview | None, split: int) -> Size:
    """The size of the answer for these classes of equal items, of which a sample was seen."""
    counts = classes.counts
    lefts = classes.lefts(split) if split >= 0 else counts
    copies = int((lefts * (counts - lefts)).sum() if split >= 0 else (counts * (counts - 1) // 2).sum())
    if seen is None:
        return Size(copies, copies, 0, _crowds(classes, None))
    pairs = (counts[seen.picked[seen.left]] * counts[seen.picked[seen.right]]).sum()
    return Size(copies, copies + round(float(pairs) * seen.grow * seen.grow), len(seen.left), _crowds(classes, seen))


def _crowds(classes: Classes, seen: Preview | None) -> list[Crowd]:
    """The most repeated items, and the largest groups of the sample as large as they will be among all."""
    counts, firsts = classes.counts, classes.firsts
    starts = classes.ends - counts
    found = []
    for number in np.argsort(-counts, kind="stable")[:SHOWN]:
        if counts[number] > 1:
            some = classes.members[starts[number] : starts[number] + min(SHOWN, counts[number])]
            found.append(Crowd(int(counts[number]), True, some))
    if seen is not None and len(seen.left):
        group = components(Pairs(seen.left, seen.right, np.ones(len(seen.left))), np.arange(len(seen.picked)))
        roots, sizes = np.unique(group.representative, return_counts=True)
        for root in roots[np.argsort(-sizes, kind="stable")[:SHOWN]]:
            members = seen.picked[np.flatnonzero(group.representative == root)]
            if len(members) >= CROWD:
                size = round(float(counts[members].sum()) * seen.grow)
                found.append(Crowd(size, False, firsts[members[:SHOWN]]))
    return sorted(found, key=lambda crowd: -crowd.size)[:SHOWN]
