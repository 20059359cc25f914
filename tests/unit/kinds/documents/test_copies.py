"""More than one document of a group stays, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError

TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=7).map(" ".join), max_size=12)
ORDERS = {"first": lambda n, _: n, "last": lambda n, _: -n, "longest": lambda n, text: (-len(text.split()), n)}


def slow_stays(texts: list[str], star: dict[int, int], keep: str, copies: int) -> list[int]:
    """Return the row numbers that stay. star: the representative of each row that dedup removes."""
    stays = []
    for center in set(range(len(texts))) - star.keys():
        others = sorted((row for row in star if star[row] == center), key=lambda row: ORDERS[keep](row, texts[row]))
        stays += [] if others and not copies else [center, *others[: max(0, copies - 1)]]
    return sorted(stays)


@given(TEXTS, st.sampled_from([0.4, 0.8]), st.sampled_from(["first", "last", "longest"]), st.integers(0, 4))
@example(["a b c d"] * 3 + ["a b c e"], 0.4, "last", 2)
@example(["a b c", "a b c d", "a b c d e", "x"], 0.4, "longest", 2)
@example(["a b c d", "a b c e", "a b c d"], 0.4, "first", 0)
@settings(max_examples=60)
def test_as_many_stay_as_a_slow_version_keeps(texts: list[str], threshold: float, keep: str, copies: int) -> None:
    shared = {"threshold": threshold, "k": 1, "bag": True, "exact": True, "keep": keep}
    star = {row["id"]: row["kept"] for row in la.dedup(texts, **shared).removed.to_pylist()}
    result = la.dedup(texts, **shared, **({"keep_copies": copies} if copies else {"drop_all": True}))
    expected = slow_stays(texts, star, keep, copies)
    assert result.kept["text"].to_pylist() == [texts[row] for row in expected]
    removed = {row["id"]: row["kept"] for row in result.removed.to_pylist()}
    assert removed == {row: star.get(row, row) for row in set(range(len(texts))) - set(expected)}
    counts = result.receipt["counts"]
    assert (counts["kept"], counts["removed"]) == (len(expected), len(texts) - len(expected))


@pytest.mark.parametrize(("more", "kept"), [(("--drop-all",), 1), (("--keep-copies", 2), 3), (("--keep-copies", 9), 5)])
def test_an_independent_check_agrees(tmp_path: Path, lookalike, more: tuple[object, ...], kept: int) -> None:
    texts = ["one two three four five six seven"] * 3 + ["one two three four five six eight", "nothing like the others"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    given = ("dedup", tmp_path / "in.jsonl", "-t", 0.4, "-k", 2, *more, "-q")
    done = lookalike(*given, "-o", tmp_path / "out.jsonl", "--removed", tmp_path / "gone.csv")
    assert done.code == 0, done.err
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == kept
    assert lookalike(*given, "-o", tmp_path / "folder").code == 0
    for place in ("out.jsonl", "folder"):
        done = lookalike("verify", tmp_path / place, "--all")
        assert done.code == 0, done.out
    assert la.load(tmp_path / "folder").tables["kept"].num_rows == kept


def test_the_check_finds_a_representative_that_stays(tmp_path: Path) -> None:
    from lookalike.evaluation.recheck import Report, _check_tables

    receipt = {
        "scale": {"column": "similarity", "sign": 1}, "counts": {"removed": 1}, "job": {"threshold": 0.5},
        "inputs": [{"rows": 2}], "keep_copies": 0,
    }  # fmt: skip
    report = Report()
    _check_tables(receipt, {"removed": [{"id": 1, "kept": 0, "similarity": 1.0}]}, report)
    assert report.problems == ["removed: a representative is not removed, and no member should stay"]


def test_refusals(tmp_path: Path, lookalike) -> None:
    texts = ["a b c d e f"]
    for options in ({"against": texts}, {"engine": "spark"}):
        with pytest.raises(UsageError, match="are for one collection on one machine"):
            la.dedup(texts, drop_all=True, **options)
    with pytest.raises(UsageError, match="give either drop_all or keep_copies 2, not both"):
        la.dedup(texts, drop_all=True, keep_copies=2)
    with pytest.raises(UsageError, match="keep_copies is 0; expected a number of items, 1 or more"):
        la.dedup(texts, keep_copies=0)
    (tmp_path / "a.txt").write_text("a b c d e f\n")
    done = lookalike("dedup", tmp_path / "a.txt", "--drop-all", "--apply", "trash")
    assert done.code == 2
    assert "--apply has none to keep" in done.err


@given(TEXTS, st.sampled_from(["first", "last"]), st.integers(1, 3))
@settings(max_examples=60)
def test_size_columns_agree_with_the_sizes(texts: list[str], keep: str, copies: int) -> None:
    shared = {"threshold": 0.5, "k": 1, "exact": True, "keep": keep}
    alone = la.dedup(texts, **shared)
    star = {row["id"]: row["kept"] for row in alone.removed.to_pylist()}
    result = la.dedup(texts, **shared, keep_copies=copies, size_columns=True)
    stays = slow_stays(texts, star, keep, copies)
    assert result.kept.column_names == ["text", "group_size", "copies"]
    center = [star.get(row, row) for row in range(len(texts))]
    assert result.kept["group_size"].to_pylist() == [center.count(center[row]) for row in stays]
    words = [frozenset(text.split()) for text in texts]
    equal = [1 if not words[row] else words.count(words[row]) for row in stays]
    assert result.kept["copies"].to_pylist() == equal
    sizes = {row["id"]: row["group_size"] for row in alone.sizes.to_pylist()}
    assert sizes == {row: center.count(row) for row in range(len(texts)) if center.count(row) > 1}


def test_size_columns_need_a_format_with_room(tmp_path: Path, lookalike) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a b c d e f"}\n' * 2)
    given = ("dedup", tmp_path / "in.jsonl", "--size-columns", "-q", "-o")
    done = lookalike(*given, tmp_path / "out.jsonl")
    assert done.code == 2
    assert "--size-columns adds columns" in done.err
    assert "Write Parquet or Arrow" in done.err
    assert not (tmp_path / "out.jsonl").exists()
    assert lookalike(*given, tmp_path / "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().splitlines() == ['"text","group_size","copies"', '"a b c d e f",2,2']
    assert lookalike(*given, tmp_path / "folder").code == 0
    assert la.load(tmp_path / "folder").tables["kept"].column_names == ["text", "group_size", "copies"]
    (tmp_path / "taken.jsonl").write_text('{"text": "a b c d e f", "copies": 1}\n')
    done = lookalike("dedup", tmp_path / "taken.jsonl", "--size-columns", "-o", tmp_path / "x.parquet")
    assert done.code == 2
    assert "adds 'copies', which the input has" in done.err


def test_scores_without_common_shingles_are_not_called_wrong(tmp_path: Path, lookalike) -> None:
    texts = [f"{word} one two three four common text here" for word in ("x", "y", "z")] + ["common text here only"] * 2
    (tmp_path / "in.txt").write_text("\n".join(texts) + "\n")
    given = ("dedup", tmp_path / "in.txt", "-k", 2, "-t", 0.5, "--max-share", 0.7, "-o", tmp_path / "out", "-q")
    assert lookalike(*given).code == 0
    done = lookalike("verify", tmp_path / "out", "--all")
    assert done.code == 0, done.out
    assert "3 scores of removed computed again" in done.out


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "`group_size - 1` is what the first table grows by")
def test_sizes_of_the_other_collection() -> None:
    text = "the quick brown fox jumps over the lazy dog on a day in may"
    first = pa.table({"id": ["x", "y"], "text": [text, "nothing of this kind is in the other one at all"]})
    second = pa.table({"id": ["a", "b", "c", "d"], "text": [text, text, f"{text} again", "alone in here, by itself"]})
    result = la.dedup(second, against=first, threshold=0.7)
    assert result.sizes.to_pylist() == [{"id": "x", "group_size": 4, "copies": 3}]


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "whose near copies all went to other")
def test_a_document_whose_near_copy_went_to_another_one_stays() -> None:
    texts = ["a b c d e f g h", "c d e f g h i j", "e f g h i j k l"]  # the first and the last share less than half
    result = la.dedup(texts, threshold=0.5, k=1, exact=True, drop_all=True)
    assert result.kept["text"].to_pylist() == texts[2:]
