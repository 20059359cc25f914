"""The specification of a run over time series."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import DISTANCE, Scale
from lookalike.core.options import check_values, defaults
from lookalike.errors import UsageError
from lookalike.kinds.series.options import SeriesOptions

SERIES_DEFAULTS = defaults(SeriesOptions)
SERIES_BOUNDS = ("within", "min_correlation", "top")


@dataclass(frozen=True, kw_only=True)
class SeriesJob:
    """The options that determine the result (and `threads`, which does not). Exactly one of the bounds is given."""

    noun: ClassVar[str] = "series"
    scale: ClassVar[Scale] = DISTANCE
    verify: ClassVar[bool] = True

    window: int | None = SERIES_DEFAULTS["window"]
    within: float | None = SERIES_DEFAULTS["within"]
    min_correlation: float | None = SERIES_DEFAULTS["min_correlation"]
    top: int | None = SERIES_DEFAULTS["top"]
    exclusion: int | None = SERIES_DEFAULTS["exclusion"]
    overlapping: bool = SERIES_DEFAULTS["overlapping"]
    motion: bool = SERIES_DEFAULTS["motion"]
    max_pairs: int = SERIES_DEFAULTS["max_pairs"]
    threads: int | None = SERIES_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(SeriesOptions, self.__dict__)
        if self.window is None:
            raise UsageError("`window` is missing: give the number of steps in a window.")
        given = [name for name in SERIES_BOUNDS if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "no bound"
            raise UsageError(f"{said} given; expected one of `within`, `min_correlation` and `top`.")
        for name in ("window", "top", "exclusion"):
            value = getattr(self, name)
            if value is not None and int(value) != value:
                raise UsageError(f"{name} is {value}; expected a whole number.")
        if self.top is not None and self.overlapping:
            raise UsageError("`top` counts pairs without overlaps; leave out `overlapping`, or give `within`.")

    @property
    def steps(self) -> int:
        """The number of steps in a window."""
        return int(self.window or 0)

    @property
    def zone(self) -> int:
        """The number of steps from which two windows of one series are compared."""
        return int(self.exclusion) if self.exclusion is not None else max(1, self.steps // 2)

    def distance(self, columns: int) -> float | None:
        """Return the largest distance of windows of this number of columns; None if only their number is given."""
        if self.min_correlation is not None:
            return math.sqrt(2 * self.steps * columns * (1 - self.min_correlation))
        return None if self.within is None else float(self.within)

    def words(self) -> str:
        if self.top is not None:
            bound = f"the {self.top} nearest pairs"
        elif self.within is not None:
            bound = f"distance at most {self.within:g}"
        else:
            bound = f"correlation at least {self.min_correlation:g}"
        return f"z-normalised windows of {self.steps:,} steps, {bound}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "exclusion": self.zone}
