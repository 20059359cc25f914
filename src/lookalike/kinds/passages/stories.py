"""Stories: groups of articles that share passages or have similar sets of shingles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Pairs, ShingleRule
from lookalike.core.arrow import as_arrow
from lookalike.core.clusters import components
from lookalike.core.exact_duplicates import expand
from lookalike.core.options import accepts, check_values, defaults
from lookalike.core.results import ArrowRows
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.read import by_lines, open_collection
from lookalike.io.results import write_folder
from lookalike.kinds.documents import local
from lookalike.kinds.documents.spec import Job, Method
from lookalike.kinds.passages import local as passages
from lookalike.kinds.passages.local import Shared
from lookalike.kinds.passages.options import StoryOptions
from lookalike.kinds.passages.receipt import passages_receipt
from lookalike.kinds.passages.spec import PassageJob
from lookalike.kinds.passages.topics import TopicStories, story_table, topic_stories
from lookalike.runtime.engine_choice import only_local
from lookalike.runtime.local.work_folder import ResourceLimits
from lookalike.runtime.receipt import recall_facts, recall_warnings
from lookalike.runtime.run_output import RunOutput

STORY_DEFAULTS = defaults(StoryOptions)
BY_TEXT, BY_TOPICS = ("share", "jaccard", "min_tokens", "max_share"), ("similarity",)  # options of one way
METHOD: Method = "auto"  # join method of the comparison by shingles


@dataclass(frozen=True, kw_only=True)
class Stories(ArrowRows):
    """The result of `stories`. Tables are built on first access.

    left, right i64[p]: pairs of articles of the same story; contained f64[p]: the lower of the two shares of text in
    shared passages; jaccard f64[p]: NaN below the threshold. shared: the result of the search for passages.
    """

    job: PassageJob
    shared: Shared
    receipt: dict[str, Any]
    left: I64
    right: I64
    contained: F64
    jaccard: F64

    @cached_property
    def stories(self) -> pa.Table:
        """The table of articles in stories of two or more: id, story (0, 1, ...; largest first), size, first."""
        root = components(Pairs(self.left, self.right, self.contained), np.arange(len(self.shared.placed)))
        return story_table(self.shared.ids[0], root.representative)

    @cached_property
    def pairs(self) -> pa.Table:
        """The table of pairs that form the stories: left, right, contained (share of text in passages), jaccard."""
        ids = self.shared.ids[0]
        jaccard = pa.array(self.jaccard.tolist(), pa.float64(), from_pandas=True)  # NaN becomes null
        return pa.table(
            {
                "left": ids.take(as_arrow(self.left)),
                "right": ids.take(as_arrow(self.right)),
                "contained": as_arrow(self.contained),
                "jaccard": jaccard,
            }
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that `save` writes, by name."""
        return {"stories": self.stories, "pairs": self.pairs}

    @property
    def score_column(self) -> str:
        """The name of the column of scores in the table of pairs: contained."""
        return "contained"

    def to_arrow(self) -> pa.Table:
        """Return the stories."""
        return self.stories

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write stories.parquet, pairs.parquet and receipt.json into a new folder."""
        write_folder(self.tables, self.receipt, Path(folder), force=force)
        return Path(folder)

    def done(self) -> None:
        """Delete the checkpoints and temporary files of the run."""
        self.shared.space.finish()


@accepts(StoryOptions)
def stories(source: Any, **options: Unpack[StoryOptions]) -> Stories | TopicStories:
    """Group articles that tell the same story.

    Two articles are a pair if at least `share` of each is in passages that they share, or if the Jaccard similarity of
    their word shingles is at least `jaccard`; stories are the connected components of these pairs. Passages find text
    that was copied in part or reordered, shingles find text that was lightly rewritten throughout. The search for
    passages is exact; the receipt has the planned and measured recall of the comparison by shingles.

    With `by="topics"` articles that were written independently are compared by the cosine of their tf-idf vectors, and
    joined by average linkage while the mean similarity is at least `similarity`.

    Parameters
    ----------
    source
        As for `la.passages`; a text file is one article, unless it is the only input.

    Returns
    -------
    Stories
        The table `stories` (id, story) and the pairs behind them.

    Examples
    --------
    >>> import lookalike as la
    >>> report = "the ship left the harbour at noon with forty sailors and the mayor of the town on board"
    >>> reprint = "Reuters: " + report + ", it is said, and nobody waved"
    >>> la.stories([report, "something else altogether", reprint]).stories["id"].to_pylist()
    [0, 2]
    """
    given: dict[str, Any] = {**STORY_DEFAULTS, **options}
    only_local(given, "stories", "there, ask for passages and for pairs, and connect the pairs of both")
    check_values(StoryOptions, given)
    columns = {name: given[name] for name in ("text", "id", "on_bad_text")}
    collection = open_collection(source, lines=by_lines(given["lines"], alone=True), **columns)
    if given["by"] == "topics":
        _refuse(given, BY_TEXT, "text")
        place = ResourceLimits.of(given)
        return topic_stories(collection, given["similarity"], given["threads"], place, Trace(given["progress"]))
    _refuse(given, BY_TOPICS, "topics")
    share, jaccard, max_share, threads = (given[name] for name in ("share", "jaccard", "max_share", "threads"))
    job = PassageJob(min_tokens=given["min_tokens"], max_share=max_share, threads=threads)
    trace, other = Trace(given["progress"]), Trace(given["progress"])
    place = ResourceLimits.of(given)
    shared = passages.run([collection], job, trace, place=place)
    whole = Job(threshold=jaccard, rule=ShingleRule(), method=METHOD, max_share=max_share, threads=threads)
    found = local.run([collection], whole, "pairs", other, place=place)
    near = _near(found, whole)
    found.space.finish()
    trace.seconds = {**trace.seconds, **{f"jaccard {name}": value for name, value in other.seconds.items()}}
    sums = shared.sums
    contained = np.minimum(
        sums[:, 2] / np.maximum(1, shared.counted[sums[:, 0]]), sums[:, 3] / np.maximum(1, shared.counted[sums[:, 1]])
    )
    made = _joined(len(shared.placed), sums[:, 0], sums[:, 1], contained, near)
    keep = (made[2] >= share) | ~np.isnan(made[3])
    receipt = passages_receipt([collection], job, shared, trace, [])
    receipt |= {"asked": "stories", "compared": f"{share:g} of each in shared {job.words()}, or jaccard {jaccard:g}"}
    receipt |= recall_facts(found, whole)
    below = recall_warnings(found.audit, receipt["recall_at_threshold"], whole)
    receipt["warnings"] = [*receipt["warnings"], *other.warnings, *below]
    result = Stories(
        job=job, shared=shared, receipt=receipt,
        left=made[0][keep], right=made[1][keep], contained=made[2][keep], jaccard=made[3][keep],
    )  # fmt: skip
    trace.counts |= {"pairs": int(keep.sum()), "stories": len(result.stories["story"].unique())}
    return result


def _refuse(given: Mapping[str, Any], names: Sequence[str], way: str) -> None:
    """Raise UsageError if an option was given that belongs to the other way, which is `way`."""
    for name in names:
        if given[name] != STORY_DEFAULTS[name]:
            raise UsageError(f"`{name}` is for stories by {way}; leave it out, or set `by` to {way}.")


def _near(found: RunOutput, job: Job) -> Pairs:
    """Expand pairs of classes to pairs of articles, exact duplicates included."""
    assert found.pairs is not None
    return expand(found.pairs, found.classes, found.own, split=-1, limit=job.max_pairs, advice="Raise `jaccard`.")


def _joined(n: int, left: I64, right: I64, contained: F64, near: Pairs) -> tuple[I64, I64, F64, F64]:
    """Merge both lists of pairs into left, right, contained (0 if unknown) and jaccard (NaN if unknown)."""
    mine, theirs = left * n + right, np.minimum(near.left, near.right) * n + np.maximum(near.left, near.right)
    keys = np.union1d(mine, theirs)
    share, similarity = np.zeros(len(keys)), np.full(len(keys), np.nan)
    share[np.searchsorted(keys, mine)] = contained
    similarity[np.searchsorted(keys, theirs)] = near.similarity
    return keys // max(1, n), keys % max(1, n), share, similarity
