"""Intervals from simulated judges cover the truth in at least 94 of 100 seeds, with fewer verdicts than plain sampling."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from lookalike.evaluation.judging import NOT_JUDGED, JudgedPairs, StrataPlan
from lookalike.evaluation.stratified import f1_of, ratio_of, total_true

SEEDS, VERDICTS, PAIRS, THRESHOLD = 100, 100, 1500, 0.75


def shape(name: str, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and which pairs are true."""
    scores = {
        "steep": lambda: random.uniform(0.5, 1, PAIRS), "pure": lambda: 0.5 + 0.5 * random.beta(2, 2, PAIRS),
        "mostly low": lambda: 0.5 + 0.5 * random.beta(1, 6, PAIRS), "few": lambda: random.uniform(0.5, 1, 150),
        "many equal": lambda: np.where(random.random(PAIRS) < 0.6, 1.0, random.uniform(0.5, 1, PAIRS)),
    }[name]().round(3)  # fmt: skip
    chance = {
        "steep": 1 / (1 + np.exp(-(scores - 0.75) * 40)), "pure": np.full(len(scores), 0.99),
        "mostly low": np.clip((scores - 0.5) * 3, 0, 1), "few": (scores - 0.5) * 2,
        "many equal": np.where(scores == 1, 0.98, 0.5),
    }[name]  # fmt: skip
    return scores, random.random(len(scores)) < chance


@cache
def judged(name: str, seed: int) -> tuple[JudgedPairs, np.ndarray]:
    """Judge pairs in the order in which they are drawn, in steps, as the plan adapts to the verdicts."""
    random = np.random.default_rng(seed)
    scores, true = shape(name, random)
    rank = random.integers(0, 1 << 62, len(scores)).astype(np.uint64)
    plan = StrataPlan.of(scores, "similarity", 1)
    made = JudgedPairs(plan, scores, rank, np.full(len(scores), NOT_JUDGED, np.int8), np.zeros(len(scores), np.bool_))
    for _ in range(5):
        labels, drawn = made.labels.copy(), made.drawn.copy()
        chosen = made.following(VERDICTS // 5)
        labels[chosen], drawn[chosen] = true[chosen], True
        made = JudgedPairs(plan, scores, rank, labels, drawn)
    return made, true


@pytest.mark.promise("docs/how-to/review.md", "say how precise a result is at every threshold")
@pytest.mark.promise("docs/how-to/review.md", "hold the true value in at least 94 of 100 simulated reviews")
@pytest.mark.parametrize("name", ["steep", "pure", "mostly low", "few", "many equal"])
def test_intervals_cover(name: str) -> None:
    covered = np.zeros(3, np.int64)
    for seed in range(SEEDS):
        made, true = judged(name, seed)
        above = made.scores >= THRESHOLD
        part, rest = made.true_pairs(above), made.true_pairs(~above)
        reported, right = int(above.sum()), int(true[above].sum())
        recall, f1 = ratio_of(part, rest), f1_of(part, rest, reported)
        covered[0] += part.low - 1e-6 <= right <= part.high + 1e-6
        covered[1] += recall.low - 1e-6 <= right / true.sum() <= recall.high + 1e-6
        covered[2] += f1.low - 1e-6 <= 2 * right / (reported + true.sum()) <= f1.high + 1e-6
    assert (covered >= 94 * SEEDS // 100).all(), covered


@pytest.mark.promise("docs/how-to/review.md", "Where precision changes with the score, the intervals are narrower than")
def test_fewer_verdicts_than_plain_sampling() -> None:
    """Plain sampling draws as many pairs from all; its interval is that of Clopper and Pearson."""
    widths = []
    for seed in range(20):
        made, true = judged("steep", seed)
        plain = np.random.default_rng(seed).permutation(len(true))[:VERDICTS]
        ours = made.true_pairs(np.ones(len(true), np.bool_))
        other = total_true(np.array([1.0 * len(true)]), np.array([1.0 * VERDICTS]), np.array([true[plain].sum() * 1.0]))
        widths.append((ours.high - ours.low, other.high - other.low))
    ours_, other_ = np.mean(widths, axis=0)
    assert ours_ < 0.7 * other_  # half as many verdicts: the width falls with their square root


@pytest.mark.promise(
    "docs/how-to/review.md", "the chosen threshold kept the precision in at least 94 of 100 simulated reviews"
)
@pytest.mark.parametrize("name", ["steep", "many equal"])
def test_the_chosen_threshold_keeps_the_precision(name: str) -> None:
    target, kept = 0.9, 0
    for seed in range(SEEDS):
        made, true = judged(name, seed)
        keeps = []
        for threshold in np.arange(0.5, 1, 0.05):
            above = made.scores >= threshold
            if above.any() and made.true_pairs(above).low >= target * above.sum():
                keeps.append(threshold)
        kept += not keeps or true[made.scores >= min(keeps)].mean() >= target
    assert kept >= 94 * SEEDS // 100


def test_extra_verdicts_do_not_enter() -> None:
    """Somebody looks for false pairs and judges them; the estimate does not change."""
    made, true = judged("steep", 1)
    labels = made.labels.copy()
    hunted = np.flatnonzero(~true & (labels == NOT_JUDGED))[:100]
    labels[hunted] = 0
    more = JudgedPairs(made.plan, made.scores, made.rank, labels, made.drawn)
    inside = made.scores >= THRESHOLD
    assert more.true_pairs(inside) == made.true_pairs(inside)


def test_all_judged_leaves_no_doubt() -> None:
    scores, true = shape("few", np.random.default_rng(3))
    rank, labels = np.arange(len(scores), dtype=np.uint64), true.astype(np.int8)
    made = JudgedPairs(StrataPlan.of(scores, "similarity", 1), scores, rank, labels, np.zeros(len(scores), np.bool_))
    whole = made.true_pairs(np.ones(len(scores), np.bool_))
    assert whole.low == pytest.approx(true.sum())
    assert whole.high == pytest.approx(true.sum())


def test_unsure_verdicts_widen_to_both_sides() -> None:
    made, _ = judged("pure", 2)
    labels = made.labels.copy()
    labels[np.flatnonzero(made.sample)[:10]] = 2
    inside = np.ones(len(labels), np.bool_)
    unsure = JudgedPairs(made.plan, made.scores, made.rank, labels, made.drawn).true_pairs(inside)
    assert unsure.low < made.true_pairs(inside).low
    assert unsure.high >= made.true_pairs(inside).high - 1e-6
