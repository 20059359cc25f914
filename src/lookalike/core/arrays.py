"""Frozen dataclasses over arrays (sets, bit codes, signatures, pairs, groups) that the rest of the package works on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lookalike.core.notebook import NOTEBOOK_ROWS, card, histogram, table
from lookalike.core.options import check_choice as check_choice
from lookalike.core.options import defaults
from lookalike.core.shingle_options import DEFAULT_K as DEFAULT_K
from lookalike.core.shingle_options import UNITS as UNITS
from lookalike.core.shingle_options import HashBits, Normalize, check_length
from lookalike.core.shingle_options import RuleOptions as RuleOptions
from lookalike.core.shingle_options import Unit as Unit
from lookalike.errors import RecipeMismatch, UsageError

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

RULE = defaults(RuleOptions)


@dataclass(frozen=True, kw_only=True)
class ShingleRule:
    """Define how text becomes a set of shingles: the unit of a token, the shingle length k, and the normalisation.

    With the unit `token` the input consists of lists of tokens, and the text options have no effect.
    """

    unit: Unit = "word"
    k: int = DEFAULT_K["word"]
    bag: bool = RULE["bag"]
    fold_case: bool = RULE["fold_case"]
    normalize: Normalize = RULE["normalize"]
    strip_accents: bool = RULE["strip_accents"]
    ignore_punctuation: bool = RULE["ignore_punctuation"]
    squeeze_space: bool = RULE["squeeze_space"]
    hash_bits: HashBits = RULE["hash_bits"]

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, UNITS)
        check_choice("normalize", self.normalize, ("none", "NFC", "NFKC"))
        check_length(self.k)
        if self.hash_bits not in (32, 64):
            raise UsageError(f"hash_bits is {self.hash_bits}; expected 32 or 64.")

    @classmethod
    def for_unit(cls, unit: Unit, k: int | None = None, **options: Any) -> ShingleRule:
        """Return a rule with the default shingle length of the unit, unless `k` is given."""
        check_choice("unit", unit, UNITS)
        return cls(unit=unit, k=DEFAULT_K[unit] if k is None else k, **options)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Sets:
    """n sets of 64-bit elements, concatenated in one array.

    elements: u64[nnz], each element once per set, in any order; offsets: i64[n+1], where each set starts.
    """

    elements: U64
    offsets: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> U64:
        return self.elements[self.offsets[index] : self.offsets[index + 1]]

    @property
    def sizes(self) -> I64:
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Bits:
    """n bit codes of equal length. words: u64[n, ceil(width / 64)], padded with zero bits; width: bits per code."""

    words: U64
    width: int

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The parameters with which a signature was computed. Signatures with different recipes cannot be compared."""

    scheme: Literal["fss-1", "minhash-1", "permutation-1", "darts-1"] = "fss-1"
    seed: int = 42
    length: int = 128
    bits: int = 32
    shingles: ShingleRule | None = None

    def __post_init__(self) -> None:
        check_choice("scheme", self.scheme, ("fss-1", "minhash-1", "permutation-1", "darts-1"))
        if not 0 <= self.seed < 1 << 64:
            raise UsageError(f"seed is {self.seed}; expected a whole number from 0 to 2^64-1.")
        if self.length < 1:
            raise UsageError(f"the signature length is {self.length}; expected at least 1.")
        if not (1 <= self.bits <= 16 or self.bits == 32):
            raise UsageError(f"bits is {self.bits}; expected 1 to 16, or 32 for whole values.")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def check_same(self, other: Recipe) -> None:
        """Raise RecipeMismatch, naming the first field that differs, if the recipes are not equal."""
        mine, theirs = self.as_dict(), other.as_dict()
        for name, value in mine.items():
            if value != theirs[name]:
                raise RecipeMismatch(
                    f"signatures differ in {name}: {value!r} and {theirs[name]!r}; make both with the same recipe."
                )


