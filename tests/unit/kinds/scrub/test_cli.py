"""scrub from the command line: outputs, undo, messages and exit codes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

RETURNS = "Free returns within thirty days of purchase, no questions asked."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    rows = [("a", f"Red shoes. {RETURNS} Size 42."), ("b", f"A grinder. {RETURNS}"), ("c", "Nothing repeats here.")]
    path = tmp_path / "shop.jsonl"
    path.write_text("".join(json.dumps({"id": key, "text": text, "n": 1}) + "\n" for key, text in rows))
    return path


@pytest.mark.promise(
    "docs/how-to/clean-a-training-corpus.md", "Afterwards no run of `--min-tokens` words (default: 50) occurs twice"
)
@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "Text outside the cuts is kept byte for byte")
def test_one_copy_stays(shop: Path, lookalike) -> None:
    out, removed = shop.with_name("out.jsonl"), shop.with_name("removed.parquet")
    done = lookalike("scrub", shop, "--min-tokens", 8, "-o", out, "--removed", removed)
    assert done.code == 0
    assert "Removed  10 of 29 words (34.5%) · 1 cut in 1 document" in done.err
    assert out.read_text() == shop.read_text().replace(f"A grinder. {RETURNS}", "A grinder. ")
    (row,) = pq.read_table(removed).drop_columns(["raw", "dropped_row", "position"]).to_pylist()
    assert row == {
        "id": "b", "row": 1, "start": 11, "end": 75, "start_byte": 11, "end_byte": 75, "tokens": 10, "kept": "a",
        "kept_start": 11, "kept_end": 74, "kept_start_byte": 11, "kept_end_byte": 74, "occurrences": 2, "text": RETURNS,
    }  # fmt: skip
    receipt = json.loads(out.with_name("out.jsonl.receipt.json").read_text())
    assert receipt["most_frequent"][0]["kept"] == "a"
    again = shop.with_name("again.jsonl")
    assert lookalike("scrub", "--undo", out, removed, "-o", again).code == 0
    assert again.read_bytes() == shop.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protect", "("], "protect '(' is not a regular expression"),
        (["--protect", "x*"], "matches the empty text"),
        (["--protect", "(?s).+"], "matches all of the text"),
        (["--max-times", "2"], "expected level 'line' or 'paragraph'"),
        (["--level", "line", "--at", "sentence"], "at and unit are for level 'span'"),
        (["--max-loss", "0"], "expected a share above 0"),
        (["--text", "txt"], "Nearest: 'text'"),
        (["--keep", "max:size"], "no column 'size'"),
        (["--removed", "cuts.csv"], "written as Parquet"),
    ],
)
def test_bad_options_get_one_line_and_no_output(shop: Path, lookalike, options: list[str], message: str) -> None:
    out = shop.with_name("out.jsonl")
    done = lookalike("scrub", shop, "-o", out, *options)
    assert done.code in (1, 2)
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert [path.name for path in shop.parent.iterdir()] == ["shop.jsonl"]


def test_an_output_is_needed(shop: Path, lookalike) -> None:
    assert "give -o OUT" in lookalike("scrub", shop).err
    assert "takes the output of scrub and its table of cuts" in lookalike("scrub", "--undo", shop, "-o", "x.jsonl").err


def test_a_folder_holds_everything(shop: Path, lookalike) -> None:
    folder = shop.with_name("all")
    assert lookalike("scrub", shop, "--min-tokens", 8, "-o", folder).code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["kept.parquet", "receipt.json", "removed.parquet"]
    assert pq.read_table(folder / "kept.parquet")["n"].to_pylist() == [1, 1, 1]


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "shows the 200 documents that lost most")
def test_a_page_with_the_cuts_marked(tmp_path: Path, lookalike) -> None:
    texts = [f"<b>One</b> é. {RETURNS} Two.", f"Three. {RETURNS} Four.", RETURNS]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"<{n}>", "text": text}) + "\n" for n, text in enumerate(texts)))
    given = ("scrub", path, "--min-tokens", 8, "--max-loss", 0.9, "-o", tmp_path / "all")
    assert lookalike(*given).code == 0
    page = tmp_path / "page.html"
    assert lookalike("report", tmp_path / "all", "-o", page, "--no-open").code == 0
    shown = page.read_text()
    assert f'Three. <del title="stays in &lt;0&gt;, at 14; occurs 3 times">{RETURNS} </del>Four.' in shown
    assert "&lt;2&gt; <small>10 tokens removed, dropped</small>" in shown
    assert "<b>One" not in shown
    assert "<script" not in shown
    assert "Free returns" in shown.split("<article>")[0]


def test_cuts_at_sentences_and_the_best_document(shop: Path, lookalike) -> None:
    out = shop.with_name("out.jsonl")
    done = lookalike("scrub", shop, "--min-tokens", 5, "--at", "sentence", "--keep", "shortest", "-o", out)
    assert done.code == 0
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == [
        "Red shoes. Size 42.", f"A grinder. {RETURNS}", "Nothing repeats here."
    ]  # fmt: skip


def test_one_file_for_each_input(tmp_path: Path, lookalike) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    for number in range(3):
        data = "".join(json.dumps({"text": f"{number}{row}. {RETURNS}"}) + "\n" for row in range(2)).encode()
        (shards / f"part-{number}.jsonl.gz").write_bytes(gzip.compress(data))
    out = tmp_path / "out"
    assert lookalike("scrub", shards, "--min-tokens", 8, "--like-input", "-o", out).code == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == ["part-0.jsonl.gz", "part-1.jsonl.gz", "part-2.jsonl.gz", "receipt.json"]
    rows = [line for name in names[:3] for line in gzip.decompress((out / name).read_bytes()).splitlines()]
    assert [json.loads(row)["text"] for row in rows] == [f"00. {RETURNS}", "01. ", "10. ", "11. ", "20. ", "21. "]
    done = lookalike("scrub", shards, "--like-input", "-o", tmp_path / "out.jsonl")
    assert "give -o FOLDER" in done.err
    done = lookalike("scrub", shards, "--like-input", "-o", tmp_path / "out2", "--removed", tmp_path / "r.parquet")
    assert "give --removed FOLDER" in done.err
    assert not (tmp_path / "out2").exists()


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "one table of cuts for each file")
@pytest.mark.parametrize("most", [1.0, 0.6])
def test_each_file_of_many_is_restored_by_its_own_table(tmp_path: Path, lookalike, most: float) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    for number, ending in enumerate(["\n", "", "\n", ""]):
        texts = [f"{number} {row} é. {RETURNS if (row + number) % 3 else 'short'}" for row in range(5)] + [RETURNS]
        data = "\n".join(json.dumps({"text": text}) for text in texts) + ending
        (shards / f"part-{number}.jsonl.gz").write_bytes(gzip.compress(data.encode()))
    (shards / "part-9.jsonl.gz").write_bytes(gzip.compress(b'{"text": "nothing to cut"}\n'))
    given = ("scrub", shards, "--min-tokens", 8, "--max-loss", most, "--like-input", "-o", tmp_path / "out")
    assert lookalike(*given, "--removed", tmp_path / "cuts").code == 0
    names = sorted(path.name for path in shards.iterdir())
    assert sorted(path.name for path in (tmp_path / "cuts").iterdir()) == [f"{name}.parquet" for name in names]
    changed = 0
    for name in names:
        again = tmp_path / f"again-{name}"
        done = lookalike("scrub", "--undo", tmp_path / "out" / name, tmp_path / "cuts" / f"{name}.parquet", "-o", again)
        assert done.code == 0, done.err
        before, after = (gzip.decompress(path.read_bytes()) for path in (shards / name, tmp_path / "out" / name))
        assert gzip.decompress(again.read_bytes()) == before
        changed += before != after
    assert changed == 4
    other = lookalike("scrub", "--undo", tmp_path / "out" / names[1], tmp_path / "cuts" / f"{names[2]}.parquet",
                      "-o", tmp_path / "no.jsonl.gz")  # fmt: skip
    assert "does not belong to" in other.err
    assert not (tmp_path / "no.jsonl.gz").exists()


def test_one_file_for_each_text_file(tmp_path: Path, lookalike) -> None:
    texts = tmp_path / "texts"
    (texts / "b").mkdir(parents=True)
    (texts / "a.txt").write_text(f"One. {RETURNS}\n")
    (texts / "b" / "c.md").write_text(f"Two. {RETURNS}\n")
    assert lookalike("scrub", texts, "--min-tokens", 8, "--like-input", "-o", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "a.txt").read_text() == f"One. {RETURNS}\n"
    assert (tmp_path / "out" / "b" / "c.md").read_text() == "Two. "


def test_a_kept_work_folder_serves_a_second_run(shop: Path, lookalike) -> None:
    given = ("scrub", shop, "--min-tokens", 8, "--work-dir", shop.with_name("work"))
    assert lookalike(*given, "-o", shop.with_name("one.jsonl")).code == 0
    done = lookalike(*given, "-o", shop.with_name("two.jsonl"))
    assert "are taken from" in done.err
    assert shop.with_name("one.jsonl").read_bytes() == shop.with_name("two.jsonl").read_bytes()
