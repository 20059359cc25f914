"""Count the verdicts that plain random sampling needs for the interval that the explorer's sample has after 100.

Five shapes of data with a simulated judge, at three thresholds each: the mean width of the 95 % interval of precision
over the seeds, and the number of plainly drawn pairs (Clopper and Pearson) with the same width.

    python benchmarks/judging.py [--seeds 20] [--verdicts 100]
"""

from __future__ import annotations

import argparse

import numpy as np

from lookalike.evaluation.judging import NOT_JUDGED, JudgedPairs, StrataPlan
from lookalike.evaluation.stratified import total_true

PAIRS, STEPS, THRESHOLDS = 20_000, 5, (0.6, 0.75, 0.9)


def scores_of(shape: str, random: np.random.Generator) -> np.ndarray:
    scores = {
        "steep": random.uniform(0.5, 1, PAIRS),
        "pure": 0.5 + 0.5 * random.beta(2, 2, PAIRS),
        "mostly low": 0.5 + 0.5 * random.beta(1, 6, PAIRS),
        "linear": random.uniform(0.5, 1, PAIRS),
        "many equal": np.where(random.random(PAIRS) < 0.6, 1.0, random.uniform(0.5, 1, PAIRS)),
    }[shape]
    return scores.round(3)


def chance_of(shape: str, scores: np.ndarray) -> np.ndarray:
    return {
        "steep": 1 / (1 + np.exp(-(scores - 0.75) * 40)),
        "pure": np.full(len(scores), 0.99),
        "mostly low": np.clip((scores - 0.5) * 3, 0, 1),
        "linear": (scores - 0.5) * 2,
        "many equal": np.where(scores == 1, 0.98, 0.5),
    }[shape]


def judged(scores: np.ndarray, true: np.ndarray, verdicts: int, random: np.random.Generator) -> JudgedPairs:
    rank = random.integers(0, 1 << 62, len(scores)).astype(np.uint64)
    labels, drawn = np.full(len(scores), NOT_JUDGED, np.int8), np.zeros(len(scores), np.bool_)
    made = JudgedPairs(StrataPlan.of(scores, "similarity", 1), scores, rank, labels, drawn)
    for _ in range(STEPS):
        labels, drawn = made.labels.copy(), made.drawn.copy()
        chosen = made.following(verdicts // STEPS)
        labels[chosen], drawn[chosen] = true[chosen], True
        made = made.relabelled(labels, drawn)
    return made


def plain_width(pairs: int, above: int, share: float, verdicts: int) -> float:
    """Return the expected width of the interval of precision from pairs drawn from all; only those above tell."""
    drawn = max(1.0, min(verdicts, pairs) * above / pairs)
    total = total_true(np.array([1.0 * above]), np.array([drawn]), np.array([drawn * share]))
    return (total.high - total.low) / above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--verdicts", type=int, default=100)
    given = parser.parse_args()
    print(f"{given.verdicts} verdicts of {PAIRS:,} pairs, {given.seeds} seeds")
    print(f"{'shape':<12}{'threshold':>10}{'pairs':>8}{'precision':>11}{'width':>8}{'plain':>8}{'plain needs':>13}")
    for shape in ("steep", "pure", "mostly low", "linear", "many equal"):
        widths, counts, shares = [], [], []
        for seed in range(given.seeds):
            random = np.random.default_rng(seed)
            scores = scores_of(shape, random)
            true = random.random(PAIRS) < chance_of(shape, scores)
            made = judged(scores, true, given.verdicts, random)
            masks = [scores >= threshold for threshold in THRESHOLDS]
            totals = [made.true_pairs(mask) for mask in masks]
            counts.append([mask.sum() for mask in masks])
            shares.append([true[mask].mean() if mask.any() else 0 for mask in masks])
            widths.append([(t.high - t.low) / max(1, m.sum()) for t, m in zip(totals, masks, strict=True)])
        for at, threshold in enumerate(THRESHOLDS):
            above, share, width = (float(np.mean([row[at] for row in part])) for part in (counts, shares, widths))
            plain = plain_width(PAIRS, int(above), share, given.verdicts)
            low, high = 1, PAIRS
            while low < high:
                middle = (low + high) // 2
                low, high = (
                    (middle + 1, high) if plain_width(PAIRS, int(above), share, middle) > width else (low, middle)
                )
            row = f"{shape:<12}{threshold:>10}{above:>8,.0f}{share:>11.3f}{width:>8.3f}{plain:>8.3f}{low:>13,}"
            print(row)


if __name__ == "__main__":
    main()
