"""Shared passages: find the text that two documents have in common, at any position, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import count
from lookalike.core.notebook import NOTEBOOK_ROWS, card, table
from lookalike.core.options import accepts
from lookalike.core.results import ArrowRows
from lookalike.core.run_options import silent
from lookalike.core.trace import Trace
from lookalike.kinds.passages.options import PassageOptions
from lookalike.kinds.passages.spec import PassageJob, check_report_pairs
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.io.collection import Collection
    from lookalike.kinds.passages.local import Shared
    from lookalike.kinds.passages.report import ReportPage
    from lookalike.kinds.passages.spark.run import SparkPassages

PLACES = ("left_start", "left_end", "right_start", "right_end", "tokens")
REPORTED = 300  # default number of pairs in a report
SCORE_DIGITS = 3  # of the scores of reworded passages
EXCERPT_CHARACTERS = 120  # characters of boilerplate that a receipt quotes


@dataclass(frozen=True, kw_only=True)
class Passages(ArrowRows):
    """The result of `passages`. Tables are built on first access.

    passages: left, right, left_start, left_end, right_start, right_end (characters), tokens. pairs: left, right,
    shared_tokens, left_in_right, right_in_left, longest, passages. receipt: the request and the counts of the run.
    """

    job: PassageJob
    shared: Shared
    receipt: dict[str, Any]
    collections: Sequence[Collection]

    @cached_property
    def passages(self) -> pa.Table:
        """The table of shared passages, ordered by document and by position in the left document.

        The characters left_start to left_end (exclusive) of the left text match right_start to right_end of the right
        text. tokens: number of equal tokens, without boilerplate. With `reworded`: tokens, the words that both sides
        have; score, the information of the shared words in nats; kind, copied for passages with an unbroken run of
        `min_tokens` equal words, else reworded.
        """
        from lookalike.kinds.passages.local import in_characters
        from lookalike.kinds.passages.reworded import Reworded

        rows = self.shared.rows
        columns = {"left": self._ids(rows[:, 0]), "right": self._ids(rows[:, 1], last=True)}
        columns |= {name: as_arrow(values) for name, values in in_characters(self.shared).items()}
        if isinstance(self.shared, Reworded):
            copied = as_arrow(rows[:, 7] >= self.job.min_tokens)
            columns["score"] = as_arrow(np.round(self.shared.score, SCORE_DIGITS))
            columns["kind"] = pc.if_else(copied, "copied", "reworded")
        return pa.table(columns)

    @cached_property
    def pairs(self) -> pa.Table:
        """The table of pairs of documents that share a passage.

        shared_tokens: tokens in shared passages, the lower count of the two documents. left_in_right: share of the left
        document's tokens that are in passages shared with the right one. longest: tokens of the longest unbroken run.
        """
        from lookalike.kinds.passages.local import summed

        sums = self.shared.sums
        columns = {"left": self._ids(sums[:, 0]), "right": self._ids(sums[:, 1], last=True)}
        return pa.table(columns | {name: as_arrow(values) for name, values in summed(self.shared).items()})

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that `save` writes, by name."""
        return {"passages": self.passages, "pairs": self.pairs}

    @property
    def score_column(self) -> str:
        """The name of the column of scores in the table of pairs: shared_tokens."""
        return self.job.scale.column

    def to_arrow(self) -> pa.Table:
        """Return the passages."""
        return self.passages

    def _repr_html_(self) -> str:
        most = self.pairs.sort_by([("shared_tokens", "descending")]).slice(0, NOTEBOOK_ROWS)
        facts = [(name, f"{self.receipt['counts'][name]:,}") for name in ("documents", "pairs", "passages")]
        rows = [list(row.values()) for row in most.to_pylist()]
        return card(f"passages · {self.job.words()}", facts, table(most.column_names, rows, self.pairs.num_rows))

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write passages.parquet, pairs.parquet and receipt.json into a new folder."""
        from lookalike.io.results import write_folder

        write_folder(self.tables, self.receipt, Path(folder), force=force)
        return Path(folder)

    def report(self, path: str | Path, *, pairs: int = REPORTED, force: bool = False) -> Path:
        """Write an HTML report: a table of the pairs that share most, and their texts side by side, with the shared
        passages marked. The page is a single file without external resources."""
        from lookalike.kinds.passages.report import write_report

        check_report_pairs(pairs)
        write_report(self._page(pairs), Path(path), force=force)
        return Path(path)

    def _page(self, most: int) -> ReportPage:
        """Build the page of the `most` pairs that share most; their texts are read again for it."""
        from lookalike.io.random_access import pick_texts
        from lookalike.kinds.passages.report import Pair, ReportPage

        sums, rows = self.shared.sums, self.shared.rows
        best = np.argsort(-np.minimum(sums[:, 2], sums[:, 3]), kind="stable")[:most]
        first = np.concatenate([[0], np.cumsum(sums[:, 5])])
        places = np.stack([self.passages[name].to_numpy() for name in PLACES], axis=1) if len(rows) else rows
        shown = self.pairs.take(as_arrow(best)).to_pylist()
        texts = pick_texts(self.collections, set(sums[best, :2].ravel().tolist()))
        made: list[Pair] = []
        names: dict[int, str] = {}
        for number, pair in zip(best, shown, strict=True):
            left, right = (int(document) for document in sums[number, :2])
            names |= {left: str(pair["left"]), right: str(pair["right"])}
            runs = places[first[number] : first[number + 1]].tolist()
            shares = pair["left_in_right"], pair["right_in_left"]
            made.append(Pair(left, right, pair["shared_tokens"], *shares, pair["longest"], runs))
        counts = self.receipt["counts"]
        summary = (
            f"documents: {counts['documents']:,} · pairs that share something: {counts['pairs']:,} · "
            f"passages: {counts['passages']:,} · {self.job.words()}"
        )
        left_out = [f"Not counted, it occurs {b['count']:,} times: “{b['text']}”" for b in self.receipt["boilerplate"]]
        return ReportPage(
            pairs=made, names=names, texts=texts, total=len(sums), summary=summary, notes=left_out,
            unit=self.job.unit, code=self.job.language is not None,
        )  # fmt: skip

    def done(self) -> None:
        """Delete the checkpoints and temporary files of the run, after the result was saved."""
        self.shared.space.finish()

    def __repr__(self) -> str:
        counts = self.receipt["counts"]
        return (
            f"<Passages: {counts['passages']:,} in {count(counts['pairs'], 'pairs')} of "
            f"{count(counts['documents'], 'documents')}, "
            f"{self.job.words()}>"
        )

    def _ids(self, documents: I64, *, last: bool = False) -> pa.Array:
        ids = self.shared.ids
        if last and self.shared.split >= 0:
            return ids[-1].take(as_arrow(documents - self.shared.split))
        return ids[0].take(as_arrow(documents))


@overload
def passages(source: Any, *, engine: Literal["spark"], **options: Unpack[PassageOptions]) -> SparkPassages: ...
@overload
def passages(source: Any, *, engine: Literal["local"] = ..., **options: Unpack[PassageOptions]) -> Passages: ...
@accepts(PassageOptions)
def passages(source: Any, **options: Any) -> Passages | SparkPassages:
    """Find the passages that documents share, at any position and in any order, with their character ranges.

    Every run of at least `min_tokens` equal tokens that two documents share is found; `template`, `max_share` and
    `author` exclude text. The cost is linear in the text and in the shared text. With `reworded`, passages with the
    same rare words in the same order are found, from a score that they do not reach by chance; the receipt has the
    expected precision and a measured recall.

    Parameters
    ----------
    source
        Paths, a list of strings, an Arrow table, or anything that exports an Arrow stream. With `engine="spark"`,
        also a Spark DataFrame or any source that Spark reads.

    Returns
    -------
    Passages
        The tables `pairs` (of documents) and `passages` (ranges in both). With `engine="spark"` a SparkPassages,
        whose
        tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la
    >>> texts = ["He said: to be, or not to be, that is it.", "To be or not to be; that is what he said."]
    >>> la.passages(texts, min_tokens=6).passages.select(["left_start", "left_end", "tokens"]).to_pylist()
    [{'left_start': 9, 'left_end': 37, 'tokens': 8}]
    """
    from lookalike.io.read import by_lines, open_collection
    from lookalike.kinds.passages.local import run
    from lookalike.kinds.passages.reading import TOKEN_MEMORY_PER_TEXT_BYTE
    from lookalike.kinds.passages.receipt import passages_receipt
    from lookalike.kinds.passages.reworded import run_reworded
    from lookalike.runtime.local.memory_needs import read_limit
    from lookalike.runtime.local.work_folder import ResourceLimits

    given: dict[str, Any] = dict(options)
    progress = given.pop("progress", silent)
    columns = {name: given.pop(name, None) for name in ("text", "id")}
    columns |= {name: given.pop(name, "error") for name in ("on_bad_text", "on_bad_file")}
    columns["lines"] = by_lines(given.pop("lines", False), alone=given.get("against") is None)
    cluster = spark_options(given)
    if cluster is not None:
        return _on_spark(source, columns, cluster, given, Trace(progress))
    place = ResourceLimits.of(given)
    against, template, author = (given.pop(name, None) for name in ("against", "template", "author"))
    job = PassageJob(**given)
    columns |= {"limit": read_limit(place, TOKEN_MEMORY_PER_TEXT_BYTE), "markup": job.language is not None}
    collections = [open_collection(one, **columns) for one in (source, against) if one is not None]
    boilerplate = None if template is None else open_template(template, on_bad_text=columns["on_bad_text"])
    trace = Trace(progress)
    find = run_reworded if job.reworded else run
    shared = find(collections, job, trace, author=author, template=boilerplate, place=place)
    receipt = passages_receipt(collections, job, shared, trace, _quoted(shared, collections, trace))
    result = Passages(job=job, shared=shared, receipt=receipt, collections=collections)
    if place.beside is None:  # no caller reports that the answer is saved
        result.done()
    return result


def _on_spark(
    source: Any, columns: dict[str, Any], cluster: dict[str, Any], options: dict[str, Any], trace: Trace
) -> SparkPassages:
    from lookalike.kinds.passages.spark.run import SparkPassages
    from lookalike.runtime.spark.session import check_options, local_only, open_session, tune
    from lookalike.runtime.spark.sources import open_origins

    check_options(options, columns["on_bad_file"])
    for name in ("template", "author", "reworded"):
        if options.pop(name, None):
            raise local_only(name)
    sources, job = [source, options.pop("against", None)], PassageJob(**options)
    session = open_session(**cluster)
    origins = open_origins(session, sources, text=columns["text"], id=columns["id"], lines=columns["lines"])
    tune(session, (origin.frame for origin in origins))
    return SparkPassages(job, origins, columns["on_bad_text"], trace)


def open_template(template: Any, **columns: Any) -> Collection:
    """Open the boilerplate texts: a file is one text, regardless of its extension; other sources as usual."""
    from lookalike.io.read import open_collection

    paths = template if isinstance(template, list | tuple) else [template]
    if all(isinstance(path, Path) and path.is_file() for path in paths):
        return open_collection([_whole(path) for path in paths], **columns)
    return open_collection([template] if isinstance(template, str) else template, **columns)


def _whole(path: Path) -> bytes:
    from lookalike.io.html import require_web, text_of_html
    from lookalike.io.paths import is_page

    text = path.read_bytes()
    if not is_page(path):
        return text
    require_web(f"reading the text of HTML pages ({path})")
    return text_of_html(text, None)


def _quoted(shared: Shared, collections: Sequence[Collection], trace: Trace) -> list[dict[str, Any]]:
    """Quote the text that was excluded as boilerplate, and add a warning if counted text looks like boilerplate."""
    from lookalike.io.random_access import pick_texts

    wide = [] if shared.widespread is None else [shared.widespread]
    stretches = [*shared.boilerplate, *wide]
    texts = pick_texts(collections, {one.document for one in stretches}) if stretches else {}
    quoted = [" ".join(texts[one.document][one.start : one.end].split()) for one in stretches]
    if wide:
        trace.warnings.append(
            f'"{quoted[-1][:EXCERPT_CHARACTERS]}" occurs {wide[0].count:,} times. If that is boilerplate, leave it out '
            "with `max_share` or `template`."
        )
    return [
        {
            "text": text if len(text) <= EXCERPT_CHARACTERS else text[:EXCERPT_CHARACTERS] + "...",
            "tokens": one.tokens,
            "count": one.count,
        }
        for one, text in zip(shared.boilerplate, quoted, strict=False)
    ]
