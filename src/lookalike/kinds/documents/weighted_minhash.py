"""Signatures of weighted sets, which can be compared one by one and put into a MinHashLSH."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.arrays import F64, U32, Recipe, ShingleRule
from lookalike.errors import UsageError
from lookalike.kernels import sketches
from lookalike.kinds.documents.kernels import darts
from lookalike.kinds.documents.minhash import MinHash, as_bytes, elements_of

if TYPE_CHECKING:
    import numpy.typing as npt

LOWEST_PIECE = 2.0**-40  # height of the lowest piece of each strip: part of the scheme
LEAST_WEIGHT, MOST_WEIGHT = 1e-12, 1e300
WEIGHTED_TOKENS = ShingleRule(unit="token", k=1, bag=True)
Weights = Mapping[bytes | str, float] | Sequence[float]


class WeightedMinHash:
    """Compute the signature of a set in which each token has a weight.

    Two signatures estimate the weighted Jaccard similarity of their sets, sum of the smaller weights / sum of the
    larger weights, with a standard error of at most sqrt(J(1-J)/num_perm). A MinHashLSH takes them in place of
    MinHashes. The scheme is consistent weighted sampling by darts (`darts-1`): a few dozen hashes for each token.

    weights: the weight of each token, or a vector of weights, whose tokens are the positions "0", "1", ... A weight is
    0, which is the same as no such token, or at least 1e-12.

    >>> left = WeightedMinHash({"milk": 2.0, "bread": 1.0, "eggs": 0.5})
    >>> right = WeightedMinHash({"milk": 1.5, "bread": 1.0, "tea": 0.5})
    >>> 0.4 < left.jaccard(right) < 0.85  # exactly 2.5 / 4
    True
    >>> WeightedMinHash([0.0, 3.0]) == WeightedMinHash({"1": 3})
    True
    """

    def __init__(self, weights: Weights | npt.NDArray[Any], num_perm: int = 128, *, seed: int = 42) -> None:
        self.recipe = Recipe(scheme="darts-1", seed=seed, length=num_perm, shingles=WEIGHTED_TOKENS)
        tokens, values = _tokens_and_weights(weights)
        self._values: U32 = np.empty((1, num_perm), np.uint32)
        darts.dart_signatures(
            np.arange(len(values)), np.empty(0), np.array([len(values)]), 0, 1, elements_of(tokens), values,
            LOWEST_PIECE, np.uint64(seed), self._values,
        )  # fmt: skip

    @classmethod
    def bulk(cls, sets: Iterable[Weights | npt.NDArray[Any]], **options: Any) -> list[WeightedMinHash]:
        """Return one WeightedMinHash for each mapping or vector of weights, all with the same options."""
        return [cls(weights, **options) for weights in sets]

    def __repr__(self) -> str:
        return f"WeightedMinHash(num_perm={self.num_perm}, seed={self.seed})"

    @property
    def num_perm(self) -> int:
        return self.recipe.length

    @property
    def seed(self) -> int:
        return self.recipe.seed

    def jaccard(self, other: WeightedMinHash | MinHash) -> float:
        """Estimate the weighted Jaccard similarity of the two sets (0 if one has no weight).

        Raises RecipeMismatch if the two differ in seed or length, or if the other one is a MinHash.
        """
        self.recipe.check_same(other.recipe)
        if self.is_empty() or other.is_empty():
            return 0.0
        return float(np.mean(self.digest() == other.digest()))

    @property
    def hashvalues(self) -> U32:
        """The signature; the same as `digest()`."""
        return self.digest()

    def digest(self) -> U32:
        """Return the signature, u32[num_perm]."""
        values: U32 = self._values[0].copy()
        return values

    def is_empty(self) -> bool:
        """Return True if no token has a weight above 0."""
        return bool((self._values == sketches.NOTHING).all())

    def copy(self) -> WeightedMinHash:
        """Return the WeightedMinHash itself, which does not change."""
        return self

    def __len__(self) -> int:
        return self.num_perm

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeightedMinHash):
            return NotImplemented
        return self.recipe == other.recipe and np.array_equal(self._values, other._values)

    def __hash__(self) -> int:
        return hash((self.recipe, self._values.tobytes()))


def _tokens_and_weights(weights: Weights | npt.NDArray[Any]) -> tuple[list[bytes], F64]:
    """Return the tokens with a weight above 0, and their weights."""
    if isinstance(weights, Mapping):
        names: Iterable[bytes | str] = weights.keys()
        given: Iterable[Any] = weights.values()
    else:
        given = weights.tolist() if isinstance(weights, np.ndarray) else weights
        names = (str(place) for place, _ in enumerate(given))
    chosen: dict[bytes, float] = {}
    for name, value in zip(names, given, strict=True):
        try:
            weight = float(value)
        except (TypeError, ValueError) as error:
            raise UsageError(f"the weight of {name!r} is {value!r}; expected a number.") from error
        if not (weight == 0 or LEAST_WEIGHT <= weight <= MOST_WEIGHT):
            raise UsageError(
                f"the weight of {name!r} is {weight:g}; expected 0, or a finite number from {LEAST_WEIGHT:g} to "
                f"{MOST_WEIGHT:g}."
            )
        token = as_bytes(name)
        if token in chosen:
            raise UsageError(f"the token {token!r} has two weights, as bytes and as str; expected one.")
        if weight:
            chosen[token] = weight
    if (total := math.fsum(chosen.values())) > MOST_WEIGHT:
        raise UsageError(f"the weights add up to {total:g}; expected at most {MOST_WEIGHT:g}.")
    return list(chosen), np.array(list(chosen.values()), np.float64)
