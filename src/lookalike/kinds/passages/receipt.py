"""The receipt of a search for passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lookalike.core.trace import Trace
from lookalike.kinds.passages.local import Shared
from lookalike.kinds.passages.reworded import Reworded
from lookalike.kinds.passages.spec import PassageJob
from lookalike.runtime.receipt import NO_WORK, peak_memory, source_warnings, versions, work_summary
from lookalike.runtime.run_output import Source


def passages_receipt(
    sources: Sequence[Source], job: PassageJob, shared: Shared, trace: Trace, boilerplate: list[dict[str, Any]]
) -> dict[str, Any]:
    """Build the receipt of a search for passages. boilerplate: the excluded stretches, heaviest first."""
    inputs = [{**source.describe(), "rows": len(ids)} for source, ids in zip(sources, shared.ids, strict=True)]
    left_out = [what for source in sources for what in getattr(source, "left_out", ())]
    facts = passages_facts(inputs, job, trace)
    facts |= {"warnings": [*source_warnings(sources), *trace.warnings]}
    if isinstance(shared, Reworded):
        chance = shared.chance
        reason = f"from a score of {chance.least_score:.1f}, {chance.expected:.2g} of {chance.found:,} by chance"
        facts |= {
            "choice": {"method": "chains", "reason": reason if chance.found else "no score is above chance"},
            "recall_at_threshold": None,
            "reworded": shared.facts(),
        }
    return facts | {"boilerplate": boilerplate, "left_out": left_out, "work": work_summary(shared.space)}


def passages_facts(inputs: list[dict[str, Any]], job: PassageJob, trace: Trace) -> dict[str, Any]:
    """Build the receipt of a search for passages without exclusions, on any engine."""
    return {
        "asked": "passages",
        "inputs": inputs,
        "items": job.noun,
        "compared": job.words(),
        "job": job.as_dict(),
        "choice": {"method": "winnow", "reason": f"every run of {job.guaranteed} {job.unit} is found"},
        "plan": None,
        "recall_at_threshold": 1.0,
        "recall_measured": None,
        "verified": True,
        "boilerplate": [],
        "left_out": [],
        "work": NO_WORK,
        "counts": trace.counts,
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": trace.warnings,
        "versions": versions(),
    }
