"""A run of scrub on this machine, and its result."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.formatting import count
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.notebook import NOTEBOOK_ROWS, card, table
from lookalike.core.options import check_values
from lookalike.core.results import ArrowRows
from lookalike.core.run_options import silent
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.atomic import check_folder, check_output, replacing, together
from lookalike.io.collection import Collection
from lookalike.io.paths import compression_of, kind_of
from lookalike.io.plain_text import TextFiles
from lookalike.io.read import by_lines, open_collection
from lookalike.io.results import RECEIPT, sealed
from lookalike.io.verbatim import can_copy
from lookalike.io.write import write_bytes, write_table
from lookalike.kinds.scrub.near_audit import measure_near_recall
from lookalike.kinds.scrub.options import ONE_MACHINE, ScrubOptions
from lookalike.kinds.scrub.receipt import frequent_passages, scrub_receipt
from lookalike.kinds.scrub.removed import RemovedColumns, RemovedFile, RemovedRows, nothing_removed
from lookalike.kinds.scrub.repeats import CutList, check_columns, find_cuts
from lookalike.kinds.scrub.spans import CutReader, KeptPlaces
from lookalike.kinds.scrub.spec import SCRUB_DEFAULTS, ScrubJob
from lookalike.kinds.scrub.tokens import SCRUB_MEMORY_PER_TEXT_BYTE, ScrubTokens, read_tokens, tokens_recipe
from lookalike.kinds.scrub.writing import CutStream, Written, scrubbed_batches, scrubbed_bytes, scrubbed_files
from lookalike.runtime.engine_choice import only_local
from lookalike.runtime.local.memory_needs import read_limit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.local.workspace import open_workspace

SCRUB_MEMORY_PER_BYTE_OF_INPUT = 4.0  # bytes of memory for each byte of text of a run without a work folder


@dataclass(frozen=True, kw_only=True)
class Scrubbed(ArrowRows):
    """The result of `scrub`. Texts are read again when a table is accessed or written.

    kept: all rows, with the text that stays. removed: what was cut, with the place of the copy that stays. receipt: the
    request and the counts of the run.
    """

    job: ScrubJob
    collection: Collection
    read: ScrubTokens
    cuts: CutList
    receipt: dict[str, Any]
    space: Workspace
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    @property
    def kept(self) -> pa.Table:
        """The rows with all their columns, in input order, without the text that was cut."""
        return self._both["kept"]

    @property
    def removed(self) -> pa.Table:
        """The table of cuts: id, row, start, end (characters), start_byte, end_byte, tokens, the document and place of
        the copy that stays, how often the passage occurred, and the text."""
        return self._both["removed"]

    def to_arrow(self) -> pa.Table:
        return self.kept

    @cached_property
    def _both(self) -> dict[str, pa.Table]:
        spooled: list[pa.RecordBatch] = []
        rows = RemovedRows(spooled.append)
        kept = KeptPlaces.of(self.cuts.pieces)
        with Pool(self._threads) as pool:
            stream = self._stream(pool, kept)
            batches = list(
                scrubbed_batches(self.collection.rows(), self.collection.text_column, stream, rows, Written())
            )
        rows.flush()
        columns = self._columns(kept)
        whole = pa.Table.from_batches([columns.complete(batch) for batch in spooled or [nothing_removed()]])
        return {
            "kept": pa.Table.from_batches(batches),
            "removed": whole.drop_columns(["raw", "dropped_row", "position"]),
        }

    def write(self, path: str | Path, *, removed: str | Path | None = None, force: bool = False) -> Path:
        """Write the rows without the text that was cut, and the table of cuts, from which `undo_scrub` restores them.

        Both appear together when they are complete. JSON Lines, CSV, TSV and text keep the bytes of the input outside
        of the cuts if the output has the same format.
        """
        path, aside = Path(path), None if removed is None else Path(removed)
        if aside is not None and kind_of(aside) != "Parquet":
            raise UsageError(
                f"the table of removed text is written as Parquet; expected a name like {aside.stem}.parquet."
            )
        check_output(path, force=force, columns=self.collection.columns)
        paths = [one for one in (path, aside) if one is not None]
        kept = KeptPlaces.of(self.cuts.pieces) if aside is not None else KeptPlaces.of(self.cuts.pieces[:0])
        written = Written()
        with together(paths, force=force), Pool(self._threads) as pool, ExitStack() as stack:
            file = None if aside is None else RemovedFile(aside, force=force)
            rows = None if file is None else stack.enter_context(file.spooling())
            stream = self._stream(pool, kept)
            verbatim = can_copy(self.collection.readers, path)
            column = self.collection.text_column
            if verbatim:
                write_bytes(scrubbed_bytes(self.collection.readers, column, stream, rows, written), path, force=force)
                stream.finish()
            else:
                batches = scrubbed_batches(self.collection.rows(), column, stream, rows, written)
                write_table(batches, path, force=force)
            if file is not None:
                file.finish(self._columns(kept), self._about(path, written, verbatim=verbatim))
        return path

    def write_like_input(self, folder: str | Path, *, removed: str | Path | None = None, force: bool = False) -> Path:
        """Write one file for each input file, with its name, format and compression, into a new folder.

        The folder appears when it is complete. For JSON Lines, CSV, TSV and text, the only formats that keep the bytes
        of rows. removed: a folder for the tables of cuts, NAME.parquet for each file, from each of which `undo_scrub`
        restores one file; not for text files that are one document each.
        """
        folder, aside = Path(folder), None if removed is None else Path(removed)
        for place in (folder, aside):
            if place is not None:
                check_folder(place, force=force)
        readers = self.collection.readers
        if aside is not None and any(isinstance(reader, TextFiles) for reader in readers):
            raise UsageError("`removed` is for files with rows or lines; here each file is one document.")
        kept = KeptPlaces.of(self.cuts.pieces if aside is not None else self.cuts.pieces[:0])
        with (
            together([place for place in (folder, aside) if place is not None], force=force), ExitStack() as stack,
            Pool(self._threads) as pool,
        ):  # fmt: skip
            draft = stack.enter_context(replacing(folder, force=force))
            draft.path.mkdir()
            tables = None if aside is None else stack.enter_context(replacing(aside, force=force))
            if tables is not None:
                tables.path.mkdir()
            stream = self._stream(pool, kept)
            files: list[tuple[RemovedFile, dict[str, Any]]] = []
            row = 0
            for reader in readers:
                if isinstance(reader, TextFiles):
                    for name, text in scrubbed_files(reader, stream):
                        place = _inside(draft.path, name)
                        with pa.output_stream(str(place), compression=compression_of(name)) as file:
                            file.write(text)
                    continue
                if reader.copied_as is None:
                    raise UsageError(f"{reader.name}: one output for each input needs JSON Lines, CSV, TSV or text.")
                name, written = reader.paths[0].name, Written(next_row=row)
                rows = None
                if tables is not None:
                    cut_file = RemovedFile(tables.path / f"{name}.parquet", force=False)
                    rows = stack.enter_context(cut_file.spooling())
                data = scrubbed_bytes([reader], self.collection.text_column, stream, rows, written)
                write_bytes(data, _inside(draft.path, name))
                if rows is not None:
                    rows.flush()
                    files.append((cut_file, self._about(Path(name), written, verbatim=True, first_row=row)))
                row = written.next_row
            stream.finish()
            for cut_file, about in files:
                cut_file.finish(self._columns(kept), about)
            outputs = {
                file.relative_to(draft.path).as_posix(): file for file in draft.path.rglob("*") if file.is_file()
            }
            (draft.path / RECEIPT).write_bytes(sealed(self.receipt, outputs))
        return folder

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write kept.parquet, removed.parquet and receipt.json into a new folder, which appears when it is complete."""
        folder = Path(folder)
        check_folder(folder, force=force)
        with replacing(folder, force=force) as draft:
            draft.path.mkdir()
            self.write(draft.path / "kept.parquet", removed=draft.path / "removed.parquet")
            outputs = {file.name: file for file in draft.path.iterdir()}
            (draft.path / RECEIPT).write_bytes(sealed(self.receipt, outputs))
        return folder

    def done(self) -> None:
        """Delete the checkpoints and temporary files of the run, after the result was saved."""
        self.space.finish()

    @property
    def _threads(self) -> int:
        return self.job.threads or usable_cores()

    def _stream(self, pool: Pool, kept: KeptPlaces) -> CutStream:
        reader = CutReader(self.collection, self.job, self.cuts, self.read.offsets, kept)
        return CutStream(reader.batches(pool), self.collection.name)

    def _about(self, path: Path, written: Written, *, verbatim: bool, first_row: int = 0) -> dict[str, Any]:
        """Describe an output for its undo. first_row: number of the first row of its input."""
        return {
            "format": kind_of(path), "verbatim": verbatim, "text": self.collection.text_column,
            "lines": self.collection.lines, "given": written.given.as_list(), "output": written.output.as_list(),
            "head": written.head, "closed_row": written.closed_row, "first_row": first_row,
        }  # fmt: skip

    def _columns(self, kept: KeptPlaces) -> RemovedColumns:
        return RemovedColumns(self.cuts.pieces, self.read.offsets, self.read.ids, kept)

    def __repr__(self) -> str:
        counts = self.receipt["counts"]
        return (
            f"<Scrubbed: {count(counts['tokens_removed'], 'tokens')} removed from "
            f"{count(counts['documents_cut'], 'documents')}, {self.job.words()}>"
        )

    def _repr_html_(self) -> str:
        counts = self.receipt["counts"]
        names = ("documents", "documents_cut", "cuts", "tokens_removed")
        facts: list[tuple[str, object]] = [(name.replace("_", " "), f"{counts[name]:,}") for name in names]
        rows = [[one["text"], one["copies"], one["kept"]] for one in self.receipt["most_frequent"][:NOTEBOOK_ROWS]]
        return card(f"scrub · {self.job.words()}", facts, table(["text", "copies", "kept"], rows, len(rows)))


