"""Write transactions of an index folder: all changes that one commit of the manifest makes visible."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.token_hashes import token_hashes
from lookalike.errors import LookalikeError, OutputError, UsageError
from lookalike.index.compaction import Old
from lookalike.index.locks import FileLock
from lookalike.index.manifest import NOTHING_KEPT, Manifest, record
from lookalike.index.memtable import MemTable
from lookalike.index.packing import Packed, arrays_of, pack
from lookalike.index.segment_file import write_segment
from lookalike.index.segments import Segment
from lookalike.index.store import Blobs, Block, Merge, StoredKeys, check_automatic, next_automatic
from lookalike.io import disk
from lookalike.runtime.local.pool import Pool, usable_cores

MAX_RECENT_ITEMS, SMALL_BYTES = 1024, 1 << 23  # a larger batch is written directly as a segment
FLUSHED = 4096  # write the recent items as a segment when there are more
SEGMENT_BYTES = 1 << 28
COMPACTING = "compact.lock"
DEAD_BITS_PAGE_BYTES = 512  # size of a page of the bitmap of removed rows
ID_TYPE_NAMES = {"int64": "int64", "large_string": "string"}


class Writer:
    """A write transaction. Item and segment numbers are assigned at once; files are on disk before the commit."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._change = manifest.get("change") + 1
        self._drafts: list[tuple[Path, Path]] = []
        self._layout = False

    @classmethod
    @contextmanager
    def begin(cls, folder: Path, manifest: Manifest, *, sweep: bool) -> Iterator[Writer]:
        """Open a transaction that is committed unless the block raises. sweep: first remove files of failed writers."""
        try:
            with manifest.changing():
                manifest.begin()
                writer = cls(folder, manifest)
                if sweep:
                    writer._sweep()
                try:
                    yield writer
                    writer._settle()
                except BaseException:
                    writer._give_up()
                    raise
            record(folder, writer._change)
        except OSError as error:
            if isinstance(error, LookalikeError):  # about the input
                raise
            raise unwritten(folder, error) from error

    def _settle(self) -> None:
        """Rename the drafts to their final names; the following commit makes them part of the index."""
        for draft, path in self._drafts:
            disk.system.replace(draft, path)
        if self._drafts:
            disk.sync_folder(self.folder)
        self.manifest.set("change", self._change)
        if self._layout:
            self.manifest.set("layout", self.manifest.get("layout") + 1)
        self.manifest.seal()

    def _give_up(self) -> None:
        for paths in self._drafts:
            for path in paths:
                disk.unlink(path, missing_ok=True)

    def _sweep(self) -> None:
        """Remove the files of writers that did not commit."""
        known = {f"{row[0]:08d}.seg" for row in self.manifest.rows("SELECT segment FROM segments")}
        compacting = FileLock(self.folder / COMPACTING)
        nobody = compacting.acquire(0)
        for path in self.folder.iterdir():
            left = path.name not in known and path.suffix in (".seg", ".draft")
            if left and (nobody or not path.name.startswith("compact-")):
                disk.unlink(path, missing_ok=True)
        compacting.release()

    # Items

    def take(self, name: str, count: int) -> int:
        """Reserve the next `count` numbers of a counter in `meta` and return the first."""
        first = int(self.manifest.get(name))
        self.manifest.set(name, first + count)
        return first

    def take_ids(self, count: int) -> int:
        self._check_type(pa.int64())
        check_automatic(self.manifest.get("next_id"), count)
        return self.take("next_id", count)

    def _check_type(self, ids: pa.DataType) -> None:
        name, known = ID_TYPE_NAMES[str(ids)], self.manifest.get("ids")
        if known is None:
            self.manifest.set("ids", name)
        elif known != name:
            words = {"int64": "whole numbers", "string": "strings"}
            raise UsageError(f"the ids of this index are {words[known]}; these are {words[name]}.")

    def _note_ids(self, ids: pa.Array) -> None:
        self._check_type(ids.type)
        if pa.types.is_int64(ids.type):
            self.manifest.set("next_id", next_automatic(self.manifest.get("next_id"), ids.to_numpy()))

    def add_rows(self, blocks: Sequence[Block], segments: Sequence[Segment], recent: MemTable) -> int:
        """Add a few items as rows of the manifest; return how many items they replace."""
        replaced = 0
        mine: dict[Any, int] = {}
        for block in blocks:
            self._note_ids(block.ids)
            replaced += self._bury_old(block.ids, segments, recent)
            first = self.take("next_item", len(block))
            for row, id in enumerate(block.ids.to_pylist()):  # noqa: A001
                if id in mine:
                    replaced += self.bury(None, np.array([mine[id]]))
                mine[id] = first + row
                keys = block.keys.values[block.keys.offsets[row] : block.keys.offsets[row + 1]].tobytes()
                raw = None if block.raw is None else block.raw[row]
                self.manifest.put("recent", first + row, id, keys, block.features[row], raw, self._change)
        return replaced

    def _bury_old(self, ids: pa.Array, segments: Sequence[Segment], recent: MemTable) -> int:
        """Remove the stored items with these ids and return their number."""
        old = [item for name in ids.to_pylist() if (item := recent.items.get(name)) is not None] if len(recent) else []
        buried = self.bury(None, np.array(old, np.int64))
        hashes = token_hashes(ids) if segments else np.empty(0, np.uint64)
        for segment in segments:
            rows = segment.rows_of(ids, hashes)
            buried += self.bury(segment, rows[rows >= 0])
        return buried

    def add_segments(self, blocks: Iterable[Block], segments: Sequence[Segment]) -> int:
        """Add many items as segments; return how many items they replace.

        The next blocks are computed while a segment is sorted and written. segments: all existing segments; there must
        be no recent items.
        """
        before = list(segments)
        replaced, first = 0, int(self.manifest.get("next_item"))
        under_way: Future[Made] | None = None
        with Pool(usable_cores()) as pool, Pool(1) as behind:
            parts: list[Packed] = []
            for part in pool.map(pack, blocks):
                parts.append(part)
                if sum(packed.nbytes for packed in parts) >= SEGMENT_BYTES:
                    replaced += self._finish(under_way, before)
                    under_way = self._start(behind, first, parts)
                    first, parts = first + sum(map(len, parts)), []
            replaced += self._finish(under_way, before)
            if parts:
                replaced += self._finish(self._start(behind, first, parts), before)
                first += sum(map(len, parts))
        self.manifest.set("next_item", first)
        return replaced

    def _start(self, behind: Pool, first: int, parts: list[Packed]) -> Future[Made]:
        number, draft = self.new_file()
        return behind.submit(lambda: Made(number, draft, first, parts))

    def _finish(self, under_way: Future[Made] | None, segments: list[Segment]) -> int:
        """Add a written segment to the manifest; remove older items with the same ids and return their number."""
        if under_way is None:
            return 0
        written = under_way.result()
        self._note_ids(written.ids)
        segment = self.add_file(written.number, written.draft, written.nbytes)
        replaced = self._bury_old(written.ids, segments, MemTable()) + self.bury(segment, written.again)
        segments.append(segment)
        return replaced

    def new_file(self) -> tuple[int, Path]:
        """Return the number of the next segment and the path of its draft."""
        number = self.take("next_segment", 1)
        draft = self.folder / f"{number:08d}.draft"
        self._drafts.append((draft, draft.with_suffix(".seg")))
        return number, draft

    def add_file(self, number: int, draft: Path, nbytes: int) -> Segment:
        segment = Segment(draft, number, nbytes)
        self.manifest.put("segments", number, segment.first, segment.last, len(segment), 0, nbytes)
        self._layout = True
        return segment

    def swap(self, olds: Sequence[Old], draft: Path, nbytes: int) -> None:
        """Replace segments by a merged one, and remove from it the items that were removed during the merge."""
        late = []
        for old in olds:
            query = "SELECT page, bits FROM dead WHERE segment = ?"
            for page, bits in self.manifest.rows(query, (old.segment.number,)):
                at = 8 * DEAD_BITS_PAGE_BYTES * page
                rows = np.arange(at, min(at + 8 * DEAD_BITS_PAGE_BYTES, len(old.segment)))
                now = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[: len(rows)] == 1
                late.append(old.segment.items(rows[now & ~old.is_dead(rows)]))
            self.manifest.drop("segments", old.segment.number)
            self.manifest.drop("dead", old.segment.number)
        self._layout = True
        if nbytes:
            number, mine = self.new_file()
            disk.system.replace(draft, mine)
            segment = self.add_file(number, mine, nbytes)
            gone = np.concatenate([np.empty(0, np.int64), *late])
            self.bury(segment, segment.rows_of_items(gone))

    def recent_count(self) -> int:
        return int(self.manifest.rows("SELECT count(*) FROM recent")[0][0])

    def flush(self) -> list[Segment]:
        """Write the recent items as a segment; return it in a list, which is empty if there are none."""
        kept = [row[:5] for row in self.manifest.rows("SELECT * FROM recent ORDER BY item") if row[1] is not None]
        self.manifest.drop("recent")
        self._layout = True
        if not kept:
            return []
        items, ids, keys, features, raw = zip(*kept, strict=True)
        values = Blobs.of(keys)
        block = Block(
            pa.array(ids, pa.int64() if isinstance(ids[0], int) else pa.large_string()), Blobs.of(features),
            StoredKeys(values.data.view(np.uint64), values.offsets // 8), None if raw[0] is None else Blobs.of(raw),
        )  # fmt: skip
        arrays, _ = arrays_of(np.array(items, np.int64), [pack(block)])
        number, draft = self.new_file()
        return [self.add_file(number, draft, write_segment(draft, arrays))]

    def bury(self, segment: Segment | None, rows: I64) -> int:
        """Mark rows of a segment, or recent items if it is None, as removed; return how many were live before."""
        if not len(rows):
            return 0
        if segment is None:
            query = "SELECT item FROM recent WHERE item = ? AND id IS NOT NULL"
            live = [item for item in rows.tolist() if self.manifest.rows(query, (item,))]
            for item in live:
                self.manifest.put("recent", item, None, None, None, None, self._change)
            return len(live)
        buried = 0
        for page in np.unique(rows // (8 * DEAD_BITS_PAGE_BYTES)).tolist():
            query = "SELECT bits FROM dead WHERE segment = ? AND page = ?"
            known = self.manifest.rows(query, (segment.number, page))
            bits = np.frombuffer(known[0][0], np.uint8).copy() if known else np.zeros(DEAD_BITS_PAGE_BYTES, np.uint8)
            before = int(np.bitwise_count(bits).sum())
            inside = rows[rows // (8 * DEAD_BITS_PAGE_BYTES) == page] - page * 8 * DEAD_BITS_PAGE_BYTES
            np.bitwise_or.at(bits, inside >> 3, (1 << (inside & 7)).astype(np.uint8))
            buried += int(np.bitwise_count(bits).sum()) - before
            self.manifest.put("dead", segment.number, page, bits.tobytes(), self._change)
        (row,) = self.manifest.rows("SELECT * FROM segments WHERE segment = ?", (segment.number,))
        self.manifest.put("segments", *row[:4], row[4] + buried, row[5])
        return buried

    # Groups

    def join(self, items: I64, parents: I64, merges: Sequence[Merge], grouped: int) -> None:
        self.manifest.put_groups(items, parents)
        first = self.manifest.rows("SELECT count(*) FROM merges")[0][0]
        for number, merge in enumerate(merges):
            self.manifest.put("merges", *merge, first + number)
        self.manifest.set("grouped", grouped)


class Made:
    """A segment file that is written but not yet listed in the manifest. again: rows whose id occurs again later."""

    def __init__(self, number: int, draft: Path, first: int, parts: list[Packed]) -> None:
        items = np.arange(first, first + sum(map(len, parts)), dtype=np.int64)
        arrays, self.again = arrays_of(items, parts)
        self.number, self.draft = number, draft
        self.ids = pa.concat_arrays([part.block.ids for part in parts])
        self.nbytes = write_segment(draft, arrays)


def unwritten(folder: Path, error: OSError) -> OutputError:
    """Return the error for a failed write."""
    if error.errno == errno.ENOSPC:
        return OutputError(f"disk full while writing {folder}; {NOTHING_KEPT}.")
    return OutputError(f"cannot write {folder}: {error.strerror or error}; {NOTHING_KEPT}.")
