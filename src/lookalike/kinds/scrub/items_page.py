"""The page of `decontaminate`: the table of benchmarks, and the worst matches side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.formatting import count, percent
from lookalike.io.collection import Collection
from lookalike.io.pages import static_page
from lookalike.io.random_access import pick_texts
from lookalike.kinds.scrub.page import marked
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import TokenRanges, token_ranges

SHOWN_ITEMS = 50  # matches that are shown side by side: the worst
AROUND = 60  # words of the document that are shown before and after what it shares


@dataclass(frozen=True)
class SharedWords:
    """An item and a document that holds it. words: (first, last) numbers of words of the document that they share."""

    item: str
    text: str
    document: str
    row: int
    words: list[tuple[int, int]]
    longest: int
    share: float


def page_of_items(
    table: pa.Table, worst: Sequence[SharedWords], total: int, collection: Collection, receipt: dict[str, Any]
) -> str:
    """Return the page. table: of the benchmarks; total: number of matches, of which `worst` are shown."""
    texts = pick_texts([collection], {match.row for match in worst}) if worst else {}
    names = table.column_names
    rows = "".join("<tr>" + "".join(f"<td>{_cell(row[name])}" for name in names) for row in table.to_pylist())
    head = "".join(f"<th>{name}" for name in names)
    body = [f"<table><tr>{head}{rows}</table>"]
    body += [_sides(match, texts[match.row]) for match in worst]
    more = f" This page shows the worst {len(worst)}." if total > len(worst) else ""
    summary = f"{receipt['compared']}; {count(total, 'matches')} of items and documents.{more}"
    return static_page("Test items in the training set", summary, "".join(body))


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else escape(str(value))


def _sides(match: SharedWords, text: str) -> str:
    item, document = (token_ranges(pa.array([one], pa.large_string()), ScrubJob()) for one in (match.text, text))
    shared = np.zeros(len(document.tokens), np.bool_)
    for first, last in match.words:
        shared[first : last + 1] = True
    known = set(document.tokens[shared].tolist())
    in_item = np.array([token in known for token in item.tokens.tolist()], np.bool_)
    at = np.flatnonzero(shared)
    low, high = max(0, int(at[0]) - AROUND), min(len(shared), int(at[-1]) + AROUND + 1)
    shared[:low] = shared[high:] = False
    spans = _spans(document, shared, text)
    data = text.encode()
    begin = len(data[: int(document.starts[low])].decode()) if low else 0
    end = len(data[: int(document.ends[high - 1])].decode()) if high < len(shared) else len(text)
    right = marked(text[begin:end], [(a - begin, b - begin) for a, b in spans])
    head = (
        f"{escape(match.item)} in {escape(match.document)} <small>longest run {count(match.longest, 'words')}, "
        f"{percent(match.share)} of the shingles</small>"
    )
    left = marked(match.text, _spans(item, in_item, match.text))
    before, after = "... " * (begin > 0), " ..." * (end < len(text))
    sides = f"<p class=text>{left}</p><p class=text>{before}{right}{after}</p>"
    return f"<article><h2>{head}</h2><div class=sides>{sides}</div></article>"


def _spans(ranges: TokenRanges, chosen: np.ndarray[Any, np.dtype[np.bool_]], text: str) -> list[tuple[int, int]]:
    """Return the ranges of characters of runs of chosen tokens."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    data = text.encode()
    place = [(int(ranges.starts[a]), int(ranges.ends[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [(len(data[:a].decode("utf-8", "replace")), len(data[:b].decode("utf-8", "replace"))) for a, b in place]
