"""Amplification of locality-sensitive hash families: the AND of r functions, the OR of b, and cascades of both.

Two items agree in one hash with probability p. They agree in all of r hashes with probability p^r (AND), and in at
least one of b with probability 1-(1-p)^b (OR). An AND lowers every p and an OR raises it; a cascade of both raises high
probabilities, lowers low ones, and leaves its fixed point unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from lookalike.errors import UsageError, as_share


def and_of(p: float, rows: int) -> float:
    """Return the probability that all of `rows` independent hashes agree, if one agrees with probability `p`."""
    return p**rows


def or_of(p: float, bands: int) -> float:
    """Return the probability that at least one of `bands` independent hashes agrees; accurate for tiny `p` too."""
    return 1.0 if p >= 1.0 else -math.expm1(bands * math.log1p(-p))


def amplify(p: float, rows: int, bands: int) -> float:
    """Return 1-(1-p^rows)^bands: the AND of `rows`, then the OR of `bands`. Nest calls to build a cascade.

    >>> round(amplify(0.8, rows=4, bands=4), 4), round(amplify(0.4, rows=4, bands=4), 4)
    (0.8785, 0.0985)
    """
    return or_of(and_of(p, rows), bands)


def fixed_point(rows: int, bands: int) -> float:
    """Return the p that `amplify` leaves unchanged: larger values are raised towards 1, smaller ones lowered towards 0.

    It is 1 for a single band (all values are lowered) and 0 for a single row (all values are raised).

    >>> round(fixed_point(rows=4, bands=4), 4)
    0.7245
    """
    rows, bands = whole("rows", rows), whole("bands", bands)
    if rows == bands == 1:
        raise UsageError("1 band of 1 row changes nothing, every point is fixed; expected more rows or bands.")
    if rows == 1 or bands == 1:
        return 0.0 if rows == 1 else 1.0
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if amplify(middle, rows, bands) < middle else (low, middle)
    return high


@dataclass(frozen=True)
class Sensitive:
    """A (d1, d2, p1, p2)-sensitive family of hashes.

    Items at distance d1 or less agree with probability p1 or more, items at distance d2 or more with p2 or less.

    >>> print(Sensitive(0.2, 0.6, 0.8, 0.4).amplified(rows=4, bands=4))
    (0.2, 0.6, 0.8785, 0.09853)-sensitive
    """

    d1: float
    d2: float
    p1: float
    p2: float

    def __post_init__(self) -> None:
        if not (0 <= self.d1 < self.d2 and 0 <= self.p2 <= self.p1 <= 1):
            raise UsageError(f"{self} cannot be; expected 0 <= d1 < d2 and 0 <= p2 <= p1 <= 1.")

    def amplified(self, rows: int, bands: int) -> Sensitive:
        """Return the family that results from the AND of `rows` and the OR of `bands` functions."""
        return Sensitive(self.d1, self.d2, amplify(self.p1, rows, bands), amplify(self.p2, rows, bands))

    def __str__(self) -> str:
        return f"({self.d1:.4g}, {self.d2:.4g}, {self.p1:.4g}, {self.p2:.4g})-sensitive"


@dataclass(frozen=True)
class Cascade:
    """A sequence of AND and OR constructions, each with a number of inputs; the first step combines single hashes.

    >>> steps = Cascade.of("and4 or4")
    >>> round(steps(0.8), 4), steps.hashes, [round(p, 4) for p in steps.fixed_points()]
    (0.8785, 16, [0.7245])
    >>> print(steps.amplified(Sensitive(0.2, 0.6, 0.8, 0.4)))
    (0.2, 0.6, 0.8785, 0.09853)-sensitive
    """

    steps: tuple[tuple[Literal["and", "or"], int], ...]

    @classmethod
    def of(cls, words: str) -> Cascade:
        """Parse a cascade such as "and4 or4" (steps separated by blanks or commas)."""
        steps: list[tuple[Literal["and", "or"], int]] = []
        for word in re.split(r"[\s,]+", words.strip().lower()):
            step = re.fullmatch(r"(and|or)([1-9]\d*)", word)
            if step is None:
                raise UsageError(
                    f"a cascade has no step {word!r}; expected and and or with numbers, such as: and4 or4."
                )
            steps.append(("and" if step[1] == "and" else "or", int(step[2])))
        return cls(tuple(steps))

    def __call__(self, p: float) -> float:
        """Return the probability that two items agree in the cascade, if they agree in one hash with probability p."""
        for kind, count in self.steps:
            p = and_of(p, count) if kind == "and" else or_of(p, count)
        return p

    @property
    def hashes(self) -> int:
        """Number of hash functions that the cascade uses."""
        return math.prod(count for _, count in self.steps)

    def fixed_points(self) -> list[float]:
        """Return all p with 0 < p < 1 that the cascade leaves unchanged. (0 and 1 always are.)"""
        grid = [i / 4096 for i in range(1, 4096)]
        gain = [self(p) - p for p in grid]
        out = [p for p, g in zip(grid, gain, strict=True) if g == 0.0]
        for low, high, before, after in zip(grid, grid[1:], gain, gain[1:], strict=False):
            if before * after < 0:
                out.append(_root(lambda p: self(p) - p, low, high))
        return sorted(out)

    def amplified(self, family: Sensitive) -> Sensitive:
        """Return the family that results from applying the cascade to `family`."""
        return Sensitive(family.d1, family.d2, self(family.p1), self(family.p2))

    def __str__(self) -> str:
        return " ".join(f"{kind}{count}" for kind, count in self.steps)


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    rising = f(low) < 0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if (f(middle) < 0) == rising else (low, middle)
    return high


def rounded_down(probability: float) -> str:
    """Format a probability rounded down, so that a stated recall is never too high: 4 decimals, or more close to 1.

    >>> rounded_down(0.99228), rounded_down(0.99999871), rounded_down(1.0)
    ('0.9922', '0.9999987', '1')
    """
    if probability >= 1.0:
        return "1"
    digits = max(4, 1 - math.floor(math.log10(1.0 - probability)))
    return f"{math.floor(probability * 10**digits) / 10**digits:.{digits}f}"


def shape_of(bands: int, rows: int) -> str:
    return f"{bands} {'band' if bands == 1 else 'bands'} of {rows} {'row' if rows == 1 else 'rows'}"


def check_shape(what: str, num_hashes: int, hashes: int) -> None:
    """Raise UsageError if bands of rows need more hashes than there are."""
    if hashes > num_hashes:
        raise UsageError(f"{what} {hashes}, num_hashes is {num_hashes}; take fewer bands or rows, or more hashes.")


def between(what: str, value: Any, expected: str, *, closed: bool) -> float:
    """Return a number above 0 and below 1 (or at most 1 if closed); raise UsageError for others, including NaN."""
    number = float(value) if isinstance(value, Real) else math.nan
    if 0.0 < number < 1.0 or (closed and number == 1.0):
        return number
    raise UsageError(f"{what} is {shown(value)}; expected a number {expected}.{as_share(number)}")


def whole(what: str, value: Any) -> int:
    number = int(value) if isinstance(value, Integral) else 0
    if number >= 1:
        return number
    raise UsageError(f"{what} is {shown(value)}; expected a whole number, at least 1.")


def shown(value: Any) -> str:
    return str(value) if isinstance(value, Real) else repr(value)