def run(source: Any, given: dict[str, Any]) -> Scrubbed:
    """Remove the repeats of one source. given: the options of `scrub`."""
    progress = given.pop("progress", silent)
    columns = {name: given.pop(name, None) for name in ("text", "id")}
    columns["on_bad_text"] = given.pop("on_bad_text", "error")
    only_local(given, "scrub and decontaminate", ONE_MACHINE)
    check_values(ScrubOptions, columns)
    columns["lines"] = by_lines(given.pop("lines", False), alone=True)
    if columns["on_bad_text"] == "replace":
        raise UsageError(
            "on_bad_text is 'replace', which changes text outside of the cuts; expected 'error' or 'skip'."
        )
    place = ResourceLimits.of(given)
    audited = given.pop("audit", SCRUB_DEFAULTS["audit"])
    check_values(ScrubOptions, {"audit": audited})
    job = ScrubJob(**given)
    limit = read_limit(place, SCRUB_MEMORY_PER_TEXT_BYTE)
    collection = open_collection(source, **columns, markup=True, limit=limit)
    if collection.text_column not in collection.columns:
        raise UsageError(f"scrub changes the text: `text` must be a column, and {collection.text_column!r} is a field.")
    trace = Trace(progress)
    column = preferred_column(job.keep)
    asked = {name: value for name, value in job.as_dict().items() if name != "threads"}
    about = {"wants": "scrub", "compared": job.words(), "job": asked}
    extra = [(column,) if column else ()]
    space = open_workspace([collection], extra, tokens_recipe(job), about, place, growth=SCRUB_MEMORY_PER_BYTE_OF_INPUT)
    with space, Pool(job.threads or usable_cores(), space.keeper.look) as pool:
        read = read_tokens(collection, job, column, pool, trace, space)
        check_columns(job, column, read)
        cuts = _checkpointed(read, job, pool, trace, space)
        _count(read, cuts, trace)
        order = preference(job.keep, np.diff(read.offsets), read.extra)
        measured = None
        if job.gap and audited and len(read):
            measured = measure_near_recall(read, job, cuts, order, audited, pool, trace, space)
        passages = frequent_passages(read, cuts, job, collection)
    receipt = scrub_receipt(collection, job, read, trace, space, passages, measured)
    result = Scrubbed(job=job, collection=collection, read=read, cuts=cuts, receipt=receipt, space=space)
    if place.beside is None:  # no caller reports that the answer is saved
        result.done()
    return result


