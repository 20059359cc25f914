"""The explorer view of an index, with the same methods as that of a result. Items are identified by their ids."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, RuleOptions
from lookalike.core.formatting import share, size
from lookalike.errors import UsageError
from lookalike.index.items import ids_of
from lookalike.io.contents import Content, content_hash
from lookalike.io.excerpts import excerpt
from lookalike.web import highlighting, summary
from lookalike.web.review import Review, verdicts_by_item
from lookalike.web.view import MATRIX, MAX_MARKED, NAMED, PAGE_ROWS, Answer, bounded

if TYPE_CHECKING:
    from lookalike.index.index import Index
    from lookalike.web.verdict_file import VerdictFile

FRESH, UNCHANGED_SECONDS = (
    5.0,
    600.0,
)  # seconds for which the table of groups is reused if the index has changed, and if it has not
SCANNED = 300_000  # number of ids that a search examines
CONTENT = {
    "documents": "text",
    "passages": "text",
    "strings": "text",
    "bits": "text",
    "sets": "items",
    "baskets": "items",
    "vectors": "numbers",
    "records": "fields",
}


@dataclass(frozen=True)
class _Groups:
    """A cached table of groups. made: time; begins, sizes i64[g]: rows of each group.

    state: of the index and the verdicts at that time.
    """

    made: float
    state: tuple[int, int, int]
    table: pa.Table
    begins: I64
    sizes: I64


class IndexView:
    """The view of an index, which may change while it is explored."""

    cross = False

    def __init__(self, index: Index, verdicts: VerdictFile | None = None) -> None:
        """Prepare the view. verdicts: the file of verdicts that it shows and appends to."""
        self.index, self.kind = index, index.kind.name
        self.review = None if verdicts is None else Review(self, verdicts)
        self.sample = None  # an index has no list of its pairs
        self.settings = index.kind.settings()
        self._groups: _Groups | None = None

    def overview(self) -> Answer:
        """Return the data of the first page, as for a result; an index has no list of pairs and only one threshold."""
        info, (_, begins, sizes) = self.index.info(), self._table()
        plan = info["plan"]
        grouped = int(sizes.sum())
        facts = [
            ("Compared", info["compared"]),
            ("Keys", str(plan.get("shape", ""))),
            ("Recall at the threshold", share(plan["recall_at_threshold"]) if "recall_at_threshold" in plan else ""),
            ("Segments", str(info.get("segments", ""))),
            ("On disk", size(info["bytes"]) if info.get("bytes") else ""),
            ("Items kept", "yes" if info["store_items"] else "only what they are compared by"),
            ("Format", str(info["format"])),
        ]
        return {
            "of": "index",
            "items": self.kind,
            "inputs": [info["place"]],
            "asked": "index",
            "compared": info["compared"],
            "column": self.index.kind.scale.column,
            "sign": self.index.kind.scale.sign,
            "threshold": self.index.kind.threshold,
            "cuts": [self.index.kind.threshold],
            "pairs": None,
            "groups": [len(begins)],
            "grouped": [grouped],
            "largest": [int(sizes.max(initial=0))],
            "funnel": [
                {"name": f"{self.kind} in the index", "count": info["items"], "note": ""},
                {"name": f"{self.kind} like others", "count": grouped, "note": "in groups of two or more"},
                {"name": "groups", "count": len(begins), "note": f"the largest has {int(sizes.max(initial=0)):,}"},
            ],
            "curve": self._curve(plan),
            "buckets": {},
            "facts": [(name, said) for name, said in facts if said],
            "warnings": [],
            "notes": [],
            "paste": True,
            "command": None,
            "review": None if self.review is None else self.review.about(),
            "sampled": False,
            "quality": None,
        }

    def _curve(self, plan: dict[str, Any]) -> Answer | None:
        bands = getattr(self.index.kind, "bands_and_rows", None)
        if bands is None or self.settings.get("measure") != "jaccard":
            return None
        recall = {"shape": bands.shape, "planned": plan["recall_at_threshold"], "measured": None}
        return {"points": summary.points(bands), **recall}

    def groups(self, cut: int = 0, offset: int = 0, limit: int = PAGE_ROWS) -> Answer:
        """Return a page of groups, largest first: an id, the size and some ids of each."""
        table, begins, sizes = self._table()
        rows = []
        for begin, members in zip(begins[offset:][: bounded(limit)].tolist(), sizes[offset:].tolist(), strict=False):
            ids = table["id"].slice(begin, min(members, NAMED)).to_pylist()
            rows.append({"item": ids[0], "size": members, "names": [str(member) for member in ids]})
        contents = self._contents([row["item"] for row in rows])
        for row in rows:
            row["begin"] = excerpt(contents.get(row["item"], {}))
        return {"total": len(begins), "rows": rows}

    def group(self, item: Any, cut: int = 0, offset: int = 0, limit: int = PAGE_ROWS) -> Answer:
        """Return the group of an item: its members with excerpts, and the pairs among the first members."""
        table, _, _ = self._table()
        of = pc.index(table["id"], pa.scalar(self._known(item), table["id"].type)).as_py() if len(table) else -1
        members = [item] if of < 0 else table.filter(pc.equal(table["group"], table["group"][of]))["id"].to_pylist()
        shown = members[offset : offset + bounded(limit)]
        contents = self._contents(shown)
        rows = [{**_label(member), "excerpt": excerpt(contents.get(member, {}))} for member in shown]
        answer = {"item": item, "size": len(members), "rows": rows, "links": self._links(members[:MATRIX])}
        if self.review is None:
            return answer
        for row in rows:
            row["chosen"] = self.review.file.is_chosen(row["item"])
        return {**answer, "parts": 0, "members": members[: offset + MAX_MARKED]}

    def _links(self, members: list[Any]) -> list[tuple[int, int, float]]:
        place = {member: at for at, member in enumerate(members)}
        items = [(place[member], stored) for member, stored in self._stored(members).items()]
        if not items:
            return []
        results = self.index.query([stored for _, stored in items])
        return [
            (at, place[match.id], match.similarity)
            for (at, _), matches in zip(items, results, strict=True)
            for match in matches
            if at < place.get(match.id, -1)
        ]

    def pairs(
        self, cut: int = 0, order: str = "near", offset: int = 0, limit: int = PAGE_ROWS, item: Any = None
    ) -> Answer:
        """Return the matches of one item; without an item there are none, because an index stores no list of pairs."""
        if order in ("judged", "disagree"):
            return self._judged(order == "disagree", offset, limit)
        if item is None:
            return {"total": 0, "rows": []}
        stored = self._stored([self._known(item)]).get(item)
        others = [] if stored is None else [match for match in self.index.query([stored])[0] if match.id != item]
        shown = others[offset : offset + bounded(limit)]
        rows = self._pair_rows([(item, match.id) for match in shown], [match.similarity for match in shown])
        return {"total": len(others), "rows": rows}

    def _judged(self, disagree: bool, offset: int, limit: int) -> Answer:
        """Return the pairs that were judged, the latest first, or those on which people disagree."""
        sides = [] if self.review is None else list(verdicts_by_item(self.review, disagree=disagree))[::-1]
        shown = sides[offset : offset + bounded(limit)]
        return {"total": len(sides), "rows": self._pair_rows(shown, [None] * len(shown))}

    def _pair_rows(self, sides: Sequence[tuple[Any, Any]], scores: Sequence[float | None]) -> list[Answer]:
        items = list(dict.fromkeys(item for pair in sides for item in pair))
        begin = {item: excerpt(content) for item, content in self._contents(items).items()}
        return [
            {
                "left": {**_label(left), "begin": begin.get(left, "")},
                "right": {**_label(right), "begin": begin.get(right, "")}, "score": score,
                "verdict": None if self.review is None else self.review.of_pair(left, right)["verdict"],
            }
            for (left, right), score in zip(sides, scores, strict=True)
        ]  # fmt: skip

    def key(self, item: Any) -> Any:
        """Return the id of an item, which is the item itself."""
        return self._known(item)

    def item_of(self, key: Any, side: int) -> Any:
        """Return the id if the index has it, as a number or as text."""
        for known in (key, _number(str(key)), str(key)):
            if known is not None and known in self.index:
                return known
        return None

    def side(self, item: Any) -> int:
        """Return 0: an index has one input."""
        return 0

    def hashes(self, items: Sequence[Any]) -> dict[Any, str]:
        """Return the hashes of the contents of items, as far as the index keeps them."""
        found = {item: content_hash(content) for item, content in self._contents(list(items)).items()}
        return {item: known for item, known in found.items() if known is not None}

    def pair(self, left: Any, right: Any) -> Answer:
        """Return the comparison of two items side by side."""
        answer: Answer = {
            "left": _label(left),
            "right": _label(right),
            "score": None,
            "details": [],
            "adds": [],
            "prior": None,
        }
        if self.review is not None:
            answer["judged"] = self.review.of_pair(self._known(left), self._known(right))
        one, other = (self._stored([self._known(side)]).get(side) for side in (left, right))
        if one is None or other is None:
            return {**answer, "view": {"kind": "none"}}
        job = (
            {"rule": {name: self.settings[name] for name in RuleOptions.__annotations__}}
            if self.kind == "documents"
            else {}
        )
        runs = self._shared(one, right) if self.index.finds_passages else []
        view = highlighting.side_by_side(self._content(one), self._content(other), job, {}, runs)
        return {**answer, "score": self.index.compare(one, other), "view": view}

    def _shared(self, text: str, other: Any) -> list[tuple[int, ...]]:
        """Return the passages that a text shares with a stored one, in characters of both."""
        return [found[1:5] for found in self.index.passages([text])[0] if found.id == other]

    def item(self, item: Any) -> Answer:
        stored = self._stored([self._known(item)]).get(item)
        return {
            **_label(item),
            "view": {"kind": "none"} if stored is None else highlighting.whole(self._content(stored)),
        }

    def search(self, query: str, limit: int = PAGE_ROWS) -> Answer:
        """Return the items whose id equals the query, or contains it among the first SCANNED ids."""
        wanted = query.strip()
        exact = [key for key in (wanted, _number(wanted)) if key is not None and key in self.index]
        held = (key for key in islice(self.index, SCANNED) if wanted.lower() in str(key).lower() and key not in exact)
        results = [*exact, *islice(held, bounded(limit))]
        return {"total": len(results), "rows": [_label(key) for key in results[: bounded(limit)]]}

    def find(self, text: str, limit: int = PAGE_ROWS) -> Answer:
        """Return the matches of a pasted item: a document or string as plain text, other kinds as JSON."""
        if not text.strip():
            raise UsageError("nothing was pasted; paste an item.")
        item: Any = text
        if CONTENT[self.kind] != "text":
            try:
                item = json.loads(text)
            except ValueError as error:
                raise UsageError(f"{self.kind} are looked for as JSON, such as {EXAMPLES[self.kind]}.") from error
        matches = self.index.query([item], k=bounded(limit))[0]
        rows = [{**_label(match.id), "score": match.similarity} for match in matches]
        return {"total": len(rows), "rows": rows, "of": self.index.kind.scale.column}

    def _table(self) -> tuple[pa.Table, Any, Any]:
        """Return (table of groups, first row of each group, size of each group), possibly from the cache."""
        file = None if self.review is None else self.review.file
        verdicts = None if file is None else file.in_force()
        changes = 0 if file is None else file.changes
        state, now = (len(self.index), self.index.store.grouped(), changes), time.monotonic()
        known = self._groups
        aged = known is None or now - known.made > (FRESH if known.state != state else UNCHANGED_SECONDS)
        if known is None or aged or known.state[-1] != changes:
            table = self.index.groups(verdicts=verdicts)
            group = table["group"].to_numpy()
            begins = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])) if len(group) else group[:0]
            known = self._groups = _Groups(now, state, table, begins, np.diff(np.append(begins, len(group))))
        return known.table, known.begins, known.sizes

    def _known(self, item: Any) -> Any:
        if item not in self.index:
            raise UsageError(f"no item has the id {item!r}; it may have been removed.")
        return item

    def _stored(self, items: Sequence[Any]) -> dict[Any, Any]:
        """Return the original items by id, without those that were removed or are not stored.

        Unlike `Index.item`, this does not assign new items to groups.
        """
        store, kind = self.index.store, self.index.kind
        numbers = store.numbers(ids_of(list(items))) if items else np.empty(0, np.int64)
        known = numbers >= 0
        raw = store.features(numbers[known]) if kind.is_own_feature else store.raw(numbers[known])
        held = [item for item, is_there in zip(items, known.tolist(), strict=True) if is_there]
        blobs = [raw[at] for at in range(len(held))]
        return {item: kind.item(blob) for item, blob in zip(held, blobs, strict=True) if blob is not None}

    def _content(self, stored: Any) -> Content:
        return {CONTENT[self.kind]: stored}

    def _contents(self, items: list[Any]) -> dict[Any, Content]:
        return {item: self._content(stored) for item, stored in self._stored(items).items()}


EXAMPLES = {
    "sets": '["milk", "tea"]',
    "baskets": '["milk", "tea"]',
    "vectors": "[0.1, 0.9]",
    "records": '{"name": "Ann Lee"}',
}


def _label(item: Any) -> Answer:
    return {"item": item, "name": str(item)}


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
