"""Which method a run uses, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

PLANNER_SAMPLE = 2000
EXACT_COST_RATIO = (
    1.25  # the exact join is taken up to this ratio of its cost to that of banding, because it misses nothing
)

Way = Literal["prefixes", "counting"]  # of the exact join: prefixes.exact_pairs, counting.counted_pairs


@dataclass(frozen=True)
class Choice:
    """The method, the estimated seconds of each method on one core, and the reason in words.

    way: how the exact join works; without meaning for other methods. The seconds are of shipped costs: a choice
    must be the same on every machine.
    """

    method: str
    seconds: dict[str, float]
    why: str
    way: Way = "prefixes"

    def as_dict(self) -> dict[str, Any]:
        way = {"way": self.way} if self.method == "exact" else {}
        return {"method": self.method, **way, "predicted_seconds": self.seconds, "why": self.why}
