"""Baskets on Spark: rows are converted to lists of items, which are compared as documents of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from lookalike.kinds.baskets.formats import BasketRule, check_no_columns, check_no_rating, guess_separator, open_baskets
from lookalike.kinds.baskets.spec import BasketJob
from lookalike.kinds.documents.spark.run import DocumentRun
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.lineage import LineageCutter
from lookalike.runtime.spark.output import Matched
from lookalike.runtime.spark.row_numbers import numbered
from lookalike.runtime.spark.session import open_session, quiet, tune
from lookalike.runtime.spark.sources import (
    PLACE,
    SparkSource,
    any_column,
    is_read_by_spark,
    no_row_numbers,
    open_origin,
    schema_of,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

GUESSED = 1000  # number of texts from which the separator is guessed
LATER = 1 << 61  # added to the places of the second collection
ROW, MEMBER, WITHIN, FIRST = "_lookalike_row_number", "_lookalike_member", "_lookalike_within", "_lookalike_first"


@dataclass(frozen=True)
class BasketRun(DocumentRun):
    """The run over baskets.

    origins: one row for each basket; given: the input rows, which dedup filters; via: the run that groups the items, if
    baskets are compared by groups.
    """

    given: Sequence[SparkSource] = ()
    via: BasketRun | None = None

    @cached_property
    def matched(self) -> Matched:
        return replace(super().matched, origins=self.given)

    def counted(self) -> dict[str, int]:
        counts = super().counted()
        named = {self.job.noun: counts["documents"], "empty": counts["empty"], "entries": counts["shingles"]}
        if self.via is None:
            return named
        items = self.via.things.count()
        return {"items": items, "item_groups": items - self.via.matched.removed.count(), **named}

    def forget(self) -> None:
        super().forget()
        if self.via is not None:
            self.via.forget()


def run_baskets(
    sources: Sequence[Any], rule: BasketRule, job: BasketJob, want: OutputKind, keep: str, cluster: dict[str, Any],
    trace: Trace, group_items: Callable[[BasketJob], BasketJob] | None = None,
) -> BasketRun:  # fmt: skip
    """Create the run over one collection of baskets, or over two if the second source is not None.

    group_items: returns the job that groups the items, if baskets are compared by groups of items; these are formed
    here, before the run.
    """
    if rule.bag and rule.rating:
        raise UsageError("ratings as multiplicity run on one machine; on Spark leave `bag` or `rating` out.")
    session = open_session(**cluster)
    there = [source for source in sources if source is not None]
    opened = [open_there(session, source, rule, keep, several=len(there) > 1) for source in there]
    tune(session, (one[0].frame for one in opened))
    job = replace(job, of=opened[0][0].text_column)
    rows, via, roots = [one[0] for one in opened], None, LineageCutter()
    if group_items is not None:
        dual = replace(rule, dual=not rule.dual)
        items = _together([open_there(session, source, dual, "first", several=False)[0] for source in there])
        via = BasketRun([items], group_items(job), "stars", "longest", "error", Trace(), given=[items])
        gone = roots.keep(via.matched.named(via.matched.removed, ["item"], ["kept"]).select("item", "kept"))
        rows = [_through_groups(one, gone, items.id_type) for one in rows]
        job = replace(job, via_groups=via.job.threshold)
    origins = [_described(one, rule) for one in rows]
    given = [one[1] for one in opened]
    return BasketRun(origins, job, want, keep, "error", trace, roots, given=given, via=via)


def _together(duals: Sequence[SparkSource]) -> SparkSource:
    """Return the items of one collection or of two, each with its baskets in both."""
    from pyspark.sql import functions as F  # noqa: N812

    first = duals[0]
    if len(duals) == 1:
        return first
    frames = []
    for number, dual in enumerate(duals):
        placed = PLACE in dual.frame.columns
        baskets = F.expr(f"transform(`{dual.text_column}`, one -> concat('{number}:', one))")
        place = F.col(PLACE) + number * LATER if placed else F.lit(0).cast("long")
        item = F.col(f"`{dual.id_column}`").cast(dual.id_type).alias("item")
        frames.append(dual.frame.select(item, baskets.alias("baskets"), place.alias(PLACE)))
    both = frames[0].unionByName(frames[1]).groupBy("item")
    frame = both.agg(F.flatten(F.collect_list("baskets")).alias("baskets"), F.min(PLACE).alias(PLACE))
    return replace(first, frame=frame, text_column="baskets", id_column="item")


def _through_groups(rows: SparkSource, gone: DataFrame, kind: str) -> SparkSource:
    """Replace the items of baskets (rows) by the representatives of their groups. gone: item, kept (of type `kind`)."""
    from pyspark.sql import functions as F  # noqa: N812

    frame = rows.placed() if rows.placing == "files" else rows.frame
    others = [name for name in frame.columns if name != rows.text_column]
    entries = frame.withColumn(ROW, F.monotonically_increasing_id()).withColumn(
        MEMBER, F.explode_outer(F.col(f"`{rows.text_column}`").cast(f"array<{kind}>"))
    )
    named = entries.join(gone.toDF(MEMBER, "kept"), MEMBER, "left").withColumn(MEMBER, F.coalesce("kept", MEMBER))
    held = [F.first(f"`{name}`").alias(name) for name in others]
    baskets = named.groupBy(ROW).agg(F.collect_list(MEMBER).alias(rows.text_column), *held)
    placing = "column" if rows.placing == "files" else rows.placing
    return replace(rows, frame=baskets.select(*(f"`{name}`" for name in frame.columns)), placing=placing, bases={})


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
        check_no_columns(rule, rows.name)
        return _of_rows(rows, rule, BasketColumns("", schema.names[0]))
    found = choose_columns(
        schema, rows.name, set=rule.set, item=rule.item, rating=rule.rating, rate=rule.min_rating is not None,
        split=rule.separator is not None,
    )  # fmt: skip
    if found.listed or rule.separator is not None:
        check_no_rating(found, rows.name)
        return _of_rows(rows, rule, found)
    if (column := preferred_column(keep)) is not None:
        raise UsageError(f"keep by the column {column!r} needs one row for each basket; {rows.name} has one per item.")
    owner, held = (found.item, found.set) if rule.dual else (found.set, found.item)
    frame = rows.placed() if rows.placing == "files" else frame
    return _grouped(rows, frame, owner, held, _counts(found, rule))


def _grouped(
    rows: SparkSource, frame: DataFrame, owner: str, held: str, counts: str
) -> tuple[SparkSource, SparkSource]:
    """Group rows (owner, held) to one row for each owner, in the order of first appearance if rows have an order.

    Where several entries have the place of one row, WITHIN is their order.
    """
    from pyspark.sql import functions as F  # noqa: N812

    listed = [F.collect_list(F.when(F.expr(counts), _present(held, rows.name))).alias(held)]
    several = WITHIN in frame.columns
    if PLACE in frame.columns:
        listed.append(F.min(F.struct(PLACE, WITHIN) if several else PLACE).alias(FIRST if several else PLACE))
    lists = frame.groupBy(_present(owner, rows.name).alias(owner)).agg(*listed)
    if several and PLACE in frame.columns:
        lists = numbered(lists, [FIRST], PLACE).drop(FIRST)
    placing: Any = "column" if PLACE in frame.columns else "sorted ids"
    made = replace(rows, frame=lists, text_column=held, id_column=owner, placing=placing, bases={}, csv=None)
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

    fault = f"lookalike.errors.InputError: column {column!r} in {where} has a row without a value; drop such rows."
    return F.when(F.col(f"`{column}`").isNull(), F.raise_error(F.lit(fault))).otherwise(F.col(f"`{column}`"))


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
        raise no_row_numbers(rows.name, "set")
    form = "a list column" if found.listed else "texts with separators" if found.set else "one basket a line"
    rows = replace(rows, shown={"form": form})
    made = replace(rows, frame=frame, text_column=found.item, id_column=id_column)
    given = replace(rows, text_column=found.item, id_column=id_column)
    if not rule.dual:
        return made, given
    if id_column is None:
        raise UsageError(f"`dual` needs to know whose basket a row of {rows.name} is; give `set=COLUMN`.")
    whole = made.placed() if rows.placing == "files" else frame
    others = [f"`{name}`" for name in whole.columns if name != found.item]
    entries = whole.select(*others, F.posexplode(f"`{found.item}`").alias(WITHIN, found.item))
    return _grouped(replace(rows, frame=entries, csv=None), entries, found.item, id_column, "true")


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
