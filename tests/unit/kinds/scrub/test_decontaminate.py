"""decontaminate: which items it finds, compared with a slow search; what it removes; the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.arrays import ShingleRule
from lookalike.errors import InputError, TooManyPairs, UsageError
from lookalike.kinds.scrub import item_matches
from oracles import words

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=25).map(" ".join), min_size=1, max_size=5)


def runs(text: str, length: int) -> set[tuple[Any, ...]]:
    tokens = words(text, ShingleRule())
    return {tuple(tokens[i : i + length]) for i in range(len(tokens) - length + 1)}


def contaminated(item: str, document: str, length: int, near: float) -> bool:
    if len(words(item, ShingleRule())) < 5:
        return False
    mine = runs(item, 5)
    shared = len(mine & runs(document, 5)) / len(mine)
    return shared >= near or bool(runs(item, length) & runs(document, length))


@pytest.mark.promise(
    "docs/how-to/decontaminate-a-test-set.md", "Time and memory grow with the text and with the matches"
)
def test_text_that_all_share_costs_no_comparison_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items and documents that share a footer too short to match meet only where they share something else."""
    footer = " ".join(f"f{n}" for n in range(10))
    texts = [" ".join(f"w{n}x{k}" for k in range(30)) + " " + footer for n in range(300)]
    expanded: list[int] = []
    expand = item_matches.Lists.expand

    def counted(self: item_matches.Lists, numbers: Any) -> Any:
        row, value = expand(self, numbers)
        expanded.append(len(row))
        return row, value

    monkeypatch.setattr(item_matches.Lists, "expand", counted)
    result = la.decontaminate(texts, {"b": texts}, threads=1)
    assert result.matches["document"].to_pylist() == list(range(300))
    assert sum(expanded) < 300 * 100  # 300 * 300 * 6 if every shared shingle led to every item


@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "more than 2,000,000 matches are refused")
def test_too_many_matches_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_matches, "MOST_MATCHES", 500)
    texts = [f"a{n} " + " ".join(f"f{k}" for k in range(20)) for n in range(30)]
    with pytest.raises(TooManyPairs, match=r"more than 500 matches of items and documents: many of both share text"):
        la.decontaminate(texts, {"b": texts})
    copies = ["one two three four five six seven"] * 30
    with pytest.raises(TooManyPairs, match="more than 500 matches"):
        la.decontaminate(copies, {"b": copies})


@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "An item is contaminated if a document shares a run of")
@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "it finds the same items as comparing each of them")
@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "`--near` of its 5-word shingles (default: 0.8)")
@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "fewer than 5 words are counted as too short")
@given(TEXTS, TEXTS, st.integers(2, 9), st.sampled_from([0.5, 0.8, 1.0]), st.sampled_from(["documents", "spans"]))
@settings(max_examples=150)
def test_items_and_documents(train, items, length, near, remove) -> None:
    result = la.decontaminate(train, {"b": items}, min_tokens=length, near=near, remove=remove, threads=1)
    expected = {
        (str(i), d)
        for i, item in enumerate(items)
        for d, document in enumerate(train)
        if contaminated(item, document, length, near)
    }
    found = {(match["item"], match["document"]) for match in result.matches.to_pylist()}
    assert expected <= found if remove == "spans" else expected == found
    rest = result.cleaned.kept["text"].to_pylist()
    assert not any(contaminated(item, document, length, near) for item in items for document in rest)
    gone = {document for _, document in found}
    if remove == "documents":
        assert rest == [text for d, text in enumerate(train) if d not in gone]
    else:
        assert [rest[d] for d in range(len(train)) if d not in gone] == [
            text for d, text in enumerate(train) if d not in gone
        ]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    train = ["Intro. What is the capital city of the country of France today? It is Paris.", "Nothing else."]
    quiz = [("What is the capital city of the country of France today?", "Paris"), ("Who wrote it?", "x")]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps({"id": k, "text": t}) + "\n" for k, t in enumerate(train)))
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps({"q": q, "a": a}) + "\n" for q, a in quiz))
    return tmp_path


