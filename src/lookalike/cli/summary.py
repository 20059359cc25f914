"""Summarise a receipt in a few lines: what was read, how it was compared, the result, and the output files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lookalike.core.formatting import count, percent, share, size
from lookalike.planning.amplification import shape_of

WAYS = {
    "nearest": "exact",
    "dcm": "Divide-Compute-Merge",
    "winnow": "winnowed fingerprints",
    "average-linkage": "average linkage",
}
FOUND = (
    "pairs",
    "neighbours",
    "passages",
    "stories",
    "groups",
    "entities",
    "kept",
    "removed",
)  # counts that a summary shows
NOT_COUNTED = {  # shingles of passages that were not compared
    "template_shingles": "shingles of the template",
    "common_shingles": "common shingles",
    "boilerplate_shingles": "shingles of boilerplate",
}
AUDIT = {"vectors": 128, "faces": 128}  # default sample size of the audit, if not 2000
KNOWN_PAIRS = "`lookalike evaluate` measures it on pairs that you know"
READ_AS = {None: "rows", False: "files", True: "lines"}  # what an item was in the input
COUNTED_AS = {  # what counts as found if there is no list of pairs, by a part of the receipt's "over"
    "in one group": "found where both are in one group",
    "both are kept": "found unless both are kept",
}
NOTED = {
    "empty": "empty",
    "null_texts": "null",
    "bad_texts": "not UTF-8",
    "skipped": "skipped",
    "broken": "left out",
    "exact_duplicates": "exact copies",
}


def lines(receipt: dict[str, Any], wrote: Sequence[str | Path]) -> Iterator[tuple[str, str]]:
    """Yield the label and text of each line of the summary."""
    counts = receipt["counts"]
    for note in receipt["work"]["notes"]:
        yield "Work", note
    yield "Read", " · ".join(_read(receipt))
    check = (
        "every passage scored"
        if receipt["choice"]["method"] == "chains"
        else "every pair verified"
        if receipt["verified"] and receipt["choice"]["method"] != "given"
        else "scores as given"
        if receipt["choice"]["method"] == "given"
        else "signatures agree in at least this share of their rows, not verified"
    )
    yield "Compared", f"{receipt['compared']} · {_how(receipt)} · {check}"
    if "reworded" in receipt:
        yield "Recall", _of_planted(receipt["reworded"]["planted"])
    elif receipt["recall_measured"]:
        yield "Recall", _measured(receipt)
    elif receipt["plan"] or receipt["choice"]["method"] == "keys":
        yield "Recall", f"{_planned(receipt)} · not measured; --audit {AUDIT.get(receipt['items'], 2000)} measures it"
    elif "compared_parts" in counts:
        yield "Recall", f"of common parts not planned and not measured; {KNOWN_PAIRS}"
    totals = " · ".join(count(counts[name], name) for name in FOUND if name in counts)
    yield "Found", f"{totals} in {sum(receipt['seconds'].values()):.1f} s, {receipt['peak_memory_mb']:,} MB of memory"
    if "verdicts" in receipt:
        yield "Verdicts", judged_words(receipt["verdicts"])
    if counts.get("all_pairs"):
        scored, pairs = counts.get("candidates", 0), counts["all_pairs"]
        yield "Scored", f"{scored:,} of {count(pairs, 'pairs')} ({percent(scored / pairs)})"
    from lookalike.io.addresses import shown  # here, because the help of `index` loads this module

    for path in [*wrote, *([receipt["sheet"]] if "sheet" in receipt else [])]:
        yield "Wrote", shown(path)


def judged_words(judged: dict[str, Any]) -> str:
    """Format what the verdicts on pairs changed.

    >>> judged_words({"pairs": {"same": 1, "different": 2, "unsure": 0}, "added_pairs": 1, "removed_pairs": 0})
    '1 same, 2 different: 1 pair added, 0 pairs removed'
    >>> facts = {"added_pairs": 0, "removed_pairs": 1, "cuts": 1, "cut_pairs": [["a", "b"]]}
    >>> judged_words({"pairs": {"same": 0, "different": 1, "unsure": 0}, **facts})
    '1 different: 0 pairs added, 1 pair removed · kept apart: a and b'
    """
    given = ", ".join(f"{number:,} {name}" for name, number in judged["pairs"].items() if number) or "none"
    said = f"{given}: {count(judged['added_pairs'], 'pairs')} added, {count(judged['removed_pairs'], 'pairs')} removed"
    if not judged.get("cuts"):
        return said
    one, other = judged["cut_pairs"][0]
    more = f" and {count(judged['cuts'] - 1, 'more pairs')}" if judged["cuts"] > 1 else ""
    return f"{said} · kept apart: {one} and {other}{more}"


def items_read(inputs: Sequence[tuple[int, bool | None]], noun: str) -> str:
    """Format the number of items read and, for text files, whether each file or each line is an item.

    inputs: per collection, the number of items, and whether they are lines (True), files (False) or rows (None).

    >>> items_read([(2, False)], "documents"), items_read([(1, True)], "documents"), items_read([(9, None)], "strings")
    ('2 files as documents', '1 line as a document', '9 strings')
    >>> items_read([(4, None), (1, False)], "documents")
    '4 rows and 1 file as documents'
    """
    total = sum(number for number, _ in inputs)
    if noun != "documents" or all(lines is None for _, lines in inputs):
        return count(total, noun)
    named = [count(number, READ_AS[lines]) for number, lines in inputs]
    return " and ".join(named) + (" as a document" if total == 1 else " as documents")


def _read(receipt: dict[str, Any]) -> list[str]:
    counts, noun = receipt["counts"], receipt["items"]
    inputs = [(given["rows"], given.get("lines")) for given in receipt["inputs"]]
    readings = {lines for _, lines in inputs}
    notes = [items_read([(counts[noun], readings.pop())] if len(readings) == 1 else inputs, noun)]
    if counts.get("bytes"):
        notes.append(size(counts["bytes"]))
    return notes + [count(counts[name], words) for name, words in NOTED.items() if counts.get(name)]


def _how(receipt: dict[str, Any]) -> str:
    plan, counts = receipt["plan"], receipt["counts"] if receipt["choice"]["method"] in ("winnow", "chains") else {}
    if receipt["choice"]["method"] == "keys":
        candidates = receipt["counts"].get("candidates", 0)
        return "1 candidate that shares keys" if candidates == 1 else f"{candidates:,} candidates that share keys"
    left_out = [count(counts[name], words) for name, words in NOT_COUNTED.items() if counts.get(name)]
    if receipt["choice"]["method"] == "chains":
        return " · ".join([receipt["choice"]["reason"], *(f"{words} left out" for words in left_out)])
    if plan is None and left_out:
        return f"{WAYS.get(receipt['choice']['method'], 'exact join')}, {' and '.join(left_out)} left out"
    if receipt["choice"]["method"] == "given":
        return "no search"
    if plan is None and receipt["items"] == "images":
        parts = "; parts looked up by local features" if "compared_parts" in receipt["counts"] else ""
        return f"all pairs of perceptual hashes, none within the bound missed{parts}"
    if plan is None:
        return WAYS.get(receipt["choice"]["method"], "exact join") + ", none missed"
    shape = str(plan.get("shape") or shape_of(plan["bands"], plan["rows"]))
    return f"winnowed fingerprints, and {shape}" if receipt["asked"] == "stories" else shape


def _of_planted(planted: dict[str, Any]) -> str:
    """Format the recall of rewordings that were planted.

    >>> _of_planted({"passages": 0, "words": 60})
    'not measured: no text has 60 words'
    """
    if not planted["passages"]:
        return f"not measured: no text has {planted['words']} words"
    low, high = planted["interval_95"]
    changed = f"{percent(planted['replaced'])} of them replaced, {percent(planted['left_out'])} left out"
    return (
        f"measured {share(planted['recall'])} ({share(low)} to {share(high)}) on "
        f"{count(planted['passages'], 'passages')} of {planted['words']} words, {changed}, and the parts shuffled"
    )


def _measured(receipt: dict[str, Any]) -> str:
    first, measured = _planned(receipt), receipt["recall_measured"]
    if measured["recall"] is None:
        return (
            f"{first} · not measured: no pairs were found, and none are among {measured['sampled']:,} sampled items "
            f"· at most {measured['probably_missed_at_most']:,} missed "
            f"· {_more(receipt, measured['sampled'])}"
        )
    low, high = measured["interval_95"]
    first += f", among {measured['among']}" if "among" in measured else ""
    once = ", exact copies counted once" if receipt["counts"].get("exact_duplicates") else ""
    of = count(measured["true_pairs"], "pairs") + once
    rule = next((f", {words}" for mark, words in COUNTED_AS.items() if mark in measured["over"]), "")
    return (
        f"{first} · measured {share(measured['recall'])} ({share(low)} to {share(high)}) on {of}{rule} "
        f"· about {measured['probably_missed']:,} missed, at most {measured['probably_missed_at_most']:,}"
    )


def _planned(receipt: dict[str, Any]) -> str:
    planned, of = receipt["recall_at_threshold"], "of pairs by shingles " if receipt["asked"] == "stories" else ""
    if planned is None:
        return "of pairs that reach the threshold"
    where = (receipt["plan"] or {}).get("recall_is", "at the threshold")
    return f"{of}planned {share(planned, 3)} {where}"


def _more(receipt: dict[str, Any], sampled: int) -> str:
    """Return what to do if a sample has no pairs."""
    total = receipt["counts"][receipt["items"]]
    if receipt["asked"] == "stories":
        return "`lookalike pairs --method exact` misses none"
    if sampled >= total - receipt["counts"].get("exact_duplicates", 0):
        return "all items were looked at"
    return f"--audit {max(5000, 4 * sampled)} looks at more items"
