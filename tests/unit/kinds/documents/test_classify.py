"""Labels from nearest neighbours, against brute force in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import ColumnNotFound, InputError, UsageError

WORDS = "abcdefgh"
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), min_size=1, max_size=8)


def similarity(a: set[str], b: set[str], count: Counter[str], n: int, weight: str) -> float:
    if weight == "none":
        return len(a & b) / len(a | b) if a | b else 0.0

    def square(word: str) -> float:
        return (math.log((1 + n) / (1 + count[word])) + 1) ** 2

    norms = math.sqrt(sum(map(square, a)) * sum(map(square, b)))
    return sum(map(square, a & b)) / norms if norms else 0.0


def expected(query: set[str], labelled: list[set[str]], labels: list[str], k: int, weight: str) -> Any:
    count = Counter(word for words in labelled for word in words)
    scores = [(-similarity(query, words, count, len(labelled), weight), i) for i, words in enumerate(labelled)]
    nearest = sorted((score, i) for score, i in scores if score < 0)[:k]
    votes: dict[str, float] = {}
    for score, i in nearest:
        votes[labels[i]] = votes.get(labels[i], 0.0) - score
    return nearest, votes


@pytest.mark.promise("docs/how-to/classify.md", "`share` is the part of these votes that the chosen label has")
@pytest.mark.promise("docs/how-to/classify.md", "then all texts of the input are labelled")
@pytest.mark.promise("docs/how-to/classify.md", "Every text is compared with every labelled text, exactly")
@given(labelled=texts, new=texts, data=st.data(), k=st.integers(1, 4), weight=st.sampled_from(["idf", "none"]))
@settings(max_examples=60, deadline=None)
def test_neighbours_and_labels_are_those_of_brute_force(
    labelled: list[str], new: list[str], data: Any, k: int, weight: Any
) -> None:
    labels = [data.draw(st.sampled_from(["x", "y"])) for _ in labelled]
    table = pa.table({"text": labelled, "topic": labels})
    made = la.classify(pa.table({"text": new}), against=table, label="topic", neighbours=k, weight=weight, test_size=0)
    for row, text in zip(made.labels.to_pylist(), new, strict=True):
        nearest, votes = expected(set(text.split()), [set(one.split()) for one in labelled], labels, k, weight)
        assert row["similarities"] == pytest.approx([-score for score, _ in nearest])
        if not votes:
            assert row["label"] is None
            continue
        assert votes[row["label"]] == pytest.approx(max(votes.values()))
        assert row["share"] == pytest.approx(votes[row["label"]] / sum(votes.values()))


def test_rows_without_a_label_are_labelled_by_the_others() -> None:
    table = pa.table({"id": ["p", "q", "r"], "text": ["a b", "c d", "a e"], "topic": ["x", "", None]})
    made = la.classify(table, label="topic", test_size=0)
    assert made.labels.select(["id", "label", "neighbours"]).to_pylist() == [
        {"id": "q", "label": None, "neighbours": []},
        {"id": "r", "label": "x", "neighbours": ["p"]},
    ]
    assert made.receipt["counts"]["unclassified"] == 1


@pytest.mark.promise("docs/how-to/classify.md", "neither does an exact copy of it")
def test_a_copy_does_not_vote_for_itself_in_the_test() -> None:
    """Each text has a copy with its label; without the copies the nearest text has the other label."""
    rows = [("a b c", "x"), ("a b c", "x"), ("a b d", "y"), ("a b d", "y")]
    table = pa.table({"text": [text for text, _ in rows], "topic": [label for _, label in rows]})
    made = la.classify(pa.table({"text": ["a b c"]}), against=table, label="topic", neighbours=1)
    assert made.accuracy is not None
    assert (made.accuracy["tested"], made.accuracy["correct"]) == (4, 0)
    assert made.accuracy["most_frequent_label"] == 0.5
    assert made.confusion.to_pylist() == [
        {"label": "x", "given": "y", "count": 2},
        {"label": "y", "given": "x", "count": 2},
    ]


def test_bad_input() -> None:
    table = pa.table({"text": ["a", "b"], "topic": ["x", "y"], "empty": pa.array([None, None], pa.string())})
    with pytest.raises(ColumnNotFound, match="no column 'topics'"):
        la.classify(table, label="topics")
    with pytest.raises(InputError, match=r"every row of .* has a label in the column 'topic', so there is nothing"):
        la.classify(table, label="topic")
    with pytest.raises(InputError, match=r"no row of .* has a label in the column 'empty'"):
        la.classify(table, label="empty")
    with pytest.raises(UsageError, match="neighbours is 0; expected at least 1"):
        la.classify(table, label="topic", neighbours=0)
    with pytest.raises(UsageError, match="test_size is -1"):
        la.classify(table, label="topic", test_size=-1)
    with pytest.raises(UsageError, match="weight 'df' is unknown"):
        la.classify(table, label="topic", weight="df")  # type: ignore[arg-type]


def test_a_saved_answer(tmp_path: Path) -> None:
    table = pa.table({"text": ["a b", "a c"], "topic": ["x", None]})
    folder = la.classify(table, label="topic").save(tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == ["confusion.parquet", "labels.parquet", "receipt.json"]