@dataclass(frozen=True)
class Signatures:
    """n signatures and their recipe. values: u32[n, length] (u16 or u8 if truncated to at most 16 or 8 bits)."""

    values: npt.NDArray[np.unsignedinteger[Any]]
    recipe: Recipe = field(default_factory=Recipe)

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, bits: int) -> Signatures:
        """Truncate every value to its lowest `bits` (1-16); `similarity` then corrects for chance agreement."""
        if not 1 <= bits <= 16:
            raise UsageError(f"bits is {bits}; signatures can be cut to 1 to 16 bits.")
        recipe = replace(self.recipe, bits=bits)
        if bits > self.recipe.bits:
            raise UsageError(f"cannot cut {self.recipe.bits}-bit signatures to {bits} bits.")
        kind = np.uint8 if bits <= 8 else np.uint16
        return Signatures((self.values & np.uint32((1 << bits) - 1)).astype(kind), recipe)

    def similarity(self, left: int, right: int, other: Signatures | None = None) -> tuple[float, float]:
        """Estimate the Jaccard similarity of item `left` and item `right` (of `other`), and its standard error.

        The estimate is unbiased. Some slots that are truncated to few bits agree by chance; if fewer agree than
        expected by chance, the estimate is negative.

        The similarity of an empty set is 0, with error 0. An empty set is recognised by slots of 32 ones, and so not
        in a truncated signature.
        """
        there = self if other is None else other
        self.recipe.check_same(there.recipe)
        if self.recipe.bits == 32 and bool(np.all(self.values[left] == np.uint32(0xFFFFFFFF))):
            return 0.0, 0.0
        agree = float(np.mean(self.values[left] == there.values[right]))
        chance = 0.0 if self.recipe.bits == 32 else 2.0**-self.recipe.bits
        estimate = (agree - chance) / (1.0 - chance)
        likely = max(0.0, estimate)
        spread = likely + (1.0 - likely) * chance
        return estimate, float(np.sqrt(spread * (1.0 - spread) / self.recipe.length)) / (1.0 - chance)


@dataclass(frozen=True)
class Pairs:
    """Pairs of item numbers and their scores, sorted by (left, right). left, right: i64[p]; similarity: f64[p]."""

    left: I64
    right: I64
    similarity: F64

    def __len__(self) -> int:
        return len(self.left)

    def at_least(self, threshold: float) -> Pairs:
        keep = self.similarity >= threshold
        return Pairs(self.left[keep], self.right[keep], self.similarity[keep])

    def picture(self, scale: Scale, words: str) -> str:
        """Draw a histogram of the similarities (or distances) for a notebook; an empty string without pairs."""
        scores = self.similarity[np.isfinite(self.similarity)]  # a pair that only a verdict joins has none
        if not len(scores):
            return ""
        counts, edges = np.histogram(scores * scale.sign, bins=24)
        return histogram(counts.tolist(), float(edges[0]), float(edges[-1]), words)

    def _repr_html_(self) -> str:
        columns = (self.left, self.right, self.similarity)
        rows = list(zip(*(column[:NOTEBOOK_ROWS].tolist() for column in columns), strict=True))
        first = table(["left", "right", "similarity"], rows, len(self))
        return card("Pairs", [("pairs", f"{len(self):,}")], self.picture(SIMILARITY, "similarity"), first)


@dataclass(frozen=True)
class Scale:
    """How scores are reported. Internally a higher score is always nearer, so distances are stored negated.

    column: the name of the score column in tables. sign: 1 for a similarity, -1 for a distance.
    """

    column: str = "similarity"
    sign: Literal[1, -1] = 1

    @property
    def bound(self) -> str:
        return "at least" if self.sign > 0 else "at most"


SIMILARITY, DISTANCE = Scale(), Scale("distance", -1)


@dataclass(frozen=True)
class Groups:
    """The representative of each item. i64[n]; representative[i] == i for single items and for representatives.

    similarity[i]: similarity of item i to its representative, NaN where it is unknown (components); f64[n].
    """

    representative: I64
    similarity: F64
