"""The independent check of results: what is right passes, and each of thousands of changes is found."""

from __future__ import annotations

import ast
import contextlib
import csv
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

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
        {"threshold": 0.6}, {"threshold": 0.6, "measure": "levenshtein"},
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
    for _ in range(500):
        file = draw.choice(sorted(folder.iterdir()))
        before = file.read_bytes()
        at, kind = draw.randrange(len(before)), draw.randrange(4)
        changed = [bytes([before[at] ^ draw.randrange(1, 256)]), b"", before[at : at + 1] * 2, b"\0" * 3][kind]
        file.write_bytes(before[:at] + changed + before[at + 1 :])
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
    (tmp_path / "c.jsonl").unlink()
    assert "expected files that are still there" in check_result(folder).unchecked[0]


@pytest.mark.promise("docs/how-to/verify.md", "exit code is 0 if nothing differs")
def test_the_command(saved: Path, tmp_path: Path) -> None:
    folder = copied(saved, tmp_path / "r")
    for turn in range(2):
        call = CliRunner().invoke(app, ["verify", str(folder), "--all", "--input", str(saved.parent)])
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


def tables_of_kinds(place: Path) -> dict[str, la.Result]:
    """Results of kinds whose items are not texts, with planted matches."""
    draw, rng = random.Random(3), np.random.default_rng(3)
    codes = rng.integers(0, 256, (40, 8), dtype=np.uint8)
    codes[1], codes[2], codes[2, 0] = codes[0], codes[0], codes[0, 0] ^ 3
    hexadecimal = pa.table({"id": np.arange(40), "code": [bytes(code).hex() for code in codes]})
    pq.write_table(hexadecimal, place / "hex.parquet")
    pq.write_table(pa.table({"code": pa.array(codes.view(np.int64)[:, 0])}), place / "numbers.parquet")
    rows = [f"c{one},p{draw.randrange(12)},{draw.randrange(1, 6)}" for one in range(30) for _ in range(5)]
    (place / "b.csv").write_text("customer,product,rating\n" + "\n".join(rows) + "\n")
    faces = rng.normal(size=(40, 6))
    faces[1], faces[3], faces[3, 0] = faces[0] + 0.001, faces[2], faces[2, 0] + 5
    pq.write_table(pa.table({"v": pa.array(faces.tolist(), pa.list_(pa.float64()))}), place / "f.parquet")
    texts = corpus(place / "t.jsonl", 4)
    baskets = {"set": "customer", "item": "product"}
    return {
        "hexadecimal": la.bits.pairs(place / "hex.parquet", max_bits=4),
        "numbers": la.bits.pairs(place / "numbers.parquet", max_bits=4),
        "two columns": la.baskets.pairs(place / "b.csv", threshold=0.4, **baskets),
        "dual": la.baskets.pairs(place / "b.csv", threshold=0.3, dual=True, **baskets),
        "rated": la.baskets.pairs(place / "b.csv", threshold=0.4, rating="rating", min_rating=3, **baskets),
        "faces": la.faces.pairs(place / "f.parquet", threshold=0.8, tolerance=0.1),
        "without common shingles": la.pairs(texts, threshold=0.3, max_share=0.1),
        "nearest": la.nearest(texts, top=3),
        "weighted": la.pairs(texts, threshold=0.4, k=1, weight="idf", measure="cosine"),
    }


@pytest.mark.promise("docs/how-to/verify.md", "Scores are computed for")
@pytest.mark.promise("docs/how-to/verify.md", "a trial, and it is a difference")
def test_scores_of_other_kinds(tmp_path: Path) -> None:
    for name, result in tables_of_kinds(tmp_path).items():
        folder = result.save(tmp_path / name)
        report = check_result(folder, sample=None, audit=15)
        assert (report.problems, report.unchecked) == ([], []), name
        (table,) = [one for one in ("pairs", "nearest") if (folder / f"{one}.parquet").exists()]
        before = pq.read_table(folder / f"{table}.parquet")
        assert before.num_rows > 0
        rows = before.to_pylist()
        rows[0][result.score_column] += 1 if result.score_column == "distance" else -0.001
        pq.write_table(pa.Table.from_pylist(rows, before.schema), folder / f"{table}.parquet")
        reseal(folder)
        assert check_result(folder, sample=None).problems, name


