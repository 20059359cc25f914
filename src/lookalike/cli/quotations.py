"""The output of `index passages`: a table of passages, or a page that shows the texts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core import formatting
from lookalike.kinds.passages.report import Pair, ReportPage, write_report

if TYPE_CHECKING:
    from lookalike.index.index import Index, Quotation

LONGEST_PAGE = 300  # pairs of texts on a page
PLACE_COLUMNS = ("start", "end", "stored_start", "stored_end", "tokens")


def quotation_rows(
    names: Sequence[Any], texts: Sequence[str], found: Sequence[Sequence[Quotation]], index: Index
) -> pa.Table:
    """Return a table of query, id, the places of each passage, and its text.

    names: the id of each text; found: its passages.
    """
    rows = [
        (name, *one, text[one.start : one.end])
        for name, text, passages in zip(names, texts, found, strict=True)
        for one in passages
    ]
    query, ids, *numbers, quoted = zip(*rows, strict=True) if rows else [()] * 8
    return pa.table(
        {
            "query": pa.array(query, None if rows else pa.int64()),
            "id": pa.array(ids, index.store.id_type() or pa.int64()),
            **{name: pa.array(column, pa.int64()) for name, column in zip(PLACE_COLUMNS, numbers, strict=True)},
            "text": pa.array(quoted, pa.string()),
        }
    )


def short_texts(index: Index, texts: Any) -> int:
    """Return the number of texts with fewer words than the shortest passage of an index of passages; 0 for others."""
    if index.kind.name != "passages":
        return 0
    least = index.kind.settings()["min_tokens"]
    return sum(
        int((np.diff(index.kind.features(piece).offsets) // 4 < least).sum()) for piece in index.kind.pieces(texts)
    )


def warn_short(index: Index, count: int) -> None:
    """Warn about texts that are too short to be found."""
    from lookalike.cli.terminal import err

    if count:
        least = index.kind.settings()["min_tokens"]
        have = "has" if count == 1 else "have"
        said = f"{formatting.count(count, 'texts')} {have} fewer than {least} words (--min-tokens of the index)"
        err.say("Warning:", f"{said}: nothing is found for them.", style="yellow")


@dataclass
class QuotationPage:
    """The page of quotations: the pairs of a text and a stored one that share the most words."""

    index: Index
    pairs: list[Pair] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    total: int = 0
    _numbers: dict[Any, int] = field(default_factory=dict)

    def add(self, names: Sequence[Any], texts: Sequence[str], found: Sequence[Sequence[Quotation]]) -> None:
        """Add texts and their passages."""
        for name, text, passages in zip(names, texts, found, strict=True):
            for stored, runs in groupby(passages, lambda one: one.id):
                self.total += 1
                if len(self.pairs) < LONGEST_PAGE:
                    self._add_pair(name, text, stored, list(runs))

    def _add_pair(self, name: Any, text: str, stored: Any, runs: Sequence[Quotation]) -> None:
        try:
            other = self.index.content(stored)
        except KeyError:  # removed in the meantime
            return
        left, right = self._number(("query", name), name, text), self._number(("stored", stored), stored, other)
        shared, words = sum(one.tokens for one in runs), [max(1, len(one.split())) for one in (text, other)]
        shares = [min(1.0, shared / count) for count in words]
        self.pairs.append(
            Pair(left, right, shared, shares[0], shares[1], max(one.tokens for one in runs), [run[1:] for run in runs])
        )

    def _number(self, key: Any, name: Any, text: str) -> int:
        number = self._numbers.setdefault(key, len(self._numbers))
        self.names[number], self.texts[number] = str(name), text
        return number

    def write(self, path: Path, *, force: bool) -> None:
        """Write the page atomically."""
        least = self.index.kind.settings()["min_tokens"]
        place = self.index.store.place
        self.pairs.sort(key=lambda pair: -pair.shared)
        page = ReportPage(
            pairs=self.pairs, names=self.names, texts=self.texts, total=self.total, notes=[], unit="words", code=False,
            summary=f"texts that share passages of at least {least} words with {place}: {self.total:,}",
        )  # fmt: skip
        write_report(page, path, force=force)
