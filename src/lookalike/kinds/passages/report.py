"""HTML report of shared passages: a single file without external resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.io.atomic import check_place, replacing
from lookalike.io.pages import block, framed

REPORT_PAGE = Path(__file__).with_name("report_page")
MOST_TEXT = 100_000_000  # maximum characters of text in a page; further pairs are left out, with a note on the page


@dataclass(frozen=True)
class Pair:
    """A pair of documents, by number. runs: (left_start, left_end, right_start, right_end, tokens), in characters."""

    left: int
    right: int
    shared: int
    left_share: float
    right_share: float
    longest: int
    runs: Sequence[Sequence[int]]


@dataclass(frozen=True)
class ReportPage:
    """The content of the report. names, texts: by document number; total: number of all pairs, of which `pairs` are the
    first.

    summary: one line; notes: text that was left out; unit: the name of tokens, such as words; code: whether the texts
    are source code.
    """

    pairs: Sequence[Pair]
    names: dict[int, str]
    texts: dict[int, str]
    total: int
    summary: str
    notes: Sequence[str]
    unit: str
    code: bool


def write_report(page: ReportPage, path: Path, *, force: bool = False) -> None:
    """Write the page atomically.

    Texts and names are stored as JSON in which every `<` is escaped, and are shown as text nodes. The content security
    policy of the page forbids foreign scripts and all requests.
    """
    check_place(path, force=force)
    shown, documents = _fitting(page)
    before, after = framed(REPORT_PAGE, ["style.css"], ["script.js"])
    with replacing(path, force=force) as draft, open(draft.path, "w", encoding="utf-8") as file:
        file.write(before)
        for piece in _data(page, shown, documents):
            draft.nbytes += len(piece)
            file.write(piece)
        file.write(after)


def _fitting(page: ReportPage) -> tuple[list[Pair], list[int]]:
    """Return the first pairs that fit into MOST_TEXT characters (at least one), and their documents."""
    known: dict[int, None] = {}
    shown: list[Pair] = []
    room = MOST_TEXT
    for pair in page.pairs:
        new = {pair.left, pair.right} - known.keys()
        room -= sum(len(page.texts[document]) for document in new)
        if room < 0 and shown:
            break
        known |= dict.fromkeys(sorted(new))
        shown.append(pair)
    return shown, list(known)


def _data(page: ReportPage, shown: Sequence[Pair], documents: Sequence[int]) -> Iterator[str]:
    number = {document: at for at, document in enumerate(documents)}
    units = {document: _utf16(page.texts[document]) for document in documents}
    lengths = [int(units[d][-1]) if units[d] is not None else len(page.texts[d]) for d in documents]  # type: ignore[index]
    index: dict[str, Any] = {
        "documents": [page.names[document] for document in documents],
        "lengths": lengths,
        "pairs": [_pair(pair, number, units) for pair in shown],
        "more": page.total - len(shown),
        "summary": page.summary,
        "notes": list(page.notes),
        "unit": page.unit,
        "code": page.code,
    }
    yield block("index", index)
    for document in documents:
        yield block(f"text-{number[document]}", page.texts[document])


def _pair(pair: Pair, number: dict[int, int], units: dict[int, npt.NDArray[np.int64] | None]) -> list[Any]:
    left, right = units[pair.left], units[pair.right]
    runs = [[*(_at(left, at) for at in run[:2]), *(_at(right, at) for at in run[2:4]), run[4]] for run in pair.runs]
    shares = [round(pair.left_share, 4), round(pair.right_share, 4)]
    return [number[pair.left], number[pair.right], pair.shared, *shares, pair.longest, runs]


def _utf16(text: str) -> npt.NDArray[np.int64] | None:
    """Return the UTF-16 offset of each character, as browsers count; None if it equals the character number."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    if not len(points) or points.max() < 0x10000:
        return None
    return np.concatenate([[0], np.cumsum(1 + (points > 0xFFFF))]).astype(np.int64)


def _at(units: npt.NDArray[np.int64] | None, character: int) -> int:
    return character if units is None else int(units[character])
