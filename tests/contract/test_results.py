"""One protocol for all results: tables, receipt, save and load, length, iteration, Arrow streams, score column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.results import AnyResult

TEXTS = ["a rose is a rose is a rose", "A rose is a rose, is a rose!", "nothing alike"]
LONG = "the ship left the harbour at noon with forty sailors and the mayor of the town on board"
ROWS = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0]])
PEOPLE = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
WAVE = [0.0, 1.0, 4.0, 2.0, 7.0, 3.0]
RESULTS: dict[str, tuple[Callable[[], Any], str, int]] = {  # result, score column, rows of the requested table
    "pairs": (lambda: la.pairs(TEXTS, k=2), "similarity", 1),
    "groups": (lambda: la.groups(TEXTS, k=2), "similarity", 2),
    "dedup": (lambda: la.dedup(TEXTS, k=2), "similarity", 2),
    "against": (lambda: la.pairs(TEXTS, against=TEXTS[:1], k=2), "similarity", 2),
    "no rows": (lambda: la.pairs(["a b", "c d"]), "similarity", 0),
    "bits": (lambda: la.bits.pairs([0b1111, 0b1110, 1 << 40], max_bits=1), "distance", 1),
    "strings": (lambda: la.strings.pairs(["kitten", "sitten"]), "distance", 1),
    "vectors": (lambda: la.vectors.pairs(ROWS, max_angle=10), "angle", 1),
    "faces": (lambda: la.faces.pairs(ROWS, threshold=1.0), "agreement", 3),
    "baskets": (lambda: la.baskets.pairs([["milk", "tea"], ["tea", "milk"]]), "similarity", 1),
    "records": (lambda: la.records.pairs(PEOPLE, threshold=0.6), "similarity", 1),
    "passages": (lambda: la.passages([LONG, "He said: " + LONG]), "shared_tokens", 1),
    "series": (lambda: la.series.pairs([WAVE, WAVE[::-1] + WAVE], window=5, top=1), "distance", 1),
    "nearest": (lambda: la.nearest(TEXTS, k=2), "similarity", 2),
    "nearest vectors": (lambda: la.vectors.nearest(ROWS, top=2), "angle", 6),
    "stories": (lambda: la.stories([LONG, "He said: " + LONG, "something else"]), "contained", 2),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_this_machine(name: str, tmp_path: Path) -> None:
    make, score, rows = RESULTS[name]
    result: AnyResult = make()
    check(result, score, rows)
    result.save(tmp_path / "saved")
    saved = la.load(tmp_path / "saved")
    check(saved, score, rows)
    assert saved.receipt["asked"] == result.receipt["asked"]
    for table, values in result.tables.items():
        assert getattr(saved, table).to_pylist() == values.to_pylist()
    saved.save(tmp_path / "again")
    assert la.load(tmp_path / "again").to_arrow().equals(saved.to_arrow())
    with pytest.raises(AttributeError, match="has no table 'xyzzy'; it has "):
        _ = saved.xyzzy
    result.done()


def check(result: Any, score: str, rows: int) -> None:
    table = result.to_arrow()
    assert len(result) == table.num_rows == rows
    assert list(result) == table.to_pylist()
    assert pa.table(result).to_pylist() == table.to_pylist()
    assert bool(result)
    assert result.score_column == score
    if "pairs" in result.tables:
        assert score in result.tables["pairs"].column_names
    assert any(table.equals(other) for other in result.tables.values())
    assert result.receipt["counts"]


@pytest.mark.xdist_group("spark")
def test_results_of_spark(spark: Any, tmp_path: Path) -> None:
    result = la.pairs(TEXTS, k=2, engine="spark")
    assert len(result) == 1
    assert list(result) == la.pairs(TEXTS, k=2).to_arrow().to_pylist()
    assert pa.table(result).num_rows == 1
    assert result.score_column == "similarity"
    assert set(result.tables) == {"pairs", "groups"}
    result.save(tmp_path / "saved")
    result.done()
