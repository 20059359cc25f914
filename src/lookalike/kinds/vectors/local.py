"""Local engine for vectors: from sources to verified pairs, on all cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookalike.core.arrays import F64, I64, Pairs
from lookalike.core.audit_sample import draw, partners_in
from lookalike.core.method_choice import Choice, cheaper
from lookalike.core.recall_audit import Audit, measure_in
from lookalike.core.size_limit import check_size
from lookalike.core.trace import Trace
from lookalike.io.vectors import Vectors
from lookalike.kinds.vectors.exact_join import partners, tiled_pairs
from lookalike.kinds.vectors.geometry import VectorSpace, make_space
from lookalike.kinds.vectors.lsh_join import SignJoin
from lookalike.kinds.vectors.lsh_plan import Sampled, SignPlan, exact_seconds, parity_agreement, plan_signs
from lookalike.kinds.vectors.spec import VectorJob, no_tables
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.numeric_rows import NumericRows, read_rows
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind, RunOutput

MAX_ALL_PAIRS_VECTORS = 3000  # up to this number of distinct items, all pairs are compared
LOOKED_AT = 128  # maximum number of sampled items whose exact partners are found before the method is chosen
# factors of the mean direction: hyperplanes through the origin (0), through the mean (1), or between
SHRINKS = (0.0, 0.5, 0.75, 1.0)
ROUNDED = 1e-6  # added to the threshold's chord, because directions and their projections are float32
VECTORS_ADVICE = "Ask for nearer pairs, or raise `max_pairs`."
WIDTHS = (1.5, 2.0, 3.0, 4.0, 6.0, 9.0)  # bucket widths to try, in units of the threshold
BINS = 512
# benchmarks/scale/memory_needs.py measures 432 bytes for each vector of 16 numbers, and 1,009 of 128
VECTORS_NEED = InputNeed("vectors", row=350, byte=1.5, text_byte=2)


@dataclass(frozen=True)
class VectorSample:
    """A sample of items, the number of its exact pairs, the plan, and costs (seconds by method) estimated from them."""

    sample: I64
    matches: int
    plan: SignPlan | None
    seconds: dict[str, float]


def run(
    sources: Sequence[Vectors], job: VectorJob, want: OutputKind, trace: Trace, *, keep: str = "first",
    memory: MemoryLimit = UNLIMITED,
) -> RunOutput:  # fmt: skip
    """Find the pairs of one collection of vectors, or the pairs between two."""
    with Pool(job.threads or usable_cores(), memory.look) as pool:
        flat = job.measure == "distance"
        rows = read_rows(sources, pool, trace, noun=job.noun, keep=keep, on_bad=job.on_bad, nonzero=not flat)
        memory.check(VECTORS_NEED.row * len(rows.values) + VECTORS_NEED.byte * rows.values.nbytes, "these vectors")
        return find_pairs(rows, job, want, pool, trace)


def find_pairs(rows: NumericRows, job: VectorJob, want: OutputKind, pool: Pool, trace: Trace) -> RunOutput:
    """Find the pairs among rows that are already in memory."""
    with trace.stage("choose"):
        space = make_space(rows, job, pool)
        seen = None if job.method == "exact" else look(space, pool)
        choice = choose(job, len(space), seen)
        if seen is not None and want == "pairs":
            check_answer_size(space, seen, trace)
    own = np.full(len(rows), 1.0 if job.measure == "cosine" else -0.0)
    found = RunOutput(rows.ids, rows.split, rows.classes, own, rows.order, choice)
    if choice.method == "exact" or seen is None or seen.plan is None:
        return replace(found, pairs=tiled_pairs(space, pool, trace, job.max_pairs, VECTORS_ADVICE))
    if seen.plan.recall_at_threshold < job.recall:
        trace.warnings.append(too_few_tables(seen.plan.recall_at_threshold, job.recall))
    join = SignJoin(space, seen.plan, pool, trace, seed=job.seed)
    pairs = join.pairs(trace, job.max_pairs, VECTORS_ADVICE)
    audit = None
    if job.audit and len(rows):
        with trace.stage("audit"):
            audit = audit_pairs(space, seen.plan, lambda: [pairs], pool)
    return replace(found, plan=seen.plan, pairs=pairs, audit=audit)


def look(space: VectorSpace, pool: Pool) -> VectorSample | None:
    """Find the exact partners of a sample and derive a plan; None for few items, whose pairs are all compared."""
    if len(space) <= MAX_ALL_PAIRS_VECTORS and space.job.method == "auto":
        return None
    sample, others = looked_at(len(space), space.job.seed)
    lefts, rights = (int((space.rows.sides & side > 0).sum()) for side in (1, 2))
    pairs = float(lefts) * rights if space.rows.split >= 0 else len(space) * (len(space) - 1) / 2
    nearest = float(space.radius.min(initial=math.inf))
    return look_at(space, sample, others, len(partners(space, sample, pool)), len(space), pairs, nearest)


def looked_at(count: int, seed: int) -> tuple[I64, I64]:
    """Draw from `count` items the sample whose exact partners are found, and the items to which it is compared."""
    random = np.random.default_rng([seed, 2])
    sample = np.sort(random.choice(count, min(count, LOOKED_AT), replace=False))
    return sample, np.sort(random.choice(count, min(count, 1 << 12), replace=False))


def look_at(
    space: VectorSpace, sample: I64, others: I64, matches: int, count: int, pairs: float, nearest: float
) -> VectorSample:
    """Plan for `count` items that form `pairs` pairs, from a sample, the number of its exact pairs and other items.

    `space` must contain these items and may contain no others. nearest: smallest distance of any item from the centre.
    """
    expected = matches * count / max(1, len(sample)) / 2
    samples = [
        Sampled(width, shrink, near, far, weights, pairs, count, space.width, expected)
        for width, shrink, near, far, weights in _agreements(space, sample, others, nearest)
    ]
    plan, seconds = plan_signs(samples, space.job.threshold, space.job.recall)
    exact = exact_seconds(count, pairs, space.width, expected)
    return VectorSample(sample, matches, plan, {"lsh": round(seconds, 3), "exact": round(exact, 3)})


def _agreements(
    space: VectorSpace, sample: I64, others: I64, nearest: float
) -> Iterator[tuple[float, float, float, F64, F64]]:
    """Estimate bit agreements for each bucket width, or for each position of the hyperplanes.

    Yields (width, shrink, lowest probability that a bit agrees for a pair at the threshold, probabilities for random
    pairs, their weights). The angle between two directions, seen from a point, is largest if both are as near to the
    point as the nearest item: an isosceles triangle. So the nearest item gives a lower bound for every pair at the
    threshold.
    """
    near, far = space.take(sample).astype(np.float64), space.take(others).astype(np.float64)
    apart = np.square(space.radius[sample])[:, None] + np.square(space.radius[others])[None, :]
    if not space.is_flat:
        near, far = near - space.centre, far - space.centre
    between = np.sqrt(np.maximum(apart - 2.0 * (near @ far.T), 0.0)).ravel()
    if space.is_flat:
        centres, weights = _binned(between)
        unit = space.job.chord or float(np.median(between)) / 100.0 or 1.0
        for times in WIDTHS:
            width = unit * times
            least = float(parity_agreement(np.array([space.job.chord / width]))[0])
            yield width, 0.0, least, parity_agreement(centres / width), weights
        return
    a, b = np.repeat(space.radius[sample], len(others)), np.tile(space.radius[others], len(sample))
    for shrink in SHRINKS:
        centres, weights = _binned(_angle(space.radius_about(shrink, a), space.radius_about(shrink, b), between))
        worst = float(space.radius_about(shrink, np.array([nearest]))[0])
        chord = space.job.chord + ROUNDED
        widest = 2.0 * math.asin(chord / (2.0 * worst)) if chord < 2.0 * worst else math.pi
        yield 0.0, shrink, 1.0 - widest / math.pi, 1.0 - centres / math.pi, weights


def _angle(a: F64, b: F64, between: F64) -> F64:
    """Return the angle between the sides `a` and `b` of triangles whose third side is `between`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = (a * a + b * b - between * between) / (2.0 * a * b)
    angle: F64 = np.arccos(np.clip(np.nan_to_num(cosine, nan=-1.0), -1.0, 1.0))
    return angle


