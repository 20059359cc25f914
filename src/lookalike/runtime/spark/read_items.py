"""Read the items of one or two collections into `things` (see `key_join`) with sets and keys, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.errors import ID_ADVICE, InputError
from lookalike.runtime.spark.arrow_batches import Batches, mapped_whole, numbers
from lookalike.runtime.spark.row_numbers import numbered
from lookalike.runtime.spark.sources import FILE, HIDDEN, PLACE, SparkSource, places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Made = Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]
BOTH = 3  # side of items that may match any other item


def read_items(
    origins: Sequence[SparkSource], make: Callable[[pa.RecordBatch], Made], columns: str, *, preferred: str | None
) -> DataFrame:
    """Return the items of all collections as a frame of `things` (see `key_join`).

    Columns: item, side, `columns`, id if rows have one besides their number, and `preferred`, the column that decides
    which item to keep.
    make: yields parts of a batch of rows (item, text), each with its columns.
    """
    whole = None
    for number, origin in enumerate(origins):
        side = BOTH if len(origins) == 1 else number + 1
        one = _of_origin(origin, make, columns, side, preferred if number == 0 else None)
        whole = one if whole is None else whole.unionByName(one, allowMissingColumns=True)
    assert whole is not None
    return whole


def _of_origin(
    origin: SparkSource, make: Callable[[pa.RecordBatch], Made], columns: str, side: int, preferred: str | None
) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    frame, files = origin.frame, origin.placing == "files"
    chosen = [F.col(f"`{origin.text_column}`").alias("text")]
    kept = []
    if origin.id_column is not None:
        kept.append(F.col(f"`{origin.id_column}`").cast(origin.id_type).alias("id"))
    if preferred is not None:
        kept.append(origin.compared(preferred).alias("preferred"))
    hidden = [F.col(name) for name in HIDDEN if name in frame.columns]
    if origin.placing == "ids":
        hidden = [F.col(f"`{origin.id_column}`").cast("long").alias(PLACE)]
    elif origin.placing == "sorted ids":
        hidden = [F.lit(0).cast("long").alias(PLACE)]
    frame = frame.select(*chosen, *kept, *hidden)
    name, bases, carried = origin.name, origin.bases, [name for name in ("id", "preferred") if name in frame.columns]

    def checked(batches: Batches) -> Batches:
        for batch in batches:
            for column in ("id", PLACE):
                if column in batch.schema.names and batch[column].null_count:
                    raise InputError(f"an id is null in {name}. {ID_ADVICE}")
            yield batch

    def work(batches: Batches) -> Batches:
        good = checked(batches)
        for batch, place in places(good, bases) if files else ((b, numbers(b, PLACE)) for b in good):
            names = [name for name in batch.schema.names if name != FILE]
            plain = pa.record_batch([batch[name] for name in names], names).append_column("item", as_arrow(place))
            for part, features in make(plain):
                sides = as_arrow(np.full(part.num_rows, side, np.int8))
                values = {"item": part["item"], "side": sides, **features}
                yield pa.record_batch(values | {name: part[name] for name in carried})

    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    schema = f"item long, side byte, {columns}" + "".join(f", {name} {types[name]}" for name in carried)
    items = mapped_whole(frame, work, schema)
    if origin.placing == "sorted ids":
        ids = numbered(frame.select("id"), ["id"], "item")
        items = items.drop("item").join(ids, "id")
    return items if side == BOTH else items.withColumn("item", F.expr(f"item * 2 + {side - 1}"))
