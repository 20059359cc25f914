"""Pairs of records with what each field adds to their similarity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.engines.spark.answer import Matched
from lookalike.engines.spark.batches import mapped, numbers
from lookalike.engines.spark.copies import Copies
from lookalike.engines.spark.record_scores import Held, compared
from lookalike.engines.spark.records import text_columns
from lookalike.measures.fields import RecordRules
from lookalike.stages.contributions import contribution_names, contributions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLAIN = ("left", "right", "similarity")


@dataclass(frozen=True)
class RecordMatched(Matched):
    """As of any kind of item. by_first: equal records by the first of them; rated: what scores look at, of these."""

    by_first: Copies = field(kw_only=True)
    rated: DataFrame = field(kw_only=True)
    rules: RecordRules = field(kw_only=True)
    held: Held = field(kw_only=True)
    rivals: bool = field(kw_only=True)

    def named(self, frame: DataFrame, left: Sequence[str], right: Sequence[str] = ()) -> DataFrame:
        """Pairs get a column for each field on their way."""
        if frame is not self.pairs:
            return super().named(frame, left, right)
        detailed = self._detailed(frame)
        names = [name for name in contribution_names(self.rules, rivals=self.rivals) if name not in PLAIN]
        return super().named(detailed, left, right).toDF(*PLAIN, *names)

    def _detailed(self, pairs: DataFrame) -> DataFrame:
        """left, right, similarity, part0, part1, ...: two joins for the classes of copies, two for their texts."""
        rules, held, rivals, texts = self.rules, self.held, self.rivals, [*text_columns(self.rules), "held"]
        names = contribution_names(rules, rivals=rivals)
        shown = [number for number, name in enumerate(names) if name not in PLAIN]
        copies = self.by_first.frame.select("item", "rep")
        for side in ("left", "right"):
            pairs = pairs.join(copies.toDF(side, f"{side}_rep"), side, "left")
            pairs = pairs.selectExpr("*", f"coalesce({side}_rep, {side}) as {side}_item").drop(f"{side}_rep")
        for side in ("left", "right"):
            columns = [f"item as {side}_item", *(f"{name} as {side}_{name}" for name in texts)]
            pairs = pairs.join(self.rated.selectExpr(*columns), f"{side}_item")

        def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            one, two = (pa.record_batch([batch[f"{side}_{n}"] for n in texts], texts) for side in ("left", "right"))
            made, similarity = compared(one, two, rules, held), numbers(batch, "similarity")
            added = list(contributions(rules, made.seen, made.whole, similarity, made.rare, rivals=rivals).values())
            columns = [pa.array(added[number], mask=np.isnan(added[number])) for number in shown]
            kept = [batch[name] for name in PLAIN]
            yield pa.record_batch([*kept, *columns], [*PLAIN, *(f"part{number}" for number in shown)])

        schema = "left long, right long, similarity double" + "".join(f", part{number} double" for number in shown)
        return mapped(pairs, stage, schema)
