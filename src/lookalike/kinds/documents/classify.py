"""k-nearest-neighbour classification of texts by the labelled texts most similar to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, ShingleRule, Unit
from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import share
from lookalike.core.options import accepts, check_values, declared, defaults
from lookalike.core.shingle_options import RuleOptions
from lookalike.core.trace import Trace
from lookalike.errors import InputError
from lookalike.io.read import open_collection
from lookalike.io.results import write_folder
from lookalike.kinds.documents.classifier import LabelledNeighbours, LabelledSets, leave_one_out, subset, vote
from lookalike.kinds.documents.options import ClassifyOptions, Weight
from lookalike.kinds.documents.reading import SETS_NEED, Features, read_features
from lookalike.runtime.local.memory_budget import MemoryBudget, memory_size
from lookalike.runtime.local.memory_limit import MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.receipt import versions

CLASSIFY_DEFAULTS = defaults(ClassifyOptions)
CLASSIFY_PER_ELEMENT = 70  # bytes of memory of a shingle of a text
MEASURES: dict[Weight, str] = {"idf": "idf-weighted cosine", "none": "jaccard"}


@dataclass(frozen=True, kw_only=True)
class Classification:
    """The result of `classify`.

    labels: table of id, label (null if no labelled text shares a shingle), share (the label's share of the summed
    similarity of the neighbours), neighbours (ids, most similar first), similarities. confusion: table of label, given,
    count from the leave-one-out test. accuracy: its result with a 95 % interval, or None. receipt: the request and the
    counts of the run.
    """

    labels: pa.Table
    confusion: pa.Table
    accuracy: dict[str, Any] | None
    receipt: dict[str, Any]

    def to_arrow(self) -> pa.Table:
        return self.labels

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write labels.parquet, confusion.parquet and receipt.json into a new folder."""
        write_folder({"labels": self.labels, "confusion": self.confusion}, self.receipt, Path(folder), force=force)
        return Path(folder)

    def __repr__(self) -> str:
        measured = "" if self.accuracy is None else f", accuracy {share(self.accuracy['accuracy'], 3)}"
        return f"<Classification of {len(self.labels)} texts{measured}>"


@accepts(ClassifyOptions)
def classify(source: Any, *, label: str, against: Any = None, **options: Unpack[ClassifyOptions]) -> Classification:
    """Label texts by their nearest labelled neighbours, compared exactly.

    The labelled texts are the rows of `against` or, without it, the rows of `source` whose `label` is not empty; all
    other rows of `source` are labelled. Each neighbour votes with its similarity. By default, shingles are single
    words. The accuracy is measured by a leave-one-out test of the labelled texts.

    Parameters
    ----------
    source
        Paths, a table, or any other source that `la.pairs` takes.
    label
        The column of labels.
    against
        The labelled texts, if they are a separate collection.

    Returns
    -------
    Classification
        The table `labels` with the neighbours behind each label, the measured `accuracy`, and the `confusion`.

    Examples
    --------
    >>> import lookalike as la
    >>> import pyarrow as pa
    >>> texts = ["the goalkeeper saved the penalty", "parliament passed the law", "a late penalty decided the match"]
    >>> table = pa.table({"text": texts, "topic": ["sport", "politics", None]})
    >>> la.classify(table, label="topic").labels.select(["id", "label"]).to_pylist()
    [{'id': 2, 'label': 'sport'}]
    """
    values: dict[str, Any] = {**CLASSIFY_DEFAULTS, **options}
    check_values(ClassifyOptions, values)
    neighbours, weight = values["neighbours"], values["weight"]
    columns = {name: values[name] for name in ("text", "id")}
    trace = Trace(values["progress"])
    collections = [open_collection(one, **columns) for one in (against, source) if one is not None]
    shingles = _rule(options, tokens=collections[0].is_tokens)
    memory = MemoryLimit(ResourceLimits.of({"memory": values["memory"]}))
    memory.check_input(collections, SETS_NEED)
    with Pool(values["threads"] or usable_cores(), memory.look) as pool:
        space = Workspace(memory.keeper if memory.keeper.firm else MemoryBudget(memory_size(None)))
        features = read_features(collections, shingles, pool, trace, space, extra=[label])
        elements = len(features.sets.elements)
        memory.check(
            CLASSIFY_PER_ELEMENT * elements, f"a vote of {len(features.sets):,} texts with {elements:,} shingles"
        )
        training, queries, names = _split(features, label, collections[0].name, separate=against is not None)
        with trace.stage("match"):
            sets = subset(features.sets, training)
            labelled = LabelledSets.of(sets, weight)
            near = labelled.neighbours(subset(features.sets, queries), neighbours, pool)
            given, shares = vote(near, names)
        with trace.stage("test"):
            tested = leave_one_out(sets, labelled, names, neighbours, pool, size=values["test_size"], seed=0)
    accuracy = None if tested is None else tested.as_dict()
    confusion = sorted(({} if tested is None else tested.confusion).items(), key=lambda row: (-row[1], str(row[0])))
    trace.add(labelled=len(training), classified=len(queries), unclassified=given.count(None))
    receipt = {
        "asked": "classify",
        "inputs": [one.describe() for one in collections],
        "compared": f"{MEASURES[weight]} on {shingles.unit} {shingles.k}-shingles",
        "job": {"label": label, "neighbours": neighbours, "weight": weight, "rule": shingles.as_dict()},
        "accuracy": accuracy,
        "counts": trace.counts,
        "seconds": trace.seconds,
        "warnings": trace.warnings,
        "left_out": [what for one in collections for what in one.left_out],
        "versions": versions(),
    }
    return Classification(
        labels=_table(features, training, queries, near, given, shares),
        confusion=pa.table(
            {
                "label": pa.array([truth for (truth, _), _ in confusion], pa.string()),
                "given": pa.array([label for (_, label), _ in confusion], pa.string()),
                "count": pa.array([count for _, count in confusion], pa.int64()),
            }
        ),
        accuracy=accuracy,
        receipt=receipt,
    )


