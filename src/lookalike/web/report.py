"""The report: the explorer as one self-contained HTML file of bounded size, which states what it leaves out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.io.atomic import check_place, replacing
from lookalike.io.contents import Content
from lookalike.io.excerpts import excerpt
from lookalike.io.pages import block, framed
from lookalike.io.verdicts import events_of
from lookalike.kinds.scrub.page import is_scrub_folder, page_of_cuts
from lookalike.web import highlighting
from lookalike.web.result_loader import open_result
from lookalike.web.verdict_file import VerdictFile
from lookalike.web.view import MATRIX, ResultView

EXPLORER_PAGE = Path(__file__).with_name("explorer_page")
STYLES, SCRIPTS = ("style.css",), ("source.js", "plots.js", "bands.js", "review.js", "edits.js", "views.js", "main.js")
MAX_GROUP_MEMBERS = 6000  # items of the largest groups that are included
NEAR_PAIRS, MOST_ALIKE_PAIRS, SAMPLED_PAIRS, LINKED = (
    1500,
    500,
    1000,
    3000,
)  # numbers of pairs: nearest to the threshold, most similar, in between, inside groups
VIEWS, MAX_TEXT_CHARACTERS = 400, 6_000_000  # pairs shown side by side, and their total size
MAX_PICTURE_CHARACTERS = 4_000_000  # total size of the thumbnails


@dataclass(frozen=True)
class ReportSelection:
    """The part of a result that a report contains.

    items i64[e]: item numbers; pairs i64[p]: pair numbers, nearest first; order i64: items of the largest groups; link:
    the strictest cut at which each item and the next are in one group, -1 for never; first: pairs to show side by side,
    most interesting first.
    """

    items: I64
    pairs: I64
    order: I64
    link: I64
    first: list[int]


def report(
    source: Any, path: str | os.PathLike[str], *, inputs: Sequence[str | os.PathLike[str]] | None = None,
    force: bool = False, verdicts: str | os.PathLike[str] | None = None,
) -> Path:  # fmt: skip
    """Write a report of a result (or its folder): one self-contained HTML file.

    Of a folder that `scrub` wrote, the page shows the documents that lost most, with their cuts marked.

    Parameters
    ----------
    source
        A result or its folder.
    path
        The HTML file to write.
    inputs
        Paths from which to read the items, by default those of the run.
    force
        Whether to replace a file of this name.
    verdicts
        A file of verdicts (.jsonl) from which precision, recall and F1 are estimated and drawn.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import lookalike as la, tempfile
    >>> result = la.pairs(["a rose is a rose", "A rose is a rose!"], k=2)
    >>> la.report(result, tempfile.mkdtemp() + "/report.html").name
    'report.html'
    """
    path = Path(path)
    check_place(path, force=force)
    if is_scrub_folder(source):
        with replacing(path, force=force) as draft:
            page = page_of_cuts(source)
            draft.nbytes += len(page)
            draft.path.write_text(page, encoding="utf-8", errors="replace")
        return path
    if verdicts is not None:
        events_of(Path(verdicts))  # a file that is not there is an error: nothing is judged on this page
    view = ResultView(open_result(source, inputs=inputs), None if verdicts is None else VerdictFile(Path(verdicts)))
    before, after = framed(EXPLORER_PAGE, STYLES, SCRIPTS)
    with replacing(path, force=force) as draft, open(draft.path, "w", encoding="utf-8", errors="replace") as file:
        for piece in chain([before], _blocks(view), [after]):
            draft.nbytes += len(piece)
            file.write(piece)
    return path


def choose(view: ResultView) -> ReportSelection:
    """Choose the largest groups, and pairs: near the threshold, most similar, some in between, inside the groups."""
    graph, linkage = view.graph, view.graph.linkage
    begins, sizes = linkage.runs(0)
    fits = max(1, int(np.searchsorted(np.cumsum(sizes), MAX_GROUP_MEMBERS, side="right"))) if len(sizes) else 0
    runs = [
        linkage.order[b : b + min(s, MAX_GROUP_MEMBERS)]
        for b, s in zip(begins[:fits].tolist(), sizes[:fits].tolist(), strict=True)
    ]
    bonds = [
        linkage.link[b : b + min(s, MAX_GROUP_MEMBERS) - 1] for b, s in zip(begins[:fits], sizes[:fits], strict=True)
    ]
    parts = [[*bond.tolist(), -1] for bond in bonds]
    best = graph.by_score
    near, high = best[-NEAR_PAIRS:][::-1], best[:MOST_ALIKE_PAIRS]
    between = best[np.unique(np.linspace(0, max(0, len(best) - 1), min(SAMPLED_PAIRS, len(best))).astype(np.int64))]
    inside, first_inside = _inside(view, runs)
    pairs = np.unique(np.concatenate([near, high, between, np.array(inside, np.int64)]).astype(np.int64))
    rank = np.empty(len(best), np.int64)
    rank[best] = np.arange(len(best))
    pairs = pairs[np.argsort(rank[pairs])]
    items = np.unique(np.concatenate([graph.left[pairs], graph.right[pairs], *runs]).astype(np.int64))
    order = np.concatenate([np.empty(0, np.int64), *runs])
    ways = zip_longest(
        first_inside, near[:VIEWS].tolist(), high[:VIEWS].tolist(), between[:: max(1, SAMPLED_PAIRS // VIEWS)].tolist()
    )
    first = list(dict.fromkeys(pair for row in ways for pair in row if pair is not None))[:VIEWS]
    return ReportSelection(items, pairs, order, np.array(list(chain(*parts)), np.int64), first)


def _inside(view: ResultView, runs: list[I64]) -> tuple[list[int], list[int]]:
    """Return (pairs among the first members of each group, the nearest pair of each of these members)."""
    graph = view.graph
    inside: dict[int, None] = {}
    nearest: dict[int, None] = {}
    if not view.has_pairs:
        return [], []
    for run in runs:
        members = run[:MATRIX]
        for item in members.tolist():
            mine = graph.pairs_of(item)
            mine = mine[np.isin(graph.left[mine] + graph.right[mine] - item, members)]
            inside |= dict.fromkeys(mine.tolist())
            nearest |= dict.fromkeys(mine[:1].tolist())
        if len(inside) >= LINKED:
            break
    return list(inside), list(nearest)


def _blocks(view: ResultView) -> Iterator[str]:
    overview, kept, graph = view.overview(), choose(view), view.graph
    number = {int(item): at for at, item in enumerate(kept.items)}
    place = {int(pair): at for at, pair in enumerate(kept.pairs)}
    contents = view.contents(kept.items.tolist(), keep=False)
    labels = [view.label(int(item)) for item in kept.items]
    overview["review"] = None  # nothing can be judged in a file
    overview["paste"] = any("text" in entry for entry in contents.values())
    yield block("data-overview", overview)
    shown = []
    room = MAX_TEXT_CHARACTERS
    for pair in kept.first:
        left, right = int(graph.left[pair]), int(graph.right[pair])
        comparison = view.pair(left, right, contents)
        text = json.dumps(comparison["view"])
        if len(text) <= room:
            room -= len(text)
            shown.append(place[pair])
            yield block(
                f"data-view-{place[pair]}",
                {name: comparison[name] for name in ("score", "details", "adds", "prior", "view")},
            )
    items: dict[str, Any] = {
        "names": [entry["name"] for entry in labels],
        "excerpts": [excerpt(contents.get(int(item), {})) for item in kept.items],
        "pictures": _stamps([contents.get(int(item), {}) for item in kept.items]),
        "sides": [entry["side"] for entry in labels] if view.cross else None,
        "gone": [int(entry.get("gone", False)) for entry in labels] if view.removed else None,
    }
    rows = zip(
        *(part[kept.pairs].tolist() for part in (graph.left, graph.right, graph.shown, graph.level)), strict=True
    )
    yield block(
        "data-kept",
        {
            "items": items,
            "order": [number[int(item)] for item in kept.order],
            "link": kept.link.tolist(),
            "pairs": [[number[left], number[right], score, level] for left, right, score, level in rows],
            "views": shown,
            "totals": _left_out(view, kept, len(shown)),
        },
    )


def _stamps(contents: list[Content]) -> list[str | None] | None:
    """Return thumbnails of the items until MAX_PICTURE_CHARACTERS are used; None if the items are not pictures."""
    if not any("picture" in content for content in contents):
        return None
    stamps: list[str | None] = []
    room = MAX_PICTURE_CHARACTERS
    for content in contents:
        small = highlighting.stamp(content) if room > 0 else None
        room -= len(small or "")
        stamps.append(small)
    return stamps


def _left_out(view: ResultView, kept: ReportSelection, shown: int) -> list[str]:
    """Return sentences that say what the file leaves out."""
    all_pairs, all_items = len(view.graph.left), int(view.graph.linkage.grouped[0])
    said = []
    if len(kept.pairs) < all_pairs:
        said.append(
            f"This file lists {len(kept.pairs):,} of {all_pairs:,} pairs (those nearest the threshold, the most alike, "
            "some from in between, and those inside the largest groups); the counts are of all."
        )
    if len(kept.order) < all_items:
        said.append(f"It lists the largest groups, {len(kept.order):,} of {all_items:,} grouped items.")
    if shown < len(kept.pairs) and any(view.opened.contents):
        said.append(f"{shown:,} pairs can be seen side by side here; lookalike explore shows all of them.")
    return said
