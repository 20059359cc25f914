"""Shared passages: the guarantee, places, what does not count, and who is compared with whom."""

from __future__ import annotations

import random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import ColumnNotFound, TooManyPairs, UsageError
from lookalike.kinds.passages import local as engine
from lookalike.kinds.passages.inverted_lists import lists_of
from lookalike.kinds.passages.spec import PassageJob
from passage_oracles import maximal_runs, repeating

WORDS = [f"w{i}" for i in range(4000)]


def rows(found: la.Passages) -> list[tuple[int, int, int, int, int, int]]:
    """(left, right, and the places in tokens), in order."""
    return [tuple(row[:6]) for row in found.shared.rows.tolist()]


def written(tokens: list[int]) -> str:
    return " ".join(f"w{token}" for token in tokens)


def noise(rng: random.Random, n: int) -> list[str]:
    return [rng.choice(WORDS) for _ in range(n)]


# the guarantee


@pytest.mark.promise("docs/how-to/passages.md", "that two documents share is found")
@pytest.mark.promise("docs/how-to/group-the-same-story.md", "Passages of at least `--min-tokens` words are all found")
@pytest.mark.promise("docs/how-to/detect-plagiarism.md", "finds the shared runs of at least 12 words")
@given(
    st.integers(2, 30).flatmap(
        lambda most: st.lists(st.lists(st.integers(0, most), max_size=45), min_size=2, max_size=4)
    ),
    st.integers(1, 4),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40), st.integers(0, 40)), max_size=2),
    st.sampled_from([0, 0, 3]),
)
@example(tokens=[[0, 1, 1, 0, 0], [1, 1, 0, 0]], k=1, w=2, copies=[], gap=3)  # a bridge that enters the run half-way
@settings(max_examples=400, deadline=None)
def test_every_shared_run_is_found_and_nothing_else(
    tokens: list[list[int]], k: int, w: int, copies: list[Any], gap: int
) -> None:
    for source, target, at, length in copies:  # so that long runs are common
        part = tokens[source % len(tokens)][at : at + length]
        tokens[target % len(tokens)][at // 2 : at // 2] = part
    with mock.patch.object(engine, "PASSAGE_BUFFER", 1):
        found = la.passages([written(one) for one in tokens], k=k, min_tokens=w + k - 1, gap=gap, threads=1)
    assert found.job.guaranteed == (w if gap == 0 else min(w, 3)) + k - 1
    reported = rows(found)
    for left in range(len(tokens)):
        for right in range(left + 1, len(tokens)):
            x, y = tokens[left], tokens[right]
            runs = maximal_runs(x, y, w + k - 1)
            mine = [row[2:] for row in reported if row[:2] == (left, right)]
            if gap == 0:
                assert {(a, c, b - a) for a, b, c, d in mine} <= set(runs)
                assert all(b - a == d - c for a, b, c, d in mine)
            for i, j, n in runs:
                stated_facts = any(a <= i and i + n <= b and c <= j and j + n <= d for a, b, c, d in mine)
                loops = [(s, e) for s, e in repeating(x, k, w) if s < i + n and i < e]
                loops += [(s, e) for s, e in repeating(y, k, w) if s < j + n and j < e]
                assert stated_facts or loops


@pytest.mark.parametrize("position", ["start", "middle", "end"])
@pytest.mark.parametrize("least", [5, 12, 25])
def test_a_run_of_the_least_length_is_found_wherever_it_stands(least: int, position: str) -> None:
    rng = random.Random(f"{least} {position}")
    texts, spans = [], []
    for _ in range(40):
        quoted = noise(rng, least)
        for _ in range(2):
            before = noise(rng, 0 if position == "start" else rng.randint(1, 60))
            after = noise(rng, 0 if position == "end" else rng.randint(1, 60))
            start = len(" ".join(before)) + (1 if before else 0)
            spans.append((start, start + len(" ".join(quoted))))
            texts.append(" ".join(before + quoted + after))
    table = la.passages(texts, min_tokens=least).passages.to_pylist()
    hits = {
        (row["left"], row["right"]): row for row in table if row["right"] == row["left"] + 1 and row["left"] % 2 == 0
    }
    assert len(hits) == 40
    for left, row in ((left, row) for (left, _), row in hits.items()):
        assert row["left_start"] <= spans[left][0]
        assert row["left_end"] >= spans[left][1]
        assert row["right_start"] <= spans[left + 1][0]
        assert row["right_end"] >= spans[left + 1][1]


def test_passages_in_another_order_and_more_than_once() -> None:
    rng = random.Random(1)
    one, two = noise(rng, 20), noise(rng, 20)
    found = la.passages(
        [" ".join(one + noise(rng, 5) + two), " ".join(two + noise(rng, 9) + one + noise(rng, 3) + two)]
    )
    assert [(r[2:4], r[4:6]) for r in rows(found)] == [
        ((0, 20), (29, 49)),
        ((25, 45), (0, 20)),
        ((25, 45), (52, 72)),
    ]
    assert found.pairs.to_pylist() == [
        {
            "left": 0,
            "right": 1,
            "shared_tokens": 40,
            "left_in_right": 40 / 45,
            "right_in_left": 60 / 72,
            "longest": 20,
            "passages": 3,
        }
    ]


def test_a_passage_inside_a_longer_one_is_not_told_again() -> None:
    rng = random.Random(2)
    phrase = noise(rng, 14)
    quoted = phrase + noise(rng, 3) + phrase
    found = la.passages([" ".join(quoted), " ".join(noise(rng, 4) + quoted)])
    assert rows(found) == [(0, 1, 0, 31, 4, 35)]


def test_places_are_characters_of_the_text_as_it_stands() -> None:
    quoted = "Die Straße nach 漢字 ist für Ülf's Çafé — weit, 😀 sehr weit von hier!"
    left, right = f"😀😀 Erstens: {quoted}", f"…{quoted.upper()}… Schluß"
    row = la.passages([left, right], min_tokens=8).passages.to_pylist()[0]
    assert left[row["left_start"] : row["left_end"]] == quoted[:-1]
    assert right[row["right_start"] : row["right_end"]] == quoted.upper()[:-1]


# edits


@pytest.mark.parametrize(
    ("edited", "gap"),
    [
        (lambda q: [*q[:10], "changed", *q[11:]], 1),
        (lambda q: [*q[:10], "put", "in", *q[10:]], 2),
        (lambda q: q[:10] + q[13:], 3),
        (lambda q: [*q[:7], "a", *q[8:14], "b", "c", *q[15:22], *q[24:]], 2),
    ],
)
def test_edits_are_bridged_on_wish(edited: Any, gap: int) -> None:
    rng = random.Random(3)
    quoted = noise(rng, 30)
    changed = edited(quoted)
    texts = [" ".join(noise(rng, 9) + quoted + noise(rng, 9)), " ".join(noise(rng, 4) + changed + noise(rng, 4))]
    assert rows(la.passages(texts, gap=gap)) == [(0, 1, 9, 39, 4, 4 + len(changed))]
    assert all(row[3] - row[2] < 30 for row in rows(la.passages(texts)))


def test_a_text_that_echoes_itself_is_told_once_where_edits_are_bridged() -> None:
    words = ["best", "worst", "wise", "fool", "belief", "doubt", "light", "dark", "hope", "despair", "all", "nothing"]
    text = " ".join(f"it was the {word} of the {word}s and" for word in words)
    texts = [f"one two {text} three", f"{text} four five"]
    assert rows(la.passages(texts, gap=4)) == [(0, 1, 2, 98, 0, 96)]


def test_a_bridge_must_pay() -> None:
    rng = random.Random(4)
    quoted = noise(rng, 20)
    texts = [
        " ".join(quoted + noise(rng, 6) + ["of", "the", "sea"]),
        " ".join(quoted + noise(rng, 6) + ["of", "the", "sea"]),
    ]
    assert rows(la.passages(texts, gap=8)) == [(0, 1, 0, 20, 0, 20)]


def test_text_of_three_words_does_not_bridge_without_end() -> None:
    rng = random.Random(13)
    texts = [" ".join(rng.choice("abc") for _ in range(6000)) for _ in range(2)]
    found = la.passages(texts, gap=8)
    assert found.receipt["warnings"][0].startswith("in 1 pair whose text repeats itself very much")
    assert found.passages.num_rows > 10


# what does not count


@pytest.mark.promise("docs/how-to/passages.md", "a passage never starts or ends in it")
def test_a_template_does_not_count() -> None:
    rng = random.Random(5)
    template, copied = noise(rng, 50), noise(rng, 20)
    texts = [
        " ".join(template + copied + noise(rng, 9)),
        " ".join(template + noise(rng, 9)),
        " ".join(template + copied),
    ]
    assert len(la.passages(texts).pairs) == 3
    found = la.passages(texts, template=" ".join(template))
    assert rows(found) == [(0, 2, 50, 70, 50, 70)]
    assert found.pairs["left_in_right"].to_pylist() == [20 / 29]
    assert found.pairs["right_in_left"].to_pylist() == [1.0]


@pytest.mark.promise("docs/how-to/passages.md", "A run that crosses boilerplate continues after it")
def test_a_template_between_two_parts_of_a_copy_is_crossed_but_not_counted() -> None:
    rng = random.Random(6)
    template, one, two = noise(rng, 30), noise(rng, 10), noise(rng, 10)
    whole = " ".join(one + template + two)
    table = la.passages([whole, whole], template=" ".join(template)).passages.to_pylist()
    assert [(row["left_start"], row["left_end"], row["tokens"]) for row in table] == [(0, len(whole), 20)]


def test_what_stands_in_too_many_documents_does_not_count() -> None:
    rng = random.Random(7)
    footer, copied = noise(rng, 40), noise(rng, 20)
    texts = [" ".join(noise(rng, 30) + (copied if i in (3, 7) else []) + footer) for i in range(10)]
    assert len(la.passages(texts, max_share=1.0).pairs) == 45
    found = la.passages(texts, max_share=0.2)
    assert [(row[0], row[1], row[3] - row[2]) for row in rows(found)] == [(3, 7, 20)]
    assert found.receipt["boilerplate"][0]["tokens"] == 40
    assert found.receipt["boilerplate"][0]["count"] == 10
    assert found.receipt["boilerplate"][0]["text"] == " ".join(footer)[:120] + "..."


def test_boilerplate_that_would_make_all_pairs_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_SEEDS", 1000)
    monkeypatch.setattr(engine, "SEEDS_PER_PRINT", 0)
    rng = random.Random(8)
    header, copied = noise(rng, 60), noise(rng, 30)
    texts = [" ".join(header + (copied if i % 50 == 7 else []) + noise(rng, 20)) for i in range(100)]
    found = la.passages(texts)
    assert [(row[0], row[1], row[2], row[3]) for row in rows(found)] == [(7, 57, 60, 90)]
    (warning,) = found.receipt["warnings"]
    assert "boilerplate would have made" in warning
    assert found.receipt["boilerplate"][0]["text"].startswith(" ".join(header[:10]))
    assert found.receipt["boilerplate"][0]["count"] == 100


def test_common_shingles_that_abut_are_one_stretch() -> None:
    first, second = "alpha beta gamma delta epsilon", "zeta eta theta iota kappa"
    texts = [
        f"own{i} words{i} here{i} {common} more{i} own{i} text{i}" for i in range(10) for common in (first, second)
    ]
    texts.append(f"x y z {first} {second} u v w")
    for swap in (False, True):  # whichever shingle has the highest hash
        words = {"alpha": "omega", "kappa": "psi"} if swap else {}
        swapped = [" ".join(words.get(word, word) for word in text.split()) for text in texts]
        found = la.passages(swapped, max_share=0.2, min_tokens=6)
        assert found.receipt["boilerplate"][0]["tokens"] == 10
        assert found.receipt["boilerplate"][0]["count"] == 11
        assert found.receipt["counts"]["common_shingles"] == 2


def test_what_looks_like_boilerplate_is_told() -> None:
    rng = random.Random(12)
    footer = noise(rng, 30)
    texts = [" ".join(noise(rng, 20) + footer) for _ in range(25)]
    (warning,) = la.passages(texts).receipt["warnings"]
    assert warning.endswith("occurs 25 times. If that is boilerplate, leave it out with `max_share` or `template`.")
    assert warning.split('"')[1] in " ".join(footer)
    assert la.passages(texts[:15]).receipt["warnings"] == []


# who is compared with whom


def test_references_are_compared_one_way() -> None:
    rng = random.Random(9)
    a, b = noise(rng, 20), noise(rng, 20)
    table = la.passages([" ".join(a), " ".join(a), "else"], against=[" ".join(b), " ".join(a), " ".join(a)]).pairs
    assert [(row["left"], row["right"]) for row in table.to_pylist()] == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_files_of_one_author_are_not_compared() -> None:
    same = " ".join(noise(random.Random(10), 20))
    table = pa.table({"id": ["a1", "a2", "b", "x", "y"], "text": [same] * 5, "who": ["a", "a", "b", None, None]})
    pairs = la.passages(table, author="who").pairs.to_pylist()
    assert ("a1", "a2") not in {(row["left"], row["right"]) for row in pairs}
    assert len(pairs) == 9  # documents without an author are each their own
    with pytest.raises(ColumnNotFound, match=r"no column 'whom'.*Nearest: 'who'"):
        la.passages(table, author="whom")


def test_threads_and_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    shared = [noise(rng, 15) for _ in range(6)]
    texts = [" ".join(noise(rng, 40) + rng.choice(shared) + noise(rng, 5) + rng.choice(shared)) for _ in range(60)]
    once = la.passages(texts, threads=1)
    monkeypatch.setattr(engine, "TOKENS_PER_TASK", 100)
    again = la.passages(texts, threads=3)
    assert once.passages.equals(again.passages)
    assert once.pairs.equals(again.pairs)
    assert once.passages.num_rows > 100


def test_hashes_that_differ_only_in_low_bits_are_told_apart_by_the_tokens() -> None:
    lists = lists_of(np.array([9 << 40, (9 << 40) + 1, 8 << 40], np.uint64))
    assert lists.sizes().tolist() == [1, 2]
    assert lists.order[lists.place].tolist() == [0, 1, 2]


# small and wrong things


@pytest.mark.parametrize("texts", [[], [""], ["", " \n", "one"], ["one two", "one two"]])
def test_nothing_shared_is_no_error(texts: list[str]) -> None:
    found = la.passages(texts)
    assert found.passages.num_rows == found.pairs.num_rows == 0
    assert found.passages.column_names[:4] == ["left", "right", "left_start", "left_end"]


def test_short_documents_can_be_found() -> None:
    assert la.passages(["one two", "one two three"], min_tokens=2).passages["tokens"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_tokens": -3}, "min_tokens is -3; expected at least 1"),
        ({"min_tokens": 3, "k": 5}, "min_tokens is 3; expected at least k, which is 5"),
        ({"min_tokens": 10, "window": 9}, "window is 9; a run of 10 tokens .* at most 6"),
        ({"gap": 99}, "gap is 99; expected 0 to 64"),
        ({"max_share": 0.0}, "max_share is 0.0; expected a share above 0"),
        ({"threads": 0}, "threads is 0"),
        ({"max_pairs": 0}, "max_pairs is 0"),
        ({"language": "pyhton"}, "language 'pyhton' is unknown. Nearest: 'python'"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        la.passages(["a"], **options)


def test_token_lists_have_no_places() -> None:
    with pytest.raises(UsageError, match="passages needs text columns"):
        la.passages([["a", "b"]])


def test_too_many_passages_stop_the_search() -> None:
    with pytest.raises(TooManyPairs, match="more than 5 passages"):
        la.passages([" ".join(WORDS[:20])] * 9, max_pairs=5)


@pytest.mark.promise("docs/how-to/passages.md", "The minimum passage length is 24 tokens")
def test_what_is_derived() -> None:
    job = PassageJob()
    assert (job.k, job.min_tokens, job.window, job.guaranteed) == (5, 12, 8, 12)
    assert PassageJob(gap=5).guaranteed == 7
    assert PassageJob(language="python").guaranteed == 24
    assert PassageJob(min_tokens=3).k == 3
