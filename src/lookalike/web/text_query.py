"""Search for a pasted text among the texts of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from lookalike.core.arrays import ShingleRule
from lookalike.io.collection import Collection
from lookalike.kinds.documents import api as documents
from lookalike.kinds.documents.compare import compare
from lookalike.kinds.strings import api as strings

MIN_SHARED_SHINGLES = 0.1  # least share of the shingles of the pasted text that a result must contain
EDITS = 3  # largest edit distance between the pasted string and a result
Found = list[tuple[Any, float]]


def find_like(text: str, collection: Collection, receipt: dict[str, Any]) -> Found:
    """Return (id, score) of the texts most similar to a text, best first; the search is exact.

    Documents are scored by the share of the shingles of the pasted text that they contain, strings by their edit
    distance of at most EDITS.

    >>> from lookalike.io.read import open_collection
    >>> rule = ShingleRule(k=3).as_dict()
    >>> texts = open_collection(["a rose is a rose", "it was the best of times", "the worst of times it was"])
    >>> find_like("the best of times", texts, {"items": "documents", "job": {"rule": rule}})
    [(1, 1.0)]
    """
    job = receipt["job"]
    pasted = pa.table({"text": [text]})
    if receipt["items"] == "strings":
        options: Any = {name: job[name] for name in ("measure", "fold_case", "strip_accents") if name in job}
        table = strings.pairs(pasted, against=collection, max_edits=EDITS, on_bad_text="replace", **options).pairs
        return sorted(_rows(table, "distance"), key=lambda row: row[1])
    rule = ShingleRule(**job.get("rule", {}))
    if rule.unit == "word":  # a text shorter than k words is searched as a whole
        rule = replace(rule, k=max(1, min(rule.k, len(text.split()))))
    whole = max(1, compare(text, text, rule=rule).shared_shingles)
    options = rule.as_dict()
    least = max(1, round(MIN_SHARED_SHINGLES * whole))
    table = documents.pairs(pasted, against=collection, min_shared=least, exact=True, **options).pairs
    rows = [(key, round(shared / whole, 6)) for key, shared in _rows(table, "similarity")]
    return sorted(rows, key=lambda row: -row[1])


def _rows(found: pa.Table, score: str) -> Found:
    return list(zip(found["right"].to_pylist(), found[score].to_pylist(), strict=True))
