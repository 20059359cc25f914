"""Baskets, compared by the engine for documents: lists of tokens (the items), in shingles of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lookalike.core.clusters import of_items, stars
from lookalike.core.trace import Trace
from lookalike.kinds.baskets.source import Baskets, together
from lookalike.kinds.documents.local import run
from lookalike.kinds.documents.spec import Job, Method
from lookalike.runtime.run_output import OutputKind, RunOutput

GROUP_THRESHOLD = 0.2  # Jaccard similarity at which items form a group if baskets are compared by a count


@dataclass(frozen=True, kw_only=True)
class BasketJob(Job):
    """The options of a run over baskets, which extend those for documents.

    of: the name of the items, for messages. via_groups: the threshold of the groups of items, if baskets are compared
    by these groups.
    """

    noun: ClassVar[str] = "baskets"

    threshold: float = 0.2
    method: Method = "exact"
    of: str = "item"
    via_groups: float | None = None

    def words(self) -> str:
        bag = " (bag)" if self.rule.bag else ""
        through = "" if self.via_groups is None else f", grouped at {self.via_groups:g}"
        if self.via_groups is not None and self.set_measure().is_count:
            return f"at least {self.threshold:g} shared groups of {self.of!r}{bag}{through}"
        return f"{self.measure} at least {self.threshold:g} on sets of {self.of!r}{bag}{through}"


class ItemJob(BasketJob):
    """The dual job: compare items as sets of the baskets that contain them."""

    noun: ClassVar[str] = "items"


def search(
    baskets: Sequence[Baskets], job: BasketJob, want: OutputKind, trace: Trace, *, keep: str = "first"
) -> RunOutput:
    """Find the pairs (or groups) of one collection of baskets, or the pairs between two with one numbering of items."""
    found = run([one.collection() for one in baskets], job, want, trace, keep=keep)
    trace.counts[job.noun] = trace.counts.pop("documents")
    trace.counts["entries"] = trace.counts.pop("shingles")
    trace.counts.pop("bytes")
    return found


def through_groups(
    baskets: Sequence[Baskets], job: BasketJob, threshold: float | None, trace: Trace
) -> tuple[list[Baskets], BasketJob]:
    """Replace every item by the representative of its group; return the baskets and the job with its `via_groups`.

    Groups are stars of items that occur in similar sets of baskets, around the most common items, so every item is
    itself similar to its representative. threshold: of these groups, by the measure of the job, or by Jaccard
    similarity if the job counts shared groups; None for the threshold of the job, or GROUP_THRESHOLD if it counts.
    """
    counts = job.set_measure().is_count
    near = (GROUP_THRESHOLD if counts else job.threshold) if threshold is None else threshold
    measure = "jaccard" if counts else job.measure
    with trace.stage("item groups"):
        items = together(baskets).dual()
        found = search(
            [items], replace(job, measure=measure, threshold=near, method="exact"), "pairs", Trace(), keep="longest"
        )
        assert found.pairs is not None  # pairs were requested
        made = stars(found.pairs, found.order)
        representative = of_items(made, found.classes, len(found), found.own).representative
    grouped = int((representative != np.arange(len(representative))).sum())
    trace.add(items=len(items), item_groups=len(items) - grouped)
    return [one.renamed(representative, one.items) for one in baskets], replace(job, via_groups=near)
