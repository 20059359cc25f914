"""Which way auto takes, and that it says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.core.candidates import Items
from lookalike.core.method_choice import PLANNER_SAMPLE, Choice
from lookalike.errors import TooManyPairs
from lookalike.kinds.documents.answer_size import AnswerSize
from lookalike.kinds.documents.planner import SampleJoin, decide, preview
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import plan
from lookalike.runtime.local.pool import Pool
from lookalike.web.result_loader import open_result


def random_items(count: int, size: int, universe: int) -> Items:
    rng = np.random.default_rng(3)
    elements = rng.integers(1, universe, count * size).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return Items(elements, np.arange(count) * size, np.full(count, size), np.full(count, 3, np.uint8))


def choose(items: Items, job: Job) -> Choice:
    with Pool(1) as pool:
        seen = preview(items, job.bar(), pool, seed=1) or SampleJoin.of_all(items, job.bar(), pool)
        made = plan(job.threshold) if job.measure == "jaccard" else None
        return decide(job, len(items), float(items.sizes.sum()), seen, made, pool, budget=1 << 40)


def test_few_items_are_joined_exactly() -> None:
    made = choose(random_items(10, 5, 100), Job())
    assert (made.method, made.why) == ("exact", "10 different items are few enough to miss none")


def test_a_measure_without_a_bound_is_joined_exactly() -> None:
    made = choose(random_items(10, 5, 100), Job(measure="containment"))
    assert made.why == "no banding keeps a promise of recall for this measure"


def test_long_lists_of_postings_speak_for_banding() -> None:
    """Few different elements, all of them common: the exact join must look at nearly every pair."""
    crowded = random_items(20 * PLANNER_SAMPLE, 12, 60)
    made = choose(crowded, Job(threshold=0.9))
    assert made.method == "lsh"
    assert made.seconds["exact"] > made.seconds["lsh"]
    assert "times cheaper than the exact join" in made.why


def test_rare_elements_speak_for_the_exact_join() -> None:
    made = choose(random_items(3 * PLANNER_SAMPLE, 30, 1 << 60), Job())
    assert made.method == "exact"
    assert made.seconds["exact"] <= 1.25 * made.seconds["lsh"]


def test_the_receipt_says_what_was_chosen() -> None:
    receipt = la.pairs(["one two three"] * 3).receipt
    assert receipt["choice"] == {
        "method": "exact",
        "way": "prefixes",
        "predicted_seconds": {},
        "why": "1 different items are few enough to miss none",
    }
    assert receipt["recall_at_threshold"] == 1.0
    assert la.pairs(["one two three"] * 3, method="dcm").receipt["choice"]["method"] == "dcm"


def near_copies(count: int) -> list[str]:
    """Texts of 60 words, no two equal, any two with a Jaccard similarity of 56 / (56 + 2)."""
    return [" ".join([f"w{j}" for j in range(60)] + [f"x{i}"]) for i in range(count)]


def test_the_size_of_the_answer_is_foretold() -> None:
    receipt = la.pairs(near_copies(PLANNER_SAMPLE + 500), threshold=0.9).receipt
    pairs = (PLANNER_SAMPLE + 500) * (PLANNER_SAMPLE + 499) // 2
    assert receipt["counts"]["pairs"] == pairs
    assert abs(receipt["counts"]["expected_pairs"] / pairs - 1) < 0.01


def test_a_hopeless_answer_is_refused_before_the_work() -> None:
    with pytest.raises(
        TooManyPairs,
        match=r"^about 3,12\d,\d+ pairs are to be expected, far more than `max_pairs=1,000`. "
        r"The largest crowds: about 2,500 look-alikes: \d+ \('w0 w1 w2 .*Ask for dedup or for groups",
    ):
        la.pairs(near_copies(PLANNER_SAMPLE + 500), threshold=0.9, max_pairs=1000)


def test_a_few_pairs_in_the_sample_prove_nothing() -> None:
    AnswerSize(0, 10**9, 29, []).check(1, str, cross=False)
    with pytest.raises(TooManyPairs):
        AnswerSize(0, 10**9, 30, []).check(1, str, cross=False)


def test_copies_count_before_anything_is_compared() -> None:
    texts = ["one two three four five six"] * 60 + [f"{n} b c d e f" for n in range(10)]
    with pytest.raises(TooManyPairs) as caught:
        la.pairs(texts, max_pairs=1000)
    assert str(caught.value).startswith(
        "the answer has at least 1,770 pairs, more than `max_pairs=1,000`. "
        "The largest crowds: 60 copies: 0 ('one two three four five six'), 1 ('one two three four five six'), 2 ("
    )
    with pytest.raises(TooManyPairs, match=r"at least 1,800 pairs"):
        la.pairs(texts[:60], against=texts[:30], max_pairs=1000)


def test_a_result_folder_of_groups_leaves_out_pairs_beyond_the_limit(tmp_path: Path) -> None:
    texts = ["one two three four five six"] * 60
    for number, result in enumerate([la.groups(texts, max_pairs=1000), la.dedup(texts, max_pairs=1000)]):
        folder = result.save(tmp_path / str(number))
        assert not (folder / "pairs.parquet").exists()
        receipt = json.loads((folder / "receipt.json").read_text())
        assert not receipt["pairs_complete"]
        assert receipt["warnings"] == [
            f"{folder} has no pairs.parquet: the pairs of equal items are more than `max_pairs=1,000`."
        ]
        assert open_result(folder).tables["groups"].num_rows == 60
        assert "pairs" not in open_result(result).tables
        with pytest.raises(TooManyPairs, match="the answer has 1,770 pairs"):
            _ = result.pairs


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        (la.pairs, "Ask for dedup or for groups (components or stars) instead, raise"),
        (partial(la.groups, grouping="cliques"), "Ask for dedup or for groups (components or stars) instead, raise"),
        (partial(la.pairs, against=near_copies(30)), "Raise"),
        (partial(la.dedup, against=near_copies(30)), "Raise"),
        (la.groups, "Use `method='lsh'`, which groups near-copies without listing their pairs, raise"),
        (la.dedup, "Use `method='lsh'`, which groups near-copies without listing their pairs, raise"),
    ],
)
def test_advice_about_too_many_pairs_depends_on_what_was_asked(asked: Callable[..., Any], advice: str) -> None:
    with pytest.raises(TooManyPairs) as caught:
        asked(near_copies(30), threshold=0.9, max_pairs=5)
    assert str(caught.value).endswith(
        f". {advice} the threshold, drop boilerplate with `max_share`, or raise `max_pairs`."
    )


def test_groups_of_crowded_buckets_are_not_joined_exactly() -> None:
    made = la.groups(near_copies(PLANNER_SAMPLE + 500), threshold=0.9)
    assert made.receipt["choice"]["why"] == "buckets are crowded with near-copies: groups are made straight from them"
    assert made.groups.num_rows == PLANNER_SAMPLE + 500
    assert set(made.groups["size"].to_pylist()) == {PLANNER_SAMPLE + 500}


def boilerplate(count: int, place: str) -> list[str]:
    """Texts of 40 their own words and 60 that all share; every tenth is a near-copy of the one before."""
    rng = np.random.default_rng(7)
    own = [[f"w{word}" for word in rng.integers(0, 1 << 40, 40)] for _ in range(count)]
    for number in range(9, count, 10):
        own[number] = [*own[number - 1][:39], "edited"]
    shared = [f"shared{word}" for word in range(60)]
    return [" ".join([*shared, *words] if place == "header" else [*words, *shared]) for words in own]


@pytest.mark.parametrize("place", ["header", "footer"])
@pytest.mark.parametrize("threshold", [0.45, 0.5, 0.6])
def test_shared_boilerplate_leaves_the_candidates_linear(place: str, threshold: float) -> None:
    """Any two texts have a similarity of about 0.4: buckets and lists of common shingles hold nearly every pair."""
    texts = boilerplate(2 * PLANNER_SAMPLE, place)
    for ask in (la.pairs, la.groups, la.dedup):
        receipt = ask(texts, threshold=threshold).receipt
        assert (receipt["choice"]["method"], receipt["choice"]["way"]) == ("exact", "prefixes")
        assert receipt["counts"]["candidates"] < len(texts)
    assert la.pairs(texts, threshold=threshold).receipt["counts"]["pairs"] == len(texts) // 10
