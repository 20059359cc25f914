"""Small answers and truths to evaluate, as tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def pairs_of(*rows: tuple[Any, Any, float | None]) -> pa.Table:
    left, right, similarity = zip(*rows, strict=True)
    return pa.table({"left": left, "right": right, "similarity": pa.array(similarity, pa.float64())})


def groups_of(**labels: Any) -> pa.Table:
    return pa.table({"id": list(labels), "group": list(labels.values())})


FOUND = pairs_of(("a", "b", 0.9), ("c", "b", 0.8), ("d", "e", 0.8), ("a", "x", 0.6))
TRUTH = groups_of(a=1, b=1, c=1, d=2, e=3)
