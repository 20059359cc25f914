"""The explorer view of a result: every answer has a bounded size and consists of plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError, UsageError
from lookalike.io.contents import Content, TextContents, content_hash
from lookalike.io.excerpts import excerpt
from lookalike.web import highlighting, summary
from lookalike.web.graph import Graph, graph_of_groups, make_graph
from lookalike.web.outcome import parts_of
from lookalike.web.result_loader import Opened
from lookalike.web.review import Review, verdicts_by_item
from lookalike.web.review_sample import ReviewSample
from lookalike.web.text_query import find_like
from lookalike.web.verdict_file import VerdictFile

PAGE_ROWS, MAX_PAGE_ROWS = 50, 500  # default and largest number of rows of an answer
MAX_ID_CHARACTERS = 500  # longer ids are truncated when they are shown
NAMED = 3  # members that are named for each group in a list of groups
MATRIX = 40  # first members of a group whose pairs are drawn as a matrix
MAX_MARKED = 2000  # members of a group that the page can name in an edit
REMEMBERED = 2000  # number of cached contents
ORDERS = ("near", "high", "low", "judged", "disagree")
Answer = dict[str, Any]


class ResultView:
    """The view of a result. Items are identified by numbers; their names and contents are looked up when shown."""

    def __init__(self, opened: Opened, verdicts: VerdictFile | None = None) -> None:
        """Prepare the view. verdicts: the file of verdicts that it shows and appends to."""
        self.opened, self.receipt = opened, opened.receipt
        self.column, self.sign = opened.scale
        self.cross = len(self.receipt["inputs"]) == 2
        pairs = opened.tables.get("pairs")
        if pairs is None:
            self.graph: Graph = graph_of_groups(opened.tables["groups"], self.threshold, self.sign)
        else:
            self.graph = make_graph(pairs, self.column, self.sign, self.threshold, cross=self.cross)
        self._kept: dict[int, Content] = {}
        self.groups_at = lru_cache(32)(self.graph.linkage.runs)
        self.review = None if verdicts is None else Review(self, verdicts)
        whole = not opened.receipt.get("verdicts", {}).get("removed_pairs")  # else those judged different are gone
        sampled = self.review is not None and self.has_pairs and whole
        self.sample = ReviewSample(self, self.review) if self.review is not None and sampled else None

    @property
    def threshold(self) -> float:
        """The threshold of the run, or the score of its farthest pair if it has none."""
        threshold = self.receipt.get("rethreshold", self.receipt["job"].get("threshold"))
        if threshold is not None:
            return float(threshold)
        scores = self.opened.tables["pairs"][self.column]
        return float((pc.min(scores) if self.sign > 0 else pc.max(scores)).as_py() or 0.0)

    @property
    def has_pairs(self) -> bool:
        return "pairs" in self.opened.tables

    def overview(self) -> Answer:
        """Return the data of the first page; its size does not grow with the result."""
        receipt, linkage = self.receipt, self.graph.linkage
        inputs = [source["name"] for source in receipt["inputs"]]
        return {
            "of": "result",
            "items": receipt["items"],
            "inputs": inputs,
            "asked": receipt["asked"],
            "chained": self.has_pairs
            and receipt.get("grouping", "components") != "components",  # the page shows components, the run did not
            "compared": receipt["compared"],
            "column": self.column,
            "sign": self.sign,
            "threshold": self.threshold,
            "option": summary.OPTIONS.get((receipt["items"], self.column)),
            "cuts": self.graph.cuts.values.tolist(),
            "pairs": linkage.pairs.tolist() if self.has_pairs else None,
            "groups": linkage.groups.tolist(),
            "grouped": linkage.grouped.tolist(),
            "largest": linkage.largest.tolist(),
            "funnel": summary.funnel(
                receipt,
                int(linkage.pairs[0]) if self.has_pairs else None,
                int(linkage.groups[0]),
                int(linkage.grouped[0]),
            ),
            "curve": summary.curve(receipt),
            "buckets": receipt.get("bucket_sizes") or {},
            "facts": summary.facts(receipt),
            "warnings": [*receipt["warnings"], *receipt["left_out"]],
            "notes": list(self.opened.notes),
            "paste": self.can_paste,
            "command": summary.command(receipt, self.column),
            "review": None if self.review is None else self.review.about(),
            "sampled": self.sample is not None,
            "quality": None if self.sample is None else self.sample.quality(),
        }

    def groups(self, cut: int = 0, offset: int = 0, limit: int = PAGE_ROWS) -> Answer:
        """Return a page of groups at a cut, largest first: an item, the size and some names of each."""
        begins, sizes = self.groups_at(self._cut(cut))
        order, rows = self.graph.linkage.order, []
        for begin, size in zip(
            *(part[offset : offset + bounded(limit)].tolist() for part in (begins, sizes)), strict=True
        ):
            members = order[begin : begin + min(size, NAMED)].tolist()
            rows.append({"item": int(members[0]), "size": size, "names": [self.name(item) for item in members]})
        begin = self._begins([row["item"] for row in rows])
        return {"total": len(begins), "rows": [{**row, "begin": begin.get(row["item"], "")} for row in rows]}

    def _begins(self, items: Sequence[int]) -> dict[int, str]:
        """Return the beginning of what the items hold, for lists."""
        return {item: excerpt(content) for item, content in self.contents(items).items()}

    def group(self, item: int, cut: int = 0, offset: int = 0, limit: int = PAGE_ROWS) -> Answer:
        """Return the group of an item at a cut: its members with excerpts, and the pairs among the first members."""
        members = self.graph.group_of(self._item(item), self._cut(cut))
        shown = members[offset : offset + bounded(limit)].tolist()
        contents = self.contents(shown)
        rows = [
            {**self.label(member), "excerpt": excerpt(held), "picture": highlighting.stamp(held)}
            for member, held in ((member, contents.get(member, {})) for member in shown)
        ]
        answer = {"item": item, "size": len(members), "rows": rows}
        if self.review is not None and self.has_pairs and not self.cross:
            verdicts = verdicts_by_item(self.review)
            parts = parts_of(self.graph, members, cut, verdicts) or {}
            answer["parts"] = len(set(parts.values()))
            for row in rows:
                row["part"] = parts.get(row["item"])
                row["chosen"] = self.review.file.is_chosen(self.key(row["item"]))
            answer["members"] = members[: offset + MAX_MARKED].tolist()
        return {**answer, "links": self._links(members[:MATRIX].tolist(), cut)}

    def _links(self, members: list[int], cut: int) -> list[tuple[int, int, float]]:
        """Return the pairs among these members as (position, position, score), for the matrix of a group."""
        place = {item: at for at, item in enumerate(members)}
        links = []
        for item, at in place.items():
            pairs = self.graph.pairs_of(item) if self.has_pairs else np.empty(0, np.int64)
            others = self.graph.left[pairs] + self.graph.right[pairs] - item
            near = (self.graph.level[pairs] >= cut) & np.isin(others, members)
            for other, score in zip(others[near].tolist(), self.graph.shown[pairs[near]].tolist(), strict=True):
                if at < place[other] and score == score:
                    links.append((at, place[other], score))
        return links

    def pairs(
        self, cut: int = 0, order: str = "near", offset: int = 0, limit: int = PAGE_ROWS, item: int | None = None
    ) -> Answer:
        """Return pairs at a cut, of all items or of one.

        order: near (the cut), high or low (score) first; judged, and those on which people disagree, of all pairs.
        """
        if order not in ORDERS:
            raise UsageError(f"order is {order!r}; expected one of {', '.join(ORDERS)}.")
        if order in ("judged", "disagree"):
            return self._judged(order == "disagree", offset, limit)
        total = int(self.graph.linkage.pairs[self._cut(cut)]) if self.has_pairs else 0
        chosen = self.graph.by_score[:total]
        if item is not None:
            mine = self.graph.pairs_of(self._item(item))
            chosen = mine[self.graph.level[mine] >= cut]
        if order == "near":
            chosen = chosen[::-1]
        elif order == "low":
            chosen = (self.graph.by_score if item is None else chosen)[::-1]
        shown = chosen[offset : offset + bounded(limit)]
        sides = [(int(self.graph.left[pair]), int(self.graph.right[pair])) for pair in shown]
        return {"total": len(chosen), "rows": self._pair_rows(sides, [self.graph.score(int(pair)) for pair in shown])}

    def _pair_rows(self, sides: Sequence[tuple[int, int]], scores: Sequence[float | None]) -> list[Answer]:
        begin = self._begins(list(dict.fromkeys(item for pair in sides for item in pair)))
        rows = []
        for (left, right), score in zip(sides, scores, strict=True):
            names = {
                name: {**self.label(item), "begin": begin.get(item, "")}
                for name, item in (("left", left), ("right", right))
            }
            verdict = None if self.review is None else self.review.of_pair(left, right)["verdict"]
            rows.append({**names, "score": score, "verdict": verdict})
        return rows

    def _judged(self, disagree: bool, offset: int, limit: int) -> Answer:
        """Return the pairs that were judged, the latest first, or those on which people disagree."""
        sides = [] if self.review is None else list(verdicts_by_item(self.review, disagree=disagree))[::-1]
        shown = sides[offset : offset + bounded(limit)]
        pairs = [self.graph.pair_of(*pair) if self.has_pairs else None for pair in shown]
        scores = [None if pair is None else self.graph.score(pair) for pair in pairs]
        return {"total": len(sides), "rows": self._pair_rows(shown, scores)}

    def pair(self, left: int, right: int, known: dict[int, Content] | None = None) -> Answer:
        """Return two items side by side, whether they are a pair of the result or not. known: contents already read."""
        left, right = self._item(left), self._item(right)
        pair = self.graph.pair_of(left, right) if self.has_pairs else None
        if pair is not None and self.graph.left[pair] != left:
            left, right = right, left
        contents = self.contents([left, right]) if known is None else known
        answer: Answer = {"left": self.label(left), "right": self.label(right), "score": None, "details": []}
        adds: dict[str, float | None] = {}
        if self.review is not None:
            answer["judged"] = self.review.of_pair(left, right)
        if pair is not None:
            answer["score"] = self.graph.score(pair)
            parts = {name: self.opened.tables["pairs"][name][pair].as_py() for name in self._more}
            if self.receipt["items"] == "records":
                adds = parts
            else:
                answer["details"] = [
                    (name, value) for name, value in parts.items() if value is not None and value == value
                ]
        if left not in contents or right not in contents:
            return {**answer, "view": {"kind": "none"}, "adds": list(adds.items()), "prior": self._prior}
        shown = highlighting.side_by_side(
            contents[left], contents[right], self.receipt["job"], adds, self._runs(left, right)
        )
        return {**answer, "view": shown, "adds": list(adds.items()), "prior": self._prior}

    @property
    def _prior(self) -> float | None:
        rules = self.receipt["job"].get("rules") or {}
        value: float | None = rules.get("prior")
        return value

    @property
    def _more(self) -> list[str]:
        return [n for n in self.opened.tables["pairs"].column_names if n not in ("left", "right", self.column)]

    def _runs(self, left: int, right: int) -> Sequence[Sequence[int]]:
        passages = self.opened.tables.get("passages")
        if passages is None:
            return ()
        of = pc.and_(pc.equal(passages["left"], self.graph.id(left)), pc.equal(passages["right"], self.graph.id(right)))
        places = ("left_start", "left_end", "right_start", "right_end")
        return [[row[name] for name in places] for row in passages.filter(of).to_pylist()]

    def item(self, item: int) -> Answer:
        """Return the content of one item."""
        contents = self.contents([self._item(item)])
        shown = highlighting.whole(contents[item]) if item in contents else {"kind": "none"}
        return {**self.label(item), "view": shown}

    def search(self, query: str, limit: int = PAGE_ROWS) -> Answer:
        """Return the items whose id contains the query, ignoring case; equal ids come first, then prefix matches."""
        rows, total, wanted = [], 0, query.strip()
        for side, names in enumerate(self._names):
            first = side * len(self.graph.ids[0])
            at = np.flatnonzero(pc.match_substring(names, wanted, ignore_case=True).to_numpy(zero_copy_only=False))
            total += len(at)
            for number in at[: 4 * MAX_PAGE_ROWS].tolist():
                name = names[number].as_py().lower()
                rank = 0 if name == wanted.lower() else 1 if name.startswith(wanted.lower()) else 2
                rows.append((rank, len(name), first + number))
        labels = [self.label(item) for _, _, item in sorted(rows)[: bounded(limit)]]
        return {"total": total, "rows": labels}

    @property
    def can_paste(self) -> bool:
        known = self.opened.contents[-1] if self.opened.contents else None
        is_text = isinstance(known, TextContents) and not known.collection.is_tokens
        return self.receipt["items"] in ("documents", "strings") and is_text

    def find(self, text: str, limit: int = PAGE_ROWS) -> Answer:
        """Return the items of the input that are most similar to a text; this reads the whole input once."""
        if not self.can_paste:
            raise UsageError("a text can be looked for where the run compared texts and its input is still there.")
        if not text.strip():
            raise UsageError("the text is empty; paste some words.")
        texts = self.opened.contents[-1]
        assert isinstance(texts, TextContents)
        results = find_like(text, texts.collection, self.receipt)
        shown = results[: bounded(limit)]
        side = len(self.graph.ids) - 1
        at = pc.index_in(pa.array([key for key, _ in shown], self.graph.ids[side].type), value_set=self.graph.ids[side])
        rows = []
        for (key, score), number in zip(shown, at.to_pylist(), strict=True):
            item = None if number is None else number + side * len(self.graph.ids[0])
            rows.append({**({"item": None, "name": str(key)} if item is None else self.label(item)), "score": score})
        return {
            "total": len(results),
            "rows": rows,
            "of": "share of the text" if self.receipt["items"] == "documents" else "edits",
        }

    def key(self, item: int) -> Any:
        """Return the id of an item, as verdicts refer to it."""
        key = self.graph.id(self._item(item))
        return key if isinstance(key, int | str) and not isinstance(key, bool) else str(key)

    def item_of(self, key: Any, side: int) -> int | None:
        """Return the item with an id."""
        return self.graph.item_of(key, side)

    def side(self, item: int) -> int:
        """Return the number of the input (0 or 1) of an item."""
        return self.graph.side(self._item(item))

    def hashes(self, items: Sequence[int]) -> dict[int, str]:
        """Return the hashes of the contents of items, as far as they can be read."""
        found = {}
        for item, content in self.contents(items).items():
            column = self.receipt["inputs"][min(self.side(item), len(self.receipt["inputs"]) - 1)].get("id")
            if (known := content_hash(content, id_column=column)) is not None:
                found[item] = known
        return found

    def label(self, item: int) -> Answer:
        """Return the number, the name and the flags of an item for lists."""
        answer: Answer = {"item": item, "name": self.name(item)}
        if self.cross:
            answer["side"] = self.graph.side(item)
        if self.removed and not self.graph.side(item):
            answer["gone"] = self.graph.id(item) in self.removed
        return answer

    def name(self, item: int) -> str:
        name = str(self.graph.id(item))
        return name if len(name) <= MAX_ID_CHARACTERS else name[:MAX_ID_CHARACTERS] + "…"

    @cached_property
    def removed(self) -> set[Any]:
        table = self.opened.tables.get("removed")
        return set() if table is None else set(table["id"].to_pylist())

    @cached_property
    def _names(self) -> list[pa.Array]:
        return [ids.cast(pa.string()) for ids in self.graph.ids]

    def contents(self, items: Sequence[int], *, keep: bool = True) -> dict[int, Content]:
        """Return the contents of items, without those that are not available. keep: cache them."""
        if len(self._kept) > REMEMBERED:
            self._kept.clear()
        known = self._kept if keep else {}
        wanted = [self._item(item) for item in items if item not in known]
        for side, rows in enumerate(self._rows):
            contents = self.opened.contents[side]
            first = side * len(self.graph.ids[0])
            mine = {int(rows[item - first]): item for item in wanted if self.graph.side(item) == side}
            mine.pop(-1, None)
            if contents is not None and mine:
                try:
                    known.update({mine[row]: content for row, content in contents.take(sorted(mine)).items()})
                except InputError:  # the input was removed meanwhile: show the names without contents
                    continue
        return {item: known[item] for item in items if item in known}

    @cached_property
    def _rows(self) -> list[Any]:
        """For each input, the row of each item in it, or -1 if it is unknown."""
        out = []
        for side, ids in enumerate(self.graph.ids):
            contents = self.opened.contents[side] if side < len(self.opened.contents) else None
            try:
                known = None if contents is None else contents.ids()
            except InputError:
                contents = None
            if contents is None:
                out.append(np.full(len(ids), -1))
            elif known is None:
                out.append(np.asarray(ids.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64))
            else:
                if ids.type != known.type:  # a CSV does not say which ids are numbers
                    ids, known = ids.cast(pa.large_string()), known.cast(pa.large_string())
                at = pc.fill_null(pc.index_in(ids, value_set=known), -1)
                out.append(np.asarray(at.to_numpy(zero_copy_only=False), np.int64))
        return out

    def _item(self, item: int) -> int:
        if not isinstance(item, int) or not 0 <= item < len(self.graph):
            raise UsageError(f"no item {item!r}; expected a number from 0 to {len(self.graph) - 1}.")
        return item

    def _cut(self, cut: int) -> int:
        if not 0 <= cut < len(self.graph.cuts):
            raise UsageError(f"no cut {cut}; expected a number from 0 to {len(self.graph.cuts) - 1}.")
        return cut


def bounded(limit: int) -> int:
    return max(1, min(limit, MAX_PAGE_ROWS))
