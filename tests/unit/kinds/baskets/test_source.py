"""Every form of baskets gives the same baskets; what cannot be read says so in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import ColumnNotFound, DuplicateIds, InputError, UsageError
from lookalike.kinds.baskets.formats import BasketRule, open_baskets
from lookalike.kinds.baskets.ratings import Ratings
from lookalike.kinds.baskets.source import Baskets, aligned, int64, together

BOUGHT = {"ann": ["milk", "bread", "tea"], "bob": ["milk", "bread"], "cy": ["soap", "tea"]}
LONG = [(who, what) for who, items in BOUGHT.items() for what in items]


def named(baskets: Baskets) -> dict[object, list[object]]:
    """Baskets by the user's own names, items as often as they count."""
    return {who: baskets.items.take(int64(baskets[i])).to_pylist() for i, who in enumerate(baskets.ids.to_pylist())}


def opened(source: object, **rule: object) -> dict[object, list[object]]:
    return named(open_baskets(source, BasketRule(**rule)))  # type: ignore[arg-type]


def write(path: Path, rows: list[tuple[object, ...]], *names: str) -> Path:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in [names, *rows]))
    return path


def test_two_columns(tmp_path: Path) -> None:
    mixed = [LONG[i] for i in (0, 3, 1, 5, 4, 2, 6)]  # the rows of a basket need not stand together
    path = write(tmp_path / "x.csv", mixed, "who", "what")
    assert opened(path) == opened(path, set="who", item="what") == {**BOUGHT, "cy": ["soap", "tea"]}
    assert list(opened(path, set="what", item="who")) == ["milk", "bread", "soap", "tea"]
    table = pa.table({"who": [w for w, _ in LONG], "n": range(7), "what": [w for _, w in LONG]})
    assert opened(table, set="who", item="what") == BOUGHT


def test_integers_keep_the_order_of_their_first_appearance() -> None:
    table = pa.table({"set": [3, 1, 3, 2], "item": [9, 7, 7, 8]})
    assert list(opened(table).items()) == [(3, [9, 7]), (1, [7]), (2, [8])]


def test_a_column_of_lists(tmp_path: Path) -> None:
    table = pa.table({"id": list(BOUGHT), "items": list(BOUGHT.values())})
    assert opened(table) == opened(table, set="id", item="items") == BOUGHT
    pq.write_table(table.select(["items"]), tmp_path / "x.parquet")
    assert opened(tmp_path / "x.parquet") == dict(enumerate(BOUGHT.values()))
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"who": w, "has": i}) + "\n" for w, i in BOUGHT.items()))
    assert opened(tmp_path / "x.jsonl", set="who") == BOUGHT
    assert opened(pa.table({"items": [[1, 2], None, []]})) == {0: [1, 2], 1: [], 2: []}


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " "])
def test_one_basket_a_line(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(separator.join(items) for items in BOUGHT.values()).encode())
    assert opened(path) == dict(enumerate(BOUGHT.values()))
    assert opened(path.rename(tmp_path / "x.csv"), lines=True) == dict(enumerate(BOUGHT.values()))


def test_items_of_a_line_are_trimmed_and_empty_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("whole milk , tea,,\n\n soap\n")
    assert opened(tmp_path / "x.txt") == {0: ["whole milk", "tea"], 1: [], 2: ["soap"]}
    assert opened(tmp_path / "x.txt", separator="a") == {0: ["whole milk , te", ",,"], 1: [], 2: ["so", "p"]}


def test_a_text_column_with_separators(tmp_path: Path) -> None:
    rows = [(who, "|".join(items)) for who, items in BOUGHT.items()]
    path = write(tmp_path / "x.csv", rows, "who", "items")
    assert opened(path, set="who", item="items", separator="|") == BOUGHT


def test_python_collections() -> None:
    assert opened(BOUGHT) == BOUGHT
    assert opened(list(BOUGHT.values())) == dict(enumerate(BOUGHT.values()))
    assert opened([{1}, frozenset({2}), ()]) == {0: [1], 1: [2], 2: []}


class Coo:
    """What a SciPy matrix offers."""

    def __init__(self, dense: np.ndarray) -> None:
        self.shape = dense.shape
        self.row, self.col = np.nonzero(dense)
        self.data = dense[self.row, self.col]

    def tocoo(self) -> Coo:
        return self


