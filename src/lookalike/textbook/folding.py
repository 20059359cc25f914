"""Similar sets by Hamming LSH on OR-folded columns, the textbook's alternative to minhashing for sparse sets."""

from __future__ import annotations

from typing import Any

from lookalike.kinds.documents import api as documents
from lookalike.result import Result


def pairs(source: Any, **options: Any) -> Result:
    """Find pairs of similar documents or token lists by OR-folding: `la.pairs` with method="folding".

    Every reported pair is scored exactly. A pair at the threshold is found with probability at least `recall` for sets
    of any size; pairs with a set of fewer than 32 elements are all found, by the exact join. If 256 keys do not
    suffice, recall_at_threshold in the receipt is below `recall`.

    Parameters
    ----------
    source
        As for `la.pairs`.
    options
        As for `la.pairs`; `rows` is the number of rows of a matrix in a key (default: as many as 64 keys allow, at
        most 16).

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, similarity.

    Examples
    --------
    >>> import lookalike as la
    >>> near = [list(range(100)), list(range(5, 100)), list(range(500, 600))]
    >>> la.folding.pairs(near).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'similarity': 0.95}]
    """
    result: Result = documents.pairs(source, **{**options, "method": "folding"})
    return result
