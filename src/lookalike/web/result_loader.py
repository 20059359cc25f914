"""Load a result for the explorer, from its folder, from an output file or from memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError, UsageError
from lookalike.io.contents import Contents, contents_of
from lookalike.io.paths import kind_of
from lookalike.io.results import RECEIPT, read_folder, read_json
from lookalike.io.tables import open_table
from lookalike.result import Result
from lookalike.web.reopen_sources import reopen

RESULT_TABLES = ("pairs", "groups", "removed", "passages", "stories")  # not kept rows, which may be many
REQUIRED = (
    "asked", "inputs", "items", "compared", "job", "choice", "plan", "recall_at_threshold", "recall_measured",
    "verified", "counts", "seconds", "peak_memory_mb", "warnings", "left_out", "versions",
)  # fmt: skip
SCORES = {"similarity": 1, "agreement": 1, "cosine": 1, "shared_tokens": 1, "distance": -1, "angle": -1, "bits": -1}


MAX_RECEIPTS = 1000  # receipts of a folder in which an output file is looked for


@dataclass(frozen=True)
class Opened:
    """A loaded result.

    tables: those of pairs, groups, removed and passages that the result has. contents: the items of each input, None if
    they are not available; notes: the reasons why not.
    """

    receipt: dict[str, Any]
    tables: dict[str, pa.Table]
    contents: tuple[Contents | None, ...]
    notes: tuple[str, ...]

    @property
    def scale(self) -> tuple[str, int]:
        """(name of the score column, 1 for a similarity or -1 for a distance)."""
        scale = self.receipt.get("scale")
        if scale is not None:
            return scale["column"], scale["sign"]
        names = self.tables["pairs"].column_names if "pairs" in self.tables else []
        return next(((name, SCORES[name]) for name in names if name in SCORES), ("similarity", 1))


def open_result(source: Any, *, inputs: Sequence[str | os.PathLike[str]] | None = None) -> Opened:
    """Load the result of a run: a `Result`, the folder that it was saved to, or a file of its pairs or groups.

    inputs: paths from which to read the items, one for each input of the run, by default those of the run. If the items
    cannot be read from the paths of the run, a note says so; if they cannot be read from `inputs`, InputError.
    """
    if isinstance(source, Opened):
        return source
    if isinstance(source, Result):
        return _in_memory(source)
    if not isinstance(source, str | os.PathLike):
        raise UsageError(f"cannot look at {type(source).__name__}; expected a result or the path of a result folder.")
    folder = Path(source)
    beside = _receipt_beside(folder) if folder.is_file() else None
    if beside is not None:
        tables, receipt = _read_output(folder, beside)
    elif not folder.is_dir() or not (folder / RECEIPT).is_file():
        raise InputError(
            f"{folder} is {'not there' if not folder.exists() else f'no result: it has no {RECEIPT}'}. "
            "pairs, groups and dedup write one with -o FOLDER (a name without an extension)."
        )
    else:
        tables, receipt = read_folder(folder, RESULT_TABLES)
    if "pairs" not in tables and "groups" not in tables:
        raise InputError(f"{folder} holds neither pairs.parquet nor groups.parquet; there is nothing to look at.")
    if missing := [name for name in REQUIRED if name not in receipt]:
        reason = f"{folder / RECEIPT} does not say {missing[0]!r}; it was not written by this version."
        raise InputError(reason + " Run again.")
    if receipt["items"] == "series":
        raise InputError(f"{folder} has pairs of windows of series, for which there is no page; read its table.")
    described = receipt["inputs"]
    if inputs is not None and len(inputs) != len(described):
        raise UsageError(f"{len(inputs)} `inputs` given; the run had {len(described)}. Give one for each.")
    contents: list[Contents | None] = []
    notes: list[str] = []
    for number, description in enumerate(described):
        try:
            contents.append(reopen(description, paths=None if inputs is None else [os.fspath(inputs[number])]))
        except InputError as error:
            if inputs is not None:
                raise
            contents.append(None)
            notes.append(str(error))
    return Opened(receipt, _known(tables), tuple(contents), tuple(notes))


def _receipt_beside(file: Path) -> Path | None:
    """Return the receipt of an output file, which is next to it; None if there is none."""
    own = file.with_name(f"{file.name}.{RECEIPT}")
    if own.is_file():
        return own
    others = sorted(file.parent.glob(f"*.{RECEIPT}"))[:MAX_RECEIPTS]
    return next((one for one in others if file.name in read_json(one).get("outputs", ())), None)


def _read_output(file: Path, beside: Path) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Read the pairs or groups that `-o FILE` wrote, or the removed rows of dedup, and the receipt next to them."""
    receipt = read_json(beside)
    asked = receipt.get("asked")
    if asked == "dedup":
        return {"pairs": _removed(file, receipt)}, receipt
    if asked not in ("pairs", "groups"):
        raise InputError(f"{file} holds neither pairs nor groups. Run again with -o FOLDER, and look at that.")
    return {asked: _read_table(file, receipt)}, receipt


def _read_table(file: Path, receipt: dict[str, Any]) -> pa.Table:
    opened = open_table(file, name=str(file))
    table = opened.read(opened.columns)
    score = receipt.get("scale", {}).get("column")
    if score in table.column_names:  # in text formats, all scores may be whole numbers
        place = table.column_names.index(score)
        table = table.set_column(place, score, table[score].cast(pa.float64()))
    return table


def _removed(file: Path, receipt: dict[str, Any]) -> pa.Table:
    """Return the rows that `dedup --removed FILE` wrote as pairs of the kept and the removed item."""
    for name in dict.fromkeys([file.name, *receipt.get("outputs", ())]):
        known = file.with_name(name)
        if not known.is_file() or kind_of(known) == "text":
            continue
        table = _read_table(known, receipt)
        if {"id", "kept"} <= set(table.column_names):
            sides = ("id", "kept") if len(receipt["inputs"]) == 2 else ("kept", "id")
            rest = table.drop_columns(["id", "kept"])
            columns = [table[sides[0]], table[sides[1]], *rest.columns]
            return pa.table(columns, names=["left", "right", *rest.column_names])
    raise InputError(
        f"{file} holds the rows that dedup kept, and the file of the removed ones is not next to it. "
        "Write these to a file as well, or everything into a folder."
    )


def _in_memory(result: Result) -> Opened:
    pairs = result.listed_pairs()
    tables = {} if pairs is None else {"pairs": pairs}
    if result.against is None:
        tables["groups"] = result.groups
    if result.asked == "dedup":
        tables["removed"] = result.removed
    sources = [source for source in (result.source, result.against) if source is not None]
    return Opened(result.receipt, tables, tuple(contents_of(source) for source in sources), ())


def _known(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the tables under the names that all results share; the score of stories is the better of their two."""
    known = {name: table for name, table in tables.items() if name != "stories"}
    if "stories" in tables and "contained" in known.get("pairs", pa.table({})).column_names:
        pairs = known["pairs"]
        score = pc.max_element_wise(pairs["contained"], pairs["jaccard"])  # jaccard is null if it is too low
        known["pairs"] = pairs.append_column("similarity", score)
    return known
