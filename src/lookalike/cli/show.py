"""What a run shows: progress on a terminal, tables, a summary, the receipt."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lookalike.engines.trace import Progress, silent
from lookalike.io.atomic import check_output, check_place
from lookalike.io.results import write_json
from lookalike.io.write import write_table

if TYPE_CHECKING:
    from lookalike.apps.passages import Passages
    from lookalike.apps.stories import Stories
    from lookalike.engines.spark.result import SparkResult
    from lookalike.result import Result

SHOWN = 20  # rows of a table on a terminal
LABELS = ("left", "right", "id", "representative", "first", "item", "by")  # columns that stand at the left
ROW = "row"
WAYS = {"dcm": "Divide-Compute-Merge", "winnow": "winnowed fingerprints"}
FOUND = ("pairs", "passages", "stories", "groups", "kept", "removed")  # counts that a summary tells
STAGES = {
    "open": "Opening",
    "item groups": "Grouping items",
    "read": "Reading",
    "common": "Dropping common shingles",
    "collapse": "Collapsing exact copies",
    "choose": "Choosing a way",
    "fields": "Reading the fields",
    "keys": "Sorting the keys",
    "candidates": "Looking for candidates",
    "compare": "Comparing",
    "sketch": "Sketching",
    "index": "Indexing",
    "divide": "Dividing",
    "merge": "Merging",
    "match": "Matching",
    "audit": "Measuring recall",
    "sum up": "Summing up",
    "pairs": "Writing pairs down",
    "groups": "Grouping",
    "dedup": "Choosing what to keep",
}

NOTED = {
    "empty": "empty",
    "null_texts": "null",
    "bad_texts": "not UTF-8",
    "skipped": "skipped",
    "broken": "left out",
    "exact_duplicates": "exact copies",
}

err = Console(stderr=True, highlight=False)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A bar per stage on a terminal's standard error; nothing in a pipe or when quiet."""
    if quiet or not err.is_terminal:
        yield silent
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=err, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


@dataclass(frozen=True)
class Outputs:
    """Files to be written, checked before the work begins."""

    force: bool

    @classmethod
    def check(cls, output: Path | None, *others: Path | None, force: bool) -> Outputs:
        for path in (output, *others):
            if path is not None:
                check_output(path, force=force)
        if output is not None and output.suffix:
            check_place(receipt_of(output), force=force)
        return cls(force)

    def write_table(self, table: Any, path: Path) -> list[Path]:
        write_table(table, path, force=self.force)
        return [path]

    def write_result(self, result: Result | Passages | Stories, path: Path | None) -> list[Path]:
        """The asked table by extension with its receipt beside it, or all tables into a folder."""
        if path is None:
            return []
        if not path.suffix:
            return [result.save(path, force=self.force)]
        from lookalike.result import Result

        if isinstance(result, Result) and result.asked == "dedup":
            write_table(result.kept_batches(), path, force=self.force)
        else:
            write_table(result.to_arrow(), path, force=self.force)
        write_json(result.receipt, receipt_of(path), force=self.force)
        return [path, receipt_of(path)]


def receipt_of(path: Path) -> Path:
    """Where the receipt of an output goes: clean.jsonl.gz has clean.receipt.json beside it."""
    return path.with_name(path.name.split(".")[0] + ".receipt.json")


def print_pairs(result: Result) -> None:
    """The most similar pairs as a table on a terminal; all pairs as tab-separated lines in a pipe."""
    table = result.pairs
    if not sys.stdout.isatty():
        print_lines(table)
        return
    scale = result.job.scale
    best = table.sort_by([(scale.column, "descending" if scale.sign > 0 else "ascending")]).slice(0, SHOWN)
    print_table(best, table.num_rows, "pairs")


def print_groups(result: Result) -> None:
    """The largest groups as a table on a terminal; all rows as tab-separated lines in a pipe."""
    table = result.groups
    if not sys.stdout.isatty():
        print_lines(table)
        return
    biggest = table.sort_by([("size", "descending"), ("group", "ascending")]).slice(0, SHOWN)
    print_table(biggest, table.num_rows, f"grouped {result.job.noun}")


def print_rows(table: pa.Table, what: str) -> None:
    """The first rows as a table on a terminal; all as tab-separated lines in a pipe."""
    if sys.stdout.isatty():
        print_table(table.slice(0, SHOWN), table.num_rows, what)
    else:
        print_lines(table)


