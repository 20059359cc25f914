"""Similar sets by Hamming LSH on OR-folded columns: the textbook's other way for sparse sets."""

from __future__ import annotations

from typing import Any

from lookalike.kinds.documents import api as documents
from lookalike.result import Result


def pairs(source: Any, **options: Any) -> Result:
    """Find pairs of similar documents or token lists by OR-folding: `la.pairs` with method="folding".

    Every pair reported is scored exactly. Each pair at the threshold is found with probability `recall` at least,
    whatever the sizes of the two sets; pairs with a set of fewer than 32 elements are all found, by the exact join.
    Where 256 keys do not suffice, the receipt's recall_at_threshold is below `recall`.
    rows: how many rows of a matrix make a key; by default as many as 64 keys allow, 16 at most.

    >>> import lookalike as la
    >>> near = [list(range(100)), list(range(5, 100)), list(range(500, 600))]
    >>> la.folding.pairs(near).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'similarity': 0.95}]
    """
    result: Result = documents.pairs(source, **{**options, "method": "folding"})
    return result
