"""The options of an estimate of the cost of a run, declared once for Python and the command line."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from lookalike.core.options import Option, changed
from lookalike.core.run_options import NumHashes, Threshold
from lookalike.core.run_options import Recall as Recall

ESTIMATE_PANEL = "Estimate without data"


class EstimateOptions(TypedDict, total=False):
    """The options of `estimate`."""

    threshold: Annotated[float, changed(Threshold, help="Lowest Jaccard similarity of a pair.")]
    recall: Recall
    num_hashes: Annotated[int, changed(NumHashes, rare=False)]
    unit: Annotated[Literal["word", "char", "byte", "line"], Option("word", "Unit of a shingle.", panel=ESTIMATE_PANEL)]
    cores: Annotated[int, Option(4, "Cores of an executor.", panel=ESTIMATE_PANEL, range="[1, inf)")]
    copies: Annotated[
        float, Option(0.05, "Share of the documents that equal another one.", panel=ESTIMATE_PANEL, range="[0, 1)")
    ]
    partners: Annotated[
        float,
        Option(0.4, "Mean number of near duplicates of a document.", panel=ESTIMATE_PANEL, range="[0, inf)"),
    ]
    background: Annotated[
        float, Option(0.02, "Similarity of unrelated documents.", panel=ESTIMATE_PANEL, range="[0, 1)")
    ]
