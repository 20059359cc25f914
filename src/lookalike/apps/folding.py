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
    rows: int = 16,
    seed: int = 42,
    threads: int | None = None,
    **rule: Unpack[RuleOptions],
) -> Result:
    """Pairs of sets (lists of tokens, or the shingles of texts) with Jaccard similarity of `threshold` at least.

    Every pair reported is scored exactly. One at the threshold is found with probability `recall` where the sets have
    dozens of elements or more; small sets fall short of that, and the receipt's measured recall tells by how much.
    rows: how many rows of a matrix make a key.

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
