"""The receipt of a run: a record of what was requested, planned, counted and measured."""

from __future__ import annotations

import platform
import resource
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from lookalike import __version__
from lookalike.core.formatting import share

if TYPE_CHECKING:
    from lookalike.core.recall_audit import Audit
    from lookalike.core.trace import Trace
    from lookalike.runtime.local.work_folder import Workspace
    from lookalike.runtime.run_output import RunOutput, RunSpec, Source

NO_WORK: dict[str, Any] = {"folder": None, "memory_mb": None, "notes": []}  # for a run without a work folder


def make_receipt(asked: str, sources: Sequence[Source], job: RunSpec, found: RunOutput, trace: Trace) -> dict[str, Any]:
    """Return the receipt of a local run as a plain dict that can be written as JSON."""
    return {
        "asked": asked,
        "inputs": [{**source.describe(), "rows": rows} for source, rows in zip(sources, found.rows, strict=True)],
        "items": job.noun,
        "compared": job.words(),
        "scale": {"column": job.scale.column, "sign": job.scale.sign},
        "job": job.as_dict(),
        "choice": found.choice.as_dict(),
        **recall_facts(found, job),
        "verified": job.verify,
        "pairs_complete": found.pairs is not None or found.streamed is not None,
        "counts": trace.counts,
        "bucket_sizes": bucket_sizes(trace),
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": [
            *source_warnings(sources),
            *trace.warnings,
            *recall_warnings(found.audit, _planned_recall(found), job),
        ],
        "left_out": [what for source in sources for what in getattr(source, "left_out", ())],
        "work": work_summary(found.space),
        "versions": versions(),
    }


def source_warnings(sources: Sequence[Source]) -> list[str]:
    return [warning for source in sources for warning in getattr(source, "warnings", ())]


def recall_facts(found: RunOutput, job: RunSpec) -> dict[str, Any]:
    """Return the plan, the recall that it promises at the threshold, and the measured recall of the run."""
    return {
        "plan": None if found.plan is None else found.plan.as_dict(),
        "recall_at_threshold": _planned_recall(found),
        "recall_measured": None if found.audit is None else found.audit.as_dict(job.scale.sign),
    }


def recall_warnings(audit: Audit | None, planned: float | None, job: RunSpec) -> list[str]:
    """Warn if the whole confidence interval of the measured recall lies below the promised recall."""
    if audit is None or planned is None or audit.share.interval is None or audit.share.recall is None:
        return []
    promised, (_, high) = min(planned, float(getattr(job, "recall", planned))), audit.share.interval
    if high >= promised:
        return []
    return [
        f"the measured recall is {share(audit.share.recall)}, at most {share(high)}, and {promised:g} was promised. "
        "Ask for `method='exact'`, or for a higher `recall`."
    ]


def bucket_sizes(trace: Trace) -> dict[str, int]:
    """Return the number of buckets per size class (1, 2-3, 4-7, ...); empty for methods without buckets.

    >>> from lookalike.core.trace import Trace
    >>> trace = Trace()
    >>> trace.buckets[:3] = 10, 0, 2
    >>> bucket_sizes(trace)
    {'1': 10, '4-7': 2}
    """
    names = ["1", *(f"{1 << d}-{(2 << d) - 1}" for d in range(1, len(trace.buckets)))]
    return {name: int(count) for name, count in zip(names, trace.buckets, strict=True) if count}


def work_summary(space: Workspace) -> dict[str, Any]:
    folder = None if space.folder is None else str(space.folder)
    return {"folder": folder, "memory_mb": round(space.budget / 1e6), "notes": space.notes}


def versions() -> dict[str, str]:
    """Return the versions of everything that may change a result."""
    from lookalike.kernels.unicode import unicode_version

    return {
        "lookalike": __version__,
        "unicode": unicode_version(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numpy", "pyarrow")},
    }


def _planned_recall(found: RunOutput) -> float | None:
    """Return the recall of pairs at the threshold: 1 for exact methods, None for record keys (only measured)."""
    if found.plan is not None:
        return found.plan.recall_at_threshold
    return None if found.choice.method == "keys" else 1.0


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
