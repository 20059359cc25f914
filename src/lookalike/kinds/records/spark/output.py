"""The output of record linkage on Spark: pairs with the contribution of each field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.kinds.records.explain import contribution_names, explain_pairs
from lookalike.kinds.records.rules import RecordRules
from lookalike.kinds.records.spark.features import text_columns
from lookalike.kinds.records.spark.scoring import TermFrequencies, compared
from lookalike.runtime.spark.arrow_batches import mapped, numbers
from lookalike.runtime.spark.exact_duplicates import Copies
from lookalike.runtime.spark.key_join import EDGE_COLUMNS
from lookalike.runtime.spark.output import Matched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAIR_COLUMNS = ("left", "right", "similarity")


@dataclass(frozen=True)
class RecordMatched(Matched):
    """The matches of a run over records.

    known: the classes of equal records, identified by their first record; rated: the texts and word counts of these
    records, from which scores are computed.
    """

    known: Copies = field(kw_only=True)
    rated: DataFrame = field(kw_only=True)
    rules: RecordRules = field(kw_only=True)
    held: TermFrequencies = field(kw_only=True)
    rivals: bool = field(kw_only=True)

    def named(self, frame: DataFrame, left: Sequence[str], right: Sequence[str] = ()) -> DataFrame:
        """Replace item numbers by ids; pairs also get a column with the contribution of each field."""
        if frame is not self.pairs:
            return super().named(frame, left, right)
        detailed = self._detailed(frame)
        names = [name for name in contribution_names(self.rules, rivals=self.rivals) if name not in PAIR_COLUMNS]
        return super().named(detailed, left, right).toDF(*PAIR_COLUMNS, *names)

    def _detailed(self, pairs: DataFrame) -> DataFrame:
        """Return left, right, similarity, part0, part1, ... (contributions).

        Two joins find the classes of exact duplicates, and two more their texts.
        """
        rules, held, rivals, texts = self.rules, self.held, self.rivals, [*text_columns(self.rules), "held"]
        names = contribution_names(rules, rivals=rivals)
        shown = [number for number, name in enumerate(names) if name not in PAIR_COLUMNS]
        copies = self.known.frame.select("item", "rep")
        for side in ("left", "right"):
            pairs = pairs.join(copies.toDF(side, f"{side}_rep"), side, "left")
            pairs = pairs.selectExpr("*", f"coalesce({side}_rep, {side}) as {side}_item").drop(f"{side}_rep")
        for side in ("left", "right"):
            columns = [f"item as {side}_item", *(f"{name} as {side}_{name}" for name in texts)]
            pairs = pairs.join(self.rated.selectExpr(*columns), f"{side}_item")

        def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            one, two = (pa.record_batch([batch[f"{side}_{n}"] for n in texts], texts) for side in ("left", "right"))
            made, similarity = compared(one, two, rules, held), numbers(batch, "similarity")
            added = list(explain_pairs(rules, made.seen, made.whole, similarity, made.rare, rivals=rivals).values())
            columns = [pa.array(added[number], mask=np.isnan(added[number])) for number in shown]
            kept = [batch[name] for name in PAIR_COLUMNS]
            yield pa.record_batch([*kept, *columns], [*PAIR_COLUMNS, *(f"part{number}" for number in shown)])

        schema = EDGE_COLUMNS + "".join(f", part{number} double" for number in shown)
        return mapped(pairs, stage, schema)