def _binned(values: F64) -> tuple[F64, F64]:
    """Return (centres, shares) of the histogram of these values; the bins are narrower where values are small."""
    edges = np.linspace(0.0, 1.0, BINS + 1) ** 1.5 * max(float(values.max(initial=0.0)), 1e-30)
    counts = np.histogram(values, edges)[0]
    used = counts > 0
    centres: F64 = ((edges[:-1] + edges[1:]) / 2)[used]
    return centres, counts[used] / max(1, counts.sum())


def choose(job: VectorJob, count: int, look: VectorSample | None) -> Choice:
    """Return the method that the job requests, or with "auto" the cheaper one."""
    if job.method != "auto":
        return Choice(job.method, look.seconds if look else {}, "asked for")
    if look is None:
        return Choice("exact", {}, f"{count:,} different vectors are few enough to compare all pairs")
    lsh, exact = look.seconds["lsh"], look.seconds["exact"]
    if math.isinf(lsh):
        seconds = {"exact": exact}
        return Choice("exact", seconds, f"{no_tables(job.recall)} at this threshold")
    if exact <= lsh:
        return Choice("exact", look.seconds, "at this threshold tables cost more than the product of all pairs")
    return Choice("lsh", look.seconds, cheaper("tables of sign bits are", exact / lsh, "all pairs"))