def people(file: Path, seed: int, name: str = "id") -> Path:
    """Records with typing errors, dates, prices, units, codes and missing values."""
    draw = random.Random(seed)
    rows = []
    for number in range(60):
        words = draw.choices(WORDS, k=4)
        code = f"KX-{draw.randrange(100, 130)}B"
        row = {"title": f"{' '.join(words[:3])} {code} {draw.choice(['1 TB', '500 GB', '3.5-inch'])}", "maker": words[3],
               "born": f"{draw.randrange(1950, 1999)}-0{draw.randrange(1, 9)}-1{draw.randrange(9)}",
               "price": f"{draw.randrange(9, 900)}.50"}  # fmt: skip
        rows.append({name: f"{seed}-{number}", **row})
        if number % 2:
            text = row["title"].replace(words[0], words[0][:-2] + words[0][-1] + "x").replace("1 TB", "1000gb")
            other = {**row, "title": draw.choice([text, row["title"].upper(), f"Zo\u00eb's {text}"])}
            other |= draw.choice([{"born": ""}, {"price": "12"}, {"maker": words[3] + "s"}, {}])
            rows.append({name: f"{seed}-{number}b", **other})
    draw.shuffle(rows)
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return file


RECORD_CASES: list[tuple[dict[str, Any], bool]] = [
    ({}, False), ({"weights": "em"}, False), ({"weights": "equal", "threshold": 0.6}, False), ({}, True),
    ({"weights": "em"}, True), ({"one_to_one": True}, True),
]  # fmt: skip


@pytest.mark.promise("docs/how-to/verify.md", "the contribution of each field")
@pytest.mark.parametrize(("options", "across"), RECORD_CASES, ids=str)
def test_records(tmp_path: Path, options: dict[str, Any], across: bool) -> None:
    file, other = people(tmp_path / "a.csv", 1), people(tmp_path / "b.csv", 1) if across else None
    folder = la.records.pairs(file, against=other, **options).save(tmp_path / "r")
    report = check_result(folder, sample=None)
    table, receipt = pq.read_table(folder / "pairs.parquet"), json.loads((folder / "receipt.json").read_text())
    assert table.num_rows > 10
    assert report.problems == []
    assert any("of fields of pairs computed again" in what for what, _ in report.checked)
    draw = random.Random(3)
    wrong = [name for name in table.column_names if name not in ("left", "right", "(rivals)")]
    scores = [] if report.unchecked else [receipt["scale"]["column"]]
    for name in (name for name in wrong if name in scores or name != receipt["scale"]["column"]):
        values = table[name].to_pylist()
        place = draw.choice([at for at, value in enumerate(values) if value])
        values[place] *= 0.999
        changed = table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))
        pq.write_table(changed, folder / "pairs.parquet")
        reseal(folder)
        assert check_result(folder, sample=None).problems, name
    pq.write_table(table, folder / "pairs.parquet")
    for rule in receipt["job"]["rules"]["fields"]:
        before = dict(rule)
        rule |= {"weight": rule["weight"] + 0.1} if "weight" in rule else {"bits": [one + 0.1 for one in rule["bits"]]}
        reseal(folder, receipt)
        assert check_result(folder, sample=None).problems, rule
        rule |= before


@pytest.mark.promise("docs/how-to/verify.md", "own weights")
@pytest.mark.parametrize("how", ["file", "dict"])
def test_own_weights(tmp_path: Path, how: str) -> None:
    weights: Any = {WORDS[0]: 5.0, WORDS[7]: 0.25, WORDS[20].upper(): 3}
    if how == "file":
        (tmp_path / "w.csv").write_text("item,weight\n" + "".join(f"{name},{one}\n" for name, one in weights.items()))
        weights = tmp_path / "w.csv"
    for options in ({}, {"weight": "idf"}, {"bag": True, "measure": "cosine"}, {"measure": "containment"}):
        place = tmp_path / ("with " + "-".join(options))
        folder = la.pairs(corpus(tmp_path / "c.jsonl"), threshold=0.4, k=1, weights=weights, **options).save(place)
        report = check_result(folder, sample=None)
        assert (report.problems, report.unchecked) == ([], [])
    if how == "dict":
        receipt = json.loads((folder / "receipt.json").read_text())
        receipt["job"]["weights"]["listed"][WORDS[0]] = 1.0
        reseal(folder, receipt)
        assert check_result(folder, sample=None).problems
    else:
        weights.write_text("item,weight\n")
        assert "is not the file of weights" in check_result(folder, sample=None).unchecked[0]


