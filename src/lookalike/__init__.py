"""Find items that are nearly the same, among millions, with a recall that is stated and measured.

The public names are loaded when they are first used, so that the import itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lookalike.plan import Plan, plan

if TYPE_CHECKING:
    from lookalike.apps import baskets, bits, faces, folding, images, metrics, records, strings, textbook, vectors
    from lookalike.apps.classify import Classification, classify
    from lookalike.apps.documents import dedup, forecast, groups, pairs
    from lookalike.apps.evaluate import evaluate
    from lookalike.apps.minhash import MinHash, MinHashLSH
    from lookalike.apps.passages import Passages, passages
    from lookalike.apps.scale import estimate
    from lookalike.apps.sets import jaccard
    from lookalike.apps.shingle_length import suggest_k
    from lookalike.apps.signatures import signatures
    from lookalike.apps.stories import stories
    from lookalike.data import Recipe, ShingleRule
    from lookalike.index.index import Index
    from lookalike.result import Result
    from lookalike.web.exploring import explore
    from lookalike.web.report import report

__version__ = "0.1.0"

_HOMES = {
    "pairs": "lookalike.apps.documents",
    "groups": "lookalike.apps.documents",
    "dedup": "lookalike.apps.documents",
    "forecast": "lookalike.apps.documents",
    "estimate": "lookalike.apps.scale",
    "Classification": "lookalike.apps.classify",
    "classify": "lookalike.apps.classify",
    "MinHash": "lookalike.apps.minhash",
    "MinHashLSH": "lookalike.apps.minhash",
    "evaluate": "lookalike.apps.evaluate",
    "Passages": "lookalike.apps.passages",
    "passages": "lookalike.apps.passages",
    "stories": "lookalike.apps.stories",
    "signatures": "lookalike.apps.signatures",
    "suggest_k": "lookalike.apps.shingle_length",
    "jaccard": "lookalike.apps.sets",
    "Index": "lookalike.index.index",
    "Recipe": "lookalike.data",
    "ShingleRule": "lookalike.data",
    "Result": "lookalike.result",
    "explore": "lookalike.web.exploring",
    "report": "lookalike.web.report",
}

KINDS = ("baskets", "bits", "faces", "folding", "images", "metrics", "records", "strings", "textbook", "vectors")
_MODULES = {name: f"lookalike.apps.{name}" for name in KINDS}

__all__ = [
    "Classification", "Index", "MinHash", "MinHashLSH", "Passages", "Plan", "Recipe", "Result", "ShingleRule",
    "baskets", "bits", "classify", "dedup", "estimate", "evaluate", "explore", "faces", "folding", "forecast", "groups",
    "images", "jaccard", "metrics", "pairs", "passages", "plan", "records", "report", "signatures", "stories",
    "strings", "suggest_k", "textbook", "vectors",
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
    return sorted([*globals(), *__all__])
