"""Write src/lookalike/kernels/unicode.npz from this Python's `unicodedata`: how code points are classed and folded.

The table ships with the package so that every Python gives the same shingles; it names its Unicode version.
Run it only to move to a newer Unicode, which is a new version of every shingle rule.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import numpy as np

ALL = 0x110000
SURROGATES = range(0xD800, 0xE000)
OTHER, WORD, ALONE, MARK = 0, 1, 2, 3  # the low two bits of a class
SPACE, PUNCTUATION = 4, 8
ALONE_NAMES = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")
ALONE_NAMES += ("HENTAIGANA",)
ALONE_POINTS = {0x3005, 0x3006, 0x3007, *range(0x3021, 0x302A), *range(0x3038, 0x303C)}  # Han outside those names
ACCENTS = {*range(0x300, 0x370), *range(0x1AB0, 0x1B00), *range(0x1DC0, 0x1E00), *range(0x20D0, 0x2100)}
ACCENTS |= {*range(0xFE20, 0xFE30)}


def class_of(char: str) -> int:
    """Word or not, a word by itself, a mark; white space, punctuation or symbol."""
    category = unicodedata.category(char)
    kind = OTHER
    if category[0] == "M":
        kind = MARK
    elif char.isalnum() or char == "_":
        alone = ord(char) in ALONE_POINTS or unicodedata.name(char, "").startswith(ALONE_NAMES)
        kind = ALONE if alone else WORD
    return kind | (SPACE if char.isspace() else 0) | (PUNCTUATION if category[0] in "PS" else 0)


def without_accents(char: str) -> str:
    """The character less its Latin, Greek or Cyrillic accents; vowel signs of other scripts stay."""
    parts = unicodedata.normalize("NFD", char)
    if not any(ord(part) in ACCENTS for part in parts):
        return char
    return unicodedata.normalize("NFC", "".join(part for part in parts if ord(part) not in ACCENTS))


def sparse(mapping: dict[int, str]) -> tuple[np.ndarray, np.ndarray]:
    """(code points, their up to three replacements, padded with 0)."""
    points = np.array(sorted(mapping), np.uint32)
    targets = np.zeros((len(points), 3), np.uint32)
    for row, point in enumerate(points):
        text = mapping[int(point)]
        targets[row, : len(text)] = [ord(part) for part in text]
    return points, targets


def main() -> None:
    classes = np.zeros(ALL, np.uint8)
    folds: dict[str, dict[int, str]] = {"fold": {}, "strip": {}, "strip_fold": {}}
    for point in range(ALL):
        if point in SURROGATES:
            continue
        char = chr(point)
        classes[point] = class_of(char)
        stripped = without_accents(char)
        for name, text in (("fold", char.casefold()), ("strip", stripped), ("strip_fold", stripped.casefold())):
            if text != char:
                folds[name][point] = text
    blocks, block_of = np.unique(classes.reshape(-1, 256), axis=0, return_inverse=True)
    tables = {
        "version": np.array(unicodedata.unidata_version),
        "blocks": blocks,
        "block_of": block_of.astype(np.uint16),
    }
    for name, mapping in folds.items():
        tables[f"{name}_points"], tables[f"{name}_targets"] = sparse(mapping)
    target = Path(__file__).parents[1] / "src/lookalike/kernels/unicode.npz"
    np.savez_compressed(target, **tables)
    sys.stdout.write(f"Unicode {unicodedata.unidata_version}: {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
