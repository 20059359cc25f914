"""Summarise the receipt of a removal of repeated text in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lookalike.core.formatting import count, percent, share, size
from lookalike.kinds.scrub.spec import SCRUB_DEFAULTS, UNIT_NAMES

QUOTED_IN_SUMMARY = 60  # characters of the most frequent passage


def lines(receipt: dict[str, Any], wrote: Sequence[str | Path]) -> Iterator[tuple[str, str]]:
    """Yield the label and text of each line of the summary."""
    counts, job = receipt["counts"], receipt["job"]
    for note in receipt["work"]["notes"]:
        yield "Work", note
    yield "Read", f"{count(counts['documents'], 'documents')} · {size(counts['bytes'])}"
    yield "Compared", receipt["compared"]
    unit = UNIT_NAMES[job["unit"]] if job["level"] == "span" else f"{job['level']}s"
    removed = percent(counts["tokens_removed"] / max(1, counts["tokens"]))
    parts = [
        f"{counts['tokens_removed']:,} of {count(counts['tokens'], unit)} ({removed})",
        f"{count(counts['cuts'], 'cuts')} in {count(counts['documents_cut'], 'documents')}",
    ]
    if counts["documents_dropped"]:
        parts.append(f"{count(counts['documents_dropped'], 'documents')} dropped")
    if counts["documents_left_whole"]:
        parts.append(f"{count(counts['documents_left_whole'], 'documents')} left whole")
    yield "Removed", " · ".join(parts)
    if job.get("gap"):
        yield "Recall", f"of near copies · {_recall(receipt)}"
    if receipt["most_frequent"]:
        first = receipt["most_frequent"][0]
        text = first["text"]
        quoted = text if len(text) <= QUOTED_IN_SUMMARY else text[:QUOTED_IN_SUMMARY].rstrip(" .") + "..."
        yield "Most", f"{count(first['copies'], 'copies')} of “{quoted}”; the one in {first['kept']} stays"
    yield "Took", f"{sum(receipt['seconds'].values()):.1f} s, {receipt['peak_memory_mb']:,} MB of memory"
    for path in wrote:
        yield "Wrote", str(path)


def _recall(receipt: dict[str, Any]) -> str:
    """Describe how many of the near copies were cut."""
    measured, documents = receipt["recall_measured"], receipt["counts"]["documents"]
    if not documents:
        return "not measured: no documents"
    if measured is None:
        return f"not measured, because audit is 0; {SCRUB_DEFAULTS['audit']} documents are the default"
    sampled, most = measured["sampled"], measured["probably_missed_at_most"]
    if measured["recall"] is None:
        more = "all were looked at" if sampled >= documents else f"an audit of {4 * sampled:,} looks at more"
        none = f"not measured: none cut, and none in {count(sampled, 'sampled documents')}"
        return f"{none} · at most {most:,} missed · {more}"
    low, high = measured["interval_95"]
    found = f"measured {share(measured['recall'])} ({share(low)} to {share(high)}) on {count(sampled, 'documents')}"
    search = measured["over"].partition("against ")[2]
    return f"{found}, against {search} · about {measured['probably_missed']:,} missed, at most {most:,}"
