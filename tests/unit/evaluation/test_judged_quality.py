"""Quality from verdicts: which of them count, what is printed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lookalike.errors import InputError, UsageError
from lookalike.evaluation.judged_quality import judging_sample, quality
from lookalike.io.verdicts import Verdicts
from lookalike.io.write import write_table


def pairs_of(count: int = 400, column: str = "similarity") -> pa.Table:
    random = np.random.default_rng(1)
    scores = random.uniform(0.5, 1, count).round(3)
    ids = [f"i{number}" for number in range(count)], [f"j{number}" for number in range(count)]
    return pa.table({"left": ids[0], "right": ids[1], column: scores if column == "similarity" else scores * 20})


def judge(drawn: pa.Table, least: float, column: str = "similarity", sign: int = 1) -> list[dict[str, Any]]:
    return [
        row | {"verdict": "same" if sign * row[column] >= sign * least else "different"} for row in drawn.to_pylist()
    ]


@pytest.mark.parametrize(("column", "sign", "least"), [("similarity", 1, 0.7), ("distance", -1, 14.0)])
def test_a_sample_is_judged_and_measured(tmp_path: Path, column: str, sign: int, least: float) -> None:
    table, verdicts = pairs_of(column=column), Verdicts(tmp_path / "v.jsonl")
    for _ in range(3):
        drawn = judging_sample(table, 40, verdicts=verdicts)
        verdicts.append({"by": "", **row} for row in judge(drawn, least, column, sign))
    assert len(verdicts.read().pairs) == 120  # no pair is drawn twice
    made = quality(table, verdicts, target_precision=0.9)
    assert made.counts["drawn"] == 120
    loosest = made.points[-1]
    truth = sum(row["verdict"] == "same" for row in judge(table, least, column, sign)) / 400
    assert loosest.precision.low <= truth <= loosest.precision.high
    assert loosest.recall.value == pytest.approx(1)
    assert made.points[0].precision.value == pytest.approx(1)
    assert made.points[0].judged > 0
    assert made.chosen is not None
    assert sign * made.chosen >= sign * (least - 0.1 * sign * (1 if sign > 0 else 20))


def test_verdicts_that_were_not_drawn_are_refused(tmp_path: Path) -> None:
    judged = [{"left": f"i{n}", "right": f"j{n}", "verdict": "same"} for n in range(5)]
    with pytest.raises(InputError, match=r"^5 of the pairs of the result were judged, and none of these was drawn"):
        quality(pairs_of(), judged)
    with pytest.raises(UsageError, match=r"^target_precision is 2; expected a share above 0 and below 1"):
        quality(pairs_of(), judged, target_precision=2)
    with pytest.raises(UsageError, match=r"^count is 0; expected at least 1"):
        judging_sample(pairs_of(), 0)
    with pytest.raises(InputError, match="has no scores"):
        quality(pa.table({"left": ["a"], "right": ["b"]}), judged)


def test_a_plan_of_another_score_is_refused(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.jsonl")
    judging_sample(pairs_of(), 5, verdicts=verdicts)
    with pytest.raises(InputError, match=r"^the sample was drawn by similarity, and the result has distance"):
        judging_sample(pairs_of(column="distance"), 5, verdicts=verdicts)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(pairs_of(), Path("pairs.parquet"))
    lookalike("verdicts", "next", "pairs.parquet", "--verdicts", "v.jsonl", "--sample", "100", "-o", "judge.parquet")
    write_table(pa.Table.from_pylist(judge(pa.parquet.read_table("judge.parquet"), 0.7)), Path("done.csv"))
    lookalike("verdicts", "merge", "v.jsonl", "done.csv", "-o", "all.jsonl")
    shown = lookalike("evaluate", "pairs.parquet", "--verdicts", "all.jsonl", "--target-precision", "0.8")
    assert "verdicts: 100 drawn pairs judged" in shown.out
    assert "keeps a precision of 0.8" in shown.out
    lookalike("evaluate", "pairs.parquet", "--verdicts", "all.jsonl", "-o", "quality.json")
    assert json.loads(Path("quality.json").read_text())["verdicts"]["drawn"] == 100