def _inside(folder: Path, name: str) -> Path:
    """Return the path of a file in the folder, whose parent exists; raises UsageError for a name that is taken."""
    path = folder / name.lstrip("/")
    if ".." in Path(name).parts:
        raise UsageError(f"{name} is outside of the folder of the inputs; name the folder itself as the input.")
    if path.exists() or name == RECEIPT:
        raise UsageError(f"several inputs are named {name}; give one of them another name, or run once for each.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _checkpointed(read: ScrubTokens, job: ScrubJob, pool: Pool, trace: Trace, space: Workspace) -> CutList:
    """Find the cuts, or take them from the checkpoint of an interrupted run."""

    def make() -> tuple[dict[str, Any], dict[str, int]]:
        cuts = find_cuts(read, job, pool, trace, space)
        return {"pieces": cuts.pieces, "states": cuts.states, "near_copies": cuts.near_copies}, {}

    arrays, _ = space.part("cuts", make)
    return CutList(arrays["pieces"], arrays["states"], arrays["near_copies"])


def _count(read: ScrubTokens, cuts: CutList, trace: Trace) -> None:
    owners = np.searchsorted(read.offsets, cuts.pieces[:, 0], "right") - 1
    trace.add(
        cuts=len(cuts.pieces),
        documents_cut=len(np.unique(owners)),
        tokens_removed=int(cuts.pieces[:, 1].sum()),
        documents_dropped=int((cuts.states == 1).sum()),
        documents_left_whole=int((cuts.states == 2).sum()),
    )
