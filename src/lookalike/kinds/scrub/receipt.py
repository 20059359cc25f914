"""The receipt of a removal of repeated text, with its most frequent passages."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.core.recall_audit import Audit
from lookalike.core.trace import Trace
from lookalike.io.collection import Collection
from lookalike.io.random_access import pick_texts
from lookalike.io.texts import string_array
from lookalike.kinds.scrub.repeats import CutList
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import ScrubTokens, token_ranges
from lookalike.runtime.local.work_folder import Workspace
from lookalike.runtime.receipt import peak_memory, source_warnings, versions, work_summary

LISTED_CUTS = 10  # most frequent passages in the receipt
QUOTED_CHARACTERS = 200  # characters of each that are quoted


def frequent_passages(read: ScrubTokens, cuts: CutList, job: ScrubJob, collection: Collection) -> list[dict[str, Any]]:
    """Return the passages that were cut most often, by their copies that stay: text, tokens, copies cut, document."""
    import pyarrow as pa

    pieces = cuts.pieces[cuts.pieces[:, 2] >= 0]
    if not len(pieces):
        return []
    copies, often = np.unique(pieces[:, [2, 1]], axis=0, return_counts=True)
    best = np.lexsort((copies[:, 0], -copies[:, 1] * often, -often))[:LISTED_CUTS]
    owners = np.searchsorted(read.offsets, copies[best, 0], "right") - 1
    texts = pick_texts([collection], set(owners.tolist()))
    out = []
    for (token, tokens), times, owner in zip(copies[best].tolist(), often[best].tolist(), owners.tolist(), strict=True):
        text = texts[owner]
        ranges = token_ranges(string_array([text], pa.large_string()), job)
        first = token - int(read.offsets[owner])
        quoted = text.encode()[ranges.starts[first] : ranges.ends[first + tokens - 1]].decode("utf-8", "replace")
        quoted = " ".join(quoted.split())
        more = "..." if len(quoted) > QUOTED_CHARACTERS else ""
        kept = read.ids[owner].as_py()
        out.append({"text": quoted[:QUOTED_CHARACTERS] + more, "tokens": tokens, "copies": times, "kept": kept})
    return out


def scrub_receipt(
    collection: Collection, job: ScrubJob, read: ScrubTokens, trace: Trace, space: Workspace,
    passages: list[dict[str, Any]], measured: Audit | None,
) -> dict[str, Any]:  # fmt: skip
    """Build the receipt of a run."""
    return {
        "asked": "scrub",
        "inputs": [{**collection.describe(), "rows": len(read)}],
        "items": job.noun,
        "compared": job.words(),
        "job": job.as_dict(),
        "recall_measured": None if measured is None else measured.as_dict(),
        "counts": trace.counts,
        "most_frequent": passages,
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": [*source_warnings([collection]), *trace.warnings],
        "left_out": list(collection.left_out),
        "work": work_summary(space),
        "versions": versions(),
    }