def print_best(table: pa.Table, *, best_of: pa.Table, by: str, what: str) -> None:
    """The rows of `best_of` with the highest `by` as a table on a terminal; in a pipe, `table` as lines."""
    if not sys.stdout.isatty():
        print_lines(table)
        return
    rows = pa.array(range(best_of.num_rows))
    best = best_of.append_column(ROW, rows).sort_by([(by, "descending"), (ROW, "ascending")]).slice(0, SHOWN)
    print_table(best.drop_columns(ROW), best_of.num_rows, what)


def print_lines(table: pa.Table, *, header: bool = True) -> None:
    """All rows as tab-separated lines on standard output, under the names of the columns."""
    write = sys.stdout.write
    if header:
        write("\t".join(table.column_names) + "\n")
    for batch in table.to_batches(max_chunksize=10_000):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            write("\t".join(_cell(value) for value in row) + "\n")


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\t", " ").replace("\n", " ")


def print_table(table: pa.Table, total: int, what: str) -> None:
    """Some rows, of so many, for people."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in table.column_names:
        shown.add_column(name, justify="left" if name in LABELS else "right")
    for row in table.to_pylist():
        shown.add_row(*(Text(f"{v:.3f}" if isinstance(v, float) else str(v)) for v in row.values()))
    out = Console(highlight=False)
    out.print(shown)
    if total > table.num_rows:
        out.print(f"... and {total - table.num_rows:,} more {what}; write them all with -o FILE.", style="dim")


def finish(
    result: Result | SparkResult | Passages | Stories, wrote: Sequence[str | Path], *, quiet: bool, json: bool
) -> None:
    """The summary on standard error and, on wish, the receipt on standard output."""
    if json:
        sys.stdout.write(json_module.dumps(result.receipt, indent=2, default=str) + "\n")
    for warning in result.receipt["warnings"]:
        err.print(f"Warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    for what in result.receipt["left_out"]:
        err.print(f"Left out {what}", style="yellow", markup=False, soft_wrap=True)
    if not quiet:
        summary(result.receipt, wrote)


def summary(receipt: dict[str, Any], wrote: Sequence[str | Path]) -> None:
    """Four lines: what was read, how it was compared, what came out, where it went."""
    counts, noun = receipt["counts"], receipt["items"]
    notes = [f"{counts[noun]:,} {noun}"]
    if counts.get("bytes"):
        notes.append(f"{counts['bytes'] / 1e6:,.1f} MB")
    for name, words in NOTED.items():
        if counts.get(name):
            notes.append(f"{counts[name]:,} {words}")
    for note in receipt["work"]["notes"]:
        err.print(f"Work     {note}", markup=False, soft_wrap=True)
    err.print("Read     " + " · ".join(notes), markup=False, soft_wrap=True)
    check = "every pair verified" if receipt["verified"] else "similarities estimated, not verified"
    err.print(f"Compared {receipt['compared']} · {_how(receipt)} · {check}", markup=False, soft_wrap=True)
    if receipt["recall_measured"]:
        err.print(f"Recall   {_measured(receipt)}", markup=False, soft_wrap=True)
    found = [f"{counts[name]:,} {name}" for name in FOUND if name in counts]
    seconds = sum(receipt["seconds"].values())
    err.print(
        f"Found    {' · '.join(found)} in {seconds:.1f} s, {receipt['peak_memory_mb']:,} MB of memory", markup=False
    )
    if counts.get("all_pairs"):
        share = counts.get("candidates", 0) / counts["all_pairs"]
        err.print(
            f"Scored   {counts.get('candidates', 0):,} of {counts['all_pairs']:,} pairs ({share:.1%})", markup=False
        )
    for path in [*wrote, *([receipt["sheet"]] if "sheet" in receipt else [])]:
        err.print(f"Wrote    {path}", markup=False, soft_wrap=True)


def _how(receipt: dict[str, Any]) -> str:
    plan = receipt["plan"]
    if receipt["choice"]["method"] == "keys":
        return f"{receipt['counts'].get('candidates', 0):,} candidates that share keys"
    if plan is None:
        return WAYS.get(receipt["choice"]["method"], "exact join") + ", none missed"
    return str(plan.get("shape") or f"{plan['bands']} bands of {plan['rows']} rows")


def _measured(receipt: dict[str, Any]) -> str:
    planned, measured = receipt["recall_at_threshold"], receipt["recall_measured"]
    first = "of pairs that reach the threshold" if planned is None else f"planned {planned:.3f} at the threshold"
    if not measured["true_pairs"]:
        return f"{first} · no pairs among {measured['sampled']:,} sampled items to measure it"
    low, high = measured["interval_95"]
    return (
        f"{first} · measured {measured['recall']:.4f} ({low:.4f} to {high:.4f}) on {measured['true_pairs']:,} pairs "
        f"· about {measured['probably_missed']:,} missed"
    )
