"""Show the result of a run: tables, a summary, the receipt."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from lookalike.cli.command_words import command_words
from lookalike.cli.summary import lines
from lookalike.cli.terminal import Screen, err
from lookalike.core.formatting import count, share
from lookalike.errors import UsageError
from lookalike.io.atomic import check_output, check_place, together
from lookalike.io.excerpts import with_excerpts
from lookalike.io.results import write_receipt
from lookalike.io.write import write_table

if TYPE_CHECKING:
    from lookalike.core.run_options import WithText
    from lookalike.kinds.documents.classify import Classification
    from lookalike.kinds.passages.api import Passages
    from lookalike.kinds.passages.stories import Stories
    from lookalike.kinds.passages.topics import TopicStories
    from lookalike.kinds.records.merge import Merged
    from lookalike.kinds.series.api import SeriesPairs
    from lookalike.result import Result
    from lookalike.runtime.nearest_result import NearestResult
    from lookalike.runtime.spark.result import SparkResult

TERMINAL_ROWS = 20  # maximum rows of a table on a terminal
LABELS = (
    "left",
    "right",
    "id",
    "representative",
    "first",
    "item",
    "by",
)  # columns that are left-aligned
ROW_NUMBER_COLUMN = "row"
LEAST_EXCERPT = 12  # characters of an item that a table shows on a narrow terminal
READABLE_EXCERPT = 30  # characters of an item below which other columns make room


@dataclass(frozen=True)
class Outputs:
    """The files that a command will write, checked before the work begins."""

    paths: tuple[Path, ...]
    force: bool

    @classmethod
    def check(cls, output: Path | None, *others: Path | None, force: bool) -> Outputs:
        paths = [path for path in (output, *others) if path is not None]
        for path in paths:
            check_output(path, force=force)
        if output is not None and output.suffix:
            paths.append(receipt_of(output))
            check_place(paths[-1], force=force)
        for path in paths:
            if sum(other.absolute() == path.absolute() for other in paths) > 1:
                raise UsageError(f"{path} is named for two outputs. Use another name for one of them.")
        return cls(tuple(paths), force)

    def together(self) -> AbstractContextManager[None]:
        """Return a context in which outputs are drafts that are all published at its end."""
        return together(self.paths, force=self.force)

    def write_table(self, table: Any, path: Path) -> list[Path]:
        write_table(table, path, force=self.force)
        return [path]

    def write_result(
        self, result: Result | Passages | Stories | TopicStories | Classification | NearestResult | SeriesPairs,
        path: Path | None, others: Sequence[Path] = (), with_text: WithText = "none",
    ) -> list[Path]:  # fmt: skip
        """Write the requested table by extension, with its receipt, or all tables into a folder.

        others: tables that were written before and belong to the same result.
        """
        if path is None:
            return []
        if (words := command_words()) is not None:
            result.receipt["command"] = words
        if not path.suffix:
            return [result.save(path, force=self.force)]
        from lookalike.result import Result

        with self.together():
            if isinstance(result, Result):
                result.write(path, force=self.force, with_text=with_text)
            else:
                write_table(result.to_arrow(), path, force=self.force)
            write_receipt(result.receipt, receipt_of(path), [path, *others], force=self.force)
        return [path, receipt_of(path)]


def receipt_of(path: Path) -> Path:
    """Return the path of an output's receipt: clean.jsonl.gz has clean.jsonl.gz.receipt.json next to it."""
    return path.with_name(path.name + ".receipt.json")


def print_pairs(result: Result, with_text: WithText = "none") -> None:
    """Print the most similar pairs as a table on a terminal; all pairs as tab-separated lines in a pipe."""
    table = result.pairs
    if not sys.stdout.isatty():
        print_lines(_with_text(result, table, with_text))
        return
    scale = result.job.scale
    best = table.sort_by([(scale.column, "descending" if scale.sign > 0 else "ascending")]).slice(0, TERMINAL_ROWS)
    other = result.source if result.against is None else result.against
    print_items(
        best,
        {"left": (result.source, result.found.ids[0]), "right": (other, result.found.ids[-1])},
        result,
        table.num_rows,
    )


def print_groups(result: Result, with_text: WithText = "none") -> None:
    """Print the largest groups as a table on a terminal; all rows as tab-separated lines in a pipe."""
    table = result.groups
    if not sys.stdout.isatty():
        print_lines(_with_text(result, table, with_text))
        return
    biggest = table.sort_by([("size", "descending"), ("group", "ascending")]).slice(0, TERMINAL_ROWS)
    print_items(biggest, {"id": (result.source, result.found.ids[0])}, result, table.num_rows)


