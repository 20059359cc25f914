"""The independent check of results: what is right passes, and each of thousands of changes is found."""

from __future__ import annotations

import ast
import contextlib
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import InputError, UsageError
from lookalike.evaluation import recheck
from lookalike.evaluation.recheck import Unreadable, check_result
from lookalike.io.results import sealed

WORDS = [
    a + b for a in ["ka", "mi", "to", "su", "re", "no", "li", "va"] for b in ["ran", "til", "sek", "mor", "dan", "fel"]
]


def corpus(file: Path, seed: int = 0) -> Path:
    """Texts of 30 words, copies, and copies with changes; with accents, capitals and ideographs."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=30)) for _ in range(25)]
    texts += [texts[0], texts[1].upper(), texts[2] + " again", texts[3][: len(texts[3]) * 3 // 4], texts[0] + " plus"]
    texts += ["Ça été 漢字かな mixed_text 42 " + texts[4], "漢字かな mixed_text 42 " + texts[4], ""]
    rows = [{"id": f"t{number}", "text": text} for number, text in enumerate(texts)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved")
    return la.dedup(corpus(place / "c.jsonl"), threshold=0.5).save(place / "result")


def copied(saved: Path, place: Path) -> Path:
    shutil.copytree(saved, place)
    return place


def reseal(folder: Path, receipt: dict[str, object] | None = None) -> None:
    """Make the hashes right again, as somebody would who hides a change."""
    known = receipt or json.loads((folder / "receipt.json").read_text())
    outputs = {file.name: file for file in folder.glob("*.parquet")}
    (folder / "receipt.json").write_bytes(sealed(known, outputs))


@pytest.mark.parametrize("unit", ["word", "char", "byte", "line"])
@pytest.mark.parametrize("measure", ["jaccard", "containment", "dice", "cosine", "overlap"])
def test_a_right_result_passes(tmp_path: Path, unit: str, measure: str) -> None:
    threshold = 3 if measure == "overlap" else 0.4
    result = la.pairs(
        corpus(tmp_path / "c.jsonl", 1), threshold=threshold, measure=measure, unit=unit, bag=unit == "char",
        strip_accents=True,
    )  # fmt: skip
    report = check_result(result.save(tmp_path / "r"), sample=None)
    assert (report.problems, report.unchecked) == ([], [])
    assert unit == "line" or dict(report.checked)[f"scores of pairs computed again, of {len(result):,}"] == len(result)


@pytest.mark.parametrize("grouping", ["components", "stars", "cliques"])
def test_groups_are_what_the_pairs_say(tmp_path: Path, grouping: str) -> None:
    folder = la.groups(corpus(tmp_path / "c.jsonl", 2), threshold=0.3, grouping=grouping).save(tmp_path / "r")
    assert check_result(folder, sample=None).problems == []
    table = pq.read_table(folder / "groups.parquet")
    groups = table["group"].to_pylist()
    groups[0] = max(groups) + 1
    pq.write_table(table.set_column(1, "group", pa.array(groups)), folder / "groups.parquet")
    reseal(folder)
    assert check_result(folder, sample=None).problems


def test_vectors_and_strings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 6)).astype(np.float32)
    rows[1], rows[3] = rows[0] * 2, rows[2] + 0.01
    table = pa.table({"id": np.arange(40), "v": pa.array(rows.tolist(), pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "v.parquet")
    for number, bound in enumerate(({"max_angle": 30}, {"min_cosine": 0.8}, {"max_distance": 1.0})):
        folder = la.vectors.pairs(tmp_path / "v.parquet", **bound).save(tmp_path / f"v{number}")
        report = check_result(folder, sample=None)
        assert (report.problems, report.unchecked) == ([], [])
    words = ["kitten", "sitting", "Kittens", "café", "cafe", "résumé", "ab", "ba", "a"]
    (tmp_path / "s.csv").write_text("id,text\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words)))
    options = [
        {"max_edits": 2}, {"max_edits": 2, "measure": "levenshtein", "strip_accents": True},
        {"min_similarity": 0.6}, {"min_similarity": 0.6, "measure": "levenshtein"},
    ]  # fmt: skip
    for number, option in enumerate(options):
        result = la.strings.pairs(tmp_path / "s.csv", **option)
        report = check_result(result.save(tmp_path / f"s{number}"), sample=None)
        assert len(result)
        assert (report.problems, report.unchecked) == ([], [])


@pytest.mark.promise("docs/how-to/verify.md", "A single changed byte")
def test_every_changed_byte_is_found(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "r")
    draw = random.Random(5)
    for _ in range(400):
        file = draw.choice(sorted(folder.iterdir()))
        before = file.read_bytes()
        at = draw.randrange(len(before))
        file.write_bytes(before[:at] + bytes([before[at] ^ draw.randrange(1, 256)]) + before[at + 1 :])
        with contextlib.suppress(Unreadable):  # if the receipt can no longer be read
            assert check_result(folder, sample=0).problems, (file.name, at)
        file.write_bytes(before)
    assert check_result(folder).problems == []


@pytest.mark.promise("docs/how-to/verify.md", "even if the hashes were made right again")
def test_every_false_statement_is_found_under_new_hashes(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "r")
    draw = random.Random(6)
    for _ in range(200):
        name = draw.choice(["pairs", "groups", "removed"])
        file = folder / f"{name}.parquet"
        before, table = file.read_bytes(), pq.read_table(file)
        rows = table.to_pylist()
        row = draw.choice(rows)
        column = draw.choice(sorted(row))
        ids = [f"t{number}" for number in range(33)]
        if column == "similarity":
            row[column] = round(row[column] - 0.01, 6)
        elif isinstance(row[column], str):
            row[column] = draw.choice([one for one in ids if one != row[column]])
        elif draw.random() < 0.5:
            row[column] += 1
        else:
            rows.remove(row)
        pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
        reseal(folder)
        assert check_result(folder, sample=None).problems, (name, column, row)
        file.write_bytes(before)
    reseal(folder)
    receipt = json.loads((folder / "receipt.json").read_text())
    for count in ("kept", "removed"):
        changed = receipt | {"counts": receipt["counts"] | {count: receipt["counts"][count] + 1}}
        reseal(folder, changed)
        assert check_result(folder, sample=None).problems
    reseal(folder, receipt | {"job": receipt["job"] | {"threshold": 0.9}})
    assert check_result(folder, sample=None).problems


def test_files_that_are_missing_or_more_are_named(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "r")
    shutil.copy(folder / "pairs.parquet", folder / "more.parquet")
    (folder / "groups.parquet").unlink()
    problems = check_result(folder).problems
    assert "groups.parquet is missing" in problems
    assert "files that the receipt does not name: more.parquet" in problems


def test_what_cannot_be_checked_is_said(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="expected a result folder, or a file with its receipt"):
        check_result(tmp_path)
    memory = la.pairs(["a b c d e f"] * 2).save(tmp_path / "memory")
    assert check_result(memory).unchecked == ["scores and ids: the input was in memory, not in files."]
    folder = la.pairs(corpus(tmp_path / "c.jsonl")).save(tmp_path / "r")
    corpus(tmp_path / "c.jsonl", 9)
    assert "has changed since the run" in check_result(folder).unchecked[0]


@pytest.mark.promise("docs/how-to/verify.md", "exit code is 0 if nothing differs")
def test_the_command(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "r")
    for turn in range(2):
        call = CliRunner().invoke(app, ["verify", str(folder), "--all", "--inputs", str(saved.parent)])
        assert (call.exit_code, "Wrong" in call.output) == ((0, False) if turn == 0 else (1, True)), call.output
        (folder / "pairs.parquet").write_bytes(b"")
    with pytest.raises(UsageError, match="sample is -1; expected a number of scores"):
        CliRunner().invoke(app, ["verify", str(folder), "--sample", "-1"], catch_exceptions=False)
    with pytest.raises(InputError, match="expected a result folder"):
        CliRunner().invoke(app, ["verify", str(tmp_path)], catch_exceptions=False)


@pytest.mark.promise("docs/how-to/verify.md", "or a folder of texts")
def test_inputs_of_many_formats(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in corpus(tmp_path / "c.jsonl").read_text().splitlines()]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "c.parquet")
    pa.csv.write_csv(table, tmp_path / "c.csv")
    pa.feather.write_feather(table, tmp_path / "c.arrow")
    (tmp_path / "c").mkdir()
    for row in rows:
        (tmp_path / f"c/{row['id']}.txt").write_text(row["text"])
    for name in ("c.jsonl", "c.parquet", "c.csv", "c.arrow", "c"):
        folder = la.pairs(tmp_path / name, threshold=0.5).save(tmp_path / f"result of {name}")
        report = check_result(folder, sample=None)
        assert (report.problems, report.unchecked) == ([], []), name
        assert dict(report.checked)["scores of pairs computed again, of 9"] == 9


@pytest.mark.promise("docs/how-to/verify.md", "shares no code with the engine")
def test_the_program_stands_alone(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = Path(recheck.__file__).read_text()
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert imported <= sys.stdlib_module_names | {"pyarrow"}
    assert recheck.main([str(saved), "all"]) == 0
    assert "Result   agrees with what was checked" in capsys.readouterr().out
    assert recheck.main([]) == 2
    assert recheck.main(["nothing", "more"]) == 2
