"""The join method that the planner chose for a run, and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

PLANNER_SAMPLE = 2000
EXACT_COST_RATIO = 1.25  # prefer the exact join, with recall 1, up to this ratio of its cost to that of banding

Way = Literal["prefixes", "counting"]  # algorithm of the exact join: prefixes.exact_pairs, counting.counted_pairs


@dataclass(frozen=True)
class Choice:
    """The chosen method, the estimated seconds of each method on one core, and the reason in words.

    way: the algorithm of the exact join; unused by other methods. The seconds use the shipped unit costs: a choice
    must be the same on every machine.
    """

    method: str
    seconds: dict[str, float]
    why: str
    way: Way = "prefixes"

    def as_dict(self) -> dict[str, Any]:
        way = {"way": self.way} if self.method == "exact" else {}
        return {"method": self.method, **way, "predicted_seconds": self.seconds, "why": self.why}


def cheaper(method: str, ratio: float, other: str) -> str:
    """Return the reason for the cheaper method.

    >>> cheaper("banding is", 2.04, "the exact join")
    'banding is 2.0 times cheaper than the exact join here'
    """
    return f"{method} {ratio:.1f} times cheaper than {other} here"
