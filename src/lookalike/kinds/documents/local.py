"""The local engine for documents: from collections to verified pairs or groups, on all cores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, Pairs
from lookalike.core.candidates import Items
from lookalike.core.exact_duplicates import Classes, collapse
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.core.size_limit import CERTAIN_EXCESS, MIN_SAMPLED_PAIRS
from lookalike.core.trace import Trace
from lookalike.errors import PairLimitReached, RecallWarning
from lookalike.io.collection import Collection
from lookalike.kinds.documents.answer_size import size_of
from lookalike.kinds.documents.audit import audit, audit_groups
from lookalike.kinds.documents.banding import BandedJoin
from lookalike.kinds.documents.counting_join import LISTED, counted_pairs
from lookalike.kinds.documents.folding import FoldingPlan
from lookalike.kinds.documents.folding_join import folded_pairs, folding_plan
from lookalike.kinds.documents.inverted_lists import dcm_pairs
from lookalike.kinds.documents.planner import SampleJoin, decide, preview
from lookalike.kinds.documents.prefix_join import POSTINGS_BUDGET_SHARE, exact_pairs
from lookalike.kinds.documents.reading import Features, read_features, sets_recipe
from lookalike.kinds.documents.spec import Job, no_promise
from lookalike.kinds.documents.weighted_banding import audited, banded_pairs
from lookalike.kinds.documents.weighted_join import weigh, weighted_pairs
from lookalike.planning.banding import Plan, plan
from lookalike.runtime.local.memory_budget import memory_size
from lookalike.runtime.local.memory_needs import MEMORY_WITHOUT_INPUT, PER_DOCUMENT, check_memory, most_pairs, too_many
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.local.workspace import open_workspace
from lookalike.runtime.run_output import OutputKind, RunOutput

BEGIN = 40  # characters of a text to show in messages
PER_THREAD = 40_000_000  # bytes of memory for the texts, tokens and candidates that one thread processes
TOO_MANY_TO_LIST = "the pairs of near-copies do not fit into the memory: groups are made straight from buckets"
PER_WEIGHTED_SHINGLE = 100  # bytes: the vocabulary, if most shingles are rare, vectors and inverted lists
WEIGHTS_ARE_EXACT = "sets with weights are joined by their rarest elements, which misses nothing"
MAX_PAIRS_PER_ITEM = 50  # bucket pairs per item above which groups are formed directly from the buckets


def run(
    collections: Sequence[Collection], job: Job, want: OutputKind, trace: Trace, *, keep: str = "first",
    place: ResourceLimits | None = None,
) -> RunOutput:  # fmt: skip
    """Find the pairs (or groups) of one collection, or the pairs between two."""
    column = preferred_column(keep)
    planning = Trace()
    planned = None if job.is_weighted and job.method != "lsh" else planned_for(job, planning)
    folding = folding_plan(job, trace) if job.method == "folding" else None
    extra = [column] if column else []
    place = place or ResourceLimits(memory_size(None))
    asked = {name: value for name, value in job.as_dict().items() if name != "threads"}
    about = {"wants": want, "keep": keep, "compared": job.words(), "job": asked}
    space = open_workspace(collections, [tuple(extra), ()], sets_recipe(job.rule), about, place)
    hints = [collection.rows_hint for collection in collections]
    _check_documents(space, sum(hint or 0 for hint in hints))
    with space, Pool(_threads(job, space), space.keeper.look) as pool:
        features = read_features(collections, job.rule, pool, trace, space, extra=extra, max_share=job.max_share)
        _check_documents(space, len(features.sets))
        split = features.split if len(collections) == 2 else -1
        best = preference(keep, features.lengths[: features.split], features.extra)
        best = np.concatenate([best, np.arange(features.split, len(features.sets))])
        with trace.stage("collapse"):
            least = -(-job.bar().num // job.bar().den) if job.set_measure().is_count else 1
            keeper = space.keeper
            classes = collapse(
                features.sets, features.prints, best, least=least, at_once=keeper.at_once(1), after=keeper.look
            )
            trace.add(exact_duplicates=len(classes.members) - len(classes))
            items = items_of(features, classes, split)
            pa.default_memory_pool().release_unused()
        if job.is_weighted:
            shingles = int(items.sizes.sum())
            check_memory(
                space.keeper,
                PER_WEIGHTED_SHINGLE * shingles,
                lambda: f"a search with weights over {shingles:,} shingles",
            )
            if want == "pairs":
                size_of(classes, None, split).check(
                    job.max_pairs, lambda item: _named(item, features, collections), cross=split >= 0
                )
            choice = Choice("exact", {}, WEIGHTS_ARE_EXACT)
            if planned is not None:
                choice = Choice("lsh", {}, "asked for")
                trace.warnings += planning.warnings
            order = classes.ranked(best)
            found = RunOutput(
                features.ids, split, classes, np.ones(len(items)), order, choice, preferred=best, space=space
            )
            limit = most_pairs(space.keeper, len(features.sets), job.max_pairs)
            with _within(limit, job, want, found):
                return _weighted(found, items, job, planned, pool, trace, limit)
        with trace.stage("choose"):
            look = want == "pairs" or job.method in ("auto", "exact")
            seen = preview(items, job.bar(), pool, seed=job.seed) if look else None
            if want == "pairs":
                size = size_of(classes, seen, split)
                if seen is not None:
                    trace.add(expected_pairs=size.expected)
                size.check(job.max_pairs, lambda item: _named(item, features, collections), cross=split >= 0)
            # The choice must not depend on the memory that happens to be free on this machine.
            budget = place.memory if place.stated else 1 << 62
            crowd = MAX_PAIRS_PER_ITEM if want != "pairs" and bool(np.all(items.sides == 3)) else None
            if seen is None and job.method in ("auto", "exact"):
                seen = SampleJoin.of_all(items, job.bar(), pool)
            choice = decide(job, len(items), float(items.sizes.sum()), seen, planned, pool, budget=budget, crowd=crowd)
            if items.sizes.sum() * LISTED > POSTINGS_BUDGET_SHARE * space.budget:  # finds the same pairs, in parts
                choice = replace(choice, way="prefixes")
            limit = most_pairs(space.keeper, len(features.sets), job.max_pairs)
            listed = choice.method != "lsh" or want == "pairs"  # banding forms groups without storing pairs
            if seen is not None and listed and len(seen.left) >= MIN_SAMPLED_PAIRS:
                expected = int(len(seen.left) * seen.grow * seen.grow)
                if expected > CERTAIN_EXCESS * limit:
                    raise too_many(
                        expected, limit, job.max_pairs, space.keeper,
                        want=want, cross=split >= 0, method=choice.method, sure=False,
                    )  # fmt: skip
        own = _own_scores(items, job)
        found = RunOutput(features.ids, split, classes, own, classes.ranked(best), choice, preferred=best, space=space)

        def banded(choice: Choice) -> RunOutput:
            assert planned is not None
            trace.warnings += planning.warnings  # they concern banding only
            return _banded(replace(found, choice=choice), items, job, want, planned, pool, trace, limit)

        if choice.method == "lsh" and planned is not None:
            return banded(choice)
        if folding is not None:
            with _within(limit, job, want, found):
                near = folded_pairs(items, job, folding, pool, trace, space, limit)
            return _audited(found, near, items, job, folding, pool, trace)
        with _within(limit, job, want, found):
            if choice.method == "exact":
                join = counted_pairs if choice.way == "counting" else exact_pairs
                try:
                    pairs = join(items, job.bar(), pool, trace, space, limit)
                except PairLimitReached:
                    if job.method != "auto" or planned is None or crowd is None or limit >= job.max_pairs:
                        raise
                    return banded(replace(choice, method="lsh", why=TOO_MANY_TO_LIST))
            else:
                room, folder = space.budget // 4, space.folder
                pairs = dcm_pairs(items, job.bar(), pool, trace, limit, memory=room, folder=folder)
        return replace(found, pairs=Pairs(*pairs))


def _weighted(
    found: RunOutput, items: Items, job: Job, plan: Plan | None, pool: Pool, trace: Trace, limit: int
) -> RunOutput:
    """Join classes of equal sets whose elements have weights: exactly, or with a plan by bands of signatures."""
    weighed, sets = weigh(items, found.classes.counts, len(found), job.weighting(), job.set_measure(), trace)
    if plan is None:
        return replace(found, pairs=Pairs(*weighted_pairs(sets, items.sides, job.threshold, pool, trace, limit)))
    pairs = Pairs(*banded_pairs(weighed, sets, items.sides, plan, job, pool, trace, limit))
    return replace(found, plan=plan, pairs=pairs, audit=audited(sets, items.sides, pairs, plan, job, pool, trace))


def _threads(job: Job, space: Workspace) -> int:
    """Return the number of threads: one per core, limited by the memory budget."""
    room = max(1, (space.budget - MEMORY_WITHOUT_INPUT) // PER_THREAD) if space.keeper.firm else 1 << 30
    return min(job.threads or usable_cores(), room)


def _check_documents(space: Workspace, count: int) -> None:
    check_memory(space.keeper, PER_DOCUMENT * count, lambda: f"a run on {count:,} documents")


@contextmanager
def _within(limit: int, job: Job, want: OutputKind, found: RunOutput) -> Iterator[None]:
    """Replace PairLimitReached by an error whose advice fits the request and the origin of the limit."""
    try:
        yield
    except PairLimitReached as error:
        raise too_many(
            limit, limit, job.max_pairs, found.space.keeper,
            want=want, cross=found.split >= 0, method=found.choice.method, sure=True,
        ) from error  # fmt: skip


def _named(item: int, features: Features, collections: Sequence[Collection]) -> str:
    """Describe an item by its id and the beginning of its text."""
    second = item >= features.split
    row = item - features.split if second else item
    collection = collections[-1] if second else collections[0]
    name = str((features.ids[-1] if second else features.ids[0])[row].as_py())
    text = next(iter(collection.texts(start=row))).texts[0].as_py()
    if not isinstance(text, str) and text and isinstance(text[0], int):
        return name  # integer tokens are not readable
    begin = " ".join(str(text)[:200].split())
    return f"{name} ({begin[:BEGIN]!r}{'...' if len(begin) > BEGIN else ''})"


def _banded(
    found: RunOutput, items: Items, job: Job, want: OutputKind, plan: Plan, pool: Pool, trace: Trace, limit: int
) -> RunOutput:
    """Find pairs by banding, or form groups directly from crowded buckets, and audit the recall on a sample."""
    found = replace(found, plan=plan)
    join = BandedJoin(items, job.recipe(), plan, job.bar(), pool, trace, found.space)
    checked: Audit | None = None
    if want != "pairs" and found.split < 0 and join.crowded(MAX_PAIRS_PER_ITEM):
        stars = want == "stars"
        groups = (join.stars if stars else join.components)(trace, found.order)
        if job.audit and len(items):
            checked = audit_groups(items, groups, plan, job, pool, trace, stars=stars)
        return replace(found, groups=groups, audit=checked)
    with _within(limit, job, want, found):
        pairs = Pairs(*join.pairs(trace, limit, verify=job.verify))
    return _audited(found, pairs, items, job, plan, pool, trace)


def _audited(
    found: RunOutput, pairs: Pairs, items: Items, job: Job, plan: Plan | FoldingPlan, pool: Pool, trace: Trace
) -> RunOutput:
    """Add the pairs of an approximate method to the output, with the audit of their recall on a sample."""
    checked: Audit | None = None
    if job.audit and len(items):
        checked = audit(items, pairs, plan, job, pool, trace)
    return replace(found, plan=plan, pairs=pairs, audit=checked)


def planned_for(job: Job, trace: Trace) -> Plan | None:
    """Plan bands and rows for the job, or return None if it needs none.

    A recall that cannot be reached becomes a warning.
    """
    least = job.set_measure().least_jaccard
    if job.method in ("exact", "dcm", "folding"):
        return None
    if least is None:
        if job.method == "lsh" or not job.verify:
            raise no_promise("banding", job)
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecallWarning)
        bands = plan(least(job.threshold), recall=job.recall, num_hashes=job.num_hashes, bands=job.bands, rows=job.rows)
    trace.warnings += [str(warning.message) for warning in caught]
    if job.verify:
        return bands
    bands = replace(bands, estimated=True)
    trace.warnings.append(
        "without verification a pair at the threshold is reported about half of the time, for its estimate may fall "
        "below the threshold. Verify, or ask for a lower threshold."
    )
    return bands


def items_of(features: Features, classes: Classes, split: int) -> Items:
    """Make one item per class; for two collections it records in which of them the class has members."""
    firsts, sets = classes.firsts, features.sets
    return Items(sets.elements, sets.offsets[firsts], sets.sizes[firsts], classes.sides(split))


def _own_scores(items: Items, job: Job) -> F64:
    """Return the similarity of the equal sets of each class: 1, or their size if the measure counts elements."""
    return items.sizes.astype(np.float64) if job.set_measure().is_count else np.ones(len(items))
