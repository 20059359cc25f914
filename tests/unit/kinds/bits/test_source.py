"""Columns of codes: every form, every message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import ColumnNotFound, DuplicateIds, InputError, UsageError
from lookalike.kinds.bits.formats import parse
from lookalike.kinds.bits.source import open_codes


def words(column: Any, form: Any = "auto") -> tuple[list[list[int]], int]:
    made = parse(column, form=form, where="row {}".format)
    return made.words.tolist(), made.width


def number(value: list[int]) -> int:
    return sum(word << 64 * place for place, word in enumerate(value))


@settings(deadline=None)
@given(st.integers(1, 40).flatmap(lambda n: st.lists(st.binary(min_size=n, max_size=n), min_size=1, max_size=5)))
def test_hex_bytes_and_binary_are_the_same_bits(codes: list[bytes]) -> None:
    size = len(codes[0])
    values = [int.from_bytes(code, "big") for code in codes]
    made, width = words(pa.array([code.hex() for code in codes]), "hex")
    assert width == 8 * size
    assert [number(value) for value in made] == values
    made, width = words(pa.array([code[::-1] for code in codes], pa.binary(size)))
    assert (width, [number(value) for value in made]) == (8 * size, values)
    made, width = words(pa.array([f"{value:0{8 * size}b}"[::-1] for value in values]), "binary")
    assert (width, [number(value) for value in made]) == (8 * size, values)


def test_the_form_is_guessed() -> None:
    assert words(pa.array(["0110", "1000"])) == ([[6], [1]], 4)
    assert words(pa.array(["0110", "100f"])) == ([[0x110], [0x100F]], 16)
    assert words(pa.array(["0x0110", "0X1000"])) == ([[0x110], [0x1000]], 16)
    assert words(pa.array(["abc", "ABD"])) == ([[0xABC], [0xABD]], 12)
    assert words(pa.array(["12", None, "7"]), "int") == ([[12], [0], [7]], 64)
    assert words(pa.array(["-1"]), "int") == ([[2**64 - 1]], 64)
    assert words(pa.array([-1, 3], pa.int8())) == ([[255], [3]], 8)
    assert words(pa.array([b"\x01\x02"])) == ([[0x201]], 16)
    assert words(pa.array(["0110"]).dictionary_encode()) == ([[6]], 4)
    assert words(pa.array([], pa.string())) == ([], 0)


def test_a_slice_of_a_column() -> None:
    assert words(pa.array(["zz", "0a", None, "0b"]).slice(1)) == ([[10], [0], [11]], 8)
    assert words(pa.array([b"x", b"a", None], pa.binary(1)).slice(1)) == ([[97], [0]], 8)


@pytest.mark.parametrize(
    ("column", "form", "line"),
    [
        (["00", "0g"], "auto", "row 1: the code has 'g' at position 1; expected the digits 0-9 and a-f (or 0 and 1"),
        (["00", "02"], "binary", "row 1: the code has '2' at position 1; expected 0 and 1."),
        (
            ["00", "000"],
            "auto",
            "row 1: the code has 3 characters where the first has 2; expected codes of one length.",
        ),
        (["", ""], "auto", "row 0: the code has 0 characters where the first has 0"),
        (["12", "x"], "int", "row 1: the code is 'x'; expected a whole number of at most 64 bits."),
        (
            ["12", str(1 << 64)],
            "int",
            "row 1: the code is '18446744073709551616'; expected a whole number of at most 64",
        ),
    ],
)
def test_codes_that_cannot_be_read(column: list[str], form: Any, line: str) -> None:
    with pytest.raises(InputError) as caught:
        words(pa.array(column), form)
    assert line in str(caught.value)


def test_which_column(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "name": ["a", "b"], "phash": ["0f", "1f"]})
    assert open_codes(table).describe() == {
        "name": "the table",
        "code": "phash",
        "id": "id",
        "form": "auto",
        "origin": None,
    }
    assert open_codes(table, column="name").collection.text_column == "name"
    with pytest.raises(ColumnNotFound, match=r"no column 'hash' in the table. Nearest: 'phash'"):
        open_codes(table, column="hash")
    with pytest.raises(
        UsageError, match=r"2 columns could be the codes in the table; give `column=COL`. Columns: a, b."
    ):
        open_codes(pa.table({"a": ["0"], "b": ["1"]}))
    with pytest.raises(UsageError, match="no column holds codes in the table"):
        open_codes(pa.table({"a": [0.5]}))
    with pytest.raises(InputError, match="column 'a' in the table is double; expected codes: text, whole numbers, or"):
        open_codes(pa.table({"a": [0.5]}), column="a")


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,code\nx,00ff\ny,00fe\n")
    (tmp_path / "b.csv").write_text("id,code\nz,00f0\nw,00\n")
    with pytest.raises(InputError, match=r"b\.csv line 3: the code has 2 characters where the first has 4"):
        open_codes(tmp_path).read()
    (tmp_path / "b.csv").write_text("id,code\nz,00f0\nx,\n")
    with pytest.raises(DuplicateIds, match="the id 'x' occurs 2 times"):
        open_codes(tmp_path).read()
    (tmp_path / "b.csv").write_text("id,code,n\nz,00f0,5\nw,,6\n")
    read = open_codes(tmp_path / "b.csv").read(["n"])
    assert read.present.tolist() == [True, False]
    assert read.ids.to_pylist() == ["z", "w"]
    assert read.extra["n"].to_pylist() == [5, 6]
    (tmp_path / "b.csv").write_text("id,kode\nz,00f0\n")
    with pytest.raises(ColumnNotFound, match=r"no column 'code' in .*b.csv"):
        open_codes(tmp_path)


def test_arrays_and_lists_of_the_wrong_kind() -> None:
    with pytest.raises(UsageError, match="codes came as an array of float64 with 1 dimensions; expected whole numbers"):
        open_codes(np.array([0.5]))
    with pytest.raises(UsageError, match="numbers of more than 64 bits"):
        open_codes([1 << 70])
    with pytest.raises(UsageError, match="several kinds of values"):
        open_codes([1, b"a"])
