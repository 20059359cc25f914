"""Specification of a run over vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from lookalike.core.arrays import Scale, check_choice
from lookalike.core.options import check_values, defaults
from lookalike.core.run_options import OnBadItem, RowMethod
from lookalike.errors import UsageError
from lookalike.kernels import vectors
from lookalike.kinds.vectors.options import VectorOptions

VECTOR_DEFAULTS = defaults(VectorOptions)
CODES = {"angle": vectors.ANGLE, "cosine": vectors.COSINE, "distance": vectors.DISTANCE}


@dataclass(frozen=True, kw_only=True)
class VectorJob:
    """The options that determine the result. measure: angle in degrees, cosine, or (Euclidean) distance."""

    noun: ClassVar[str] = "vectors"
    verify: ClassVar[bool] = True

    threshold: float
    measure: Literal["angle", "cosine", "distance"] = "angle"
    method: RowMethod = VECTOR_DEFAULTS["method"]
    recall: float = VECTOR_DEFAULTS["recall"]
    seed: int = VECTOR_DEFAULTS["seed"]
    max_pairs: int = VECTOR_DEFAULTS["max_pairs"]
    audit: int = VECTOR_DEFAULTS["audit"]
    on_bad: OnBadItem = VECTOR_DEFAULTS["on_bad"]
    threads: int | None = VECTOR_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_choice("measure", self.measure, tuple(CODES))
        check_values(VectorOptions, self.__dict__)
        low, high = {"angle": (0.0, 180.0), "cosine": (-1.0, 1.0), "distance": (0.0, math.inf)}[self.measure]
        if not (low <= self.threshold <= high and math.isfinite(self.threshold)):
            name = {"angle": "max_angle", "cosine": "min_cosine", "distance": "max_distance"}[self.measure]
            upper = f"from {low:g} to {high:g}" if math.isfinite(high) else "of 0 or more"
            raise UsageError(f"{name} is {self.threshold:g}; expected a number {upper}.")

    @property
    def scale(self) -> Scale:
        return Scale(self.measure, 1 if self.measure == "cosine" else -1)

    @property
    def code(self) -> int:
        return CODES[self.measure]

    @property
    def least(self) -> float:
        """Return the score that a pair must reach; angles and distances are negated."""
        return self.scale.sign * self.threshold

    @property
    def chord(self) -> float:
        """Return the threshold as a Euclidean distance, between unit vectors if directions are compared."""
        if self.measure == "distance":
            return self.threshold
        cosine = self.threshold if self.measure == "cosine" else math.cos(math.radians(self.threshold))
        return math.sqrt(max(0.0, 2.0 - 2.0 * cosine))

    def words(self) -> str:
        degrees = " degree" if self.threshold == 1 else " degrees"
        unit = degrees if self.measure == "angle" else ""
        name = {"distance": "Euclidean distance"}.get(self.measure, self.measure)
        return f"{name} {self.scale.bound} {self.threshold:g}{unit}"

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


def no_tables(recall: float) -> str:
    """Begin the message that LSH does not reach a recall."""
    return f"no number of tables promises a recall of {recall:g}"
