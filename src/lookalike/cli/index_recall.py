"""The recall of an index on the command line: what is promised, what was measured, and the receipt of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.core.formatting import count, share
from lookalike.planning.amplification import rounded_down

if TYPE_CHECKING:
    from lookalike.index.index import Index
    from lookalike.index.recall import IndexRecall, QuerySample

MEASURE_QUERIES = "--audit 300 compares 300 of the queries with all items"
MEASURE_INDEX = "`lookalike index recall {place}` measures it"


def sample_for(index: Index, audit: int | None) -> QuerySample | None:
    """Return a sample for the queries to come, or None if their recall is 1 or must not be measured."""
    from lookalike.index.index import QuerySample

    if audit == 0 or misses_none(index.kind.plan()["recall_at_threshold"]):
        return None
    return QuerySample() if audit is None else QuerySample(size=max(audit, QuerySample.size))


def misses_none(planned: float | None) -> bool:
    return planned is not None and planned >= 1


def line(planned: float | None, measured: IndexRecall | None, help: str, *, exact: bool = False) -> str | None:  # noqa: A002
    """Describe the recall of queries of an index; None if it misses none. help: what measures it.

    exact: also describe the recall of an index that misses none.
    """
    if misses_none(planned) and not exact:
        return None
    promise = "not planned" if planned is None else f"planned {rounded_down(planned)} at the threshold"
    if measured is None:
        return f"{promise} · not measured: {help}"
    among = f"{measured.sampled:,} of {count(measured.queried, 'queries')}"
    if measured.sampled == measured.queried:
        among = count(measured.queried, "queries")
    if measured.recall is None or measured.interval is None:
        return f"{promise} · not measured: no match in a comparison of {among} with {count(measured.items, 'items')}"
    low, high = measured.interval
    of = count(measured.share.true, "pairs")
    return f"{promise} · measured {share(measured.recall)} ({share(low)} to {share(high)}) on {of} of {among}"


def query_receipt(
    index: Index, measured: IndexRecall | None, *, threshold: float | None, top: int | None
) -> dict[str, Any]:
    """Return the receipt of a query: what was asked, of which index, and its recall."""
    from lookalike import __version__

    info = index.info()
    return {
        "asked": "index query", "version": __version__,
        "index": {name: info[name] for name in ("place", "kind", "items", "settings", "plan")},
        "threshold": index.kind.threshold if threshold is None else threshold, "top": top,
        "recall_at_threshold": info["plan"]["recall_at_threshold"],
        "recall_measured": None if measured is None else measured.as_dict(),
    }  # fmt: skip
