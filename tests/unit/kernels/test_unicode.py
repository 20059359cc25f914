"""The shipped tables against this Python's `unicodedata`, for every code point that both know."""

from __future__ import annotations

import importlib.util
import unicodedata
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from lookalike.core.arrays import ShingleRule
from lookalike.kernels.unicode import ALONE, KIND, MARK, OTHER, PUNCTUATION, SPACE, WORD, tables, unicode_version
from oracles import folded, is_single
from strategies import known

CHARACTERS = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000 and known(chr(point))]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The program that makes the tables."""
    path = Path(__file__).parents[3] / "scripts/make_unicode_tables.py"
    spec = importlib.util.spec_from_file_location("make_unicode_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_name_their_version() -> None:
    assert unicode_version() == "15.1.0"


def test_all_planes_are_looked_at() -> None:
    planes = {ord(char) >> 16 for char in CHARACTERS}
    assert planes == {0, 1, 2, 3, 14, 15, 16}
    assert len(CHARACTERS) > 250_000


def test_classes_made_again_agree(script: ModuleType) -> None:
    classes = tables(True, False).classes
    assert [char for char in CHARACTERS if classes[ord(char)] != script.class_of(char)] == []


def test_classes_follow_the_rule() -> None:
    """The same once more, from the words of the rule and not from the program."""
    classes = tables(True, False).classes
    for char in CHARACTERS:
        category = unicodedata.category(char)
        kind = MARK if category[0] == "M" else ALONE if is_single(char) else OTHER
        if kind == OTHER and (char.isalnum() or char == "_"):
            kind = WORD
        flags = SPACE * char.isspace() + PUNCTUATION * (category[0] in "PS")
        assert classes[ord(char)] == kind + flags, f"U+{ord(char):04X}"


@pytest.mark.parametrize("fold_case", [False, True])
@pytest.mark.parametrize("strip_accents", [False, True])
def test_folds_agree(fold_case: bool, strip_accents: bool) -> None:
    rule = ShingleRule(fold_case=fold_case, strip_accents=strip_accents)
    _, _, folds, multi = tables(fold_case, strip_accents)
    for char in CHARACTERS:
        fold = int(folds[ord(char)])
        text = chr(fold) if fold >= 0 else "".join(chr(part) for part in multi[-1 - fold] if part)
        assert text == folded(char, rule), f"U+{ord(char):04X}"


def test_ascii_is_as_the_rest() -> None:
    lut, classes, folds, _ = tables(True, False)
    inside = (classes[:128] & KIND) != OTHER
    assert lut[:128].tolist() == np.where(inside, folds[:128], 0).tolist()
    assert not lut[128:].any()
    assert bytes(lut[list(b"aZ_9 -\0")]) == b"az_9\0\0\0"
