"""Before there is a collection: what a run on so many documents would cost."""

from __future__ import annotations

from typing import TypedDict, Unpack

from lookalike.core.arrays import check_choice
from lookalike.cost_model import scale
from lookalike.cost_model.costs import known_costs
from lookalike.cost_model.scale import SHINGLE_BYTES, Cluster, Estimate, Load
from lookalike.runtime.local.pool import usable_cores


class Options(TypedDict, total=False):
    """What `estimate` takes beside the numbers. All are keyword-only."""

    threshold: float  # 0.8
    recall: float  # 0.99, at the threshold
    num_hashes: int  # 128
    unit: str  # of a shingle: word, char, byte, line
    cores: int  # of an executor: 4
    copies: float  # share of the documents that equal another one: 0.05
    partners: float  # near copies at or above the threshold that a document has on average: 0.4
    background: float  # similarity of documents that have nothing to do with one another: 0.02


def estimate(items: float, *, mean_bytes: float, executors: int | None = None, **options: Unpack[Options]) -> Estimate:
    """What a run by banding would cost, on a cluster of so many executors or on this machine: processor hours, time,
    shuffled bytes, memory, disk and recall. The costs are those that `lookalike plan --calibrate` measured here, or
    shipped ones.

    >>> import lookalike as la
    >>> made = la.estimate(1e9, mean_bytes=2000, executors=200)
    >>> made.cores, round(made.plan.recall_at_threshold, 4)
    (800, 0.9922)
    """
    known = known_costs()
    unit = options.get("unit", "word")
    check_choice("unit", unit, tuple(SHINGLE_BYTES))
    load = Load(
        items=items,
        mean_bytes=mean_bytes,
        copies=options.get("copies", Load.copies),
        partners=options.get("partners", Load.partners),
        background=options.get("background", Load.background),
        shingle_bytes=SHINGLE_BYTES[unit],
    )
    return scale.estimate(
        load,
        known.costs,
        threshold=options.get("threshold", 0.8),
        recall=options.get("recall", 0.99),
        num_hashes=options.get("num_hashes", 128),
        cluster=None if executors is None else Cluster(executors=executors, cores=options.get("cores", Cluster.cores)),
        threads=usable_cores(),
        about=known.words(),
    )