DENSE = np.array([[5, 0, 2], [0, 0, 0], [0, 1, 4]])


def save(path: Path, form: str, **changed: object) -> Path:
    """DENSE as scipy.sparse.save_npz writes it."""
    coo = Coo(DENSE)
    by_column = np.lexsort((coo.row, coo.col))
    ends = {"csr": np.bincount(coo.row, minlength=3), "csc": np.bincount(coo.col, minlength=3)}
    arrays: dict[str, object] = {"format": np.array(form.encode()), "shape": np.array(DENSE.shape), "data": coo.data}
    if form == "coo":
        arrays |= {"row": coo.row, "col": coo.col}
    else:
        arrays["indices"] = (coo.col if form == "csr" else coo.row[by_column]).astype(np.int32)
        arrays["indptr"] = np.concatenate([[0], np.cumsum(ends.get(form, ends["csr"]))]).astype(np.int32)
        arrays["data"] = coo.data if form == "csr" else coo.data[by_column]
    np.savez(path, **{name: value for name, value in (arrays | changed).items() if value is not None})  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices(tmp_path: Path, form: str) -> None:
    path = save(tmp_path / "x.npz", form)
    assert opened(path) == {0: [0, 2], 1: [], 2: [1, 2]} == opened(Coo(DENSE))
    assert opened(path, min_rating=3) == {0: [0], 1: [], 2: [2]}
    assert opened(path, bag=True) == {0: [0] * 5 + [2] * 2, 1: [], 2: [1] + [2] * 4}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"format": np.array(b"bsr")},
            r"x.npz holds the format 'bsr'; expected a matrix of the format csr, csc or coo\.",
        ),
        ({"format": None}, r"x.npz holds the arrays shape, data, indices, indptr; expected a matrix"),
        ({"indices": np.array([0, 9, 1, 2])}, r"x.npz has an entry in column 9, but only 3 columns\."),
        ({"indices": np.array([0])}, r"x.npz holds 4 rows, 1 columns and 4 values; expected as many of each\."),
        ({"data": np.array(list("abcd"))}, r"x.npz holds values of the type <U1; expected numbers\."),
    ],
)
def test_a_matrix_that_is_none(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(save(tmp_path / "x.npz", "csr", **changed))


def test_a_file_that_is_no_matrix(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_text("nothing of the kind")
    with pytest.raises(InputError, match=r"x.npz cannot be read as a sparse matrix: "):
        opened(tmp_path / "x.npz")
    with pytest.raises(UsageError, match=r"x.npz and 1 more holds a sparse matrix; give one at a time\.$"):
        opened([tmp_path / "x.npz", tmp_path / "y.npz"])


RATED = [("ann", "milk", "5"), ("ann", "tea", "2.5"), ("bob", "milk", ""), ("bob", "tea", "3")]


def test_ratings(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", RATED, "who", "what", "rating")
    columns = {"set": "who", "item": "what"}
    assert opened(path, **columns) == {"ann": ["milk", "tea"], "bob": ["milk", "tea"]}
    assert opened(path, **columns, min_rating=3) == {"ann": ["milk"], "bob": ["tea"]}
    assert opened(path, **columns, min_rating=9) == {"ann": [], "bob": []}
    bags = opened(path, **columns, rating="rating", bag=True)  # steps of a half: two copies for each whole
    assert bags == {"ann": ["milk"] * 10 + ["tea"] * 5, "bob": ["tea"] * 6}


def test_repeated_rows_count_in_bags() -> None:
    table = pa.table({"who": ["a", "a", "b"], "what": ["x", "x", "x"]})
    assert opened(table, bag=True) == {"a": ["x", "x"], "b": ["x"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-1.0], r"stars holds -1; as multiplicities ratings are 0 or more\. Use `min_rating`\."),
        ([1.2345], r"stars holds 1\.2345; as multiplicities ratings have at most two decimals\."),
        ([1e12], r"the ratings in stars add up to 1,000,000,000,000, too many copies of items\."),
    ],
)
def test_ratings_that_are_no_multiplicities(values: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Ratings(None, True, "stars").times(np.array(values))


def test_the_dual_is_the_transpose() -> None:
    assert opened(BOUGHT, dual=True) == {
        "milk": ["ann", "bob"], "bread": ["ann", "bob"], "tea": ["ann", "cy"], "soap": ["cy"],
    }  # fmt: skip


sets = st.lists(st.lists(st.integers(0, 6), max_size=8), max_size=8)


@given(sets)
def test_twice_dual_is_the_same(lists: list[list[int]]) -> None:
    once = open_baskets(lists, BasketRule())
    again = named(once.dual().dual())
    assert {who: sorted(items) for who, items in again.items()} == {i: sorted(items) for i, items in enumerate(lists)}


@given(sets, sets)
def test_two_collections_get_one_numbering(left: list[list[int]], right: list[list[int]]) -> None:
    both = aligned(open_baskets(left, BasketRule()), open_baskets(right, BasketRule()))
    assert [named(side) for side in both] == [dict(enumerate(left)), dict(enumerate(right))]
    assert both[0].items.equals(both[1].items)
    assert named(together(both)) == dict(enumerate(left + right))


def staying(baskets: Baskets, stays: np.ndarray) -> list[dict[str, object]]:
    rows = pa.Table.from_batches(baskets.given_rows()).to_pylist()
    return [row for row, stay in zip(rows, baskets.rows_that_stay(stays), strict=True) if stay]


def test_rows_come_back_with_all_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", RATED, "who", "what", "rating")
    made = open_baskets(path, BasketRule(set="who", item="what"))
    stays = np.array([False, True])
    rows = staying(made, stays)
    assert rows == [{"who": w, "what": i, "rating": r or None} for w, i, r in RATED if w == "bob"]
    products = staying(made.dual(), stays)
    assert [row["what"] for row in products] == ["tea", "tea"]
    whole = open_baskets(BOUGHT, BasketRule())
    kept = staying(whole, np.array([True, False, True]))
    assert kept == [{"basket": who, "items": BOUGHT[who]} for who in ("ann", "cy")]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", RATED, "who", "what", "stars2")
    with pytest.raises(ColumnNotFound, match=r"no column 'whom' in .*x.csv\. Nearest: 'who'\."):
        opened(path, set="whom")
    with pytest.raises(UsageError, match=r"name the columns of .*x.csv: `set` .* Columns: who, what, stars2\.$"):
        opened(path)
    with pytest.raises(UsageError, match=r"^set and item are both the column 'who'; expected two\."):
        opened(path, set="who", item="who")
    with pytest.raises(UsageError, match=r"^min_rating needs ratings: name their column with `rating`\."):
        opened(path, set="who", item="what", min_rating=3)
    with pytest.raises(InputError, match=r"column 'what' in .*x.csv is not all numbers: .*\.$"):
        opened(path, set="who", item="what", rating="what")
    with pytest.raises(UsageError, match=r"^a basket is str; expected a list or a set of items\."):
        opened(["milk", "tea"])
    with pytest.raises(UsageError, match=r"^cannot read int; expected a path, Arrow data"):
        opened(5)
    with pytest.raises(UsageError, match=r"is read as one basket a line, which has no columns"):
        opened(path, lines=True, set="who")
    with pytest.raises(DuplicateIds, match=r"^the id 'a' occurs 2 times in the table; .* Use `set`"):
        opened(pa.table({"id": ["a", "a"], "items": [[1], [2]]}))
    with pytest.raises(UsageError, match=r"holds lists; a separator goes with text\.$"):
        opened(pa.table({"id": ["a"], "items": [[1]]}), item="items", separator=",")
    with pytest.raises(UsageError, match=r"^`rating` goes with one rating in a row;"):
        opened(pa.table({"id": ["a"], "items": [[1]], "r": [1]}), item="items", rating="r")
    with pytest.raises(InputError, match=r"column 'x' in the table is double; baskets and items are"):
        opened(pa.table({"x": [1.5], "y": [1]}))
    with pytest.raises(InputError, match=r"column 'y' in the table has no id in row 1; expected one in every row\.$"):
        opened(pa.table({"x": ["a", "b"], "y": ["c", None]}))
    with pytest.raises(UsageError, match=r"^min_rating is 3, but there are no ratings"):
        opened(BOUGHT, min_rating=3.0)
    with pytest.raises(UsageError, match=r"is a sparse matrix, which has no columns with names"):
        opened(Coo(DENSE), set="who")