def print_items(table: pa.Table, sides: dict[str, tuple[Any, pa.ChunkedArray]], result: Result, total: int) -> None:
    """Print a table of ids with the beginnings of the items, shortened to the width of the terminal.

    Where there is no room for these, further columns of the kind of item, such as scores of fields, are left out.
    """
    what = "pairs" if result.asked == "pairs" else f"grouped {result.job.noun}"
    wide = with_excerpts(table, sides, result.job.noun)
    excerpts = wide.column_names[table.num_columns :]
    if excerpts and result.asked == "pairs" and room_of_excerpts(wide, excerpts) < READABLE_EXCERPT:
        wide = wide.select([*sides, result.score_column, *excerpts])
    print_table(wide, total, what, excerpts=excerpts)


def room_of_excerpts(table: pa.Table, excerpts: Sequence[str]) -> int:
    """Return the width that the other columns leave for each of the excerpts on the terminal."""
    others = [name for name in table.column_names if name not in excerpts]
    used = sum(max(map(cell_len, [name, *readable(table, name)])) + 2 for name in others)
    return (Screen().width - used) // len(excerpts) - 2


def readable(table: pa.Table, name: str) -> list[str]:
    """Return the values of a column as a terminal shows them."""
    return people_read(table[name].to_pylist(), is_count=name == "distance")


def _with_text(result: Result, table: pa.Table, with_text: WithText) -> pa.Table:
    return table if with_text == "none" else result.with_text(table, whole=with_text == "all")


def print_rows(table: pa.Table, what: str) -> None:
    """Print the first rows as a table on a terminal; all rows as tab-separated lines in a pipe."""
    if sys.stdout.isatty():
        print_table(table.slice(0, TERMINAL_ROWS), table.num_rows, what)
    else:
        print_lines(table)


def print_best(table: pa.Table, *, best_of: pa.Table, by: str, what: str) -> None:
    """Print the rows of `best_of` with the highest `by` as a table on a terminal; in a pipe, `table` as lines."""
    if not sys.stdout.isatty():
        print_lines(table)
        return
    rows = pa.array(range(best_of.num_rows))
    best = (
        best_of.append_column(ROW_NUMBER_COLUMN, rows)
        .sort_by([(by, "descending"), (ROW_NUMBER_COLUMN, "ascending")])
        .slice(0, TERMINAL_ROWS)
    )
    print_table(best.drop_columns(ROW_NUMBER_COLUMN), best_of.num_rows, what)


def print_lines(table: pa.Table, *, header: bool = True) -> None:
    """Print all rows as tab-separated lines on standard output, below the column names."""
    write = sys.stdout.write
    if header:
        write("\t".join(table.column_names) + "\n")
    for batch in table.to_batches(max_chunksize=10_000):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            write("\t".join(_cell(value) for value in row) + "\n")


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\t", " ").replace("\n", " ")


def people_read(values: list[Any], *, is_count: bool) -> list[str]:
    """Format values for a table on a terminal: three decimals, or none for counts.

    >>> people_read([0.99996, 1.0], is_count=False), people_read([2.0, 1.0], is_count=True)
    (['0.999', '1.000'], ['2', '1'])
    """
    numbers = [value for value in values if isinstance(value, float)]
    whole = (is_count or max(numbers, default=0) > 1) and all(value.is_integer() for value in numbers)
    return [share(value, 0 if whole else 3) if isinstance(value, float) else str(value) for value in values]


def print_table(table: pa.Table, total: int, what: str, *, excerpts: Sequence[str] = ()) -> None:
    """Print rows as a table, with a note if there are more than these.

    total: number of all rows; excerpts: columns that are shortened to what is left of the width.
    """
    shown = Table(box=None, header_style="bold", pad_edge=False)
    room = max(LEAST_EXCERPT, room_of_excerpts(table, excerpts)) if excerpts else 0
    for name in table.column_names:
        shown.add_column(name, justify="left" if name in LABELS or name in excerpts else "right")
    for row in zip(*(readable(table, name) for name in table.column_names), strict=True):
        cells = [Text(value) for value in row]
        for name, cell in zip(table.column_names, cells, strict=True):
            if name in excerpts:
                cell.truncate(room, overflow="ellipsis")
        shown.add_row(*cells)
    out = Screen()
    out.print(shown)
    if total > table.num_rows:
        more = count(total - table.num_rows, f"more {what}")
        out.print(f"... and {more}; write them all with -o FILE.", style="dim")


def finish(
    result: Result | SparkResult | Passages | Stories | TopicStories | Merged | NearestResult | SeriesPairs,
    wrote: Sequence[str | Path],
    *,
    quiet: bool,
    json: bool,
) -> None:
    """Print the summary on standard error and, if requested, the receipt on standard output."""
    print_receipt(result.receipt, json=json)
    if not quiet:
        for label, text in lines(result.receipt, wrote):
            err.say(label, text)


def print_receipt(receipt: dict[str, Any], *, json: bool) -> None:
    """Print the receipt on standard output if requested, and its warnings on standard error."""
    if json:
        sys.stdout.write(json_module.dumps(receipt, indent=2, default=str) + "\n")
    for warning in receipt["warnings"]:
        err.say("Warning:", warning, style="yellow")
    for what in receipt["left_out"]:
        err.say("Left out", what, style="yellow")
