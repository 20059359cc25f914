"""Numbers with units, and why a result has no pairs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.kinds.records.units import texts_with_units, with_units


@pytest.mark.parametrize(
    ("one", "other"),
    [("SSD 16 GB", "SSD 16gb"), ("SSD 1 TB", "SSD 1000GB"), ("2.5 kg rice", "2500 g rice"), ("3,5 inch", '3.5"'),
     ("2 GHz", "2000MHz"), ("bottle 0.75l", "bottle 75 cl")],
)  # fmt: skip
def test_one_quantity_is_one_word(one: str, other: str) -> None:
    assert with_units(one) == with_units(other)
    assert texts_with_units(pa.array([one, "no number"], pa.large_string())).to_pylist() == [
        with_units(one),
        "no number",
    ]


def test_other_numbers_stay() -> None:
    for text in (
        "flat 2, York",
        "221 W Elm Street",
        "5 G Road",
        "flat 2 in York",
        "Route 66 West",
        "gb16",
        "1.2.3g",
        "room 5grand",
        "A4 paper",
    ):
        assert with_units(text) == text


def test_no_pairs_are_explained() -> None:
    apart = pa.table({"name": ["ann", "bob", "cy"], "town": ["york", "leeds", "hull"]})
    [warning] = la.records.pairs(apart, audit=0).receipt["warnings"]
    assert warning.startswith("no pairs: no two records share a value, a word or another key")
    near = pa.table({"name": ["ann lee", "ann ray", "cy"], "town": ["york", "leeds", "hull"]})
    [warning] = la.records.pairs(near, audit=0, threshold=0.9).receipt["warnings"]
    assert "below the threshold of 0.9. Take a lower one" in warning
    assert la.records.pairs(near, audit=0, threshold=0.01).receipt["warnings"] == []


def test_a_collapsed_model_is_noticed() -> None:
    """Two fields cannot identify matches by match weights; weighted sums find the copies."""
    import numpy as np

    from record_cases import CASES

    case = CASES["units"](np.random.default_rng(1))
    em = la.records.pairs(case.tables[0], against=case.tables[1], id="none", weights="em", audit=0)
    if not len(em.pairs):
        assert "the match weights have collapsed" in em.receipt["warnings"][0]


def test_the_waterfall_adds_up_to_the_contribution() -> None:
    import numpy as np

    from record_cases import CASES

    case = CASES["households"](np.random.default_rng(1))
    table = case.tables[0].append_column("id", pa.array([f"p{i}" for i in range(case.tables[0].num_rows)]))
    left, right = sorted(case.truth)[3]
    why = la.records.explain(table, f"p{left}", f"p{right}", audit=0)
    adds = {name: part for name, _, _, part in why.rows}
    assert why.prior is not None
    assert len(why.evidence) == sum(part is not None for part in adds.values())
    for one in why.evidence:
        assert one.match_weight + one.term_frequency + one.dependence == pytest.approx(adds[one.field], abs=1e-4)
        assert np.log2(one.m / one.u) == pytest.approx(one.match_weight, abs=1e-6) or one.m == 1.0