def _rule(options: Mapping[str, Any], *, tokens: bool) -> ShingleRule:
    """Build the shingle rule; the default is single words."""
    given = {name: options[name] for name in declared(RuleOptions) if name in options}
    unit: Unit = given.pop("unit", None) or ("token" if tokens else "word")
    k = given.pop("k", None)
    return ShingleRule.for_unit(unit, 1 if k is None and unit == "word" else k, **given)


def _split(features: Features, label: str, name: str, *, separate: bool) -> tuple[I64, I64, list[str]]:
    """Return the labelled items, the items to classify, and the labels of the former. Empty strings are not labels."""
    column = features.extra[label]
    try:
        values = pc.cast(column, pa.string()).to_pylist()
    except pa.ArrowException as error:
        raise InputError(f"column {label!r} in {name} is {column.type}; expected labels: text or numbers.") from error
    has_label = np.array([bool(value) for value in values], np.bool_)
    training = np.flatnonzero(has_label)
    queries = np.arange(features.split, len(features.sets)) if separate else np.flatnonzero(~has_label)
    if not len(training):
        raise InputError(f"no row of {name} has a label in the column {label!r}; some labelled texts are needed.")
    if not separate and not len(queries):
        raise InputError(
            f"every row of {name} has a label in the column {label!r}, so there is nothing to classify. "
            "Leave labels empty, or give the labelled texts with `against`."
        )
    return training, queries, [str(values[i]) for i in training]


def _table(
    features: Features, training: I64, queries: I64, near: LabelledNeighbours, given: list[str | None], shares: Any
) -> pa.Table:
    ids = features.ids[-1].take(as_arrow(queries - (features.split if len(features.ids) == 2 else 0)))
    found = near.nearest >= 0
    listed = features.ids[0].take(as_arrow(training[near.nearest[found]])).combine_chunks()
    offsets = as_arrow(np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int64))
    return pa.table(
        {
            "id": ids,
            "label": pa.array(given, pa.string()),
            "share": as_arrow(shares),
            "neighbours": pa.LargeListArray.from_arrays(offsets, listed),
            "similarities": pa.LargeListArray.from_arrays(offsets, as_arrow(near.similarity[found])),
        }
    )
