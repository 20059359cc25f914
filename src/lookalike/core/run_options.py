"""Options that runs of all kinds of items have in common, and their validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from lookalike.errors import UsageError, nearest

RowMethod = Literal["auto", "lsh", "exact"]  # for vectors, bit codes and faces


class LocalEngine(TypedDict, total=False):
    """Options that select the local engine, which is the default."""

    engine: Literal["local"]


class SparkEngine(TypedDict):
    """Options that select the Spark engine and its cluster."""

    engine: Literal["spark"]
    master: NotRequired[str | None]  # URL of the cluster; default: all cores of this machine
    spark_conf: NotRequired[Mapping[str, str] | None]  # settings of the session, used if none is active


def refuse_unknown(given: Mapping[str, Any], *declared: Any) -> None:
    """Raise UsageError, with the nearest name, for an option that is in none of the given TypedDicts.

    >>> refuse_unknown({"engin": "local"}, LocalEngine)
    Traceback (most recent call last):
    lookalike.errors.UsageError: there is no option 'engin'. Nearest: 'engine'.
    """
    known = {name for one in declared for name in one.__annotations__}
    for name in given:
        if name not in known:
            close = nearest(name, sorted(known))
            raise UsageError(f"there is no option {name!r}.{close or ' Options: ' + ', '.join(sorted(known)) + '.'}")


def check_run(max_pairs: int, audit: int, threads: int | None) -> None:
    """Raise UsageError for settings that are invalid for any data and any kind of item."""
    if threads is not None and threads < 1:
        raise UsageError(f"threads is {threads}; expected at least 1.")
    if max_pairs < 1:
        raise UsageError(f"max_pairs is {max_pairs}; expected at least 1.")
    if audit < 0:
        raise UsageError(f"audit is {audit}; expected a number of items to check, or 0 for none.")


def check_rows(recall: float, seed: int, max_pairs: int, audit: int, threads: int | None) -> None:
    """Raise UsageError for invalid settings of a run over vectors, bit codes or faces."""
    if not 0 < recall < 1:
        raise UsageError(f"recall is {recall}; expected a number above 0 and below 1.")
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed is {seed}; expected a whole number from 0 to 2^64-1.")
    check_run(max_pairs, audit, threads)
