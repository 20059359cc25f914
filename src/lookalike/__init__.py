"""Find items that are nearly the same, among millions, with a recall that is stated and measured.

The public names are loaded when they are first used, so that the import itself costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lookalike.plan import Plan, plan

if TYPE_CHECKING:
    from lookalike.apps import records
    from lookalike.apps.documents import dedup, groups, pairs
    from lookalike.apps.evaluate import evaluate
    from lookalike.apps.minhash import MinHash, MinHashLSH
    from lookalike.apps.sets import jaccard
    from lookalike.data import Recipe, ShingleRule
    from lookalike.result import Result

__version__ = "0.1.0"

_HOMES = {
    "pairs": "lookalike.apps.documents",
    "groups": "lookalike.apps.documents",
    "dedup": "lookalike.apps.documents",
    "MinHash": "lookalike.apps.minhash",
    "MinHashLSH": "lookalike.apps.minhash",
    "evaluate": "lookalike.apps.evaluate",
    "jaccard": "lookalike.apps.sets",
    "Recipe": "lookalike.data",
    "ShingleRule": "lookalike.data",
    "Result": "lookalike.result",
}
_MODULES = {"records": "lookalike.apps.records"}  # kinds of items, each with pairs, groups and dedup of its own

__all__ = [
    "MinHash", "MinHashLSH", "Plan", "Recipe", "Result", "ShingleRule", "dedup", "evaluate",
    "groups", "jaccard", "pairs", "plan", "records",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
