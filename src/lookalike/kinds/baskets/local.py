"""Baskets, compared by the engine for documents: lists of tokens (the items), in shingles of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookalike.core.clusters import of_items, stars
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.baskets.source import Baskets, together
from lookalike.kinds.baskets.spec import BasketJob
from lookalike.kinds.documents.local import run
from lookalike.runtime.local.memory_limit import InputNeed
from lookalike.runtime.local.work_folder import ResourceLimits
from lookalike.runtime.run_output import OutputKind, RunOutput

# Bytes of memory while baskets are read, from benchmarks/scale/memory_needs.py; the join has a work folder.
BASKETS_NEED = InputNeed("entries", row=0, text_byte=4)
GROUP_THRESHOLD = 0.2  # Jaccard similarity at which items form a group if baskets are compared by a count


def search(
    baskets: Sequence[Baskets], job: BasketJob, want: OutputKind, trace: Trace, *, keep: str = "first",
    place: ResourceLimits | None = None,
) -> RunOutput:  # fmt: skip
    """Find the pairs (or groups) of one collection of baskets, or the pairs between two with one numbering of items."""
    found = run([one.collection() for one in baskets], job, want, trace, keep=keep, place=place)
    trace.counts[job.noun] = trace.counts.pop("documents")
    trace.counts["entries"] = trace.counts.pop("shingles")
    trace.counts.pop("bytes")
    return found


def through_groups(
    baskets: Sequence[Baskets], job: BasketJob, threshold: float | None, trace: Trace,
    place: ResourceLimits | None = None,
) -> tuple[list[Baskets], BasketJob]:  # fmt: skip
    """Replace every item by the representative of its group; return the baskets and the job with its `via_groups`.

    Groups are stars of items that occur in similar sets of baskets, around the most common items, so every item is
    itself similar to its representative. threshold: of these groups, by the measure of the job, or by Jaccard
    similarity if the job counts shared groups; None for the threshold of the job, or GROUP_THRESHOLD if it counts.
    """
    if job.weights is not None:
        raise UsageError("`via_groups` compares baskets by groups of items, which have no own weights. Leave one out.")
    grouping = item_groups_job(job, threshold)
    with trace.stage("item groups"):
        items = together(baskets).dual()
        found = search([items], grouping, "pairs", Trace(), keep="longest", place=place)
        assert found.pairs is not None  # pairs were requested
        made = stars(found.pairs, found.order)
        representative = of_items(made, found.classes, len(found), found.own).representative
    grouped = int((representative != np.arange(len(representative))).sum())
    trace.add(items=len(items), item_groups=len(items) - grouped)
    compared = [one.renamed(representative, one.items) for one in baskets]
    return compared, replace(job, via_groups=grouping.threshold)


def item_groups_job(job: BasketJob, threshold: float | None) -> BasketJob:
    """Return the job that groups the items. threshold: as for `through_groups`."""
    counts = job.set_measure().is_count
    near = (GROUP_THRESHOLD if counts else job.threshold) if threshold is None else threshold
    measure = "jaccard" if counts else job.measure
    return replace(job, measure=measure, threshold=near, method="exact", weight="none", weights=None)