@pytest.mark.promise("docs/how-to/verify.md", "`.npy`")
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_arrays(tmp_path: Path, kind: str) -> None:
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(30, 3)).astype(kind))
    folder = la.vectors.pairs(tmp_path / "v.npy", min_cosine=0.9).save(tmp_path / "r")
    report = check_result(folder, sample=None, audit=5)
    assert (report.problems, report.unchecked) == ([], [])
    table = pq.read_table(folder / "pairs.parquet")
    values = table["cosine"].to_pylist()
    values[0] = 0.95
    pq.write_table(table.set_column(2, "cosine", pa.array(values)), folder / "pairs.parquet")
    reseal(folder)
    assert check_result(folder, sample=None).problems


@pytest.mark.promise("docs/how-to/verify.md", "in UTF-16")
def test_encodings_and_delimiters(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in corpus(tmp_path / "c.jsonl").read_text().splitlines()]
    text = "id|text\n" + "".join(f"{row['id']}|{row['text']}\n" for row in rows)
    for encoding in ("utf-8", "utf-16", "latin-1"):
        (tmp_path / "c.csv").write_text(text.encode(encoding, "ignore").decode(encoding), encoding=encoding)
        source = la.Files(tmp_path / "c.csv", encoding="latin-1") if encoding == "latin-1" else tmp_path / "c.csv"
        report = check_result(la.pairs(source, threshold=0.4).save(tmp_path / encoding), sample=None)
        assert (report.problems, report.unchecked) == ([], [])
        assert dict(report.checked)["input files compared with their hashes"] == 1


@pytest.mark.promise("docs/how-to/verify.md", "a missing pair")
def test_the_audit_finds_missing_pairs(tmp_path: Path) -> None:
    folder = la.pairs(corpus(tmp_path / "c.jsonl"), threshold=0.5, method="exact").save(tmp_path / "r")
    table = pq.read_table(folder / "pairs.parquet")
    receipt = json.loads((folder / "receipt.json").read_text())
    for row in range(table.num_rows):
        rest = [at for at in range(table.num_rows) if at != row]
        pq.write_table(table.take(rest), folder / "pairs.parquet")
        (folder / "groups.parquet").unlink(missing_ok=True)
        reseal(folder, receipt | {"counts": receipt["counts"] | {"pairs": len(rest)}})
        assert "partners of drawn items are missing" in check_result(folder, sample=0, audit=100).problems[0]
    assert check_result(folder, sample=0).problems == []


@pytest.mark.promise("docs/how-to/verify.md", "the texts of `passages`")
@pytest.mark.parametrize("gap", [0, 3])
def test_passages(tmp_path: Path, gap: int) -> None:
    folder = la.passages(corpus(tmp_path / "c.jsonl", 5), min_tokens=8, gap=gap).save(tmp_path / "r")
    report = check_result(folder, sample=None)
    assert (report.problems, report.unchecked) == ([], [])
    table = pq.read_table(folder / "passages.parquet")
    for row in range(table.num_rows):
        for column, by in (("tokens", 1), ("left_start", 9), ("right_end", -9)):
            rows = table.to_pylist()
            rows[row][column] += by
            pq.write_table(pa.Table.from_pylist(rows, table.schema), folder / "passages.parquet")
            reseal(folder)
            assert check_result(folder, sample=None).problems, (row, column)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("command", [["passages", "--min-tokens", "8"], ["nearest", "--top", "2"]])
