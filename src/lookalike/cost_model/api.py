"""Estimate the cost of a run from the number and the size of the documents, without data."""

from __future__ import annotations

from typing import Any, Unpack

from lookalike.core.arrays import check_choice
from lookalike.core.options import accepts, defaults
from lookalike.cost_model import scale
from lookalike.cost_model.costs import known_costs
from lookalike.cost_model.options import EstimateOptions
from lookalike.cost_model.scale import SHINGLE_BYTES, Cluster, Estimate, Load, Machine
from lookalike.runtime.local.pool import usable_cores

ESTIMATE_DEFAULTS = defaults(EstimateOptions)


@accepts(EstimateOptions)
def estimate(
    items: float, *, mean_bytes: float, executors: int | None = None, **options: Unpack[EstimateOptions]
) -> Estimate:
    """Estimate the cost of a banding run, on a cluster of `executors` or, without it, on this machine.

    The unit costs are those that were measured on this machine, or else the shipped ones.

    Parameters
    ----------
    items
        Number of documents.
    mean_bytes
        Mean length of a document.
    executors
        Number of executors of a cluster; None for this machine.

    Returns
    -------
    Estimate
        CPU hours, elapsed time, shuffled bytes, memory, disk space and recall.

    Examples
    --------
    >>> import lookalike as la
    >>> made = la.estimate(1e9, mean_bytes=2000, executors=200)
    >>> made.cores, round(made.plan.recall_at_threshold, 4)
    (800, 0.9922)
    """
    known = known_costs()
    values: dict[str, Any] = {**ESTIMATE_DEFAULTS, **options}
    unit, cores = values.pop("unit"), values.pop("cores")
    check_choice("unit", unit, tuple(SHINGLE_BYTES))
    composition = {name: values.pop(name) for name in ("copies", "partners", "background")}
    load = Load(items=items, mean_bytes=mean_bytes, shingle_bytes=SHINGLE_BYTES[unit], **composition)
    where = Machine(threads=usable_cores()) if executors is None else Cluster(executors=executors, cores=cores)
    return scale.estimate(load, known.costs, where, about=known.words(), **values)