@pytest.mark.promise(
    "docs/how-to/decontaminate-a-test-set.md", "`low` and `high` bound the share with a confidence of 95 %"
)
@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "ends with exit code 3 if more than 1 % of the items")
def test_a_gate_in_ci(files: Path, lookalike) -> None:
    given = ("decontaminate", files / "train.jsonl", "--against", files / "quiz.jsonl", "--question", "q", "-q")
    assert lookalike(*given).code == 0
    done = lookalike(*given, "--answer", "a", "--fail-over", 0.01)
    assert done.code == 3
    assert "--fail-over 1.0%" in done.err
    head, question, answer = (line.split("\t") for line in done.out.splitlines())
    assert head[:6] == ["benchmark", "field", "items", "too_short", "contaminated", "share"]
    assert question[1:6] == ["q", "2", "1", "1", "1"]
    assert answer[1:6] == ["a", "2", "2", "0", "0"]


def test_spans_are_removed_and_restored(files: Path, lookalike) -> None:
    out, removed = files / "out.jsonl", files / "removed.parquet"
    given = ("decontaminate", files / "train.jsonl", "--against", files / "quiz.jsonl", "--question", "q", "-q")
    done = lookalike(*given, "--remove", "spans", "-o", out, "--removed", removed, "--matches", files / "m.csv")
    assert done.code == 0
    assert json.loads(out.read_text().splitlines()[0])["text"] == "Intro. It is Paris."
    assert pq.read_table(removed)["text"].to_pylist() == ["What is the capital city of the country of France today? "]
    assert len((files / "m.csv").read_text().splitlines()) == 2
    lookalike("scrub", "--undo", out, removed, "-o", files / "again.jsonl")
    assert (files / "again.jsonl").read_bytes() == (files / "train.jsonl").read_bytes()


@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "`--report page.html` writes a page")
def test_a_page_with_items_beside_documents(files: Path, lookalike) -> None:
    given = ("decontaminate", files / "train.jsonl", "--against", files / "quiz.jsonl", "--question", "q", "-q")
    assert lookalike(*given, "--report", files / "page.html").code == 0
    page = (files / "page.html").read_text()
    assert "<p class=text><mark>What is the capital city of the country of France today</mark>?</p>" in page
    assert "Intro. <mark>What is the capital city of the country of France today</mark>? It is Paris." in page
    assert "<td>0.5000" in page or "<td>1.0000" in page


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_folder_holds_all_tables(form: str, files: Path, lookalike) -> None:
    train = files / f"train.{form}"
    if form == "parquet":
        pq.write_table(
            pa.table({"text": [json.loads(line)["text"] for line in (files / "train.jsonl").read_text().splitlines()]}),
            train,
        )
    given = ("decontaminate", train, "--against", files / "quiz.jsonl", "--question", "q", "-q", "-o", files / "out")
    done = lookalike(*given)
    assert done.code == 0, done.err
    assert pq.read_table(files / "out" / "kept.parquet")["text"].to_pylist() == ["Nothing else."]
    tables = {path.name: pq.read_table(path).num_rows for path in (files / "out").glob("*.parquet")}
    assert tables == {"kept.parquet": 1, "removed.parquet": 1, "benchmarks.parquet": 1, "matches.parquet": 1}
    assert json.loads((files / "out" / "receipt.json").read_text())["counts"]["contaminated"] == 1
    assert "leave --removed out" in lookalike(*given, "--force", "--removed", files / "r.parquet").err
    with pytest.raises(UsageError, match="has no extension"):
        la.decontaminate(train, files / "quiz.jsonl", question="q").write(files / "other")


def test_bad_input_gets_one_line(files: Path, lookalike) -> None:
    assert "--against is missing" in lookalike("decontaminate", files / "train.jsonl").err
    (files / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match="has no rows; expected test items"):
        la.decontaminate(files / "train.jsonl", files / "empty.jsonl")
    given = ("decontaminate", files / "train.jsonl", "--against", files / "quiz.jsonl", "--question", "q")
    done = lookalike(*given, "--fail-over", 2)
    assert done.code == 2
    assert "expected at least 0 and below 1" in done.err
