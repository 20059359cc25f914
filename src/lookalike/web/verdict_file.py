"""The file of verdicts that an explorer reads and appends to, which others may append to at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lookalike.errors import UsageError
from lookalike.io.verdicts import (
    REPRESENTATIVE,
    VERDICTS,
    WITHDRAWN,
    Judged,
    Verdicts,
    VerdictSet,
    Votes,
    decided,
    events_of,
    pair_key,
    pairs_of,
    user_name,
    votes_of,
)

MAX_EDIT_PAIRS = 200_000  # pairs that one edit of a group may judge
Event = dict[str, Any]


class VerdictFile:
    """The votes of a file of verdicts, kept in memory, and the edits of this session, which can be undone."""

    def __init__(self, path: Path, by: str | None = None) -> None:
        self.file, self.by = Verdicts(path), user_name() if by is None else by
        self.changes = 0  # of the votes, so that others know when to look again
        self._votes: Votes = {}
        self._chosen: dict[str, tuple[Any, str | None]] = {}
        self.plan: Mapping[str, Any] | None = None
        self._size = -1
        self._undo: list[list[Event]] = []

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def votes(self) -> Votes:
        """The vote of each person on each pair; the file is read again if it has changed."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._size:
            events = events_of(self.path) if size else []
            self._votes, self._chosen, self.plan = votes_of(events)
            self._votes = {key: given for key, given in self._votes.items() if given}
            self._size = size
            self.changes += 1
        return self._votes

    def of(self, left: Any, right: Any, *, across: bool) -> dict[str, Mapping[str, Any]]:
        """Return the vote of each person on a pair."""
        return self.votes.get(pair_key(left, right, across=across), {})

    def is_chosen(self, item: Any) -> bool:
        """Return whether an item was chosen to represent its group."""
        return bool(self.votes is not None and str(item) in self._chosen)

    def in_force(self) -> VerdictSet:
        """Return the verdicts in force."""
        pairs: tuple[Judged, ...] = tuple(decided(list(given.values())) for given in self.votes.values())
        return VerdictSet((str(self.path),), pairs, tuple(self._chosen.values()), self.plan)

    def counts(self) -> dict[str, int]:
        """Return the number of pairs by verdict, and of those on which people disagree."""
        counted = Counter(decided(list(given.values())).verdict for given in self.votes.values())
        disagree = sum(len({one["verdict"] for one in given.values()}) > 1 for given in self._votes.values())
        return {**{name: counted[name] for name in (*VERDICTS, "contested")}, "disagree": disagree}

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    def append(self, events: Sequence[Event]) -> None:
        """Append events, and remember how to take them back."""
        pairs = sum(len(one["left"]) * len(one["right"]) if isinstance(one["left"], list) else 1 for one in events)
        if pairs > MAX_EDIT_PAIRS:
            raise UsageError(f"this would judge {pairs:,} pairs; mark fewer items, at most {MAX_EDIT_PAIRS:,} pairs.")
        back = [one for event in events for one in self._taken_back(event)]
        self._write(events)
        self._undo.append(back)

    def undo(self) -> Event | None:
        """Take the last edit of this session back; return its first event, or None if there is none."""
        if not self._undo:
            return None
        back = self._undo.pop()
        self._write(back)
        return back[0]

    def add_plan(self, plan: Mapping[str, Any]) -> None:
        """Append the plan of a sample."""
        self._write([{"plan": dict(plan)}])

    def import_events(self, events: Iterable[Event]) -> int:
        """Append events of another file that are not in this one; return their number."""
        known = {_identity(pair) for given in self.votes.values() for pair in given.values()}
        new = [event for event in events if "plan" not in event and _identity(event) not in known]
        if new:
            self._write(new)
        return len(new)

    def _write(self, events: Iterable[Event]) -> None:
        self.file.append(events)

    def _taken_back(self, event: Event) -> list[Event]:
        """Return the events after which the file says what it says now, before this event is appended."""
        votes, by = self.votes, event.get("by", "")
        if event["verdict"] == REPRESENTATIVE:
            return [{"left": event["left"], "verdict": WITHDRAWN, "by": by}]
        if event["verdict"] == WITHDRAWN and event.get("right") is None:
            return [{"left": event["left"], "verdict": REPRESENTATIVE, "by": by}]
        back = []
        for pair in pairs_of(event):
            across = bool(pair.get("across"))
            before = votes.get(pair_key(pair["left"], pair["right"], across=across), {}).get(by)
            sides = {"left": pair["left"], "right": pair["right"], **({"across": True} if across else {})}
            back.append(dict(before) if before is not None else {**sides, "verdict": WITHDRAWN, "by": by})
        return back


def _identity(event: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(event.get(name, "")) for name in ("left", "right", "verdict", "by", "note"))


def beside(source: str | Path) -> Path:
    """Return where the verdicts on a result, a file or an index are kept: next to it, so that it can be replaced.

    >>> str(beside("runs/alike/")), str(beside("pairs.parquet"))
    ('runs/alike.verdicts.jsonl', 'pairs.parquet.verdicts.jsonl')
    """
    path = Path(source)
    return path.with_name(path.name + ".verdicts.jsonl")
