"""m and u by expectation maximisation, compared with the estimates of recordlinkage on the same comparison vectors.

The estimates in golden/em_recordlinkage.json were made by `benchmarks/peers/recordlinkage_ecm.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from em_table import COPIES, RECORDS, SIZES, SLIP, columns, vectors
from lookalike.kinds.records.comparisons import WholeRecords, compare
from lookalike.kinds.records.em import EMData, estimate_m, estimate_u, match_chances
from lookalike.kinds.records.em_composite import ALIKE
from lookalike.kinds.records.fields import make_field
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.random_pairs import RandomPairs
from lookalike.kinds.records.rules import FieldRule

GOLDEN = Path(__file__).parents[3] / "golden/em_recordlinkage.json"


@pytest.mark.promise("docs/how-to/records.md", "m and u differ by at most 0.02 and 0.001")
def test_m_and_u_are_those_of_recordlinkage() -> None:
    theirs = json.loads(GOLDEN.read_text())
    fields = [
        make_field(pa.chunked_array([values]), FieldRule(column=name, compare="exact"))
        for name, values in columns().items()
    ]
    left, right = (vectors()[:, side].astype(np.uint32) for side in (0, 1))
    seen = [compare(field, left, right) for field in fields]
    assert [np.nan_to_num(one).astype(int).tolist() for one in seen] == vectors()[:, 2:].T.tolist()
    population = RandomPairs.of(fields, RECORDS, -1)
    assert population is not None
    table = PairTable(left, right, seen, WholeRecords(fields).compare(left, right), RECORDS, -1, population)
    data = EMData.of(table, population)
    found = match_chances(data, RECORDS)
    chance = np.append(found.chance, np.zeros(len(data.far[0])))
    m = [float(one[ALIKE:].sum()) for one in estimate_m(data, chance)]
    u = [float(one[ALIKE:].sum()) for one in estimate_u(data, chance)]
    assert m == pytest.approx([theirs["m"][name] for name in SIZES], abs=0.02)
    assert u == pytest.approx([theirs["u"][name] for name in SIZES], abs=0.001)
    assert float(found.chance.sum()) == pytest.approx(theirs["share"] * len(table), rel=0.05)
    assert float(found.chance.sum()) == pytest.approx(COPIES, rel=0.1)
    assert m == pytest.approx([1 - SLIP[name] for name in SIZES], abs=0.06)
