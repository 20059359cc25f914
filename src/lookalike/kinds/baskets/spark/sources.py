"""Baskets on Spark: rows are converted to lists of items, which are compared as documents of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.arrow import as_arrow
from lookalike.core.keep_policy import preferred_column
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.paths import kind_of
from lookalike.kinds.baskets.columns import BasketColumns, choose_columns
from lookalike.kinds.baskets.formats import BasketRule, guess_separator, open_baskets
from lookalike.kinds.baskets.spec import BasketJob
from lookalike.kinds.documents.spark.run import DocumentRun
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.output import Matched
from lookalike.runtime.spark.session import open_session, quiet, tune
from lookalike.runtime.spark.sources import PLACE, SparkSource, any_column, is_read_by_spark, open_origin, schema_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

GUESSED = 1000  # number of texts from which the separator is guessed


@dataclass(frozen=True)
class BasketRun(DocumentRun):
    """The run over baskets. origins: one row for each basket; given: the input rows, which dedup filters."""

    given: Sequence[SparkSource] = ()

    @cached_property
    def matched(self) -> Matched:
        return replace(super().matched, origins=self.given)

    def counted(self) -> dict[str, int]:
        counts = super().counted()
        return {self.job.noun: counts["documents"], "empty": counts["empty"], "entries": counts["shingles"]}


def run_baskets(
    sources: Sequence[Any], rule: BasketRule, job: BasketJob, want: OutputKind, keep: str, cluster: dict[str, Any],
    trace: Trace,
) -> BasketRun:  # fmt: skip
    """Create the run over one collection of baskets, or over two if the second source is not None."""
    if rule.bag and rule.rating:
        raise UsageError("ratings as multiplicity run on one machine; on Spark leave --bag or --rating out.")
    session = open_session(**cluster)
    there = [source for source in sources if source is not None]
    opened = [open_there(session, source, rule, keep, several=len(there) > 1) for source in there]
    tune(session, (one[0].frame for one in opened))
    job = replace(job, of=opened[0][0].text_column)
    origins = [_described(one[0], rule) for one in opened]
    return BasketRun(origins, job, want, keep, "error", trace, [one[1] for one in opened])


def _described(made: SparkSource, rule: BasketRule) -> SparkSource:
    """Add the description of baskets for the receipt."""
    columns = {"set": made.id_column, "item": made.text_column, "rule": asdict(rule)}
    return replace(made, shown={"form": "two columns", **made.shown, **columns})


def open_there(
    session: SparkSession, source: Any, rule: BasketRule, keep: str, *, several: bool
) -> tuple[SparkSource, SparkSource]:
    """Open a source and return one row for each basket, and the input rows."""
    paths = source if isinstance(source, list | tuple) else [source]
    if not is_read_by_spark(source):
        return _of_memory(session, source, rule)
    if not hasattr(source, "columns") and any(str(path).endswith(".npz") for path in paths):
        return _of_memory(session, [Path(path) for path in paths], rule)
    rows = open_origin(session, source, text=None, id=None, several=several, choose=any_column)
    frame, schema = rows.frame, schema_of(rows.frame)
    if rule.lines or _is_lines(source):
        if rule.set or rule.item or rule.rating:
            raise UsageError(f"{rows.name} is read as one basket a line, which has no columns; leave the columns out.")
        return _of_rows(rows, rule, BasketColumns("", schema.names[0]))
    found = choose_columns(
        schema, rows.name, set=rule.set, item=rule.item, rating=rule.rating, rate=rule.min_rating is not None,
        split=rule.separator is not None,
    )  # fmt: skip
    if found.listed or rule.separator is not None:
        if found.rating:
            raise UsageError(f"--rating goes with one rating in a row; in {rows.name} a row is a whole basket.")
        return _of_rows(rows, rule, found)
    if (column := preferred_column(keep)) is not None:
        raise UsageError(f"keep by the column {column!r} needs one row for each basket; {rows.name} has one per item.")
    owner, held = (found.item, found.set) if rule.dual else (found.set, found.item)
    frame = rows.placed() if rows.placing == "files" else frame
    return _grouped(rows, frame, owner, held, _counts(found, rule))


def _grouped(
    rows: SparkSource, frame: DataFrame, owner: str, held: str, counts: str
) -> tuple[SparkSource, SparkSource]:
    """Group rows (owner, held) to one row for each owner, in the order of first appearance if rows have an order."""
    from pyspark.sql import functions as F  # noqa: N812

    listed = [F.collect_list(F.when(F.expr(counts), _present(held, rows.name))).alias(held)]
    if PLACE in frame.columns:
        listed.append(F.min(PLACE).alias(PLACE))
    lists = frame.groupBy(_present(owner, rows.name).alias(owner)).agg(*listed)
    placing: Any = "column" if PLACE in frame.columns else "sorted ids"
    made = replace(rows, frame=lists, text_column=held, id_column=owner, placing=placing, bases={}, untyped=False)
    return made, replace(rows, text_column=held, id_column=owner, placing=placing)


def _counts(found: BasketColumns, rule: BasketRule) -> str:
    """Return the Spark SQL condition for rows that count."""
    if not found.rating:
        return "true"
    rating = f"cast(`{found.rating}` as double)"
    least = "" if rule.min_rating is None else f" and {rating} >= {rule.min_rating!r}"
    return f"{rating} is not null and not isnan({rating}){least}"


def _present(column: str, where: str) -> Column:
    """Return the column, with a lookalike error if it is null."""
    from pyspark.sql import functions as F  # noqa: N812

    told = f"lookalike.errors.InputError: column {column!r} in {where} has a row without a value; drop such rows."
    return F.when(F.col(f"`{column}`").isNull(), F.raise_error(F.lit(told))).otherwise(F.col(f"`{column}`"))


def _of_rows(rows: SparkSource, rule: BasketRule, found: BasketColumns) -> tuple[SparkSource, SparkSource]:
    """Read one basket per row: a list, or a text with separators."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = rows.frame
    if not found.listed:
        some = frame.select(f"`{found.item}`").limit(GUESSED).toArrow()[0].combine_chunks()
        separator = rule.separator or guess_separator(some)
        pattern = f"\\Q{separator}\\E" if separator.strip() or separator == "\t" else "\\s+"
        parts = F.transform(F.split(f"`{found.item}`", pattern), lambda part: F.trim(part))
        frame = frame.withColumn(found.item, F.filter(parts, lambda part: part != ""))
    id_column = found.set or None
    if id_column is None and rows.placing not in ("files", "column"):
        raise UsageError(f"{rows.name} has no column 'id', and rows of Spark have no numbers; give --set COLUMN.")
    form = "a list column" if found.listed else "texts with separators" if found.set else "one basket a line"
    rows = replace(rows, shown={"form": form})
    made = replace(rows, frame=frame, text_column=found.item, id_column=id_column)
    given = replace(rows, text_column=found.item, id_column=id_column)
    if not rule.dual:
        return made, given
    if id_column is None:
        raise UsageError(f"--dual needs to know whose basket a row of {rows.name} is; give --set COLUMN.")
    entries = (made.placed() if rows.placing == "files" else frame).withColumn(found.item, F.explode(found.item))
    return _grouped(replace(rows, frame=entries), entries, found.item, id_column, "true")


def _of_memory(session: SparkSession, source: Any, rule: BasketRule) -> tuple[SparkSource, SparkSource]:
    """Send baskets that the driver holds to Spark, with their positions."""
    baskets = open_baskets(source, rule)
    table = baskets.named_lists()
    table = table.append_column(PLACE, as_arrow(np.arange(len(baskets))))
    with quiet():
        frame = session.createDataFrame(table)
    files = tuple(map(str, baskets.files))
    made = SparkSource(
        baskets.name, frame, baskets.item_name, baskets.set_name, "column", {}, given=baskets.paths, files=files,
        shown={"form": baskets.form},
    )  # fmt: skip
    return made, made


def _is_lines(source: Any) -> bool:
    paths = source if isinstance(source, list | tuple) else [source]
    return all(kind_of(path) == "text lines" for path in paths) if not hasattr(source, "columns") else False
