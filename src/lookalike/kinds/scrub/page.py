"""Pages about removed text: documents with their cuts marked, and ranges of text as HTML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from lookalike.core.formatting import count
from lookalike.io.pages import static_page
from lookalike.io.results import RECEIPT, read_json
from lookalike.kinds.scrub.undo import RemovedTable

MAX_DOCUMENTS = 200  # documents of a page: those that lost most
MAX_CHARACTERS = 20_000  # characters of a document that are shown
SHOWN_COLUMNS = ["row", "id", "start", "end", "tokens", "kept", "kept_start", "occurrences", "text"]


def is_scrub_folder(source: Any) -> bool:
    """Return whether this is a folder that `scrub` wrote."""
    if not isinstance(source, str | os.PathLike) or not Path(source, "removed.parquet").is_file():
        return False
    return (read_json(Path(source, RECEIPT)) or {}).get("asked") == "scrub"


def page_of_cuts(folder: str | os.PathLike[str]) -> str:
    """Return the page of a folder that `scrub` wrote: the most frequent passages, and the documents that lost most."""
    folder = Path(folder)
    receipt = read_json(folder / RECEIPT) or {}
    counts = receipt["counts"]
    with pq.ParquetFile(folder / "removed.parquet") as file:
        lost = np.zeros(counts["documents"], np.int64)
        for batch in file.iter_batches(columns=["row", "tokens"]):
            np.add.at(lost, batch.column("row").to_numpy(), batch.column("tokens").to_numpy())
        chosen = [row for row in np.argsort(-lost, kind="stable")[:MAX_DOCUMENTS].tolist() if lost[row]]
        cuts: dict[int, list[dict[str, Any]]] = {row: [] for row in chosen}
        dropped = []
        for batch in file.iter_batches(columns=[*SHOWN_COLUMNS, "dropped_row"]):
            rows = batch.column("row").to_numpy()
            dropped += rows[batch.column("dropped_row").is_valid().to_numpy(zero_copy_only=False)].tolist()
            here = batch.drop_columns("dropped_row").take(np.flatnonzero(np.isin(rows, chosen)))
            for cut in here.to_pylist():
                cuts[cut["row"]].append(cut)
        column = RemovedTable(folder / "removed.parquet").about["text"]
    texts = _kept_texts(folder / "kept.parquet", column, chosen, sorted(dropped))
    parts = [_frequent(receipt["most_frequent"])] if receipt["most_frequent"] else []
    parts += [_document(cuts[row], texts.get(row), int(lost[row])) for row in chosen]
    summary = (
        f"{receipt['compared']}: {counts['tokens_removed']:,} of {counts['tokens']:,} tokens removed, "
        f"{count(counts['cuts'], 'cuts')} in {count(counts['documents_cut'], 'documents')}."
    )
    if counts["documents_cut"] > len(chosen):
        summary += f" This page shows the {len(chosen)} documents that lost most."
    return static_page("Removed text", summary, "".join(parts))


def _kept_texts(path: Path, column: str, rows: Sequence[int], dropped: Sequence[int]) -> dict[int, str]:
    """Return the text that stays of these rows of the input; dropped: rows that are not in the file, ascending."""
    gone = set(dropped)
    places = {row - int(np.searchsorted(dropped, row)): row for row in rows if row not in gone}
    out, first = {}, 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=[column]):
            here = [place for place in places if first <= place < first + len(batch)]
            for place in here:
                value = batch.column(0)[place - first].as_py()
                out[places[place]] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
            first += len(batch)
    return out


def _frequent(passages: Sequence[dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{one['copies']:,}<td>{one['tokens']:,}<td>{escape(str(one['kept']))}<td>{escape(one['text'])}"
        for one in passages
    )
    return f"<h2>Most frequent</h2><table><tr><th>copies<th>tokens<th>stays in<th>text{rows}</table>"


def _document(cuts: Sequence[dict[str, Any]], rest: str | None, lost: int) -> str:
    """Return a document with its cuts marked. rest: the text that stays, None if the document was dropped."""
    pieces, taken, at = [], 0, 0
    for cut in cuts:
        before = (rest or "")[taken : taken + cut["start"] - at]
        taken, at = taken + len(before), cut["end"]
        where = "no copy stays" if cut["kept"] is None else f"stays in {cut['kept']}, at {cut['kept_start']:,}"
        often = f"; occurs {cut['occurrences']:,} times" if cut["occurrences"] else ""
        pieces.append(f'{escape(before)}<del title="{escape(where + often)}">{escape(cut["text"])}</del>')
        if at > MAX_CHARACTERS:
            break
    tail = (rest or "")[taken : taken + max(0, MAX_CHARACTERS - at)]
    cut_short = "..." if rest is not None and taken + len(tail) < len(rest) else ""
    state = ", dropped" if rest is None else ""
    head = f"{escape(str(cuts[0]['id']))} <small>{count(lost, 'tokens')} removed{state}</small>"
    return f"<article><h2>{head}</h2><p class=text>{''.join(pieces)}{escape(tail)}{cut_short}</p></article>"


def marked(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Return text as HTML with ascending ranges of characters marked.

    >>> marked("a < b", [(0, 1)])
    '<mark>a</mark> &lt; b'
    """
    out, at = [], 0
    for start, end in ranges:
        out += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
        at = end
    return "".join([*out, escape(text[at:])])
