"""Similar sets by Hamming LSH on OR-folded columns: the textbook's other way for sparse sets, to set beside minhash."""

from __future__ import annotations

from typing import Any, Unpack

from lookalike.data import RuleOptions, ShingleRule
from lookalike.engines.folding import run
from lookalike.engines.job import Job
from lookalike.engines.trace import Trace
from lookalike.io.read import open_collection
from lookalike.result import Result, answer
from lookalike.stages.folding import plan_folding


def pairs(
    source: Any,
    *,
    threshold: float = 0.8,
    recall: float = 0.99,
    rows: int | None = None,
    seed: int = 42,
    threads: int | None = None,
    **rule: Unpack[RuleOptions],
) -> Result:
    """Pairs of sets (lists of tokens, or the shingles of texts) with Jaccard similarity of `threshold` at least.

    Every pair reported is scored exactly. Each pair at the threshold is found with probability `recall` at least,
    whatever the sizes of the two sets; pairs with a set of fewer than 32 elements are all found, by the exact join.
    Where 256 keys do not suffice, the receipt's recall_at_threshold is below `recall`.
    rows: how many rows of a matrix make a key; by default as many as 64 keys allow, 16 at most.

    >>> import lookalike as la
    >>> near = [list(range(100)), list(range(5, 100)), list(range(500, 600))]
    >>> la.folding.pairs(near).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'similarity': 0.95}]
    """
    collection = open_collection(source)
    options: dict[str, Any] = {"unit": "token" if collection.is_tokens else "word", "k": None, **rule}
    made = ShingleRule.for_unit(**options)
    job = Job(rule=made, threshold=threshold, recall=recall, method="lsh", seed=seed, threads=threads)
    plan = plan_folding(threshold, recall=recall, rows=rows)
    trace = Trace()
    found = run(collection, job, plan, trace)
    return answer("pairs", "components", job, [collection], found, trace)
