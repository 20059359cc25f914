"""The receipt of a run: what was asked, what was derived, what was counted."""

from __future__ import annotations

import platform
import resource
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from lookalike import __version__
from lookalike.engines.job import Job
from lookalike.engines.local import Found
from lookalike.engines.trace import Trace
from lookalike.io.collection import Collection
from lookalike.kernels.unicode import unicode_version


def make_receipt(asked: str, collections: Sequence[Collection], job: Job, found: Found, trace: Trace) -> dict[str, Any]:
    """A plain dict that can be written as JSON."""
    return {
        "asked": asked,
        "inputs": [
            {"name": collection.name, "text": collection.text_column, "id": collection.id_column, "rows": len(ids)}
            for collection, ids in zip(collections, found.features.ids, strict=True)
        ],
        "job": job.as_dict(),
        "choice": found.choice.as_dict(),
        "plan": None if found.plan is None else found.plan.as_dict(),
        "recall_at_threshold": 1.0 if found.plan is None else found.plan.recall_at_threshold,
        "recall_measured": None if found.audit is None else found.audit.as_dict(len(found.pairs or ())),
        "verified": job.verify,
        "pairs_complete": found.pairs is not None,
        "counts": trace.counts,
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": trace.warnings,
        "versions": {
            "lookalike": __version__,
            "unicode": unicode_version(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numba", "numpy", "pyarrow")},
        },
    }


def peak_memory() -> int:
    """Bytes of memory this process has held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