def check_answer_size(space: VectorSpace, look: VectorSample, trace: Trace) -> None:
    """Raise an error, before the work starts, if the result would certainly be too large."""
    expected = round(look.matches * len(space) / max(1, len(look.sample)) / 2)
    trace.add(expected_pairs=expected)
    sample = f"{len(look.sample):,} sampled vectors have"
    check_size(expected, space.job.max_pairs, sampled=look.matches, sample=sample, advice=VECTORS_ADVICE)


def audit_pairs(space: VectorSpace, plan: SignPlan, pieces: Callable[[], Iterable[Pairs]], pool: Pool) -> Audit:
    """Measure the share of the exact partners of sampled items that were found. pieces: yields the found pairs."""
    sample = draw(partners_in(pieces, len(space)), space.job.audit, space.job.seed)
    truth = partners(space, sample.items, pool)
    return measure_in(truth, pieces, sample, chances(space, truth, plan))


def chances(space: VectorSpace, truth: Pairs, plan: SignPlan) -> list[float]:
    """Return the probability that the plan finds each of these pairs."""
    if space.is_flat:
        agreement = parity_agreement(-truth.similarity / plan.width)
    else:
        a, b = (space.radius_about(plan.shrink, space.radius[side]) for side in (truth.left, truth.right))
        agreement = 1.0 - _angle(a, b, _chords(truth.similarity, space.job)) / math.pi
    found: list[float] = plan.probability(agreement).tolist()
    return found


def _chords(scores: F64, job: VectorJob) -> F64:
    cosine = scores if job.measure == "cosine" else np.cos(np.radians(scores))
    chords: F64 = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * cosine))
    return chords


def too_few_tables(reached: float, wanted: float) -> str:
    """Return the warning for a plan that does not reach the requested recall."""
    return (
        f"tables of sign bits reach a recall of {reached:.3f} at the threshold, not {wanted:g}. "
        "Ask for `method='exact'`, or for nearer pairs."
    )
