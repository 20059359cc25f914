"""The commands pairs, groups and dedup on Spark: what goes in and out is whatever Spark reads and writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.engines.spark.result import SparkResult


@contextmanager
def run_on_spark(
    app: str, asked: str, inputs: list[str], options: dict[str, Any], given: dict[str, Any], output: Path | None,
    removed: Path | None, *, force: bool, quiet: bool, json: bool,
) -> Iterator[SparkResult]:  # fmt: skip
    """As `Kind._run`, up to what comes after the answer. app: the module with the functions pairs, groups and dedup;
    given: what these take beside the options."""
    from lookalike.cli import show
    from lookalike.engines.spark.session import own_session
    from lookalike.engines.spark.sources import Typed
    from lookalike.engines.spark.writing import as_url, check_target, is_url
    from lookalike.io.results import write_json

    targets = [None if path is None else as_url(os.fspath(path)) for path in (output, removed)]
    for path in targets:
        if path is not None:
            check_target(path, force=force)
    options["spark_conf"] = _settings(options.pop("spark_conf", None) or [])
    if given.get("against") is not None:
        given["against"] = Typed(map(os.fspath, given["against"]))
    wrote = []
    with own_session():
        result = getattr(import_module(app), asked)(Typed(inputs), **given, **options)
        target, gone = targets
        if target is not None and os.path.splitext(target)[1]:
            wrote.append(result.write(result.frame, target, force=force))
            if not is_url(target):
                write_json(result.receipt, show.receipt_of(Path(target)), force=force)
                wrote.append(str(show.receipt_of(Path(target))))
        elif target is not None:
            wrote.append(result.save(target, force=force))
        if gone is not None:
            wrote.append(result.write(result.removed, gone, force=force))
        if target is None and not json and asked != "dedup":
            _show(result, show)
        show.finish(result, wrote, quiet=quiet, json=json)
        yield result
        result.done()


def _settings(given: list[str]) -> dict[str, str]:
    """KEY=VALUE to a dict."""
    made = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise UsageError(f"--spark-conf {one!r}; expected KEY=VALUE, such as spark.executor.memory=4g.")
        made[key] = value
    return made


def _show(result: SparkResult, show: Any) -> None:
    """The nearest pairs, or the largest groups, as a table on a terminal; in a pipe all rows as lines, part by part."""
    import pyarrow as pa

    frame = result.frame
    if sys.stdout.isatty():
        scale = result.job.scale
        by = ["size", "group"] if result.asked == "groups" else [scale.column]
        falling = [True, False] if result.asked == "groups" else [scale.sign > 0]
        best = frame.orderBy(by, ascending=[not one for one in falling]).limit(show.SHOWN).toArrow()
        show.print_table(best, frame.count(), "pairs" if result.asked == "pairs" else f"grouped {result.job.noun}")
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