def test_one_file_of_any_format_is_checked(command: list[str], name: str, tmp_path: Path, lookalike: Any) -> None:
    source = corpus(tmp_path / "c.jsonl", 5)
    assert lookalike(command[0], source, *command[1:], "-o", tmp_path / name, "-q").code == 0
    report = check_result(tmp_path / name, sample=None)
    assert (report.problems, report.unchecked) == ([], [])
    assert any("again" in what or "rank" in what for what, _ in report.checked), report.checked


@pytest.mark.promise("docs/how-to/verify.md", "the input of `scrub`")
def test_scrub_is_put_together_again(tmp_path: Path) -> None:
    for level in ("span", "line"):
        result = la.scrub(corpus(tmp_path / "c.jsonl", 5), min_tokens=8, level=level)
        folder = result.save(tmp_path / level)
        report = check_result(folder, sample=None)
        assert (report.problems, report.unchecked) == ([], [])
        draw = random.Random(7)
        for _ in range(60):
            name = draw.choice(["kept", "removed"])
            file = folder / f"{name}.parquet"
            table = pq.read_table(file)
            rows = table.to_pylist()
            row = draw.choice(rows)
            columns = (
                ["text"] if name == "kept" else ["text", "start", "end", "start_byte", "end_byte", "row", "tokens"]
            )
            column = draw.choice(columns)
            if isinstance(row[column], str):
                row[column] += "!"
            else:
                row[column] += 1
            if draw.random() < 0.2:
                rows = table.to_pylist()[1:]
            before = file.read_bytes()
            pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
            reseal(folder)
            assert check_result(folder, sample=None).problems, (name, column)
            file.write_bytes(before)


@pytest.mark.promise("docs/how-to/verify.md", "changed byte of an input")
def test_every_changed_byte_of_an_input_is_found(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for row in corpus(tmp_path / "c.jsonl").read_text().splitlines():
        (tmp_path / f"texts/{json.loads(row)['id']}.txt").write_text(json.loads(row)["text"])
    draw = random.Random(8)
    for name in ("c.jsonl", "texts"):
        folder = la.pairs(tmp_path / name, threshold=0.5).save(tmp_path / f"of {name}")
        moved = tmp_path / "moved" / name
        if name == "texts":
            shutil.copytree(tmp_path / name, moved)
        else:
            moved.parent.mkdir()
            moved.write_bytes((tmp_path / name).read_bytes())
        files = [moved] if moved.is_file() else sorted(moved.iterdir())
        for _ in range(50):
            file = draw.choice([one for one in files if one.stat().st_size])
            before = file.read_bytes()
            at = draw.randrange(len(before))
            file.write_bytes(before[:at] + bytes([before[at] ^ 1]) + before[at + 1 :])
            problems = check_result(folder, sample=0, folder=moved.parent).problems
            assert problems == [f"{tmp_path / name}: its bytes differ from those that the receipt names"]
            file.write_bytes(before)
        assert check_result(folder, folder=moved.parent).problems == []


@pytest.mark.promise("docs/how-to/verify.md", "Each line of a file of verdicts")
def test_a_changed_line_of_verdicts_is_found(tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    verdicts = la.Verdicts(file)
    for number in range(30):
        verdicts.add(number, f"straße {number}", "same", by="ann", note='a "quoted" note')
    assert check_result(file).problems == []
    draw, whole = random.Random(9), file.read_bytes()
    lines = whole.split(b"\n")
    for _ in range(300):
        at = draw.randrange(len(lines[0]) + 1, len(whole) - 1)
        file.write_bytes(whole[:at] + bytes([whole[at] ^ draw.randrange(1, 256)]) + whole[at + 1 :])
        report = check_result(file)
        assert report.problems or report.unchecked, at
    for gone in range(1, 29):
        file.write_bytes(b"\n".join([*lines[:gone], *lines[gone + 1 :]]))
        assert check_result(file).problems
    file.write_bytes(whole + b'{"left": 1, "right": 2, "verdict": "same"}\n')
    verdicts.add(5, 6, "different", by="bob")
    report = check_result(file)
    assert report.problems == []
    assert report.unchecked == ["1 lines without a hash, which another program wrote"]
    assert len(verdicts.read().pairs) == 32
