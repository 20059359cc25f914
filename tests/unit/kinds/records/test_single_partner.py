"""Records of one table with at most one partner: noticed by the number of partners, and then competing pairs count."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.kinds.records.index import RecordKind
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.rules import EACH, FieldRule, RecordRules
from lookalike.kinds.records.single_partner import competing_weights, few_further_partners
from lookalike.kinds.records.threshold import Learned, learn
from record_cases import CASES, Case


def joined(name: str, seed: int) -> Case:
    """The two tables of a case as one."""
    case = CASES[name](np.random.default_rng(seed))
    return Case([pa.concat_tables(case.tables, promote_options="default")], [[*case.who[0], *case.who[1]]])


def series(each: int) -> PairTable:
    """Series of eight models of one brand: all pairs within a series. each: the number of offers of a model."""
    rng = np.random.default_rng(1)
    model = np.repeat(np.arange(160), each)
    pairs = np.array([pair for start in range(0, len(model), 8 * each)
                      for pair in combinations(range(start, start + 8 * each), 2)])  # fmt: skip
    same = model[pairs[:, 0]] == model[pairs[:, 1]]
    brand = np.where(rng.random(len(pairs)) < 0.95, 1.0, 0.3)
    title = np.clip(0.7 + 0.15 * same + 0.1 * rng.standard_normal(len(pairs)), 0, 1)
    code = np.where(rng.random(len(pairs)) < 0.1, np.nan, np.where(same ^ (rng.random(len(pairs)) < 0.02), 1.0, 0.0))
    fields = [one.astype(np.float32) for one in (brand, title, code)]
    return PairTable(*pairs.T.astype(np.uint32), fields, fields[1], len(model), -1)


def weights_of(table: PairTable, given: list[float | None]) -> tuple[Learned, Sequence[float] | None]:
    """The free fit, and the weights of the fit with one partner if that is used."""
    free = learn(table, given, 0.5)
    return free, competing_weights(table, (free.weights, given), 0.5, free.cut, np.ones(table.records, np.int64))


def test_a_series_of_models_is_not_taken_for_one_entity() -> None:
    """The free fit takes the models of a series for matches; the fit with one partner learns what singles one out."""
    table = series(2)
    free, weights = weights_of(table, [None] * 3)
    assert not few_further_partners(table, table.similarity(free.weights, 0.5) >= free.cut.at, np.ones(320, np.int64))
    assert weights is not None
    assert free.weights[2] < free.weights[1]
    assert weights[2] > weights[1]
    given = weights_of(table, [None, 7.0, None])[1]
    assert given is None or given[1] == 7.0


@pytest.mark.parametrize("each", [3, 4, 6])
def test_several_offers_of_each_model_are_no_single_partners(each: int) -> None:
    assert weights_of(series(each), [None] * 3)[1] is None


@pytest.mark.parametrize("name", ["versions", "few_fields"])
def test_groups_of_several_records_do_not_compete(name: str) -> None:
    """Groups of two to four records: second fit and count of partners both see that partners do not exclude one another."""
    case = CASES[name](np.random.default_rng(2))
    table = pa.concat_tables(case.tables, promote_options="default")
    found = la.records.pairs(pa.concat_tables([table, table]), id="none", audit=0, weights="learned")
    assert found.job.rules.rivals is True  # type: ignore[attr-defined]


def test_equal_records_are_partners_too() -> None:
    pairs = np.arange(0, 60, 2, dtype=np.uint32), np.arange(1, 60, 2, dtype=np.uint32)
    table = PairTable(*pairs, [], np.ones(30, np.float32), 60, -1)
    found = np.ones(30, np.bool_)
    assert few_further_partners(table, found, np.ones(60, np.int64))
    assert not few_further_partners(table, found, np.where(np.arange(60) < 6, 3, 1))


@pytest.mark.promise("docs/how-to/records.md", 'the settings say `rivals = "each"`')
def test_two_sources_in_one_table() -> None:
    case = joined("model_elsewhere", 1)
    found = la.records.pairs(case.tables[0], id="none", audit=0)
    rules = found.job.rules  # type: ignore[attr-defined]
    assert rules.rivals == EACH
    assert case.f1(found.pairs) > 0.92
    assert "(rivals)" in found.pairs.column_names
    again = la.records.pairs(case.tables[0], id="none", audit=0, settings=rules)
    assert again.pairs.equals(found.pairs)


@pytest.mark.promise("docs/how-to/records.md", "with a threshold of your own they never do")
def test_with_a_threshold_the_score_is_the_similarity() -> None:
    case = joined("model_elsewhere", 1)
    found = la.records.pairs(case.tables[0], id="none", audit=0, threshold=0.7)
    assert found.job.rules.rivals is True  # type: ignore[attr-defined]
    assert "(rivals)" not in found.pairs.column_names


def test_an_index_and_spark_score_pairs_on_their_own() -> None:
    case = joined("model_elsewhere", 1)
    assert RecordKind.make({"sample": case.tables[0]}).rules.rivals is False
    each = RecordRules(fields=(FieldRule(column="title", weight=1.0),), rivals=EACH, threshold=0.5)
    with pytest.raises(UsageError, match='rivals = "each" within one table is not available on Spark'):
        la.records.pairs(case.tables[0], settings=each, engine="spark")
