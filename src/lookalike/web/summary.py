"""Summary of a receipt for the first page of the explorer: the funnel, the S-curve and facts in words."""

from __future__ import annotations

import shlex
from typing import Any

from lookalike.core.formatting import count, share, size
from lookalike.kinds.bits.multi_index import MultiIndexPlan
from lookalike.planning.amplification import shape_of
from lookalike.planning.banding import Plan

Receipt = dict[str, Any]
S_CURVE_POINTS = 120  # number of intervals of the plotted curve


# The parameter that is the threshold, by the kind of items and the column of scores.
OPTIONS = {
    ("documents", "similarity"): "threshold",
    ("baskets", "similarity"): "threshold",
    ("records", "similarity"): "threshold",
    ("strings", "distance"): "max_edits",
    ("strings", "similarity"): "threshold",
    ("bits", "bits"): "max_bits",
    ("images", "bits"): "max_bits",
    ("vectors", "angle"): "max_angle",
    ("vectors", "cosine"): "min_cosine",
    ("vectors", "distance"): "max_distance",
}


def command(receipt: Receipt, column: str) -> dict[str, Any] | None:
    """Return the command of the run without its threshold, quoted for a shell, and the flag of the threshold.

    None if the run was not one of the command line.
    """
    words = receipt.get("command")
    if not words:
        return None
    option = OPTIONS.get((receipt["items"], column))
    flag = None if option is None else "--" + option.replace("_", "-")
    kept = [word for at, word in enumerate(words) if flag is None or flag not in (word, *words[max(0, at - 1) : at])]
    return {"words": shlex.join(kept), "flag": flag}


def funnel(receipt: Receipt, pairs: int | None, groups: int, grouped: int) -> list[dict[str, Any]]:
    """Return the steps from items to groups that were counted, each with name, count and note."""
    counts, noun = receipt["counts"], receipt["items"]
    read = counts.get(noun, 0)
    steps = [{"name": f"{noun} read", "count": read, "note": _read_note(counts)}]
    copies = counts.get("exact_duplicates", 0)
    different = read - copies - counts.get("empty", 0) - counts.get("broken", 0) - counts.get("skipped", 0)
    if "exact_duplicates" in counts:
        steps.append({"name": f"different {noun}", "count": different, "note": f"{copies:,} exact copies set aside"})
    if "candidates" in counts:
        possible = different * (different - 1) // 2
        compared = counts["candidates"]
        few = len(receipt["inputs"]) == 1 and 0 < 2 * compared <= possible
        note = f"1 in {possible / compared:,.0f} of all pairs" if few else "pairs that were compared"
        steps.append({"name": "candidate pairs", "count": compared, "note": note})
    if pairs is not None:
        note = "scored exactly" if receipt["verified"] else "estimated, not verified"
        steps.append({"name": "pairs", "count": pairs, "note": note})
    steps.append({"name": "groups", "count": groups, "note": f"{grouped:,} {noun} in them"})
    return steps


def _read_note(counts: dict[str, Any]) -> str:
    nbytes = counts.get("bytes", 0)
    parts = [size(nbytes)] if nbytes else []
    parts += [f"{counts[name]:,} {word}" for name, word in NOTED_COUNTS.items() if counts.get(name)]
    return " · ".join(parts)


NOTED_COUNTS = {"empty": "empty", "broken": "left out", "skipped": "skipped"}


def curve(receipt: Receipt) -> dict[str, Any] | None:
    """Return the planned and measured recall for each score; None if the method cannot miss pairs."""
    plan, measured = receipt["plan"], receipt["recall_measured"]
    if plan is None and not measured:
        return None
    return {
        "points": _points(receipt, plan) if plan else [],
        "shape": (plan or {}).get("shape") or (shape_of(plan["bands"], plan["rows"]) if plan else ""),
        "planned": receipt["recall_at_threshold"],
        "measured": measured,
    }


def _points(receipt: Receipt, plan: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the planned recall for each score; empty if it does not depend on the score alone."""
    if "widths" in plan:
        names = ("bits", "threshold", "recall", "widths", "flips", "rounds")
        pieces = MultiIndexPlan(**{name: _tuple(plan[name]) for name in names})
        most = min(pieces.bits, 2 * pieces.threshold + 4)
        return [(float(d), pieces.probability(d)) for d in range(most + 1)]
    if "num_hashes" in plan and receipt["job"].get("measure") == "jaccard":
        banding = Plan(**{name: plan[name] for name in ("threshold", "recall", "num_hashes", "bands", "rows")})
        return points(banding)
    return []


def points(plan: Plan) -> list[tuple[float, float]]:
    """Return points (similarity, probability that a pair is found) of the S-curve."""
    return [(i / S_CURVE_POINTS, round(plan.probability(i / S_CURVE_POINTS), 5)) for i in range(S_CURVE_POINTS + 1)]


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _made_of_pairs(receipt: Receipt) -> list[tuple[str, str]]:
    """Return facts about the groups of the run if they differ from the connected components on the page."""
    if receipt.get("grouping", "components") == "components":
        return []
    counts = receipt["counts"]
    kept = f"{counts['kept']:,}; {counts['removed']:,} removed, each like one kept" if "kept" in counts else ""
    return [("Kept", kept), ("Groups", "on this page, what pairs connect, in chains too")]


def facts(receipt: Receipt) -> list[tuple[str, str]]:
    """Return facts about a run as (name, text): its method, its recall, and its time and memory."""
    choice = receipt["choice"]
    rows = [
        ("Compared", receipt["compared"]),
        (
            "Way",
            {"lsh": "banding", "exact": "exact join", "keys": "shared keys", "folding": "OR-folding"}.get(
                choice["method"], choice["method"]
            ),
        ),
        ("Why", choice.get("why") or choice.get("reason") or ""),
        *_made_of_pairs(receipt),
    ]
    planned, measured = receipt["recall_at_threshold"], receipt["recall_measured"]
    if planned is not None:
        where = (receipt["plan"] or {}).get("recall_is", "at the threshold")
        rows.append(("Recall planned", "1, none missed" if planned == 1 else f"{share(planned)} {where}"))
    if measured and measured["recall"] is not None:
        low, high = measured["interval_95"]
        said = f"{share(measured['recall'])} ({share(low)} to {share(high)}), "
        said += count(measured["sampled"], "sampled items")
        said += ", exact copies counted once" if receipt["counts"].get("exact_duplicates") else ""
        rows.append(("Recall measured", said))
        if measured.get("probably_missed") is not None:
            rows.append(("Probably missed", count(measured["probably_missed"], "pairs")))
    rows += [
        ("Checked", "every pair verified" if receipt["verified"] else "similarities are estimates"),
        ("Time", f"{sum(receipt['seconds'].values()):.1f} s, {receipt['peak_memory_mb']:,} MB of memory"),
        ("Made by", f"lookalike {receipt['versions']['lookalike']}"),
    ]
    return [(name, str(said)) for name, said in rows if said]
