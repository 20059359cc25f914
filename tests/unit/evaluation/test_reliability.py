"""Stated probabilities against the truth, and what a stated probability rests on."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError
from lookalike.evaluation.reliability import BIN_EDGES, reliability
from record_cases import people as generated_people
from record_cases import slips

TOWNS = ["york", "leeds", "bath", "hull", "derby", "luton"]


@given(st.lists(st.tuples(st.sampled_from([*BIN_EDGES, 0.05, 0.55, 0.97, 0.999]), st.booleans()), max_size=40))
def test_bins_by_a_loop(pairs: list[tuple[float, bool]]) -> None:
    bins: dict[float, list[tuple[float, bool]]] = {}
    for stated, true in pairs:
        low = max(edge for edge in BIN_EDGES[:-1] if edge <= stated)
        bins.setdefault(low, []).append((stated, true))
    made = reliability(np.array([p for p, _ in pairs]), np.array([t for _, t in pairs], np.bool_))
    assert made.low.tolist() == sorted(bins)
    assert made.pairs.tolist() == [len(bins[low]) for low in sorted(bins)]
    assert made.true.tolist() == [sum(true for _, true in bins[low]) for low in sorted(bins)]
    gaps = [abs(sum(p for p, _ in part) - sum(true for _, true in part)) for part in bins.values()]
    if pairs:
        assert math.isclose(made.error, sum(gaps) / len(pairs), abs_tol=1e-12)
    else:
        assert math.isnan(made.error)
    for share, (low, high) in zip(made.share, made.intervals, strict=True):
        assert low - 1e-9 <= share <= high + 1e-9


def people(count: int, seed: int) -> tuple[pa.Table, list[int]]:
    """Persons with unique phones and births, half of them twice, with slips and missing values."""
    rng = np.random.default_rng(seed)
    letters = list("abdeiklmnorstu")
    given_names, families = (["".join(rng.choice(letters, 6)) for _ in range(60)] for _ in range(2))
    rows, person = [], []
    for number in range(count):
        row: dict[str, str | None] = {
            "name": f"{given_names[rng.integers(60)]} {families[rng.integers(60)]}",
            "street": f"{rng.integers(1, 200)} {''.join(rng.choice(letters, 5))} road",
            "town": TOWNS[rng.integers(len(TOWNS))],
            "phone": str(rng.integers(10**8, 10**9)),
            "born": f"{rng.integers(1940, 2005)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}",
        }
        rows.append(row)
        person.append(number)
        if rng.random() < 0.5:
            copy = dict(row)
            for column, value in row.items():
                drawn = rng.random()
                if drawn < 0.3:
                    at = rng.integers(len(str(value)) - 1)
                    copy[column] = f"{str(value)[:at]}{rng.choice(list('aeiou0123'))}{str(value)[at + 1 :]}"
                elif drawn < 0.5:
                    copy[column] = None
            rows.append(copy)
            person.append(number)
    return pa.Table.from_pylist(rows), person


@pytest.mark.promise("docs/how-to/records.md", "a table of stated probabilities")
@pytest.mark.promise("docs/how-to/records.md", "How often other pairs agree is measured on all pairs of the input")
def test_stated_probabilities_are_near_the_share_of_true_pairs() -> None:
    table, person = people(900, seed=3)
    result = la.records.pairs(table, weights="em", threshold=0.1, audit=0)
    assert result.job.rules.basis == "assumed"
    assert result.job.words().startswith("probability at least 0.1 of")
    truth = pa.table({"id": list(range(len(person))), "group": person})
    made = la.evaluate(result, truth, worst=0).reliability
    assert made is not None
    assert made.pairs.sum() > 300
    assert made.error < 0.03  # 0.07 where agreement by chance is taken from the candidates
    assert la.evaluate(result.pairs, truth, worst=0).reliability is None  # no receipt says that these are probabilities
    assert la.evaluate(result.pairs, truth, worst=0, reliability=True).as_dict()["reliability"] == made.as_dict()


@pytest.mark.promise("docs/how-to/records.md", "Scores then only rank pairs")
@pytest.mark.promise("docs/how-to/records.md", "fewer than 20 matches are expected")
@pytest.mark.parametrize(
    ("columns", "rows", "basis"), [(["name", "town"], 600, "few fields"), (None, 10, "few matches")]
)
def test_no_probability_where_the_data_supports_none(columns: list[str] | None, rows: int, basis: str) -> None:
    table, _ = people(600, seed=3)
    result = la.records.pairs(table.slice(0, rows), weights="em", fields=columns, audit=0)
    assert result.job.rules.basis == basis
    assert result.job.words().startswith("score at least")


def test_no_probability_where_records_have_several_partners() -> None:
    """Items of a series differ by one letter of the model only: each is like all others of its series."""
    rng = np.random.default_rng(1)
    series = ["".join(rng.choice(list("abdeiklmnorstu"), 9)) for _ in range(60)]
    codes = [str(code) for code in rng.integers(10**8, 10**9, 60)]
    rows = [
        {"title": f"{series[n]} {v}", "maker": f"{series[n]} co", "code": f"{codes[n]}{v}"}
        for n in range(60)
        for v in "uvwxyz"
    ]
    table = pa.Table.from_pylist(rows)
    for other in (table, None):
        result = la.records.pairs(table, against=other, weights="em", audit=0)
        assert result.job.rules.basis == "several partners"


@pytest.mark.promise("docs/how-to/records.md", "whose records have more than five partners")
@pytest.mark.promise("docs/how-to/records.md", "where records of both tables have several")
def test_probabilities_are_withheld_in_large_groups_and_where_both_tables_have_several_partners() -> None:
    """The model still decides, as the dependence between fields is measured; what it states is withheld."""
    rng = np.random.default_rng(4)
    rows = [slips(rng, row, 0.1) for row in households(150) for _ in range(8)]
    one = pa.Table.from_pylist(rows)
    half = pa.Table.from_pylist(rows[::3]), pa.Table.from_pylist(rows[1::3])
    for table, other in ((one, None), half):
        result = la.records.pairs(table, against=other, weights="em", audit=0, id="none")
        rules = result.job.rules
        assert any(field.explained for field in rules.fields)
        assert rules.basis == "several partners"
        assert result.job.words().startswith("score at least")


def households(count: int) -> list[dict[str, str | None]]:
    """People of whom three live together, so that name, street and town depend on each other."""
    rng = np.random.default_rng(6)
    homes = generated_people(rng, count)
    firsts = generated_people(rng, count)
    return [{**homes[n // 3], "first": row["first"]} for n, row in enumerate(firsts)]


def test_reliability_needs_probabilities() -> None:
    pairs = pa.table({"left": [1], "right": [2], "distance": [3.0]})
    with pytest.raises(UsageError, match=r"has no probabilities; the reliability needs pairs with a similarity from 0"):
        la.evaluate(pairs, pa.table({"left": [1], "right": [2]}), reliability=True)
