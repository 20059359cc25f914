"""Stories by topics: quality on generated articles, the threshold from chance, and refusals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.web.result_loader import open_result
from lookalike.web.view import ResultView


def generated(seed: int, stories: int, length: int, share: float) -> tuple[list[str], np.ndarray]:
    """Articles in stories; a share of the words of each is of its story, the others have the frequencies of a language."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, 20001)
    texts, truth = [], []
    for story in range(stories):
        own = rng.choice(20000, size=max(8, length // 6))
        for _ in range(max(1, rng.poisson(5))):
            size = max(4, rng.poisson(length))
            common = rng.choice(20000, size, p=(1 / ranks) / (1 / ranks).sum())
            words = np.where(rng.random(size) < share, rng.choice(own, size), common)
            texts.append(" ".join(f"w{word}" for word in words))
            truth.append(story)
    return texts, np.array(truth)


def b_cubed(result: Any, truth: np.ndarray) -> tuple[float, float]:
    cluster = np.arange(len(truth)) + len(truth)
    rows = result.stories.to_pylist()
    cluster[[row["id"] for row in rows]] = [row["story"] for row in rows]
    same, true = cluster[:, None] == cluster, truth[:, None] == truth
    both = (same & true).sum(axis=1)
    return float((both / same.sum(axis=1)).mean()), float((both / true.sum(axis=1)).mean())


@pytest.mark.promise("docs/how-to/group-the-same-story.md", "B³ is above .98")
@pytest.mark.parametrize(("length", "share", "least"), [(200, 0.15, 0.98), (9, 0.5, 0.65)])
def test_generated_stories_are_found(length: int, share: float, least: float) -> None:
    texts, truth = generated(7, 100, length, share)
    result = la.stories(texts, by="topics")
    precision, recall = b_cubed(result, truth)
    assert 2 * precision * recall / (precision + recall) > least
    near = result.pairs["similarity"].to_numpy()
    assert near.min() >= result.receipt["job"]["similarity"]


def test_independent_articles_are_no_stories() -> None:
    texts, _ = generated(8, 150, 60, 0.0)
    assert len(la.stories(texts, by="topics").stories) < 0.1 * len(texts)


@pytest.mark.parametrize("texts", [[], [""], ["one"], ["one", "two"], ["same words here"] * 4])
def test_few_articles(texts: list[str]) -> None:
    rows = la.stories(texts, by="topics").stories.to_pylist()
    assert len(rows) == (4 if len(texts) == 4 else 0)


def test_the_command_and_a_saved_result(tmp_path: Path, lookalike: Any) -> None:
    texts, _ = generated(9, 10, 100, 0.3)
    (tmp_path / "wires.txt").write_text("\n".join(texts), encoding="utf-8")
    done = lookalike("stories", tmp_path / "wires.txt", "--by", "topics", "-o", tmp_path / "out")
    assert done.code == 0
    assert "average linkage" in done.err
    assert "learned from chance" in done.err
    assert lookalike("verify", tmp_path / "out").code == 0
    view = ResultView(open_result(tmp_path / "out")).overview()
    assert view["asked"] == "stories"
    set_by_hand = la.stories(texts, by="topics", similarity=0.99)
    assert set_by_hand.receipt["job"]["similarity"] == 0.99
    assert not len(set_by_hand.stories)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "topics", "share": 0.5}, "`share` is for stories by text; leave it out, or set `by` to text."),
        ({"similarity": 0.5}, "`similarity` is for stories by topics; leave it out, or set `by` to topics."),
        ({"by": "topics", "similarity": 2.0}, "similarity is 2.0; expected a share above 0 and at most 1."),
        ({"by": "topic"}, "by 'topic' is unknown. Nearest: 'topics'. Choices: text, topics."),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        la.stories(["a", "b"], **options)
