"""Codes of bits: every way to join gives the pairs of a comparison of all, in numbers, text and bytes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import TooManyPairs, UsageError
from lookalike.kinds.bits import joins as engine
from oracles import bits_apart


def codes(count: int, width: int, seed: int = 1, *, near: int = 6) -> list[int]:
    """Half of them random, half copies of these with a few bits turned, one in ten an exact copy."""
    draw = random.Random(seed)
    out = [draw.getrandbits(width) for _ in range(count // 2)]
    for number in range(count - len(out)):
        code = draw.choice(out)
        for _ in range(0 if number % 10 == 0 else draw.randint(1, near)):
            code ^= 1 << draw.randrange(width)
        out.append(code)
    return out


def as_hex(values: list[int], width: int) -> pa.Table:
    return pa.table({"code": [f"{value:0{-(-width // 4)}x}" for value in values]})


def truth(left: list[int], most: int, right: list[int] | None = None) -> dict[tuple[int, int], float]:
    if right is None:
        pairs = ((i, j, a, b) for j, b in enumerate(left) for i, a in enumerate(left[:j]))
    else:
        pairs = ((i, j, a, b) for i, a in enumerate(left) for j, b in enumerate(right))
    return {(i, j): float(bits_apart(a, b)) for i, j, a, b in pairs if bits_apart(a, b) <= most}


def found(result: Any) -> dict[tuple[int, int], float]:
    rows = result.pairs.to_pylist()
    out = {(row["left"], row["right"]): row["distance"] for row in rows}
    assert len(out) == len(rows)
    return out


@pytest.mark.parametrize(("width", "most"), [(64, 0), (64, 3), (64, 8), (7, 2), (16, 9), (100, 12), (300, 40)])
def test_the_exact_join_finds_every_pair(width: int, most: int) -> None:
    values = codes(400, width, near=most + 2)
    expected = truth(values, most)
    assert len(expected) > 20
    assert found(la.bits.pairs(as_hex(values, width), max_bits=most, method="exact")) == expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 255), min_size=1, max_size=30),
    st.integers(0, 12),
    st.booleans(),
)
def test_any_codes_at_any_distance(values: list[int], most: int, against: bool) -> None:
    array = np.array(values, np.uint64)
    if against:
        got = found(
            la.bits.pairs(array[: len(array) // 2], against=array[len(array) // 2 :], max_bits=most, method="exact")
        )
        assert got == truth(values[: len(values) // 2], most, values[len(values) // 2 :])
    else:
        assert found(la.bits.pairs(array, max_bits=most, method="exact")) == truth(values, most)


@pytest.mark.promise("docs/how-to/bits.md", "finds a pair at `--max-bits` itself with probability 0.99 or more")
@pytest.mark.parametrize(("width", "most"), [(64, 8), (64, 14), (256, 40)])
def test_the_approximate_join_keeps_its_promise(width: int, most: int) -> None:
    """Nothing false; at the threshold itself at least the requested share, over many pairs and several seeds."""
    values = [random.Random(seed).getrandbits(width) for seed in range(1500)]
    draw = random.Random(5)
    planted = {}
    for number in range(700):
        code = values[number]
        for bit in draw.sample(range(width), most):
            code ^= 1 << bit
        planted[number, len(values)] = float(most)
        values.append(code)
    expected, hits = truth(values, most), 0
    for seed in (1, 2, 3):
        result = la.bits.pairs(as_hex(values, width), max_bits=most, method="lsh", recall=0.9, seed=seed)
        got = found(result)
        assert got.items() <= expected.items()
        hits += len(got.keys() & planted.keys())
        plan, measured = result.receipt["plan"], result.receipt["recall_measured"]
        assert plan["recall_at_threshold"] >= 0.9
        assert measured["true_pairs"] > 0
        assert abs(measured["recall"] - len(got) / len(expected)) < 0.1
    wish = 3 * len(planted) * 0.9
    assert hits > wish - 5 * (wish * 0.1 * 3) ** 0.5


def test_the_audit_looks_at_exactly_the_pairs_of_its_sample() -> None:
    values = codes(900, 64)
    result = la.bits.pairs(np.array(values, np.uint64), max_bits=6, method="lsh", audit=10**6)
    measured = result.receipt["recall_measured"]
    classes = dict.fromkeys(values)
    distinct = truth(list(classes), 6)
    assert measured["sampled"] == len(classes)
    assert measured["true_pairs"] == len(distinct)
    assert measured["found_pairs"] == len(
        {frozenset((values[i], values[j])) for (i, j), d in found(result).items() if d > 0}
    )


@pytest.mark.parametrize("method", ["exact", "lsh", "auto"])
def test_threads_do_not_matter(method: Any) -> None:
    array = np.array(codes(800, 64), np.uint64)
    one, three = (la.bits.pairs(array, method=method, threads=n).pairs for n in (1, 3))
    assert one.equals(three)


def test_the_same_codes_in_every_form() -> None:
    values = codes(60, 64)
    words = np.array(values, np.uint64)
    forms: list[Any] = [
        words, words.view(np.int64), values, pa.array(words), as_hex(values, 64),
        pa.table({"h": [f"0x{v:016X}" for v in values]}), [f"{v:064b}" for v in values],
        [v.to_bytes(8, "big") for v in values], pa.array([v.to_bytes(8, "big") for v in values], pa.binary(8)),
        words[:, None], words.view(np.uint8).reshape(-1, 8),
        np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1).astype(bool),
    ]  # fmt: skip
    expected = truth(values, 6)
    for form in forms:
        assert found(la.bits.pairs(form, max_bits=6)) == expected, type(form)
    assert found(la.bits.pairs([str(v) for v in values], max_bits=6, form="int")) == expected


def test_a_missing_code_matches_nothing() -> None:
    result = la.bits.pairs(pa.array([None, 5, None, 5], pa.int32()), max_bits=32)
    assert found(result) == {(1, 3): 0.0}
    assert result.receipt["counts"]["null_texts"] == 2


def test_bits_that_never_vary_are_no_key() -> None:
    values = [(1 << 40) | i for i in range(300)]
    assert found(la.bits.pairs(np.array(values), max_bits=2, method="exact")) == truth(values, 2)


@pytest.mark.promise("docs/how-to/bits.md", "work as those of documents do, with the same outputs")
def test_groups_and_dedup() -> None:
    values = [0, 1, 3, 7, 255 << 30, (255 << 30) | 1]
    made = la.bits.groups(np.array(values), max_bits=1)
    assert made.groups["id"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert made.groups["group"].to_pylist() == [0, 0, 0, 0, 1, 1]
    done = la.bits.dedup(np.array([*values, 15 << 8]), max_bits=3)
    assert [(row["id"], row["kept"], row["distance"]) for row in done.removed.to_pylist()] == [
        (1, 0, 1.0), (2, 0, 2.0), (3, 0, 3.0), (5, 4, 1.0),
    ]  # fmt: skip
    assert done.kept.num_rows == 3


def test_a_stricter_bound_without_another_run() -> None:
    values = codes(300, 64)
    result = la.bits.pairs(np.array(values, np.uint64), max_bits=6)
    assert found(result.rethreshold(2)) == truth(values, 2)
    with pytest.raises(UsageError, match="pairs beyond 6 were not looked for"):
        result.rethreshold(7)


def test_too_many_pairs_are_refused_before_the_work() -> None:
    array = np.arange(3000, dtype=np.uint64)
    with pytest.raises(TooManyPairs, match=r"about 4,\d+,\d+ pairs .* a sample of 2,000 codes .* Lower `max_bits`"):
        la.bits.pairs(array, max_bits=12, max_pairs=1000)
    with pytest.raises(TooManyPairs, match=r"more than 10 pairs \(`max_pairs`\) are within the threshold"):
        la.bits.pairs(array[:100], max_bits=7, max_pairs=10)


def test_room_for_more_pairs_than_a_task_has_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MIN_PAIR_BUFFER", 1)
    values = codes(500, 16, near=3)
    assert found(la.bits.pairs(as_hex(values, 16), max_bits=5, method="exact")) == truth(values, 5)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"max_bits": -1}, "max_bits is -1; expected a whole number of bits that may differ, 0 or more."),
        ({"max_bits": 1.5}, "max_bits is 1.5; expected a whole number"),
        ({"method": "dcm"}, "method 'dcm' is unknown."),
        ({"recall": 1.0}, "recall is 1.0; expected a number above 0 and below 1."),
        ({"form": "octal"}, "form 'octal' is unknown."),
        ({"threads": 0}, "threads is 0; expected at least 1."),
        ({"max_pairs": 0}, "max_pairs is 0; expected at least 1."),
    ],
)
def test_options_that_cannot_work(options: Any, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        la.bits.pairs([1, 2], **options)
    assert line in str(caught.value)


def test_two_lengths_of_codes() -> None:
    with pytest.raises(
        UsageError, match="the codes of the list have 16 bits, those of the list 8; expected codes of one"
    ):
        la.bits.pairs(["ff"], against=["ffff"])


@pytest.mark.parametrize("method", ["exact", "lsh", "auto"])
def test_nothing_to_compare(method: Any) -> None:
    for none in (np.empty(0, np.uint64), [], pa.array([None], pa.int64())):
        assert la.bits.pairs(none, method=method).pairs.num_rows == 0
        assert la.bits.dedup(none, method=method).removed.num_rows == 0
