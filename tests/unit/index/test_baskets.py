"""An index of baskets reads tables of purchases; the stored item with the id of a query is left out on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lookalike as la
from lookalike.errors import UsageError

SALES = "customer,product\nann,milk\nann,tea\nann,bread\nbob,milk\nbob,tea\ncid,nails\ncid,glue\n"


@pytest.mark.promise("docs/how-to/index.md", "the same similarities as `lookalike baskets pairs`")
def test_an_index_of_purchases(tmp_path: Path, lookalike: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sales.csv").write_text(SALES)
    words = ("--kind", "baskets", "--set", "customer", "--item", "product")
    assert lookalike("index", "create", "shop", *words, "-q").code == 0
    assert lookalike("index", "add", "shop", "sales.csv").err.startswith("Added    3 baskets")
    assert lookalike("index", "query", "shop", "sales.csv", "--others", "-q").out.splitlines() == [
        "query\tid\tsimilarity", "ann\tbob\t0.666667", "bob\tann\t0.666667",
    ]  # fmt: skip
    pairs = la.baskets.pairs("sales.csv", set="customer", item="product", threshold=0.5).pairs.to_pylist()
    assert [(row["left"], row["right"], round(row["similarity"], 6)) for row in pairs] == [("ann", "bob", 0.666667)]
    Path("more.txt").write_text("milk,tea\nnails,glue\n")
    assert lookalike("index", "query", "shop", "more.txt", "-q").code == 2  # the columns do not fit
    with la.Index.create("lists", kind="baskets") as index:
        index.add_from(Path("more.txt"))
        index.add([["milk", "tea"]])
        assert index.query([["tea", "milk"]]) == [[(0, 1.0), (2, 1.0)]]
        assert list(index) == [0, 1, 2]
        assert index.item(0).item == ["milk", "tea"]
    with la.Index.open("shop", read_only=True) as index:
        assert index.kind.settings()["set"] == "customer"
        assert index.item("bob").item == ["milk", "tea"]


@pytest.mark.promise("docs/how-to/index.md", "its k nearest others")
def test_a_query_is_not_its_own_match(tmp_path: Path, lookalike: Any) -> None:
    texts = ["a rose is a rose", "A rose is a rose!", "a tulip", "A ROSE IS A ROSE?"]
    with la.Index.create(tmp_path / "index", k=2) as index:
        index.add(texts, ids=["a", "b", "c", "d"])
        assert [match.id for match in index.query(texts[:1], others_than=["b"])[0]] == ["a", "d"]
        assert [[match.id for match in row] for row in index.query(texts, k=1, others_than=["a", "b", "c", "d"])] == [
            ["b"], ["a"], [], ["a"],
        ]  # fmt: skip
        assert index.query_table(texts, k=1, others_than=["a", "b", "c", "d"])["id"].to_pylist() == ["b", "a", "a"]
        assert [len(row) for row in index.query(texts, k=5, others_than=[1, 2, 3, 4])] == [3, 3, 1, 3]
        with pytest.raises(UsageError, match="1 id came for 4 items; expected one for each"):
            index.query(texts, others_than=["a"])
    (tmp_path / "x.txt").write_text("a rose is a rose\n")
    done = lookalike("index", "query", tmp_path / "index", "--query", "a rose is a rose", "--others", "-q")
    assert done.code == 0
    (tmp_path / "x.csv").write_text("text\na rose is a rose\n")
    done = lookalike("index", "query", tmp_path / "index", tmp_path / "x.csv", "--others", "-q")
    assert (
        done.err == "UsageError: --others needs the ids of the items to look for; give --id, the column of their ids.\n"
    )
