"""Measured recall: the sample's true partners are all found, and what was missed is estimated from them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import Pairs
from lookalike.core.audit_sample import MOST_PARTNERS, STRATA, Partners, Sample, draw, found_partners, strata_of
from lookalike.core.binomial import clopper_pearson
from lookalike.core.measures import bar, set_measure
from lookalike.core.recall_audit import index_sample, measure
from lookalike.core.recall_interval import total_missed
from lookalike.core.trace import Trace
from lookalike.core.verification import verified
from lookalike.kinds.documents.audit import audit
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import plan
from lookalike.runtime.local.pool import Pool
from oracles import MEASURES, join
from strategies import families, make_items

NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@given(
    sets=families,
    tenths=st.integers(1, 10),
    measure=st.sampled_from(sorted(MEASURES)),
    picks=st.sets(st.integers(0, 9)),
)
@settings(max_examples=150, deadline=None)
def test_every_true_partner_of_the_sample_is_found(
    sets: list[set[int]], tenths: int, measure: str, picks: set[int]
) -> None:
    sets = [s for s in sets if s]
    sample = sorted(pick for pick in picks if pick < len(sets))
    if not sample:
        return
    threshold = float(tenths) if set_measure(measure).is_count else tenths / 10
    true = {pair for pair in join(sets, measure, Fraction(repr(threshold))) if set(pair) & set(sample)}
    items, reach = make_items(sets), bar(set_measure(measure), threshold)
    got = set()
    for piece in index_sample(items, np.array(sample), reach).candidates(items, (0, len(items))):
        left, right, _ = verified(items, piece, reach)
        pairs = [tuple(sorted(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert len(pairs) == len(set(pairs))
        assert not got & set(pairs)
        got |= set(pairs)
    assert got == true


def test_recall_is_the_share_of_the_true_pairs_that_were_found() -> None:
    rng = np.random.default_rng(5)
    base = [set(rng.choice(10**6, 40, replace=False).tolist()) for _ in range(50)]
    items = make_items([s | {10**7 + copy} for s in base for copy in range(2)])
    left = np.arange(0, 100, 2)
    planned = plan(0.8)
    found = Pairs(left[:40], left[:40] + 1, np.ones(40))
    with Pool(2) as pool:
        whole = audit(items, found, planned, Job(audit=1000, seed=1), pool, Trace())
        none = audit(items, NO_PAIRS, planned, Job(audit=1000, seed=1), pool, Trace())
    assert (whole.share.true, whole.share.found, whole.sampled) == (50, 40, 100)
    assert whole.share.predicted == pytest.approx(planned.probability(40 / 42))
    receipt = whole.as_dict()
    assert (receipt["recall"], receipt["interval_95"], receipt["run_pairs"]) == (0.8, [0.8, 0.8], 40)
    assert (receipt["probably_missed"], receipt["probably_missed_at_most"]) == (10, 10)
    assert (none.as_dict()["recall"], none.as_dict()["probably_missed"]) == (0, 50)


def test_nothing_to_measure_is_said() -> None:
    with Pool(1) as pool:
        made = audit(make_items([{1}, {2}]), NO_PAIRS, plan(0.8), Job(audit=10, seed=1), pool, Trace())
    reported = made.as_dict()
    assert (reported["sampled"], reported["true_pairs"], reported["recall"], reported["interval_95"]) == (
        2,
        0,
        None,
        None,
    )
    assert reported["note"] == "no pairs were found, and none are in the sample"


def all_of(items: int) -> Sample:
    """Every item, in one stratum."""
    sizes = np.bincount([0], [items], minlength=STRATA).astype(np.int64)
    return Sample(
        np.arange(items), np.zeros(items, np.int64), sizes, sizes, np.zeros(STRATA), lambda some: np.ones(len(some))
    )


def apart(counts: list[int] | np.ndarray) -> Partners:
    """Items with this many partners, no two of which are in one group."""
    return Partners(np.asarray(counts), np.arange(len(counts)))


@given(
    items=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 9)), min_size=1, max_size=400),
    size=st.integers(1, 500),
    seed=st.integers(0, 2**63),
)
@settings(max_examples=100, deadline=None)
def test_a_sample_draws_from_every_stratum_without_repeats(items: list[tuple[int, int]], size: int, seed: int) -> None:
    count, group = (np.array(column) for column in zip(*items, strict=True))
    sample = draw(Partners(count, np.where(count > 0, group, 10 + np.arange(len(count)))), size, seed)
    assert np.all(np.diff(sample.items) > 0)
    assert np.array_equal(sample.drawn, np.bincount(sample.stratum, minlength=len(sample.sizes)))
    assert np.array_equal(sample.drawn > 0, sample.sizes > 0)
    by_count = sample.stratum < STRATA
    assert np.array_equal(sample.stratum[by_count], strata_of(count)[sample.items[by_count]])
    cells = sample.stratum[~by_count]
    groups = group[sample.items[~by_count]]
    assert len(np.unique(cells)) == len(np.unique(groups)) == len(np.unique(np.stack([cells, groups]), axis=1)[0])
    assert sample.weights.sum() == pytest.approx(len(items))
    places = np.arange(len(items))
    assert np.array_equal(sample.places(places) >= 0, np.isin(places, sample.items))
    if size >= len(items):
        assert len(sample) == len(items)


def test_large_groups_are_strata_of_their_own() -> None:
    """Two groups of 100 and 2,000 pairs; in a star, one item has nearly all partners, and it is no stratum."""
    groups = np.repeat([0, 100], 100)
    count = np.concatenate([np.full(200, 99), np.ones(4000, np.int64)])
    sample = draw(Partners(count, np.concatenate([groups, 200 + np.arange(4000)])), 128, seed=1)
    assert sample.sizes[STRATA:].tolist() == [100, 100]
    assert (sample.drawn[STRATA:] >= 2).all()
    star = Partners(np.array([400] + [1] * 400), np.array([0] + [1] * 400))
    assert len(draw(star, 100, seed=1).sizes) == STRATA + 1  # the 400 others, each with one partner
    hub = Partners(np.array([400] + [1] * 400), np.zeros(401, np.int64))
    assert len(draw(hub, 100, seed=1).sizes) == STRATA


def test_the_group_of_an_item_is_the_first_that_shares_a_partner_with_it() -> None:
    found = Pairs(np.array([1, 2, 4, 6]), np.array([2, 3, 5, 4]), np.ones(4))
    partners = found_partners(found, 8)
    assert partners.counts.tolist() == [0, 1, 2, 1, 2, 1, 1, 0]
    assert partners.group.tolist() == [0, 1, 2, 1, 4, 5, 5, 7]


def test_items_with_many_partners_are_drawn_more_often() -> None:
    sample = draw(apart([0] * 9_000 + [100] * 1_000), 200, seed=1)
    assert sample.drawn[strata_of(np.array([100]))[0]] > 150
    assert 190 <= len(sample) <= 200 * 4 / 3


def test_the_budget_of_partners_bounds_the_sample() -> None:
    sample = draw(apart(np.full(20_000, 10_000)), 2000, seed=1)
    assert len(sample) == MOST_PARTNERS // 10_000
    assert len(draw(apart(np.full(20_000, 100)), 2000, seed=1)) == 1000  # 10**5 partners, a tenth of the 10**6 pairs
    assert len(draw(apart(np.full(2_000, 1_999)), 2000, seed=1)) < 200


def test_items_with_few_partners_use_what_the_budget_leaves() -> None:
    """In proportion to partners, 950 items with 200 partners would be drawn, more than the budget of 2^16 allows."""
    counts = np.array([200] * 2_000 + [0] * 20_000)
    sample = draw(apart(counts), 1000, seed=1)
    assert len(sample) == 1000
    assert 1 << 15 < counts[sample.items].sum() <= 1 << 16


@pytest.mark.promise("docs/explanation/curves.md", "Where all items are in the sample, both ends are the recall itself")
def test_a_sample_of_everything_knows_exactly() -> None:
    total = total_missed(all_of(4), np.array([0.5, 0.5, 0.0, 0.0]))
    assert (total.value, total.low, total.high) == (1.0, 1.0, 1.0)


@pytest.mark.promise(
    "docs/explanation/curves.md", "Where nothing was missed in the sample it still has a lower end below 1"
)
def test_a_sample_without_a_miss_has_an_upper_limit() -> None:
    """The rule of three: what 1 - 0.025**(1/n) of all items might do, n of them do not."""
    sample = draw(apart(np.zeros(100_000, np.int64)), 1000, seed=1)
    total = total_missed(sample, np.zeros(len(sample)))
    assert (total.value, total.low) == (0.0, 0.0)
    assert total.high == pytest.approx(100_000 / 2 * (1 - 0.025 ** (1 / 1000)), rel=0.02)


def test_unverified_pairs_are_not_counted_as_found() -> None:
    truth = Pairs(np.arange(0, 20, 2), np.arange(1, 20, 2), np.ones(10))
    wrong = Pairs(np.arange(20, 40, 2), np.arange(21, 40, 2), np.ones(10))
    found = Pairs(*(np.concatenate([a[:5], b]) for a, b in ((truth.left, wrong.left), (truth.right, wrong.right),
                                                            (truth.similarity, wrong.similarity))))  # fmt: skip
    sample = draw(found_partners(found, 40), 40, seed=1)
    made = measure(truth, found, sample, (), verified=False).as_dict()
    assert (made["recall"], made["run_pairs"], made["probably_missed"]) == (0.5, None, 5)


def binomial_tail(trials: int, least: int, p: float) -> float:
    return math.fsum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(least, trials + 1))


@pytest.mark.promise("docs/how-to/classify.md", "The interval covers the choice of the sample")
@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (9, 10), (50, 100), (99, 100), (3, 7), (199, 200)])
def test_clopper_pearson_by_its_definition(hits: int, trials: int) -> None:
    low, high = clopper_pearson(hits, trials)
    assert binomial_tail(trials, hits, low) == pytest.approx(0.025, abs=1e-9)
    assert 1 - binomial_tail(trials, hits + 1, high) == pytest.approx(0.025, abs=1e-9)


def test_clopper_pearson_at_the_ends() -> None:
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(1 - 0.025 ** (1 / 10)))
    assert clopper_pearson(10, 10) == (pytest.approx(0.025 ** (1 / 10)), 1.0)
    low, high = clopper_pearson(99_000, 100_000)
    assert low < 0.99 < high


def test_recall_is_told_apart_by_the_score() -> None:
    score = np.concatenate([np.full(50, 0.8), np.linspace(0.9, 0.99, 100)])
    truth = Pairs(np.arange(150), np.arange(150) + 1000, score)
    kept = np.concatenate([np.arange(30), np.arange(50, 150)])
    found = Pairs(truth.left[kept], truth.right[kept], score[kept])
    reported = measure(truth, found, all_of(1150), np.where(score > 0.85, 1.0, 0.6)).as_dict()
    parts = reported["parts"]
    assert sum(part["true_pairs"] for part in parts) == 150
    assert sum(part["found_pairs"] for part in parts) == 130
    assert (parts[0]["at"], parts[0]["true_pairs"], parts[0]["recall"]) == pytest.approx(
        (0.8, 50, 0.6)
    )  # equal scores stay together
    assert all(part["recall"] == 1.0 and part["predicted"] == 1.0 for part in parts[1:])
    assert parts[0]["interval_95"] == pytest.approx([0.6, 0.6])
    assert [part["at"] for part in parts] == sorted(part["at"] for part in parts)


def test_distances_are_told_as_they_are_shown() -> None:
    truth = Pairs(np.arange(3), np.arange(3) + 10, np.array([-1.0, -2.0, -3.0]))
    parts = measure(truth, truth, all_of(13), [1.0, 1.0, 1.0]).as_dict(sign=-1)["parts"]
    assert [part["at"] for part in parts] == [2.0]
    assert measure(truth, truth, all_of(13), ()).as_dict()["parts"] == []
