"""Chances of a match by the fields, compared with all pairs and not only against the candidates."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kinds.records.comparisons import WholeRecords, compare
from lookalike.kinds.records.em import EMData, match_chances, rising_bits, weigh
from lookalike.kinds.records.em_three_class import fit_from_fields, fit_with_related_class
from lookalike.kinds.records.fields import Field, make_field
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.random_pairs import RandomPairs, draw_sharing
from lookalike.kinds.records.rules import FieldRule
from lookalike.kinds.records.threshold import learn

RECORDS, COPIES = 2000, 200


def people(seed: int, *, copies: int = COPIES, mail: bool = False) -> tuple[list[Field], int]:
    """Names that many share and a birth in three columns; the last records are copies of the first, with one slip."""
    rng = np.random.default_rng(seed)
    sizes = {"given": 60, "family": 150, "year": 60, "month": 12, "day": 28}
    names = {
        name: ["".join(rng.choice(list("abdeiklmnorstu"), 7)) for _ in range(sizes[name])]
        for name in ("given", "family")
    }
    drawn = {name: (size * rng.random(RECORDS) ** 1.5).astype(int) for name, size in sizes.items()}
    columns = {name: [names[name][v] if name in names else str(v + 1) for v in drawn[name]] for name in sizes}
    if mail:  # says the names again, and nothing else
        columns["mail"] = [f"{a} {b}" for a, b in zip(columns["given"], columns["family"], strict=True)]
    for n in range(copies):
        for values in columns.values():
            values[RECORDS - 1 - n] = values[n]
        slip = list(sizes)[n % len(sizes)]
        columns[slip][RECORDS - 1 - n] += "x" if slip in names else "7"
    rules = [FieldRule(column=name, compare="words" if name in (*names, "mail") else "code") for name in columns]
    return [make_field(pa.chunked_array([columns[rule.column]]), rule) for rule in rules], copies


def candidates(fields: list[Field], copies: int, seed: int) -> tuple[PairTable, np.ndarray]:
    """All matches, and pairs that share two values: met for what they share, as candidates are."""
    rng = np.random.default_rng(seed)
    left, right = (side.astype(np.uint32) for side in np.triu_indices(RECORDS, 1))
    shared = sum((field.values[left] == field.values[right]).astype(int) for field in fields[:5])
    for field in fields[6:]:  # a phone, which alone brings records together
        shared = shared + 3 * (field.values[left] == field.values[right])
    true = (left < copies) & (left + right == RECORDS - 1)
    keep = true | (shared >= 2) & (rng.random(len(left)) < 0.2) | (shared >= 3)
    left, right = left[keep], right[keep]
    seen = [compare(field, left, right) for field in fields]
    whole = WholeRecords(fields).compare(left, right)
    return PairTable(left, right, seen, whole, RECORDS, -1, RandomPairs.of(fields, RECORDS, -1)), true[keep]


def f1(found: np.ndarray, true: np.ndarray) -> float:
    return float(2 * (found & true).sum() / (found.sum() + true.sum()))


@pytest.mark.parametrize("mail", [False, True])
def test_common_names_and_short_numbers_tell_copies(mail: bool) -> None:
    table, true = candidates(*people(1, mail=mail), seed=1)
    made = fit_from_fields(table)
    assert made is not None
    assert f1(made.chance >= 0.5, true) > 0.9
    assert np.isclose(made.chance.sum(), true.sum(), rtol=0.15)
    assert f1(weigh(table, made.prior, made.bits, made.explained) >= 0.5, true) > 0.9
    learned = learn(table, [None] * len(table.fields), 0.5)
    assert f1(table.similarity(learned.weights, learned.whole) >= learned.cut.at, true) > 0.85


def test_what_says_the_same_again_is_explained() -> None:
    fields, copies = people(2, mail=True)
    table, true = candidates(fields, copies, seed=2)
    made = fit_from_fields(table)
    assert made is not None
    family, mail = 1, 5
    assert made.explained[mail][family][-1] > 3
    assert 3 not in made.explained[mail], "a month explains no mail address"
    namesakes = (table.fields[mail] == 1) & (table.fields[2] == 0) & (table.fields[3] == 0) & ~true
    assert namesakes.sum() > 20
    assert made.chance[namesakes].max() < 0.5


def test_no_copies_no_matches() -> None:
    table, _ = candidates(*people(3, copies=0, mail=True), seed=3)
    assert table.population is not None
    assert (match_chances(EMData.of(table, table.population), RECORDS).chance >= 0.5).sum() <= 2


def households(seed: int) -> tuple[list[Field], int]:
    """People who live together share family name, street and phone, and are more than the copies."""
    fields, copies = people(seed)
    rng = np.random.default_rng(seed)
    columns = {field.rule.column: [str(field.text(n)) for n in range(RECORDS)] for field in fields}
    home = np.concatenate([np.sort(rng.integers(0, 500, RECORDS - copies)), np.zeros(copies, np.int64)])
    home[RECORDS - copies :] = home[copies - 1 :: -1]
    columns["family"] = [f"fam{h % 150}" for h in home]
    columns["street"] = [f"street {h}" for h in home]
    columns["phone"] = [str(100_000 + 7919 * h) for h in home]
    rules = [FieldRule(column=name, compare="words" if name in ("given", "family", "street") else "code")
             for name in columns]  # fmt: skip
    return [make_field(pa.chunked_array([columns[rule.column]]), rule) for rule in rules], copies


def test_relatives_are_no_matches() -> None:
    table, true = candidates(*households(6), seed=6)
    assert table.population is not None
    compared = EMData.of(table, table.population)
    fooled = match_chances(compared, RECORDS).chance >= 0.5
    assert (fooled & ~true).sum() > 3 * true.sum(), "two classes take families for matches"
    made = fit_from_fields(table)
    assert made is not None
    assert f1(made.chance >= 0.5, true) > 0.8
    assert f1(weigh(table, made.prior, made.bits, made.explained) >= 0.5, true) > 0.8


def test_without_relatives_the_third_class_is_not_believed() -> None:
    table, true = candidates(*people(7), seed=7)
    assert table.population is not None
    made = fit_from_fields(table)
    assert made is not None
    assert f1(made.chance >= 0.5, true) > 0.9
    reported = fit_with_related_class(EMData.of(table, table.population), RECORDS)
    assert reported is None or f1(reported.chance >= 0.5, true) > 0.9


def test_matches_of_large_groups_are_counted_among_random_pairs() -> None:
    """Twenty groups of fifty: no record proposes forty-nine others."""
    rng = np.random.default_rng(8)
    who = np.repeat(np.arange(20), 50)
    columns = {name: np.where(rng.random(1000) < 0.1, rng.integers(0, size, 1000), who * 7 % size).astype(str).tolist()
               for name, size in (("a", 60), ("b", 50), ("c", 40), ("d", 30))}  # fmt: skip
    fields = [make_field(pa.chunked_array([values]), FieldRule(column=name, compare="code", keys=()))
              for name, values in columns.items()]  # fmt: skip
    left = np.repeat(np.arange(1000, dtype=np.uint32), 10)
    right = ((left // 50) * 50 + (left + np.tile(np.arange(1, 11), 1000)) % 50).astype(np.uint32)
    far = rng.integers(0, 1000, (2, 3000)).astype(np.uint32)
    left, right = np.concatenate([left, far[0]]), np.concatenate([right, far[1]])
    seen = [compare(field, left, right) for field in fields]
    population = RandomPairs.of(fields, 1000, -1)
    assert population is not None
    made = match_chances(EMData.of(PairTable(left, right, seen, seen[0], 1000, -1, population), population), 1000)
    true = who[left] == who[right]
    assert f1(made.chance >= 0.5, true) > 0.9
    assert -5.5 < made.prior < -3.5, "one pair in twenty"


def test_a_part_of_the_candidates_stands_for_all() -> None:
    table, _ = candidates(*people(4), seed=4)
    part = table.sample(len(table) // 3)
    whole, some = fit_from_fields(table), fit_from_fields(part)
    assert whole is not None
    assert some is not None
    assert len(part) < len(table) / 2
    assert np.isclose(whole.prior, some.prior, atol=0.5)


def test_two_fields_are_not_enough() -> None:
    fields, copies = people(5)
    table, _ = candidates(fields, copies, seed=5)
    few = PairTable(
        table.left, table.right, table.fields[:2], table.whole, RECORDS, -1, RandomPairs.of(fields[:2], RECORDS, -1)
    )
    assert fit_from_fields(few) is None


def test_a_rare_value_tells_more() -> None:
    column = pa.chunked_array([["meier"] * 50 + ["zwirner"] * 3 + ["huber"] * 20])
    population = RandomPairs.of([make_field(column, FieldRule(column="name"))], 73, -1)
    assert population is not None
    common, rare, other = population.rare(np.array([0, 50, 0], np.uint32), np.array([1, 51, 60], np.uint32))[0]
    assert rare > common + 4
    assert other == 0


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=40), st.integers(-1, 20), st.integers(0, 99))
def test_drawn_pairs_share_a_value(values: list[int], split: int, seed: int) -> None:
    array = np.array(values, np.int32)
    split = min(split, len(values))
    drawn = draw_sharing(array, split, np.random.default_rng(seed))
    there = [(a, b) for a in range(len(values)) for b in range(a + 1, len(values))
             if values[a] == values[b] >= 0 and (split < 0 or a < split <= b)]  # fmt: skip
    assert (drawn is None) == (not there)
    if drawn is not None:
        assert {(min(p), max(p)) for p in zip(drawn[0].tolist(), drawn[1].tolist(), strict=True)} <= set(there)


@given(st.lists(st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)), min_size=1, max_size=9))
def test_bits_never_fall(levels: list[tuple[float, float]]) -> None:
    m, u = (np.array(side) for side in zip(*levels, strict=True))
    made = np.array(rising_bits(m, u))
    assert (np.diff(made) >= -1e-9).all()
    assert np.isclose((u * 2**made).sum(), m.sum())  # what is taken as one keeps its sum
