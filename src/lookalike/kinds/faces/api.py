"""Public API for faces: items match if enough of their measurements nearly agree. Many to many, or many to one."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from lookalike.core.options import accepts
from lookalike.core.run_options import Against, Grouping, GroupingOption, KeepPolicy, silent
from lookalike.core.trace import Trace
from lookalike.kinds.faces.options import FaceOptions, Top
from lookalike.kinds.faces.spec import FaceJob
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import only_local

NOT_ON_SPARK = "a probe looks up neighbouring ranges of measurements, and Spark joins equal keys"


@accepts(FaceOptions)
def pairs(source: Any, *, against: Against = None, **options: Unpack[FaceOptions]) -> Result:
    """Find all pairs in which at least a share of the measurements differ by at most the tolerance.

    Each hash function maps a few random measurements to ranges; near the edge of a range the adjacent one is looked up
    too. Candidates are verified by counting exactly.

    Parameters
    ----------
    source
        As for `la.vectors.pairs`, or a folder of aligned pictures.

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, agreement.

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> la.faces.pairs(np.array([[0, 50, 90], [5, 52, 10], [99, 0, 40]]), tolerance=10, threshold=0.6).pairs.to_pylist()
    [{'left': 0, 'right': 1, 'agreement': 0.6666666666666666}]
    """
    return _run("pairs", source, against, "components", "first", options)


@accepts(FaceOptions)
def groups(
    source: Any,
    *,
    grouping: GroupingOption = "components",
    keep: KeepPolicy = "first",
    **options: Unpack[FaceOptions],
) -> Result:
    """Group items that agree in enough measurements.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The table `groups` has the columns id, group, size, representative.

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> rows = np.array([[0, 50, 90], [5, 52, 10], [99, 0, 40]])
    >>> la.faces.groups(rows, tolerance=10, threshold=0.6).groups["id"].to_pylist()
    [0, 1]
    """
    return _run("groups", source, None, grouping, keep, options)


@accepts(FaceOptions)
def dedup(
    source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Unpack[FaceOptions]
) -> Result:
    """Remove near-duplicates: items that agree in enough measurements with one that is kept.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The tables `kept` (rows of the input) and `removed` (id, kept, agreement).

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> rows = np.array([[0, 50, 90], [5, 52, 10], [99, 0, 40]])
    >>> la.faces.dedup(rows, tolerance=10, threshold=0.6).removed["id"].to_pylist()
    [1]
    """
    return _run("dedup", source, against, "stars", keep, options)


@accepts(FaceOptions)
def query(probes: Any, gallery: Any, *, top: Top = None, **options: Unpack[FaceOptions]) -> tuple[pa.Table, Result]:
    """Find the matches of each probe in a gallery, best first.

    Every item in a bucket of the probe is a candidate. A picture that is both a probe and in the gallery, as the
    same file, does not match itself. `result.receipt["counts"]` has the number of scored pairs
    (candidates) and of all pairs (all_pairs).

    Parameters
    ----------
    probes
        As `source` of `pairs`.
    gallery
        The collection to search, like the probes.

    Returns
    -------
    tuple[pa.Table, Result]
        The matches (probe, match, agreement), and the result of the run.

    Examples
    --------
    >>> import lookalike as la, numpy as np
    >>> gallery = np.array([[0, 50, 90], [99, 0, 40]])
    >>> la.faces.query(np.array([[3, 55, 80]]), gallery, threshold=1.0)[0].to_pylist()
    [{'probe': 0, 'match': 0, 'agreement': 1.0}]
    """
    from lookalike.kinds.faces.source import files_of

    result = pairs(probes, against=gallery, **options)
    found, ours, theirs = result.pairs, files_of(result.source), files_of(result.against)
    if ours and theirs:
        two = zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True)
        found = found.filter(pa.array([ours[probe] != theirs[match] for probe, match in two], pa.bool_()))
    return best_first(found, top), result


def best_first(found: pa.Table, top: int | None) -> pa.Table:
    """Sort pairs by probe, for each the best matches first; keep at most `top` per probe."""
    left = found["left"].combine_chunks().dictionary_encode()
    probe = left.indices.to_numpy() if len(left) else np.empty(0, np.int64)
    order = np.lexsort((np.arange(len(probe)), -found["agreement"].to_numpy(), probe))
    if top is not None and len(order):
        ranked = probe[order]
        start = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1])
        rank = np.arange(len(ranked)) - np.repeat(start, np.diff(np.append(start, len(ranked))))
        order = order[rank < top]
    taken = found.take(pa.array(order.astype(np.int64)))
    return taken.rename_columns(["probe", "match", "agreement"])


def _run(asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: FaceOptions) -> Result:
    from lookalike.kinds.faces.local import FACES_NEED, run
    from lookalike.kinds.faces.source import open_faces
    from lookalike.runtime.local.memory_limit import MemoryLimit

    job_options: dict[str, Any] = dict(options)
    only_local(job_options, "faces", NOT_ON_SPARK)
    verdicts = given_verdicts(job_options)
    progress: Any = job_options.pop("progress", silent)
    reading: Any = {name: job_options.pop(name) for name in ("column", "id", "grid") if name in job_options}
    memory = MemoryLimit.of(job_options)
    job = FaceJob(**job_options)
    sources = [open_faces(source, **reading)]
    if against is not None:
        sources.append(open_faces(against, **reading))
    memory.check_input(sources, FACES_NEED)
    trace = Trace(progress)
    with memory.within(job) as limited:
        found = run(sources, limited, wanted(asked, grouping, verdicts), trace, keep=keep, memory=memory)
        return answer(asked, grouping, limited, sources, found, trace, verdicts=verdicts)
