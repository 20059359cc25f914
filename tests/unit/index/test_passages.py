"""Who quotes a text, and which document holds a snippet: an index of passages on both stores."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError
from lookalike.index.index import Index, Quotation

WORDS = [f"w{number}" for number in range(400)]


def corpus(seed: int, count: int) -> list[str]:
    """Texts that quote earlier ones, at odd places, with other punctuation."""
    draw = random.Random(seed)
    out: list[str] = []
    for _ in range(count):
        words = draw.choices(WORDS[: draw.choice([3, 400, 400])], k=draw.randint(5, 60))
        if out and draw.random() < 0.6:
            old = draw.choice(out).split()
            at = draw.randrange(len(old))
            quoted = old[at : at + draw.randint(4, 30)]
            place = draw.randrange(len(words))
            words[place:place] = [quoted[0].upper(), *quoted[1:]]
        out.append(" ".join(words).replace("w7 ", "w7, é "))
    return out


@pytest.fixture(params=["folder", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "index")
    return f"{request.getfixturevalue('postgres')}&schema={request.getfixturevalue('new_schema')()}"


@pytest.mark.promise(
    "docs/how-to/index.md", "the same as `lookalike passages` finds between the text and the stored ones"
)
def test_the_passages_are_those_of_the_batch_command(place: str) -> None:
    texts = corpus(3, 90)
    stored, asked = texts[:60], texts[60:]
    with la.Index.create(place, kind="passages", min_tokens=6) as index:
        index.add(stored[:30])
        index.add(["something else entirely, to be removed soon after it was added to this", *stored[30:]])
        index.remove([30])
        index.compact()
        found = index.passages(asked)
        some = index.passages(asked[:5], k=1)
    batch = la.passages(asked, against=stored, min_tokens=6).passages.to_pylist()
    names = [*range(30), *range(31, 61)]
    want = {
        (row["left"], names[row["right"]], *(row[name] for name in ("left_start", "left_end", "right_start", "right_end", "tokens")))
        for row in batch
    }  # fmt: skip
    assert {(query, *one) for query, row in enumerate(found) for one in row} == want
    assert len(want) > 20
    for row in found:  # the texts that share the most words come first
        totals = [sum(one.tokens for one in row if one.id == name) for name in dict.fromkeys(one.id for one in row)]
        assert totals == sorted(totals, reverse=True)
    for one, row in zip(some, found, strict=False):
        assert one == [match for match in row if match.id == row[0].id]


def covered(short: list[str], other: list[str], run: int) -> int:
    runs = {tuple(other[at : at + run]) for at in range(len(other) - run + 1)}
    marked = set[int]()
    for at in range(len(short) - run + 1):
        if tuple(short[at : at + run]) in runs:
            marked |= set(range(at, at + run))
    return len(marked)


@pytest.mark.promise("docs/how-to/index.md", "No document is missed that shares a run of `--min-tokens` words")
@pytest.mark.promise("docs/how-to/index.md", "a query may ask for any share")
@pytest.mark.promise("docs/how-to/index.md", "runs of `--min-tokens` words or")
@settings(max_examples=25)
@given(st.integers(0, 10**9), st.sampled_from([3, 5, 12]), st.sampled_from([0.05, 0.5, 0.8, 1.0]))
def test_containment_is_that_of_the_slow_twin(tmp_path_factory: Any, seed: int, run: int, threshold: float) -> None:
    texts = [text.replace(",", "").lower() for text in corpus(seed, 24)]
    with la.Index.create(tmp_path_factory.mktemp("i") / "index", kind="passages", min_tokens=run) as index:
        index.add(texts[:18])
        found = index.query(texts[12:], threshold=threshold)
    for text, matches in zip(texts[12:], found, strict=True):
        want = {}
        for number, other in enumerate(texts[:18]):
            one, two = sorted([text.split(), other.split()], key=len)
            most = covered(one, two, run)
            if len(one) == len(two):
                most = max(most, covered(two, one, run))
            if most and most / len(one) >= threshold:
                want[number] = most / len(one)
        assert dict(matches) == want


def test_a_snippet_is_found_while_documents_come_and_go(tmp_path: Path) -> None:
    snippet = "the ship left the harbour at noon with forty sailors and the mayor of the town on board"
    with la.Index.create(tmp_path / "index", kind="passages") as index:
        assert index.query([snippet]) == [[]]
        index.add([f"He said: {snippet.upper()}! Then he left.", "another text altogether"], ids=["a", "b"])
        reader = Index.open(tmp_path / "index", read_only=True)
        assert reader.passages([snippet]) == [[Quotation("a", 0, 87, 9, 96, 18)]]
        assert reader.query([snippet], threshold=0.8) == [[("a", 1.0)]]
        index.remove(["a"])
        assert reader.passages([snippet]) == reader.query([snippet]) == [[]]
        index.add([snippet], ids=["b"])
        assert [one.id for one in reader.passages([snippet])[0]] == ["b"]
        assert reader.passages(["too short a text"]) == [[]]
        assert reader.passages([""]) == [[]]
        assert index.check().damages == []
        reader.close()


def test_one_clear_line(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "plain") as index, pytest.raises(UsageError, match=r"is an index of documents; pa"):
        index.passages(["a text"])
    with (
        la.Index.create(tmp_path / "bare", kind="passages", store_items=False) as index,
        pytest.raises(UsageError, match=r"does not keep its texts, so that the places"),
    ):
        index.passages(["a text"])
    with pytest.raises(UsageError, match=r"threshold is 80; expected a number above 0 and at most 1\. Did you"):
        la.Index.create(tmp_path / "much", kind="passages", threshold=80)
    with pytest.raises(UsageError, match="an index of passages has no option 'k'"):
        la.Index.create(tmp_path / "k", kind="passages", k=3)
    with la.Index.create(tmp_path / "index", kind="passages") as index:
        with pytest.raises(UsageError, match="k is 0; expected at least 1"):
            index.passages(["a"], k=0)
        with pytest.raises(UsageError, match="threshold is 0; expected"):
            index.query(["a"], threshold=0)


def test_the_commands(tmp_path: Path, lookalike: Any) -> None:
    place, quoted = tmp_path / "ix", "the quick brown fox jumps over the lazy dog near the old river bank"
    (tmp_path / "a.csv").write_text(f"id,text\na,They say {quoted} again\nb,nothing here\n")
    (tmp_path / "ask.txt").write_text(f"Well. {quoted.title()}!\n")
    assert lookalike("index", "create", place, "--kind", "passages", "--min-tokens", 8, "-q").code == 0
    assert lookalike("index", "add", place, tmp_path / "a.csv", "-q").code == 0
    done = lookalike("index", "passages", place, tmp_path / "ask.txt")
    assert done.out.splitlines() == [
        "query\tid\tstart\tend\tstored_start\tstored_end\ttokens\ttext",
        f"{tmp_path}/ask.txt\ta\t6\t73\t9\t76\t14\t{quoted.title()}",
    ]
    assert "Found    1 passage of 1 text" in done.err
    assert lookalike("index", "query", place, "--query", quoted, "--containment", 0.8, "-q").out.splitlines() == [
        "query\tid\tsimilarity", f"{quoted}\ta\t1",
    ]  # fmt: skip
    for words in (("query", place, "--query", "quick brown fox", "-q"), ("passages", place, "--query", "a", "-q")):
        done = lookalike("index", *words)
        assert "1 text has fewer than 8 words (--min-tokens of the index): nothing is found for them." in done.err
    page = tmp_path / "page.html"
    assert lookalike("index", "passages", place, tmp_path / "ask.txt", "-o", page, "-q").code == 0
    assert quoted.title() in page.read_text()
    out = tmp_path / "out.csv"
    assert lookalike("index", "passages", place, "--query", quoted, "-o", out, "-q").code == 0
    assert len(out.read_text().splitlines()) == 2
    assert (tmp_path / "out.csv.receipt.json").exists()
    lookalike("index", "create", tmp_path / "plain", "-q")
    for words, error in (
        (
            ("query", tmp_path / "plain", "--query", "a", "--containment", 0.8),
            "--containment goes with an index of passages",
        ),
        (("query", place, "--query", "a", "--containment", 80), "--containment is 80.0; expected"),
        (("query", place, "--query", "a", "--containment", 0.8, "-t", 0.8), "give --threshold or --containment, one"),
        (("passages", tmp_path / "plain", "--query", "a"), "is an index of documents; passages are found in one"),
        (("passages", place), "give files to look for, or --query, one of them."),
    ):
        done = lookalike("index", *words)
        assert done.code == 2
        assert error in done.err
