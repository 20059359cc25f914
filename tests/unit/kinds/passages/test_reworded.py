"""Passages in other words: what is found, what chance brings, boilerplate, and the kernels against a slow twin."""

from __future__ import annotations

import re
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.kinds.passages.chance import chance_of
from lookalike.kinds.passages.kernels import rewording as kernel
from lookalike.kinds.passages.kernels.rewording_text import equal_words

HANDBOOK = [text for _, text in sorted(topics.items()) if len(text) > 1500]
ORIGINAL = (
    "The lighthouse at the end of the pier was built by Scottish engineers in 1852, after three merchant ships had been "
    "wrecked on the sandbank during a single winter. Its lamp can be seen from the islands in clear weather."
)
REWORDED = (
    "In clear weather the islands still see its lamp. Scottish engineers erected this lighthouse at the pier's end in 1852, "
    "because three merchant vessels were wrecked upon the sandbank in one single winter."
)
HOST = "My uncle knows nothing about ships. {} He says so every evening, and then he goes home to feed his hens."
OTHER_HOST = "Harbours attract tourists. {} Nobody asked why."


@pytest.fixture(scope="module")
def found() -> Any:
    return la.passages([*HANDBOOK, HOST.format(ORIGINAL), OTHER_HOST.format(REWORDED)], reworded=True)


@pytest.mark.promise("docs/how-to/detect-plagiarism.md", "finds passages that say the same in other words")
@pytest.mark.promise(
    "docs/how-to/passages.md", "a score from which no more than 2 % of the passages are expected by chance"
)
def test_a_reworded_passage_is_found_where_runs_are_not(found: Any) -> None:
    last = len(HANDBOOK)
    texts = [HOST.format(ORIGINAL), OTHER_HOST.format(REWORDED)]
    assert last not in la.passages([*HANDBOOK, ORIGINAL, REWORDED]).pairs["left"].to_pylist()
    row = next(row for row in found.passages.to_pylist() if row["left"] == last)
    assert row["right"] == last + 1
    assert row["kind"] == "reworded"
    left, right = texts[0][row["left_start"] : row["left_end"]], texts[1][row["right_start"] : row["right_end"]]
    assert "Scottish engineers" in left
    assert "sandbank" in left
    assert "three merchant" in right
    assert "sandbank" in right
    facts = found.receipt["reworded"]
    assert facts["expected_precision"] >= 0.98
    assert row["score"] >= facts["least_score"]
    assert found.receipt["recall_at_threshold"] is None
    counted = next(pair for pair in found.pairs.to_pylist() if pair["left"] == last)
    assert 0 < counted["left_in_right"] <= 1


def test_copies_are_told_from_rewordings(found: Any) -> None:
    rows = found.passages.to_pylist()
    exact = {(row["left"], row["right"]) for row in la.passages(HANDBOOK, min_tokens=30).pairs.to_pylist()}
    copied = {(row["left"], row["right"]) for row in rows if row["kind"] == "copied"}
    assert len(exact & copied) >= 0.9 * len(exact)
    assert {row["kind"] for row in rows} == {"copied", "reworded"}


@pytest.mark.promise("docs/how-to/passages.md", "of 60 words, one of each of at most 200 texts")
def test_the_recall_is_measured_on_planted_passages(found: Any) -> None:
    planted = found.receipt["reworded"]["planted"]
    assert planted["passages"] <= 200
    assert planted["recall"] == planted["found"] / planted["passages"] > 0.6
    low, high = planted["interval_95"]
    assert low < planted["recall"] < high


def test_one_answer_for_every_number_of_threads(found: Any) -> None:
    texts = [*HANDBOOK, HOST.format(ORIGINAL), OTHER_HOST.format(REWORDED)]
    assert la.passages(texts, reworded=True, threads=1).passages.equals(found.passages)


