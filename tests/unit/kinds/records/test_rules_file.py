"""Rules for records as TOML: there and back, and every mistake in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.errors import InputError, OutputError
from lookalike.kinds.records.rules import FieldRule, RecordRules
from lookalike.kinds.records.rules_file import read_settings, write_settings

RULES = RecordRules(
    fields=(
        FieldRule(column='na"me\\\x7f\x01', weight=1 / 3),
        FieldRule(
            column="größe",
            compare="number",
            keys=(),
            bits=(-3.0, -2.0, 0.0, 1.0, 2.0, 3.0, 4.5),
            explained={'straße "x"': (-1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0)},
        ),
    ),
    threshold=0.41250000000000003,
    prior=-3.5000001,
)


@pytest.mark.promise("docs/how-to/records.md", "writes what was learned, without rounding")
def test_there_and_back(tmp_path: Path) -> None:
    write_settings(RULES, tmp_path / "rules.toml")
    assert read_settings(tmp_path / "rules.toml") == RULES
    with pytest.raises(OutputError):
        write_settings(RULES, tmp_path / "rules.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threshold = ", "is not valid TOML"),
        ("threshold = 0.5", "has no [[fields]]"),
        ("treshold = 0.5\n[[fields]]\ncolumn = 'a'", "Nearest: 'threshold'"),
        ("[[fields]]\ncolumn = 'a'\ncompare = 'wrods'", "Nearest: 'words'"),
        ("[[fields]]\ncolumn = 'a'\nkeys = ['word']", "Nearest: 'words'"),
        ("[[fields]]\ncolumn = 'a'\n[[fields]]\ncolumn = 'a'", "named 2 times"),
        ("[[fields]]\ncolumn = 'a'\nweight = -1", "expected 0 or more"),
        ("[[fields]]\ncolumn = 'a'\nbits = [1.0]", "expected 7"),
        ("[[fields]]\ncolumn = 'a'\nexplained = {b = [1.0]}", "'b' explains of 'a' has 1 bit; expected 7"),
        ("whole = 2.0\n[[fields]]\ncolumn = 'a'", "from 0 to 1"),
        ("threshold = 'high'\n[[fields]]\ncolumn = 'a'", "wrong type"),
        ("[[fields]]\ncolumn = 'a'\nkeys = []", "no field gives keys"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match="toml") as caught:
        read_settings(tmp_path / "x.toml")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the settings"):
        read_settings(tmp_path / "none.toml")
