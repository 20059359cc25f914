"""Tables that classify and fold code points, read from `unicode.npz` (written by scripts/make_unicode_tables.py)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

KIND, OTHER, WORD, ALONE, MARK = 3, 0, 1, 2, 3  # class & KIND: the role of a code point in words
SPACE, PUNCTUATION = 4, 8


class FoldingTables(NamedTuple):
    """Classes and foldings of all code points.

    ascii_words: u8[256], the folded byte of a word character, 0 for others; classes: u8[0x110000];
    folds: i32[0x110000], one code point, or -1-row of `multi`; multi: i32[m, 3], padded with 0.
    """

    ascii_words: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.uint8]
    folds: npt.NDArray[np.int32]
    multi: npt.NDArray[np.int32]


@cache
def _file() -> dict[str, npt.NDArray[np.generic]]:
    with np.load(Path(__file__).with_name("unicode.npz"), allow_pickle=False) as file:
        return dict(file)


def unicode_version() -> str:
    """Return the Unicode version of the tables, which is part of every shingle rule."""
    return str(_file()["version"])


@cache
def tables(fold_case: bool, strip_accents: bool) -> FoldingTables:
    """Return the folding tables for these options; the classes do not depend on them."""
    file = _file()
    classes = np.ascontiguousarray(file["blocks"][file["block_of"]].ravel().astype(np.uint8))
    folds = np.arange(len(classes), dtype=np.int32)
    multi = np.zeros((0, 3), np.int32)
    if fold_case or strip_accents:
        name = "_".join(["strip"] * strip_accents + ["fold"] * fold_case)
        points, targets = file[f"{name}_points"], file[f"{name}_targets"].astype(np.int32)
        single = (targets[:, 0] != 0) & (targets[:, 1] == 0)
        folds[points[single]] = targets[single, 0]
        multi = np.ascontiguousarray(targets[~single])
        folds[points[~single]] = -1 - np.arange(len(multi), dtype=np.int32)
    ascii_words = np.zeros(256, np.uint8)
    word = (classes[:128] & KIND) != OTHER
    ascii_words[:128][word] = folds[:128][word]
    return FoldingTables(ascii_words, classes, folds, multi)
