"""Find items that are nearly the same, among millions, with a recall that is stated and measured.

The public names are loaded when they are first used, so that the import itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike import textbook
    from lookalike.core.arrays import Recipe, ShingleRule
    from lookalike.cost_model.api import estimate
    from lookalike.evaluation.api import evaluate
    from lookalike.evaluation.judged_quality import judging_sample, quality
    from lookalike.index.index import Index
    from lookalike.io.files import Files
    from lookalike.io.saved_result import load
    from lookalike.io.verdicts import Verdicts
    from lookalike.kinds.baskets import api as baskets
    from lookalike.kinds.bits import api as bits
    from lookalike.kinds.documents.api import dedup, forecast, groups, nearest, pairs
    from lookalike.kinds.documents.classify import Classification, classify
    from lookalike.kinds.documents.minhash import MinHash, MinHashLSH
    from lookalike.kinds.documents.sets import jaccard
    from lookalike.kinds.documents.shingle_length import suggest_k
    from lookalike.kinds.documents.signature_stream import signatures
    from lookalike.kinds.documents.suggest import suggest
    from lookalike.kinds.documents.weighted_minhash import WeightedMinHash
    from lookalike.kinds.faces import api as faces
    from lookalike.kinds.images import api as images
    from lookalike.kinds.passages.api import Passages, passages
    from lookalike.kinds.passages.stories import stories
    from lookalike.kinds.records import api as records
    from lookalike.kinds.scrub.api import decontaminate, scrub
    from lookalike.kinds.scrub.decontaminate import Contamination
    from lookalike.kinds.scrub.local import Scrubbed
    from lookalike.kinds.scrub.undo import undo_scrub
    from lookalike.kinds.series import api as series
    from lookalike.kinds.strings import api as strings
    from lookalike.kinds.vectors import api as vectors
    from lookalike.planning.banding import Plan, plan
    from lookalike.result import Result
    from lookalike.textbook import folding, metrics
    from lookalike.web.exploring import explore
    from lookalike.web.report import report

__version__ = "0.1.0"

_HOMES = {
    "Plan": "lookalike.planning.banding",
    "plan": "lookalike.planning.banding",
    "pairs": "lookalike.kinds.documents.api",
    "groups": "lookalike.kinds.documents.api",
    "dedup": "lookalike.kinds.documents.api",
    "nearest": "lookalike.kinds.documents.api",
    "forecast": "lookalike.kinds.documents.api",
    "estimate": "lookalike.cost_model.api",
    "Classification": "lookalike.kinds.documents.classify",
    "classify": "lookalike.kinds.documents.classify",
    "MinHash": "lookalike.kinds.documents.minhash",
    "MinHashLSH": "lookalike.kinds.documents.minhash",
    "WeightedMinHash": "lookalike.kinds.documents.weighted_minhash",
    "evaluate": "lookalike.evaluation.api",
    "Passages": "lookalike.kinds.passages.api",
    "passages": "lookalike.kinds.passages.api",
    "stories": "lookalike.kinds.passages.stories",
    "Scrubbed": "lookalike.kinds.scrub.local",
    "Contamination": "lookalike.kinds.scrub.decontaminate",
    "decontaminate": "lookalike.kinds.scrub.api",
    "scrub": "lookalike.kinds.scrub.api",
    "undo_scrub": "lookalike.kinds.scrub.undo",
    "signatures": "lookalike.kinds.documents.signature_stream",
    "suggest": "lookalike.kinds.documents.suggest",
    "suggest_k": "lookalike.kinds.documents.shingle_length",
    "jaccard": "lookalike.kinds.documents.sets",
    "Files": "lookalike.io.files",
    "Index": "lookalike.index.index",
    "Recipe": "lookalike.core.arrays",
    "ShingleRule": "lookalike.core.arrays",
    "Result": "lookalike.result",
    "load": "lookalike.io.saved_result",
    "Verdicts": "lookalike.io.verdicts",
    "judging_sample": "lookalike.evaluation.judged_quality",
    "quality": "lookalike.evaluation.judged_quality",
    "explore": "lookalike.web.exploring",
    "report": "lookalike.web.report",
}

KINDS = ("baskets", "bits", "faces", "images", "records", "strings", "vectors")
_MODULES = {
    **{name: f"lookalike.kinds.{name}.api" for name in KINDS},
    "folding": "lookalike.textbook.folding",
    "metrics": "lookalike.textbook.metrics",
    "series": "lookalike.kinds.series.api",
    "textbook": "lookalike.textbook",
}

__all__ = [
    "Classification", "Contamination", "Files", "Index", "MinHash", "MinHashLSH", "Passages", "Plan", "Recipe",
    "Result", "Scrubbed", "ShingleRule", "Verdicts", "WeightedMinHash", "baskets", "bits", "classify", "decontaminate",
    "dedup", "estimate", "evaluate", "explore", "faces", "folding", "forecast", "groups", "images", "jaccard",
    "judging_sample", "load", "metrics", "nearest", "pairs", "passages", "plan", "quality", "records", "report",
    "scrub", "series", "signatures", "stories", "strings", "suggest", "suggest_k", "textbook", "undo_scrub", "vectors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *__all__])