def independent_texts(seed: int, texts: int = 300, length: int = 300) -> list[str]:
    """Texts of words drawn independently, with the frequencies of a language."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, 20001)
    words = rng.choice(ranks, size=(texts, length), p=(1 / ranks) / (1 / ranks).sum())
    return [" ".join(f"w{word:06x}"[::-1] for word in row) for row in words]


@pytest.mark.parametrize("seed", [1, 2])
def test_chance_is_not_reported(seed: int) -> None:
    result = la.passages(independent_texts(seed), reworded=True)
    assert result.receipt["counts"]["passages"] == 0
    assert "no score is above chance" in result.receipt["choice"]["reason"]


def test_planted_passages_among_independent_texts() -> None:
    texts = independent_texts(3)
    rng = np.random.default_rng(3)
    for number in range(50):  # half of the words of the passage stay, in their order
        words = texts[number].split()[100:180]
        kept = [word for word in words if rng.random() < 0.5]
        texts[200 + number] += " " + " ".join(kept)
    pairs = {(row["left"], row["right"]) for row in la.passages(texts, reworded=True).pairs.to_pylist()}
    true = {(number, 200 + number) for number in range(50)}
    assert len(pairs & true) >= 49
    assert len(pairs - true) <= 2


@pytest.mark.promise("docs/how-to/passages.md", "Text in more than half of the texts (and in more than 10)")
def test_boilerplate_of_a_task_is_left_out_and_quoted() -> None:
    task = "Explain in your own words why the lighthouse keeper refused the pension that the harbour board had offered him."
    texts = [f"{task} {text[:900]}" for text in HANDBOOK[:24]]
    result = la.passages(texts, reworded=True)
    assert all(row["left_start"] > len(task) - 30 for row in result.passages.to_pylist())
    quoted = result.receipt["boilerplate"]
    assert quoted[0]["text"].startswith("Explain in your own words")
    assert quoted[0]["count"] == 24
    few = la.passages([*texts[:5], *HANDBOOK[30:]], reworded=True)
    assert any(row["left_start"] == 0 for row in few.passages.to_pylist())  # five of them may have copied


def test_references_authors_and_templates(tmp_path: Path) -> None:
    essays, sources = [OTHER_HOST.format(REWORDED), HANDBOOK[0]], [HOST.format(ORIGINAL), *HANDBOOK[1:]]
    rows = la.passages(essays, against=sources, reworded=True).pairs.to_pylist()
    assert (0, 0) in {(row["left"], row["right"]) for row in rows}
    (tmp_path / "handout.txt").write_text(ORIGINAL)
    rows = la.passages(essays, against=sources, reworded=True, template=tmp_path / "handout.txt").pairs.to_pylist()
    assert (0, 0) not in {(row["left"], row["right"]) for row in rows}  # the source of the passage does not count


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["one word"], ["a a a a a a a a a a"] * 3, ["x"] * 40])
def test_nothing_to_find(texts: list[str]) -> None:
    result = la.passages(texts, reworded=True)
    assert not len(result.passages)
    assert result.passages.column_names[-2:] == ["score", "kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gap": 3}, "`gap` is given, but `reworded` compares words of prose. Leave out one of both."),
        ({"language": "python"}, "`language` is given, but `reworded` compares words of prose. Leave out one of both."),
        ({"precision": 1.0}, "precision is 1.0; expected a share between 0 and 1."),
        ({"engine": "spark"}, "`reworded` is for one machine; on Spark leave it out."),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        la.passages(["one", "two"], reworded=True, **options)


def test_verify_counts_the_words_again(tmp_path: Path, lookalike: Any) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, text in enumerate([*HANDBOOK[:6], HOST.format(ORIGINAL), HOST.format(REWORDED)]):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    assert lookalike("passages", folder, "--reworded", "-o", tmp_path / "out").code == 0
    checked = lookalike("verify", tmp_path / "out")
    assert checked.code == 0
    assert "without their scores" in checked.out + checked.err
    head = lookalike("passages", folder, "--reworded", "-q").out.splitlines()[0]
    assert head == "left\tright\tleft_start\tleft_end\tright_start\tright_end\ttokens\tscore\tkind"


def slow_best(shared: list[tuple[int, int]], given: list[float], left: Any, right: Any) -> float:
    """The score of the best chain, by trying every last link of every shared word."""
    best: dict[int, float] = {}
    for i, (a, b) in enumerate(shared):
        weight = float(min(left[a], right[b]))
        options = [weight]
        for p, (c, d) in enumerate(shared):
            if 0 < a - c <= kernel.LINK_REACH and 0 < b - d <= kernel.LINK_REACH:
                options.append(best[p] + min(weight, given[i]) - kernel.SKIP * (a - c + b - d - 2))
        best[i] = max(options)
    return max(best.values())


@pytest.mark.parametrize("seed", range(5))
def test_the_best_chain_is_that_of_a_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.uniform(2, 6, 60).astype(np.float32), rng.uniform(2, 6, 60).astype(np.float32)
    shared = sorted({(int(a), int(b)) for a, b in rng.integers(0, 60, (50, 2))} | {(i, i + 5) for i in range(5, 40, 2)})
    given = rng.uniform(1, 8, len(shared))
    packed = np.array([a << 32 | b for a, b in shared])
    taken = np.zeros(61, np.bool_), np.zeros(61, np.bool_)
    rows, count = kernel.best_chains(packed, given, left, right, 0, *taken, np.empty((8, 10)), 0)
    assert count >= 1
    assert not taken[0].any()
    assert not taken[1].any()
    best = rows[:count, kernel.SCORE].max()
    chains = int(rows[rows[:count, kernel.SCORE].argmax(), kernel.CHAINS])
    if chains == 1:
        assert best == pytest.approx(slow_best(shared, list(given), left, right))
    assert best >= slow_best(shared, list(given), left, right) - 1e-9


def test_equal_words_and_their_longest_run() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        x, y = rng.integers(0, 5, 12).astype(np.uint32), rng.integers(0, 5, 15).astype(np.uint32)
        both = sum(min(int((x == word).sum()), int((y == word).sum())) for word in range(5))
        longest = max(
            (
                n
                for n in range(1, 13)
                for i in range(13 - n)
                for j in range(16 - n)
                if (x[i : i + n] == y[j : j + n]).all()
            ),
            default=0,
        )
        assert equal_words(x, y) == (both, longest)


def test_the_least_score_falls_with_less_precision() -> None:
    rng = np.random.default_rng(1)
    found = np.concatenate([18 + rng.exponential(2, 500), 18 + rng.exponential(30, 500)])
    opposite = 18 + rng.exponential(2, 500)
    made = [chance_of(found, opposite, precision, 1e9) for precision in (0.9, 0.98, 0.999)]
    assert made[0].least_score < made[1].least_score < made[2].least_score
    for one, precision in zip(made, (0.9, 0.98, 0.999), strict=True):
        assert one.expected <= (1 - precision) * one.found
        true_share = 500 * np.exp(-(one.least_score - 18) / 2) / one.found
        assert 1 - true_share >= precision - 0.02
