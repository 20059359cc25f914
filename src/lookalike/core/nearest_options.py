"""Checks of the options of `nearest`, shared by all kinds of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.options import Declared, changed, check_values, defaults
from lookalike.core.run_options import NEIGHBOURS, Top
from lookalike.errors import UsageError


def check_top(top: Any, name: str = "top") -> None:
    """Raise UsageError unless `top` is a whole number above 0. name: of the parameter.

    >>> check_top(0)
    Traceback (most recent call last):
    lookalike.errors.UsageError: top is 0; expected a whole number of neighbours, 1 or more.
    """
    Declared(name, int, changed(Top)).check(top)
    if isinstance(top, float) and not top.is_integer():
        raise UsageError(f"{name} is {top}; expected {NEIGHBOURS}.")


def lowest_score(at_least: float | None, at_most: float | None, *, sign: int, what: str) -> float:
    """Return the lowest score of a neighbour, where higher is nearer, from the option that fits the scale.

    >>> lowest_score(None, 3, sign=-1, what="bits"), lowest_score(0.5, None, sign=1, what="cosine")
    (-3.0, 0.5)
    """
    given, other = (at_least, at_most) if sign > 0 else (at_most, at_least)
    right, wrong = ("at_least", "at_most") if sign > 0 else ("at_most", "at_least")
    if other is not None:
        kind = "a similarity" if sign > 0 else "a distance"
        raise UsageError(f"`{wrong}` is given, but the score is {kind} ({what}); give `{right}`.")
    if given is not None and given != given:
        raise UsageError(f"{right} is {given}; expected a number.")
    return float("-inf") if given is None else sign * float(given)


def nearest_values(options: type, given: Mapping[str, Any], top: Any) -> dict[str, Any]:
    """Return all options of `nearest` with their defaults, after checks; `engine` is left out."""
    check_top(top)
    values = {**defaults(options), **given}
    if values.pop("engine", "local") != "local":
        raise UsageError("`nearest` runs on one machine only. Leave the engine out.")
    check_values(options, values)
    return {**values, "top": int(top)}
