"""Vectors from arrays, files and tables; and one clear line for what is none."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import ColumnNotFound, DuplicateIds, InputError, UsageError
from lookalike.io.vectors import open_vectors

DATA = np.array([[1.0, 0.0, 2.0], [1.0, 0.1, 2.0], [0.0, 5.0, -1.0], [1.0, 0.0, 2.0]])
PAIRS = [(0, 1), (0, 3), (1, 3)]


def found(source: object, **options: object) -> list[tuple[object, object]]:
    table = la.vectors.pairs(source, max_angle=5, **options).pairs
    return list(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))


def lists(kind: pa.DataType) -> pa.Array:
    return pa.array(DATA.tolist(), kind)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_of_every_kind(dtype: type) -> None:
    assert found(DATA.astype(dtype)) == PAIRS
    assert found(np.asfortranarray(DATA.astype(dtype))) == PAIRS
    assert found(DATA.astype(dtype).tolist()) == PAIRS
    assert found(np.array([[3, 0], [0, 3], [9, 0]], np.int8)) == [(0, 2)]


def test_files_of_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", DATA.astype(np.float32))
    np.savez(tmp_path / "a.npz", X=DATA, ids=np.array(["a", "b", "c", "d"]), other=np.zeros(3))
    rows = np.empty((4, 4), np.float32)
    rows[:, 1:] = DATA
    rows[:, 0] = np.array([3], np.int32).view(np.float32)
    rows.tofile(tmp_path / "a.fvecs")
    assert found(tmp_path / "a.npy") == PAIRS
    assert found(str(tmp_path / "a.npy")) == PAIRS
    assert found(tmp_path / "a.npz") == [("a", "b"), ("a", "d"), ("b", "d")]
    assert found(tmp_path / "a.fvecs") == PAIRS
    assert found([tmp_path / "a.npy", tmp_path / "a.fvecs"])[:2] == [(0, 1), (0, 3)]
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "one.npy", DATA)
    assert found(tmp_path / "folder") == PAIRS


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 3), pa.large_list(pa.float32())], ids=str
)
def test_tables(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"id": ["a", "b", "c", "d"], "embedding": lists(kind), "n": [1, 2, 3, 4]})
    named = [("a", "b"), ("a", "d"), ("b", "d")]
    assert found(table) == named
    assert found(table, column="embedding", id="n") == [(1, 2), (1, 4), (2, 4)]
    pq.write_table(table, tmp_path / "a.parquet")
    assert found(tmp_path / "a.parquet") == named
    kept = la.vectors.dedup(tmp_path / "a.parquet", max_angle=5, keep="max:n").kept
    assert kept["id"].to_pylist() == ["c", "d"]
    assert kept.column_names == ["id", "embedding", "n"]


def test_columns_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "name,x,y,z\n" + "".join(f"{n},{a},{b},{c}\n" for n, (a, b, c) in zip("abcd", DATA, strict=True))
    )
    assert found(tmp_path / "a.csv", id="name") == [("a", "b"), ("a", "d"), ("b", "d")]


def test_kept_rows_of_an_array_are_its_vectors() -> None:
    kept = la.vectors.dedup(DATA, max_angle=5).kept
    assert kept.to_pylist() == [{"vector": [1.0, 0.0, 2.0]}, {"vector": [0.0, 5.0, -1.0]}]


def test_nothing_is_no_error(tmp_path: Path) -> None:
    assert found(np.empty((0, 3))) == []
    assert found(pa.table({"vector": pa.array([], pa.list_(pa.float32()))})) == []
    assert found(DATA[:1]) == []
    np.save(tmp_path / "a.npy", np.empty((0, 3), np.float32))
    assert la.vectors.dedup(tmp_path / "a.npy", max_angle=5).kept.num_rows == 0


def broken(row: list[float | None]) -> pa.Table:
    return pa.table({"vector": pa.array([[1.0, 2.0], row, [2.0, 1.0]], pa.list_(pa.float64()))})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.array([[1.0, math.nan]]), "the array row 0: number 1 is NaN or missing; expected finite numbers."),
        (np.array([[1.0, 2.0], [-math.inf, 1.0]]), "the array row 1: number 0 is infinite in float32"),
        (np.array([[1e300, 2.0]]), "the array row 0: number 0 is infinite in float32"),
        (np.array([[1.0, 2.0], [0.0, 0.0]]), "the array row 1: the vector is all zeros and has no direction."),
        ([[1.0, 2.0], [1.0]], "the array row 1: 1 numbers, but row 0 has 2; expected rows of one length."),
        (np.arange(5.0), r"the array has 1 dimension, shape (5,); expected one row per item"),
        (np.zeros((2, 2, 2)), r"the array has 3 dimensions"),
        (np.array([["a"]]), "the array holds <U1; expected real numbers."),
        (np.zeros((2, 0)), "the array has rows without any numbers."),
        (broken([1.0]), "the table row 1: 1 numbers, but the rows before have 2; expected one length."),
        (broken([1.0, None]), "the table row 1: number 1 is NaN or missing"),
        (pa.table({"vector": [[1.0], None]}), "the table row 1: number 0 is NaN or missing"),
    ],
)
def test_bad_vectors_get_one_line(source: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        la.vectors.pairs(source, max_angle=5)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_bad_vectors_can_be_skipped() -> None:
    data = np.array([[1.0, 2.0], [math.nan, 1.0], [1.0, 2.0], [0.0, 0.0]])
    result = la.vectors.dedup(data, max_angle=5, on_bad="skip")
    assert result.receipt["counts"]["skipped"] == 2
    assert result.removed["id"].to_pylist() == [2]
    assert result.kept.num_rows == 3
    assert found(data, on_bad="skip") == [(0, 2)]
    assert la.vectors.pairs(data[[0, 3]], max_distance=3).pairs.num_rows == 1


def test_mixed_dimensions(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    np.save(tmp_path / "b.npy", np.eye(3))
    for options in ({}, {"against": tmp_path / "b.npy"}):
        source = tmp_path / "a.npy" if options else [tmp_path / "a.npy", tmp_path / "b.npy"]
        with pytest.raises(InputError, match=r"vectors of 3 numbers in .*b.npy and of 2 before; expected one length."):
            la.vectors.pairs(source, max_angle=5, **options)


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"no array")
    (tmp_path / "b.npy").write_bytes(b"")
    np.save(tmp_path / "c.npy", np.array([{}], object), allow_pickle=True)
    np.array([2, 0, 0, 3, 0, 0, 0], np.int32).tofile(tmp_path / "d.fvecs")
    np.array([2, 0, 0, 1, 0, 0], np.int32).tofile(tmp_path / "e.fvecs")
    np.savez(tmp_path / "f.npz", one=np.eye(2), two=np.eye(3))
    for name, message in (
        ("a.npy", "a.npy cannot be read as a NumPy file"),
        ("b.npy", "b.npy is empty (0 bytes); expected an array."),
        ("c.npy", "c.npy cannot be read as a NumPy file"),
        ("d.fvecs", "d.fvecs cannot be read as fvecs: its size does not fit rows of 2 numbers."),
        ("e.fvecs", "e.fvecs row 1: 1 numbers, but row 0 has 2; expected one length."),
        ("f.npz", "2 arrays could be the vectors"),
        ("g.npy", "no such file"),
    ):
        with pytest.raises(InputError) as caught:
            open_vectors(tmp_path / name)
        assert message in str(caught.value)
    with pytest.raises(InputError, match=r"no array 'tow' in .*f.npz. Nearest: 'two'. Arrays: one, two."):
        open_vectors(tmp_path / "f.npz", column="tow")


def test_bad_columns() -> None:
    table = pa.table(
        {"id": ["a", "a"], "one": lists(pa.list_(pa.float32()))[:2], "two": lists(pa.list_(pa.float32()))[:2]}
    )
    with pytest.raises(
        UsageError, match=r"2 columns could be the vectors in the table; give `column`. Columns: one, two."
    ):
        open_vectors(table)
    with pytest.raises(ColumnNotFound, match=r"no column 'oen' in the table. Nearest: 'one'."):
        open_vectors(table, column="oen")
    with pytest.raises(InputError, match=r"column 'id' in the table is string; expected lists of numbers."):
        open_vectors(table, column="id")
    with pytest.raises(DuplicateIds):
        la.vectors.pairs(table, column="one", max_angle=5)
    with pytest.raises(UsageError, match=r"no column of the table holds lists of numbers, or numbers. Columns: a."):
        open_vectors(pa.table({"a": ["x"]}))
    with pytest.raises(UsageError, match="keep 'longest' means nothing for vectors"):
        la.vectors.dedup(np.eye(2), max_angle=1, keep="longest")
    with pytest.raises(InputError, match="is an array without columns, so there is no column 'n' to keep by"):
        la.vectors.dedup(np.eye(2), max_angle=1, keep="max:n")
