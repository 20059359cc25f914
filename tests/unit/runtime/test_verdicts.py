"""Verdicts in a run: judged items are found by id or by content, and the pairs are those of a plain enumeration."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.arrays import Pairs
from lookalike.core.exact_duplicates import classes_of, expand
from lookalike.core.method_choice import Choice
from lookalike.errors import InputError, TooManyPairs, UsageError
from lookalike.io.contents import content_hash
from lookalike.io.verdicts import Verdicts
from lookalike.runtime.run_output import RunOutput
from lookalike.runtime.verdicts import MatchedVerdicts, with_verdicts

TEXTS = ["a rose is a rose", "a rose is a rose", "a rose is a lily", "a lily is a lily", "quite another thing", ""]


def verdict(left: Any, right: Any, said: str) -> dict[str, Any]:
    return {"left": left, "right": right, "verdict": said}


@given(
    labels=st.lists(st.integers(-1, 4), min_size=8, max_size=8),
    near=st.sets(st.sampled_from(list(combinations(range(5), 2)))),
    same=st.sets(st.sampled_from(list(combinations(range(8), 2))), max_size=3),
    different=st.sets(st.sampled_from(list(combinations(range(8), 2))), max_size=3),
    split=st.sampled_from([-1, 4]),
)
@settings(max_examples=150)
def test_pairs_are_those_found_without_the_different_and_with_the_same(
    labels: list[int], near: set[tuple[int, int]], same: set[tuple[int, int]], different: set[tuple[int, int]],
    split: int,
) -> None:  # fmt: skip
    """labels: the class of equal items of each item, -1 for an empty one; near: which classes are pairs."""
    across = [pair for pair in combinations(range(8), 2) if split < 0 or pair[0] < split <= pair[1]]
    same, different = (one & set(across) for one in (same, different - same))
    order = np.array(sorted((item for item in range(8) if labels[item] >= 0), key=lambda item: labels[item]), np.int64)
    starts = np.array([at == 0 or labels[order[at]] != labels[order[at - 1]] for at in range(len(order))], np.bool_)
    classes = classes_of(order, starts)
    number = classes.class_of(8)
    of_label = {labels[item]: int(number[item]) for item in order.tolist()}
    found = sorted(
        (min(of_label[a], of_label[b]), max(of_label[a], of_label[b])) for a, b in near if {a, b} <= of_label.keys()
    )
    left, right = np.array(found, np.int64).reshape(-1, 2).T
    ids = [pa.chunked_array([pa.array(range(8))])]
    before = RunOutput(
        ids, split, classes, np.ones(len(classes)), np.arange(len(classes)), Choice("exact", {}, ""),
        pairs=Pairs(left.copy(), right.copy(), np.full(len(found), 0.5)), preferred=np.arange(8),
    )  # fmt: skip
    after, changes = with_verdicts(before, MatchedVerdicts(same=sorted(same), different=sorted(different)))
    expected = {
        (a, b): 1.0 if labels[a] == labels[b] else 0.5
        for a, b in across
        if min(labels[a], labels[b]) >= 0
        and (labels[a] == labels[b] or (min(labels[a], labels[b]), max(labels[a], labels[b])) in near)
    }
    known = len(expected)
    expected = {pair: score for pair, score in expected.items() if pair not in different}
    assert changes["removed_pairs"] == known - len(expected)
    expected |= {pair: np.inf for pair in same if pair not in expected}
    assert after.pairs is not None
    made = expand(after.pairs, after.classes, after.own, split=split, limit=1000)
    assert (
        dict(zip(zip(made.left.tolist(), made.right.tolist(), strict=True), made.similarity, strict=True)) == expected
    )
    assert sorted(after.order.tolist()) == list(range(len(after.classes)))


def test_groups_pairs_and_dedup_honour_verdicts() -> None:
    judged = [verdict(0, 1, "different"), verdict(4, 5, "same"), verdict(2, 3, "unsure")]
    made = la.groups(TEXTS, k=1, threshold=0.7, verdicts=judged)
    members = [(row["id"], row["group"]) for row in made.groups.to_pylist()]
    assert members == [(0, 0), (2, 0), (3, 0), (4, 1), (5, 1)]
    assert made.receipt["verdicts"]["cuts"] == 1
    assert made.receipt["verdicts"]["cut_pairs"] == [[1, 2]]
    pairs = la.pairs(TEXTS, k=1, threshold=0.7, verdicts=judged).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in pairs] == [(0, 2), (1, 2), (2, 3), (4, 5)]
    assert pairs[-1] == {"left": 4, "right": 5, "similarity": None, "verdict": "same"}
    result = la.dedup(TEXTS, k=1, threshold=0.7, verdicts=judged)
    assert result.removed.to_pylist() == [
        {"id": 2, "kept": 0, "similarity": 0.75}, {"id": 5, "kept": 4, "similarity": None},
    ]  # fmt: skip
    assert len(result.rethreshold(0.9).pairs) == 1  # a pair judged the same stays at every threshold


@pytest.mark.promise(
    "docs/how-to/review.md", 'cannot all hold: "different" holds, and a warning names the pair that had to part'
)
def test_verdicts_that_contradict_one_another() -> None:
    judged = [verdict(0, 2, "same"), verdict(2, 3, "same"), verdict(0, 3, "different")]
    made = la.groups(TEXTS, k=1, threshold=0.7, verdicts=judged)
    group = dict(zip(made.groups["id"].to_pylist(), made.groups["group"].to_pylist(), strict=True))
    assert group[0] == group[2] and group.get(3) != group[0]  # noqa: PT018
    words = "2 and 3 were judged the same, but other verdicts keep them apart; they are in different groups."
    assert made.receipt["warnings"] == [words]
    assert made.receipt["verdicts"]["contradictions"] == 1


@pytest.mark.promise(
    "docs/how-to/review.md", "With verdicts, groups are always made from a list of pairs; `--max-pairs` limits it"
)
def test_groups_from_crowded_buckets_are_made_from_pairs_instead() -> None:
    crowd = [f"one and the same text {i % 7} of many" for i in range(300)]
    assert la.groups(crowd, threshold=0.3, method="lsh").found.links is None
    made = la.groups(crowd, threshold=0.3, method="lsh", verdicts=[verdict(0, 1, "different")])
    group = made.groups.filter(pc.less(made.groups["id"], 2))["group"].to_pylist()
    assert len(set(group)) == 2
    with pytest.raises(TooManyPairs):
        la.groups(crowd, threshold=0.3, max_pairs=10, verdicts=[verdict(0, 1, "different")])


def test_representatives_are_chosen() -> None:
    judged = [{"left": 2, "verdict": "representative"}]
    made = la.groups(TEXTS, k=1, threshold=0.5, verdicts=judged).groups
    assert set(made["representative"].to_pylist()) == {2}
    assert la.dedup(TEXTS, k=1, threshold=0.5, verdicts=judged).kept_count == 3


def test_two_collections() -> None:
    left, right = ["one two three", "four five six"], ["one two three", "one two three four"]
    judged = [verdict(0, 0, "different"), verdict(1, 1, "same")]
    made = la.pairs(left, against=right, k=1, threshold=0.5, verdicts=judged).pairs
    assert [(row["left"], row["right"]) for row in made.to_pylist()] == [(0, 1), (1, 1)]
    kept = la.dedup(left, against=right, k=1, threshold=0.8, verdicts=judged)
    assert kept.removed.to_pylist() == [{"id": 1, "kept": 1, "similarity": None}]


def hashed(texts: list[str], left: int, right: int, said: str) -> dict[str, Any]:
    hashes = {f"{side}_hash": content_hash({"text": texts[at]}) for side, at in (("left", left), ("right", right))}
    return verdict(left, right, said) | hashes


@pytest.mark.promise("docs/how-to/review.md", "The receipt counts what was found by id, by contents and not at all")
def test_items_are_known_by_their_contents_where_row_numbers_changed() -> None:
    judged = [hashed(TEXTS, 0, 2, "different"), hashed(TEXTS, 3, 4, "same")]
    moved = ["something new", *TEXTS]
    made = la.pairs(moved, k=1, threshold=0.7, verdicts=judged)
    assert made.receipt["verdicts"]["found_by_content"] == 4
    assert {(row["left"], row["right"]) for row in made.pairs.to_pylist()} == {(1, 2), (2, 3), (3, 4), (4, 5)}
    gone = la.pairs(["something", "else"], k=1, verdicts=judged)
    assert gone.receipt["verdicts"]["not_in_the_input"] == 2
    assert "2 of 2 verdicts are on items that the input does not have" in gone.receipt["warnings"][0]


def test_ids_of_the_user_outlive_a_change_of_the_contents() -> None:
    judged = [{**hashed(TEXTS, 0, 2, "different"), "left": "a", "right": "c"}]
    table = pa.table({"id": ["a", "b", "c"], "text": ["a rose is a rose indeed", "a rose", "a rose is a lily"]})
    made = la.pairs(table, k=1, threshold=0.3, verdicts=judged)
    assert made.receipt["verdicts"]["changed_since"] == 1
    assert ("a", "c") not in {(row["left"], row["right"]) for row in made.pairs.to_pylist()}


@pytest.mark.promise("docs/how-to/review.md", "goes with `pairs`, `groups` and `dedup` of every kind of item")
def test_every_kind_honours_verdicts() -> None:
    people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    given = [verdict(0, 2, "different"), verdict(0, 1, "same")]
    of = {
        "records": lambda: la.records.pairs(people, threshold=0.6, verdicts=given),
        "vectors": lambda: la.vectors.pairs(np.array([[0, 0], [9, 9], [0, 1]]), max_distance=1, verdicts=given),
        "bits": lambda: la.bits.pairs(["ff00", "0f0f", "ff01"], max_bits=2, verdicts=given),
        "strings": lambda: la.strings.pairs(["kitten", "dog", "mitten"], verdicts=given),
        "baskets": lambda: la.baskets.pairs([["a", "b"], ["z"], ["a", "b", "c"]], threshold=0.5, verdicts=given),
        "faces": lambda: la.faces.pairs(np.array([[0, 50], [99, 0], [1, 51]]), threshold=1.0, verdicts=given),
    }
    for name, run in of.items():
        pairs = [(row["left"], row["right"]) for row in run().pairs.to_pylist()]
        assert pairs == [(0, 1)], name


def test_images_honour_verdicts(tmp_path: Path) -> None:
    from PIL import Image

    random = np.random.default_rng(1)
    one, other = (np.kron(random.integers(0, 255, (8, 8)), np.ones((16, 16))).astype(np.uint8) for _ in range(2))
    for name, pixels in (("a", one), ("b", one), ("c", other)):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
    assert len(la.images.pairs(tmp_path, parts=False).pairs) == 1
    verdicts = Verdicts(tmp_path.parent / "judged.jsonl")
    verdicts.add("a.png", "b.png", "different")
    verdicts.add("a.png", "c.png", "same")
    made = la.images.groups(tmp_path, parts=False, verdicts=verdicts.path).groups
    assert made["id"].to_pylist() == ["a.png", "c.png"]


def test_verdicts_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no such file of verdicts: .*gone\.jsonl\.$"):
        la.pairs(TEXTS, verdicts=tmp_path / "gone.jsonl")
    with pytest.raises(
        InputError, match=r"verdict 1 has the verdict 'sane'; expected same, different, unsure\. Nearest"
    ):
        la.pairs(TEXTS, verdicts=[verdict(0, 1, "sane")])
    with pytest.raises(UsageError, match=r"^`verdicts` are honoured on one machine; on Spark leave them out\.$"):
        la.pairs(TEXTS, engine="spark", verdicts=[verdict(0, 1, "same")])
