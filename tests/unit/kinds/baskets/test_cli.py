"""lookalike baskets from the command line: outputs, messages, exit codes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

ROWS = "customer,product,rating\nann,milk,5\nann,bread,4\nann,tea,2\nbob,milk,3\nbob,bread,5\ncy,soap,1\ncy,tea,4\n"
COLUMNS = ("--set", "customer", "--item", "product")


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(ROWS)
    return path


def test_customers_and_products(ratings: Path, lookalike) -> None:
    done = lookalike("baskets", "pairs", ratings, *COLUMNS, "-t", "0.2")
    assert done.out == "left\tright\tsimilarity\nann\tbob\t0.666667\nann\tcy\t0.25\n"
    assert "Read     3 baskets" in done.err
    assert "jaccard at least 0.2 on sets of 'product' · exact join, none missed" in done.err
    dual = lookalike("baskets", "pairs", ratings, *COLUMNS, "--dual", "-t", "0.9")
    assert dual.out == "left\tright\tsimilarity\nmilk\tbread\t1\n"
    assert "Read     4 items · 1 exact copy" in dual.err
    assert lookalike("baskets", "pairs", ratings, "-t", "0.3").out.count("\n") == 2  # a column 'rating' is no item


def test_ratings(ratings: Path, lookalike) -> None:
    done = lookalike("baskets", "pairs", ratings, *COLUMNS, "--min-rating", "3", "-t", "0.3")
    assert done.out == "left\tright\tsimilarity\nann\tbob\t1\n"
    bag = lookalike("baskets", "pairs", ratings, *COLUMNS, "--rating", "rating", "--bag")
    assert bag.out == "left\tright\tsimilarity\nann\tbob\t0.583333\n"  # (3 + 4) / (5 + 5 + 2)


def test_groups_through_groups(ratings: Path, lookalike) -> None:
    done = lookalike("baskets", "groups", ratings, *COLUMNS, "--via-groups", "--group-threshold", "0.3", "-t", "0.5")
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["ann", "bob", "cy"]
    assert "grouped at 0.3" in done.err


def test_dedup_writes_whole_baskets(ratings: Path, tmp_path: Path, lookalike) -> None:
    done = lookalike("baskets", "dedup", ratings, *COLUMNS, "-t", "0.5", "-o", tmp_path / "kept.csv")
    assert done.code == 0, done.err
    kept = (tmp_path / "kept.csv").read_text().replace('"', "")
    assert kept == "".join(line + "\n" for line in ROWS.splitlines() if not line.startswith("bob"))
    assert json.loads((tmp_path / "kept.csv.receipt.json").read_text())["counts"]["removed"] == 1


def test_a_folder_with_everything(ratings: Path, tmp_path: Path, lookalike) -> None:
    assert lookalike("baskets", "dedup", ratings, *COLUMNS, "-t", "0.5", "-o", tmp_path / "out").code == 0
    assert pq.read_table(tmp_path / "out" / "kept.parquet").num_rows == 5
    assert pq.read_table(tmp_path / "out" / "pairs.parquet").num_rows == 1


def test_suggest(ratings: Path, tmp_path: Path, lookalike) -> None:
    done = lookalike("baskets", "suggest", "bob", ratings, *COLUMNS)
    assert done.out == "item\tscore\tcount\tby\ntea\t1\t1\tann\n"
    assert done.err == "Like bob: ann (0.67)\n"
    reported = json.loads(lookalike("baskets", "suggest", "bob", ratings, *COLUMNS, "--json", "-q").out)
    assert reported["items"] == [{"item": "tea", "score": 1.0, "count": 1, "by": ["ann"]}]
    assert lookalike("baskets", "suggest", "bob", ratings, *COLUMNS, "-o", tmp_path / "s.jsonl").code == 0
    assert json.loads((tmp_path / "s.jsonl").read_text())["by"] == ["ann"]
    refused = lookalike("baskets", "suggest", "bob", ratings, *COLUMNS, "-o", tmp_path / "s")
    assert refused.code == 2
    assert "suggestions are one table: give -o a file, for example" in refused.err
    assert lookalike("baskets", "suggest", "soap", ratings, *COLUMNS, "--dual").err == "Like soap: tea (0.50)\n"


def test_wrong_words(ratings: Path, tmp_path: Path, lookalike) -> None:
    for words, code, message in [
        (("pairs", ratings, "--set", "custmer"), 1, "ColumnNotFound: no column 'custmer' in "),
        (("pairs", ratings, *COLUMNS, "-t", "1.3"), 2, "UsageError: threshold is 1.3; expected a number above 0"),
        (("pairs", tmp_path / "none.csv"), 1, "MissingInput: no such file: "),
        (("suggest", "bobb", ratings, *COLUMNS), 1, "InputError: no customer 'bobb' in "),
        (("dedup", ratings, *COLUMNS), 2, "UsageError: dedup writes the kept rows to a file"),
    ]:
        done = lookalike("baskets", *words)
        assert (done.code, done.err.count("\n")) == (code, 1)
        assert done.err.startswith(message)


def test_nothing_to_read(tmp_path: Path, lookalike) -> None:
    (tmp_path / "none.txt").touch()
    assert lookalike("baskets", "pairs", tmp_path / "none.txt").out == "left\tright\tsimilarity\n"
    (tmp_path / "none.csv").write_text("customer,product\n")
    assert lookalike("baskets", "pairs", tmp_path / "none.csv").out == "left\tright\tsimilarity\n"
    assert lookalike("baskets", "groups", tmp_path / "none.csv", "--via-groups").out.count("\n") == 1
    assert lookalike("baskets", "suggest", "a", tmp_path / "none.csv").code == 1
    (tmp_path / "none.jsonl").touch()
    assert lookalike("baskets", "pairs", tmp_path / "none.jsonl").code == 0


def test_too_many_pairs(tmp_path: Path, lookalike) -> None:
    (tmp_path / "x.txt").write_text("".join(f"milk bread x{i}\n" for i in range(100)))
    done = lookalike("baskets", "pairs", tmp_path / "x.txt", "--max-pairs", "50")
    assert done.code == 1
    assert done.err.startswith("TooManyPairs: more than 50 pairs are within the threshold, more than --max-pairs 50")


def test_the_how_to_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike) -> None:
    """Every command of docs/how-to/baskets.md prints what the page says, and its Python runs."""
    page = (Path(__file__).parents[4] / "docs/how-to/baskets.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    seen = 0
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for command, expected in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block):
            words = shlex.split(command)
            if words[0] == "cat":
                Path(words[1]).write_text(expected, encoding="utf-8")
                continue
            done = lookalike(*words[1:])
            assert done.out + done.err == expected, command
            seen += 1
    assert seen == sum(line.startswith("$ lookalike ") for line in page.splitlines())
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        names: dict[str, Any] = {}
        exec(compile(code, "baskets.md", "exec"), names)
        assert names["products"].num_rows == 2
