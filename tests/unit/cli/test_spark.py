"""lookalike pairs|groups|dedup --engine spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.xdist_group("spark")
LINES = ["one two three four", "One two three, four!", "five six seven eight"]


def test_commands(lookalike: Callable[..., Any], tmp_path: Path, spark: Any) -> None:
    source = tmp_path / "in.txt"
    source.write_text("\n".join(LINES) + "\n")
    done = lookalike("pairs", source, "-k", "2", "--engine", "spark")
    assert done.code == 0, done.err
    assert done.out == "left\tright\tsimilarity\n0\t1\t1\n"
    assert "Found    1 pair " in done.err
    clean = tmp_path / "clean.parquet"
    done = lookalike("dedup", source, "-k", "2", "--engine", "spark", "-o", clean, "--json", "-q")
    assert done.code == 0, done.err
    assert json.loads(done.out)["counts"]["kept"] == 2
    assert sorted(pq.read_table(clean)["text"].to_pylist()) == sorted([LINES[0], LINES[2]])
    assert json.loads((tmp_path / "clean.receipt.json").read_text())["engine"] == "spark"
    done = lookalike("groups", source, "-k", "2", "--engine", "spark", "-o", tmp_path / "all")
    assert done.code == 0, done.err
    assert pq.read_table(tmp_path / "all" / "groups.parquet")["id"].to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--engine", "spark", "--spark-conf", "oops"), "UsageError: --spark-conf 'oops'; expected KEY=VALUE"),
        (("--engine", "spark", "-o", "x.xlsx"), "UsageError: x.xlsx has the unknown extension '.xlsx'"),
        (("--master", "local"), "UsageError: master goes with engine='spark'"),
    ],
)
def test_wrong_usage(lookalike: Callable[..., Any], words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("one\n")
    done = lookalike("pairs", source, *words)
    assert done.code == 2
    assert done.err.startswith(told)
    assert len(done.err.splitlines()) == 1


def test_records(lookalike: Callable[..., Any], tmp_path: Path, spark: Any) -> None:
    source, rules = tmp_path / "people.csv", tmp_path / "rules.toml"
    source.write_text('name,town\nAnn Lee,York\nBob Ray,Leeds\n"Lee, Ann",York\n')
    done = lookalike("records", "pairs", source, "-t", "0.6", "--engine", "spark", "--save-settings", rules)
    assert done.code == 0, done.err
    assert done.out == "left\tright\tsimilarity\n0\t2\t1\n"
    assert "Found    1 pair " in done.err
    assert "Fields   name (words" in done.err
    assert "threshold = 0.6" in rules.read_text()
    done = lookalike("records", "dedup", source, "--settings", rules, "--engine", "spark", "--json", "-q")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert (told["counts"]["kept"], told["recall_at_threshold"], told["choice"]["method"]) == (2, None, "keys")
    done = lookalike("records", "pairs", source, "--truth", source, "--engine", "spark")
    assert done.err == (
        "UsageError: --truth is for one machine; write the pairs with -o, and compare by `lookalike evaluate`.\n"
    )
