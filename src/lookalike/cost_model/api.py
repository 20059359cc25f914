"""Estimate the cost of a run from the number and the size of the documents, without data."""

from __future__ import annotations

from typing import TypedDict, Unpack

from lookalike.core.arrays import check_choice
from lookalike.cost_model import scale
from lookalike.cost_model.costs import known_costs
from lookalike.cost_model.scale import SHINGLE_BYTES, Cluster, Estimate, Load
from lookalike.runtime.local.pool import usable_cores


class Options(TypedDict, total=False):
    """Keyword-only options of `estimate`. Comments give the default values."""

    threshold: float  # Jaccard similarity: 0.8
    recall: float  # at the threshold: 0.99
    num_hashes: int  # length of a signature: 128
    unit: str  # of a shingle (word, char, byte or line): word
    cores: int  # per executor: 4
    copies: float  # fraction of the documents that are exact copies of another: 0.05
    partners: float  # mean number of near duplicates at or above the threshold per document: 0.4
    background: float  # similarity of unrelated documents: 0.02


def estimate(items: float, *, mean_bytes: float, executors: int | None = None, **options: Unpack[Options]) -> Estimate:
    """Estimate the cost of a banding run, on a cluster of `executors` or, without it, on this machine.

    The estimate contains CPU hours, elapsed time, shuffled bytes, memory, disk space and recall. It uses the unit costs
    that were measured on this machine, or else the shipped ones.

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
