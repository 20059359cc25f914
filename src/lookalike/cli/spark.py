"""The commands pairs, groups, dedup and passages on Spark, with any input and output that Spark supports."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from lookalike.cli import options as o
from lookalike.errors import UsageError


@contextmanager
def run_on_spark(
    app: str, asked: str, inputs: list[str], options: dict[str, Any], given: dict[str, Any], place: o.Target, *,
    write: Callable[[Any], list[str]] | None = None,
) -> Iterator[Any]:  # fmt: skip
    """Run a command on Spark like `KindCommands._run`; yield the result after writing and showing it.

    app: the module with the functions pairs, groups and dedup. given: arguments of these other than options. write:
    writes the output instead of Spark.
    """
    from lookalike.cli import output as show
    from lookalike.io.atomic import check_place, together
    from lookalike.io.files import refuse_form
    from lookalike.runtime.spark.session import open_session, own_session
    from lookalike.runtime.spark.sources import PathArguments
    from lookalike.runtime.spark.writing import as_url, check_reached, check_target, is_url

    refuse_form(o.paths(inputs), "on Spark")
    if place.safe_cells:
        raise UsageError("--safe-cells is not available on Spark; leave out --engine spark, or write .parquet.")
    output, force = place.output, place.force
    targets = [None if path is None else as_url(os.fspath(path)) for path in (output, place.removed)]
    for path in targets[1 if write is not None else 0 :]:
        if path is not None:
            check_target(path, force=force)
    local = [Path(path) for path in targets if path is not None and not is_url(path)]
    if write is None and output is not None and output.suffix and not is_url(os.fspath(output)):
        local.append(show.receipt_of(output))
        check_place(local[-1], force=force)
    options["spark_conf"] = _settings(options.pop("spark_conf", None) or [])
    for other in ("against",):
        if given.get(other) is not None:
            given[other] = PathArguments(map(os.fspath, given[other]))
    with own_session():
        result = getattr(import_module(app), asked)(PathArguments(inputs), **given, **options)
        for path in targets:
            if path is not None and is_url(path):
                check_reached(open_session(), path)
        target, gone = targets
        with together(local, force=force):
            if write is not None:
                wrote = write(result)
            else:
                wrote = [] if target is None else _write(result, target, force=force)
            if gone is not None:
                wrote.append(result.write(result.removed, gone, force=force))
        if target is None and not place.json and asked != "dedup":
            _show(result, show)
        show.finish(result, wrote, quiet=place.quiet, json=place.json)
        yield result
        result.done()


def _write(result: Any, target: str, *, force: bool) -> list[str]:
    """Write the requested table with its receipt next to it, or all tables into a folder."""
    from lookalike.cli import output as show
    from lookalike.io.results import write_receipt
    from lookalike.runtime.spark.writing import is_url

    if not os.path.splitext(target)[1]:
        return [result.save(target, force=force)]
    wrote = [result.write(result.frame, target, force=force)]
    if not is_url(target):
        receipt = show.receipt_of(Path(target))
        write_receipt(result.receipt, receipt, [Path(target)], force=force, with_inputs=False)
        wrote.append(str(show.receipt_of(Path(target))))
    return wrote


def _settings(given: list[str]) -> dict[str, str]:
    """Parse KEY=VALUE settings to a dict."""
    settings = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise UsageError(f"--spark-conf {one!r}; expected KEY=VALUE, such as spark.executor.memory=4g.")
        settings[key] = value
    return settings


def _show(result: Any, show: Any) -> None:
    """Print the nearest pairs or the largest groups as a table on a terminal; in a pipe, stream all rows as lines."""
    import pyarrow as pa

    frame = result.frame
    if sys.stdout.isatty():
        scale = result.job.scale
        shown = result.pairs if result.asked == "passages" else frame
        by = ["size", "group"] if result.asked == "groups" else [scale.column]
        falling = [True, False] if result.asked == "groups" else [scale.sign > 0]
        best = shown.orderBy(by, ascending=[not one for one in falling]).limit(show.TERMINAL_ROWS).toArrow()
        show.print_table(best, shown.count(), f"grouped {result.job.noun}" if result.asked == "groups" else "pairs")
        return
    names, rows = frame.columns, []
    header = True
    for row in frame.toLocalIterator():
        rows.append(row)
        if len(rows) == 10_000:
            show.print_lines(pa.table({n: [r[n] for r in rows] for n in names}), header=header)
            rows, header = [], False
    if rows or header:
        show.print_lines(pa.table({n: [r[n] for r in rows] for n in names}), header=header)
