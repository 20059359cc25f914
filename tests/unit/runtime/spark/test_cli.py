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
    assert json.loads(clean.with_name(clean.name + ".receipt.json").read_text())["engine"] == "spark"
    done = lookalike("groups", source, "-k", "2", "--engine", "spark", "-o", tmp_path / "all")
    assert done.code == 0, done.err
    assert pq.read_table(tmp_path / "all" / "groups.parquet")["id"].to_pylist() == [0, 1]
    assert lookalike("report", tmp_path / "all", "-o", tmp_path / "page.html").code == 0
    assert LINES[1] in (tmp_path / "page.html").read_text(), "what the items hold is found by what the receipt says"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--engine", "spark", "--spark-conf", "oops"), "UsageError: --spark-conf 'oops'; expected KEY=VALUE"),
        (("--engine", "spark", "-o", "x.xlsx"), "UsageError: x.xlsx has the unknown extension '.xlsx'"),
        (("--master", "local"), "UsageError: master goes with --engine spark"),
    ],
)
def test_wrong_usage(lookalike: Callable[..., Any], words: tuple[str, ...], reported: str, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("one\n")
    done = lookalike("pairs", source, *words)
    assert done.code == 2
    assert done.err.startswith(reported)
    assert len(done.err.splitlines()) == 1


def test_places_that_cannot_be_reached(lookalike: Callable[..., Any], tmp_path: Path, spark: Any) -> None:
    source = tmp_path / "in.txt"
    source.write_text("one\n")
    nobody, kindless = "hdfs://127.0.0.1:1/x.parquet", "s3a://nowhere/x.parquet"
    for words, reported in (
        (("pairs", nobody), f"InputError: Spark cannot reach {nobody}: ConnectException: "),
        (("pairs", kindless), f"InputError: Spark cannot reach {kindless}: this Spark has no files of that kind (org."),
        (("images", "pairs", kindless), f"InputError: Spark cannot reach {kindless}: this Spark has no files of that"),
        (("pairs", source, "-o", nobody), f"OutputError: Spark cannot write to {nobody}: ConnectException: "),
    ):
        done = lookalike(*words, "--engine", "spark")
        assert done.code == 1
        assert done.err.startswith(reported)
        assert len(done.err.splitlines()) == 1


def test_records(lookalike: Callable[..., Any], tmp_path: Path, spark: Any) -> None:
    source, rules = tmp_path / "people.csv", tmp_path / "rules.toml"
    source.write_text('name,town\nAnn Lee,York\nBob Ray,Leeds\n"Lee, Ann",York\n')
    done = lookalike("records", "pairs", source, "-t", "0.6", "--engine", "spark", "--save-settings", rules)
    assert done.code == 0, done.err
    assert done.out == ("left\tright\tsimilarity\tname\ttown\t(whole record)\n0\t2\t1\t0.25\t0.25\t0.5\n")
    assert "Found    1 pair " in done.err
    assert "Fields   name (words" in done.err
    assert "threshold = 0.6" in rules.read_text()
    done = lookalike("records", "dedup", source, "--settings", rules, "--engine", "spark", "--json", "-q")
    assert done.code == 0, done.err
    reported = json.loads(done.out)
    assert (reported["counts"]["kept"], reported["recall_at_threshold"], reported["choice"]["method"]) == (
        2,
        None,
        "keys",
    )
    done = lookalike("records", "pairs", source, "--truth", source, "--engine", "spark")
    assert done.err == (
        "UsageError: --truth is for one machine; write the pairs with -o, and compare by `lookalike evaluate`.\n"
    )


def test_bits_strings_and_passages(lookalike: Callable[..., Any], tmp_path: Path, spark: Any) -> None:
    source = tmp_path / "in.csv"
    source.write_text("id,code,text\na,ff00,to be or not to be that is it\nb,ff01,To be or not to be; that is it!\n")
    done = lookalike("bits", "pairs", source, "--column", "code", "-d", "2", "--engine", "spark")
    assert (done.code, done.out) == (0, "left\tright\tdistance\na\tb\t1\n"), done.err
    done = lookalike("strings", "pairs", source, "--text", "code", "-d", "1", "--engine", "spark")
    assert (done.code, done.out) == (0, "left\tright\tdistance\na\tb\t1\n"), done.err
    words = ("passages", source, "--text", "text", "--min-tokens", "6", "--engine", "spark")
    done = lookalike(*words, "-o", tmp_path / "found", "--json", "-q")
    assert json.loads(done.out)["counts"]["passages"] == 1
    assert pq.read_table(tmp_path / "found" / "pairs.parquet")["shared_tokens"].to_pylist() == [9]
    done = lookalike(*words, "-o", tmp_path / "report.html")
    assert done.code == 0, done.err
    assert f"Wrote    {tmp_path / 'report.html'}" in done.err
    assert "To be or not to be" in (tmp_path / "report.html").read_text()
