"""Apply verdicts to the output of an engine: find the judged items again, and change its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, Pairs
from lookalike.core.exact_duplicates import Classes, classes_of
from lookalike.core.formatting import count
from lookalike.core.judged_groups import Links
from lookalike.io.contents import Contents, content_hash, contents_of
from lookalike.io.verdicts import VerdictSet
from lookalike.runtime.run_output import RunOutput, Source

ROWS_AT_ONCE = 20_000  # rows that are read at once in the search for contents
WITHOUT_IDS = (None, "none")


@dataclass
class MatchedVerdicts:
    """Verdicts on the items of a run. same, different: pairs of item numbers; chosen: representatives.

    unknown: verdicts on items that the run does not have. by_content: items found by their contents, under another id.
    changed: items found by their id, with other contents than those that were judged.
    """

    same: list[tuple[int, int]] = field(default_factory=list)
    different: list[tuple[int, int]] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    unknown: int = 0
    by_content: int = 0
    changed: int = 0


def match_verdicts(verdicts: VerdictSet, ids: Sequence[pa.ChunkedArray], sources: Sequence[Source]) -> MatchedVerdicts:
    """Find the judged items in the collections of a run; numbers of the second collection follow those of the first.

    An item is known by its id, if it still has the contents that were judged, else by these contents, else by an id
    that is not a row number.
    """
    across = len(ids) == 2
    first = [(one.left, one.left_hash) for one in verdicts.pairs]
    second = [(one.right, one.right_hash) for one in verdicts.pairs]
    finders = [_Finder(column, source) for column, source in zip(ids, sources, strict=True)]
    if across:
        finders[0].look(first)
        finders[1].look(second)
    else:
        finders[0].look([*first, *second, *verdicts.representatives])
    made = MatchedVerdicts()
    shift = len(ids[0]) if across else 0
    for one in verdicts.pairs:
        left = finders[0].row((one.left, one.left_hash))
        right = finders[-1].row((one.right, one.right_hash))
        if left is None or right is None:
            made.unknown += 1
        elif one.verdict in ("same", "different") and (across or left != right):
            (made.same if one.verdict == "same" else made.different).append((left, right + shift))
    if not across:
        made.chosen = [row for item in verdicts.representatives if (row := finders[0].row(item)) is not None]
    made.by_content, made.changed = (sum(getattr(one, name) for one in finders) for name in ("by_content", "changed"))
    return made


Item = tuple[Any, str | None]  # an id, and the hash of the contents that were judged


class _Finder:
    """Finds judged items among the rows of a collection."""

    def __init__(self, ids: pa.ChunkedArray, source: Source) -> None:
        self.ids, self.source = ids, source
        described = source.describe()
        if "id" in described:
            self.by_number = described["id"] in WITHOUT_IDS
        else:
            self.by_number = pa.types.is_integer(ids.type) and ids.to_pylist() == list(range(len(ids)))
        self.id_column = described.get("id")
        self.rows: dict[tuple[str, str | None], int] = {}
        self.by_content = self.changed = 0

    def row(self, item: Item) -> int | None:
        """Return the row of an item that was looked for, or None."""
        return self.rows.get((str(item[0]), item[1]))

    def look(self, items: Iterable[Item]) -> None:
        """Find the rows of these items."""
        wanted = list(dict.fromkeys((str(name), known) for name, known in items))
        if not wanted:
            return
        names = pa.array([name for name, _ in wanted], pa.large_string())
        at = pc.index_in(names, value_set=self.ids.cast(pa.large_string()).combine_chunks()).to_pylist()
        by_id = dict(zip(wanted, at, strict=True))
        contents = contents_of(self.source) if any(known for _, known in wanted) else None
        here = self._hashes(contents, [row for (_, known), row in by_id.items() if known and row is not None])
        lost: list[tuple[str, str | None]] = []
        for item, row in by_id.items():
            if row is not None and (item[1] is None or contents is None or here.get(row) == item[1]):
                self.rows[item] = row
            else:
                lost.append(item)
        searched = {item[1] for item in lost if item[1]}
        found = self._by_content(contents, searched) if contents is not None and searched else {}
        for item in lost:
            again, row = found.get(item[1] or ""), by_id[item]
            if again is not None:
                self.rows[item] = again
                self.by_content += 1
            elif row is not None and not self.by_number:
                self.rows[item] = row
                self.changed += 1

    def _hashes(self, contents: Contents | None, rows: list[int]) -> dict[int, str | None]:
        if contents is None or not rows:
            return {}
        taken = contents.take(sorted(set(rows)))
        return {row: content_hash(content, id_column=self.id_column) for row, content in taken.items()}

    def _by_content(self, contents: Contents, wanted: set[str]) -> dict[str, int]:
        """Return the first row with each of the wanted contents; the whole input is read for it."""
        found: dict[str, int] = {}
        for first in range(0, len(self.ids), ROWS_AT_ONCE):
            rows = list(range(first, min(len(self.ids), first + ROWS_AT_ONCE)))
            for row, known in self._hashes(contents, rows).items():
                if known in wanted:
                    found.setdefault(known, row)
            if len(found) == len(wanted):
                break
        return found


def with_verdicts(found: RunOutput, matched: MatchedVerdicts) -> tuple[RunOutput, dict[str, int]]:
    """Return the output with the verdicts applied, and what they changed.

    Judged items leave their classes of equal items, so that a verdict on one of them does not speak for the others.
    Pairs judged different are removed; pairs judged the same that were not found are added with the score +inf.
    """
    assert found.pairs is not None
    judged = sorted({item for pair in (*matched.same, *matched.different) for item in pair} | set(matched.chosen))
    before = found.classes.class_of(len(found))
    found = _alone(found, np.array(judged, np.int64))
    number, pairs, n = found.classes.class_of(len(found)), found.pairs, len(found.classes)
    assert pairs is not None
    of = {
        name: (number[[pair[0] for pair in listed]], number[[pair[1] for pair in listed]])
        for name, listed in (("same", matched.same), ("different", matched.different))
    } if judged else {"same": (number[:0], number[:0]), "different": (number[:0], number[:0])}  # fmt: skip
    keys = _keys(pairs.left, pairs.right, n)
    gone = np.isin(keys, _keys(*of["different"], n))
    same = np.unique(_keys(*of["same"], n))
    new = same[~np.isin(same, keys)]
    removed, added = int(gone.sum()), len(new)
    left = np.concatenate([pairs.left[~gone], new // max(n, 1)])
    right = np.concatenate([pairs.right[~gone], new % max(n, 1)])
    score = np.concatenate([pairs.similarity[~gone], np.full(len(new), np.inf)])
    order = np.lexsort((right, left))
    found = replace(
        found, pairs=Pairs(left[order], right[order], score[order]), links=Links(of["same"], of["different"]),
        order=_first(found, number, matched.chosen),
    )  # fmt: skip
    equal = sum(before[one] == before[other] >= 0 for one, other in matched.different)
    return found, {"removed_pairs": removed, "added_pairs": added, "equal_items_judged_different": int(equal)}


def facts_of(verdicts: VerdictSet, matched: MatchedVerdicts, changes: dict[str, int]) -> dict[str, Any]:
    """Return the entry of a receipt about the verdicts of a run."""
    return {
        "files": list(verdicts.names), "pairs": verdicts.counts(), "representatives": len(matched.chosen),
        "not_in_the_input": matched.unknown, "found_by_content": matched.by_content,
        "changed_since": matched.changed, **changes,
    }  # fmt: skip


def warnings_of(verdicts: VerdictSet, matched: MatchedVerdicts) -> list[str]:
    """Return warnings about verdicts that were not applied, or to other contents than those that were judged."""
    said = []
    if matched.unknown:
        of = f"{matched.unknown:,} of {count(len(verdicts.pairs), 'verdicts')}"
        said.append(f"{of} are on items that the input does not have; they change nothing.")
    if contested := verdicts.counts().get("contested"):
        said.append(f"{count(contested, 'pairs')} judged the same as often as different; they change nothing.")
    if matched.changed:
        said.append(f"{count(matched.changed, 'judged items')} changed since; the verdicts follow the ids.")
    return said


def _keys(left: I64, right: I64, n: int) -> I64:
    low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right).astype(np.int64)
    keys: I64 = low * n + high
    return keys


def _first(found: RunOutput, number: I64, chosen: list[int]) -> I64:
    """Return the order of the classes with those of the chosen items first."""
    if not chosen:
        return found.order
    first = np.zeros(len(found.order), np.bool_)
    first[number[chosen]] = True
    return np.concatenate([found.order[first[found.order]], found.order[~first[found.order]]])


def _alone(found: RunOutput, judged: I64) -> RunOutput:
    """Return the same output in which each of these items is alone in its class; the pairs of items do not change."""
    classes, pairs = found.classes, found.pairs
    assert pairs is not None
    number = classes.class_of(len(found))
    empty = judged[number[judged] < 0]  # items that matched nothing, such as empty texts
    crowded = judged[number[judged] >= 0]
    crowded = crowded[classes.counts[number[crowded]] > 1]
    if not len(empty) and not len(crowded):
        return found
    leaves = np.zeros(len(found), np.bool_)
    leaves[crowded] = True
    stays = ~leaves[classes.members]
    kept = np.bincount(classes.numbers[stays], minlength=len(classes))
    # Of a class that would be left empty, the first item stays.
    last = [int(classes.firsts[one]) for one in np.flatnonzero(kept == 0)]
    leaves[last] = False
    crowded = crowded[leaves[crowded]]
    stays = ~leaves[classes.members]
    parts = [classes.members[stays], crowded, empty]
    new = [np.diff(classes.numbers[stays], prepend=-1) > 0, np.ones(len(crowded) + len(empty), np.bool_)]
    made = classes_of(np.concatenate(parts), np.concatenate(new))
    now = made.class_of(len(found))
    old_of = np.full(len(made), -1, np.int64)  # the class that each of the new ones comes from
    old_of[now[classes.members]] = classes.numbers
    own = np.where(old_of >= 0, found.own[old_of], 1.0) if len(found.own) else np.ones(len(made))
    ends = np.argsort(old_of[old_of >= 0], kind="stable")
    ends = np.flatnonzero(old_of >= 0)[ends]  # new classes by the old one
    counts = np.bincount(old_of[ends], minlength=len(classes))
    starts = np.cumsum(counts) - counts
    sides = _spread(pairs, ends, starts, counts)
    within = _within(classes, ends, starts, counts, own)
    left, right, score = (np.concatenate(both) for both in zip(sides, within, strict=True))
    order = np.lexsort((np.maximum(left, right), np.minimum(left, right)))
    low, high = np.minimum(left, right)[order], np.maximum(left, right)[order]
    return replace(
        found, classes=made, own=own, pairs=Pairs(low, high, score[order]), order=_ranked(found, made, old_of, number)
    )


def _spread(pairs: Pairs, ends: I64, starts: I64, counts: I64) -> tuple[I64, I64, Any]:
    """Return the pairs of old classes as pairs of the new ones that came from them."""
    ones, others = counts[pairs.left], counts[pairs.right]
    times = ones * others
    which = np.repeat(np.arange(len(pairs)), times)
    place = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
    left = ends[starts[pairs.left[which]] + place // others[which]]
    right = ends[starts[pairs.right[which]] + place % others[which]]
    return left, right, pairs.similarity[which]


def _within(classes: Classes, ends: I64, starts: I64, counts: I64, own: Any) -> tuple[I64, I64, Any]:
    """Return the pairs among the new classes that came from one old class: their items are equal."""
    left: list[int] = []
    right: list[int] = []
    for old in np.flatnonzero(counts > 1).tolist():
        some = ends[starts[old] : starts[old] + counts[old]].tolist()
        for at, one in enumerate(some):
            left += [one] * (len(some) - at - 1)
            right += some[at + 1 :]
    a, b = np.array(left, np.int64), np.array(right, np.int64)
    return a, b, own[a]


def _ranked(found: RunOutput, made: Classes, old_of: I64, number: I64) -> I64:
    """Return the order of the new classes: by the preferred items, else by the order of the old classes."""
    if found.preferred is not None:
        return made.ranked(found.preferred)
    place = np.empty(len(found.order) + 1, np.int64)
    place[found.order] = np.arange(len(found.order))
    place[-1] = len(found.order)
    within = np.empty(len(number), np.int64)
    within[found.classes.members] = np.arange(len(found.classes.members))
    return np.lexsort((within[made.firsts], place[old_of]))
