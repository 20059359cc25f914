"""Judge the pairs and groups of a result or an index: verdicts by ids and contents, edits of groups, undo."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lookalike.errors import UsageError
from lookalike.io.verdicts import REPRESENTATIVE, VERDICTS, WITHDRAWN, decided
from lookalike.web.verdict_file import Event, VerdictFile

MAX_NOTE_CHARACTERS = 2000
Answer = dict[str, Any]


class Judgeable(Protocol):
    """What a view offers so that its items can be judged."""

    cross: bool

    def key(self, item: Any) -> Any: ...  # the user's id
    def item_of(self, key: Any, side: int) -> Any: ...  # the item with an id, or None
    def side(self, item: Any) -> int: ...  # 0, or 1 for items of the second input
    def hashes(self, items: Sequence[Any]) -> dict[Any, str]: ...  # of the contents, as far as they are known


class Review:
    """The verdicts on the items of a view."""

    def __init__(self, view: Judgeable, file: VerdictFile) -> None:
        self.view, self.file = view, file

    def about(self) -> Answer:
        """Return the file, the person, and the counts of the verdicts."""
        file = self.file
        return {
            "file": str(file.path), "quoted": shlex.quote(str(file.path)), "by": file.by, "counts": file.counts(),
            "undo": file.can_undo,
        }  # fmt: skip

    def of_pair(self, left: Any, right: Any) -> Answer:
        """Return the verdict in force on a pair, and the vote of each person."""
        given = self.file.of(self.view.key(left), self.view.key(right), across=self.view.cross)
        votes = [{name: str(vote.get(name, "")) for name in ("by", "verdict", "note", "at")} for vote in given.values()]
        return {"verdict": decided(list(given.values())).verdict if given else None, "votes": votes}

    def judge(self, left: Any, right: Any, verdict: str, **more: Any) -> Answer:
        """Append a verdict on two items. more: by, note and drawn of the event."""
        if verdict not in (*VERDICTS, WITHDRAWN):
            raise UsageError(f"the verdict is {verdict!r}; expected {', '.join(VERDICTS)} or {WITHDRAWN}.")
        if left == right:
            raise UsageError("an item cannot be judged against itself.")
        self.file.append([self._pair(left, right, verdict, **more)])
        return {**self.of_pair(left, right), "about": self.about()}

    def undo(self) -> Answer:
        """Take the last edit of this session back; return the items that it was about."""
        event = self.file.undo()
        items: list[Any] = []
        if event is not None and event.get("right") is not None:
            sides = (0, 1) if self.view.cross else (0, 0)
            items = [self.view.item_of(event[name], side) for name, side in zip(("left", "right"), sides, strict=True)]
        return {"undone": event is not None, "items": items, "about": self.about()}

    def same(self, items: Sequence[Any], **more: Any) -> Answer:
        """Append that all of these items are the same: each is the same as the first."""
        self._check(items, least=2)
        self.file.append([self._pair(items[0], other, "same", **more) for other in items[1:]])
        return {"about": self.about()}

    def split(self, items: Sequence[Any], others: Sequence[Any], **more: Any) -> Answer:
        """Append that each of these items differs from each of the others."""
        self._check(items, others)
        self.file.append([self._apart(items, others, **more)])
        return {"about": self.about()}

    def move(self, items: Sequence[Any], others: Sequence[Any], to: Any, **more: Any) -> Answer:
        """Append that these items differ from the others of their group, and are the same as another item."""
        self._check(items, others)
        if to in items or to in others:
            raise UsageError("the items are in this group already; open another one.")
        same = [self._pair(to, item, "same", **more) for item in items]
        self.file.append([self._apart(items, others, **more), *same])
        return {"about": self.about()}

    def represent(self, item: Any, **more: Any) -> Answer:
        """Append that an item represents its group, or that it no longer does."""
        self._check([item])
        key, known = self.view.key(item), self.view.hashes([item]).get(item)
        verdict = WITHDRAWN if self.file.is_chosen(key) else REPRESENTATIVE
        hashed = {"left_hash": known} if known and verdict == REPRESENTATIVE else {}
        self.file.append([{"left": key, "verdict": verdict, **self._more(**more), **hashed}])
        return {"chosen": self.file.is_chosen(key), "about": self.about()}

    def _check(self, *sets: Sequence[Any], least: int = 1) -> None:
        if self.view.cross:
            raise UsageError("groups are made within one input; here only pairs can be judged.")
        if any(len(items) < least for items in sets):
            raise UsageError("mark some of the items, and not all of them.")
        whole = [item for items in sets for item in items]
        if len(set(whole)) < len(whole):
            raise UsageError("an item is named twice.")

    def _pair(self, left: Any, right: Any, verdict: str, **more: Any) -> Event:
        if self.view.cross and self.view.side(left) == self.view.side(right):
            raise UsageError("both items are of one input; a pair has one of each.")
        if self.view.cross and self.view.side(left):
            left, right = right, left
        known = self.view.hashes([left, right])
        event = {"left": self.view.key(left), "right": self.view.key(right), "verdict": verdict, **self._more(**more)}
        sides = {f"{name}_hash": known[item] for name, item in (("left", left), ("right", right)) if item in known}
        return {**event, **sides, **({"across": True} if self.view.cross else {})}

    def _apart(self, items: Sequence[Any], others: Sequence[Any], **more: Any) -> Event:
        known = self.view.hashes([*items, *others])
        return {
            "left": [self.view.key(item) for item in items], "right": [self.view.key(item) for item in others],
            "verdict": "different", **self._more(**more),
            "left_hash": [known.get(item) for item in items], "right_hash": [known.get(item) for item in others],
        }  # fmt: skip

    def _more(self, **more: Any) -> Event:
        """Return who judges, the note and whether the pair was drawn."""
        note = str(more.get("note") or "").strip()[:MAX_NOTE_CHARACTERS]
        by = more.get("by")
        return {
            "by": self.file.by if by is None else str(by).strip(),
            **({"note": note} if note else {}), **({"drawn": True} if more.get("drawn") else {}),
        }  # fmt: skip


def verdicts_by_item(review: Review, *, disagree: bool = False) -> Mapping[tuple[Any, Any], str]:
    """Return the verdict in force on each judged pair of items that the view has, by the two items.

    disagree: only pairs on which people disagree.
    """
    view, found = review.view, dict[tuple[Any, Any], str]()
    for one in review.file.in_force().pairs:
        if disagree and len(set(one.votes.values())) < 2:
            continue
        left, right = view.item_of(one.left, 0), view.item_of(one.right, 1 if view.cross else 0)
        if left is not None and right is not None:
            found[left, right] = one.verdict
    return found
