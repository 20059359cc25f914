"""The options that define shingles, shared by every function that converts text to sets."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from lookalike.core.options import SHINGLES_PANEL, Option
from lookalike.errors import UsageError

Unit = Literal["word", "char", "byte", "line", "token"]
Normalize = Literal["none", "NFC", "NFKC"]
HashBits = Literal[32, 64]
UNITS: tuple[Unit, ...] = ("word", "char", "byte", "line", "token")
DEFAULT_K: dict[str, int] = {"word": 5, "char": 9, "byte": 9, "line": 1, "token": 1}

FoldCase = Annotated[
    bool, Option(True, "Ignore upper and lower case.", flags=("--fold-case/--keep-case",), panel=SHINGLES_PANEL)
]
StripAccents = Annotated[
    bool, Option(False, "Ignore accents of Latin, Greek and Cyrillic letters.", panel=SHINGLES_PANEL)
]

ShingleLength = Annotated[int | None, Option(
    None, "Number of units in a shingle.", unset="word 5, char 9, byte 9, line 1, token 1", flags=("-k",),
    panel=SHINGLES_PANEL, range="[1, inf)",
)]  # fmt: skip
ShingleUnit = Annotated[
    Unit | None, Option(None, "Unit of a shingle.", unset="word; token for lists of tokens", panel=SHINGLES_PANEL)
]


def check_length(k: int) -> None:
    """Raise UsageError if a shingle would have no units."""
    if k < 1:
        raise UsageError(f"k is {k}; a shingle needs at least 1 token.")


class RuleOptions(TypedDict, total=False):
    """The fields of `ShingleRule` as options of a function; lists of tokens use `k` and `bag` only."""

    unit: ShingleUnit
    k: ShingleLength
    bag: Annotated[bool, Option(False, "Count repeated shingles: compare bags, not sets.", panel=SHINGLES_PANEL)]
    fold_case: FoldCase
    normalize: Annotated[Normalize, Option("none", "Unicode normalisation before shingling.", panel=SHINGLES_PANEL)]
    strip_accents: StripAccents
    ignore_punctuation: Annotated[
        bool, Option(False, "Leave out punctuation and symbols; in words they never occur.", panel=SHINGLES_PANEL)
    ]
    squeeze_space: Annotated[
        bool,
        Option(True, "Read runs of white space as one blank (units char and line).",
               flags=("--squeeze-space/--keep-space",), panel=SHINGLES_PANEL, rare=True),
    ]  # fmt: skip
    hash_bits: Annotated[HashBits, Option(64, "Bits of the hash of a shingle.", panel=SHINGLES_PANEL, rare=True)]
