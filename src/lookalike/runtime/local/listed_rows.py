"""Build the result of a run on disk, which holds only the rows that are in a pair or have a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, I64, U64, Groups, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.clusters import best_matches, by_rank, connected, greedy
from lookalike.core.exact_duplicates import ADVICE, Classes, too_many_copies
from lookalike.core.keep_policy import preference
from lookalike.core.method_choice import Choice
from lookalike.core.run_options import Grouping
from lookalike.core.token_hashes import token_hashes
from lookalike.core.trace import Trace
from lookalike.io.collection import check_ids
from lookalike.runtime.local.distinct_rows import RepeatedRows, RowMask, find_copies, grouped
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.memory_needs import MEMORY_WITHOUT_INPUT, PER_DOCUMENT, PER_PAIR, advised, check_memory
from lookalike.runtime.local.pair_store import MEMORY_PER_KEPT_PAIR, FoundPairs, PairStore, keys_of
from lookalike.runtime.local.text_pass import ID
from lookalike.runtime.local.work_folder import Workspace
from lookalike.runtime.run_output import ListedRows, Request, RunOutput, StreamedPairs

PAIRS_MEMORY_SHARE = 4  # pairs are held in memory if they take at most 1/4 of the budget
AUDIT_ITEM_BYTES = 80  # bytes of memory per item while the sample of an audit is drawn
Lengths = Callable[[I64], I64]
BATCH_PAIRS = 1 << 16  # pairs per batch of a table that is written as it is read


@dataclass(frozen=True)
class StoredRows:
    """The rows of the collections of a run on disk.

    tables: the ids and extra columns of each collection; without an id column, rows are identified by number. counts:
    rows of each collection. mask: the distinct rows. own: score of equal rows.
    """

    tables: Sequence[pa.Table]
    counts: Sequence[int]
    mask: RowMask
    copies: RepeatedRows
    own: float

    @property
    def split(self) -> int:
        return self.counts[0] if len(self.counts) == 2 else -1

    def ids(self, side: int, rows: I64) -> pa.Array:
        """Return the ids of these rows of a collection."""
        column = self.tables[side][ID] if self.tables[side].num_columns else pa.chunked_array([], pa.null())
        return as_arrow(rows) if pa.types.is_null(column.type) else taken(column, rows)


def taken(column: pa.ChunkedArray, rows: I64) -> pa.Array:
    """Return the values of these rows, chunk by chunk: a take from all chunks may copy the whole column.

    >>> taken(pa.chunked_array([["a", "b"], ["c"]]), np.array([2, 0])).to_pylist()
    ['c', 'a']
    """
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    parts, places = [pa.array([], column.type)], [np.empty(0, np.int64)]
    for chunk, some in grouped(np.searchsorted(ends, rows, side="right")):
        before = int(ends[chunk - 1]) if chunk else 0
        parts.append(column.chunk(chunk).take(as_arrow(rows[some] - before)))
        places.append(some)
    place = np.concatenate(places)
    back = np.empty(len(place), np.int64)
    back[place] = np.arange(len(place))
    return pa.concat_arrays(parts).take(as_arrow(back))


def check_stored_ids(column: pa.ChunkedArray, name: str, space: Workspace, room: int) -> None:
    """Raise DuplicateIds unless the ids are unique, in bounded memory."""
    if pa.types.is_null(column.type) or not len(column):
        return
    ends = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])

    def prints(low: int, high: int) -> U64:
        first, last = int(np.searchsorted(ends, low, side="right")) - 1, int(np.searchsorted(ends, high))
        parts = [
            (n, max(0, low - int(ends[n])), min(high, int(ends[n + 1])) - int(ends[n])) for n in range(first, last)
        ]
        hashes: U64 = np.concatenate([_hashes(column.chunk(n).slice(begin, end - begin)) for n, begin, end in parts])
        return hashes

    def same(left: I64, right: I64) -> npt.NDArray[np.bool_]:
        one, other = taken(column, left), taken(column, right)
        equal = pc.equal(one, other)
        if pc.any(equal).as_py():
            check_ids(pa.concat_arrays([one.filter(equal).unique(), other.filter(equal)]), name=name)
        return np.zeros(len(left), np.bool_)

    find_copies(prints, np.ones(len(column), np.bool_), same, space, room)


def _hashes(ids: pa.Array) -> U64:
    return token_hashes(ids.view(pa.int64()) if pa.types.is_uint64(ids.type) else ids)


def room_for(keeper: MemoryBudget, held: float = 0.0) -> int:
    """Return the bytes that the work of one stage may take, besides what the run holds."""
    return max(20_000_000, int(keeper.budget - MEMORY_WITHOUT_INPUT - held))


def audit_fits(space: Workspace, items: int, room: int, trace: Trace) -> bool:
    """Return whether the sample of an audit can be drawn within the budget; adds a warning if not."""
    if not space.keeper.firm or AUDIT_ITEM_BYTES * items <= room:
        return True
    needed = advised(space.keeper.budget - room + AUDIT_ITEM_BYTES * items)
    trace.warnings.append(f"the recall was not measured: that takes about `memory={needed}`.")
    return False


def output(
    rows: StoredRows, found: PairStore, asked: Request, choice: Choice, space: Workspace, *, lengths: Lengths,
    max_pairs: int,
) -> RunOutput:  # fmt: skip
    """Return the result of a run whose pairs of distinct rows are in `found`.

    Pairs that do not fit into memory stay on disk: they are written from there, or make groups as they are read.
    lengths: returns those of some rows, for the keep policy.
    """
    budget, grouping, policy = space.keeper, asked.grouping, (asked.keep, lengths)
    total = len(found) if grouping is not None else _total(rows, found, max_pairs)
    if PER_PAIR * total <= budget.budget // PAIRS_MEMORY_SHARE:
        pairs = found.whole()
        ends = np.unique(np.concatenate([pairs.left, pairs.right]))
        return _listed(rows, ends, choice, space, policy, pairs)
    none = np.empty(0, np.int64)
    if grouping is None:
        stored = _expanded(rows, found, space)
        out = _listed(replace(rows, copies=RepeatedRows(none, none)), none, choice, space, policy, None)
        return replace(out, streamed=StreamedPairs(len(stored), lambda: _batches(rows, stored)))
    used = np.zeros(len(rows.mask), np.bool_)
    for piece in found.pieces():
        used[piece.left] = used[piece.right] = True
    ends = np.flatnonzero(used)
    del used
    out = _listed(rows, ends, choice, space, policy, None)
    return replace(out, groups=_streamed_groups(rows, ends, found, out, grouping, space))


def _streamed_groups(
    rows: StoredRows, ends: I64, found: PairStore, out: RunOutput, grouping: Grouping, space: Workspace
) -> Groups:  # fmt: skip
    """Group classes by pairs that are read piece by piece; with two collections, match the items of the first."""
    firsts = _firsts(rows, ends)
    class_of_end = np.searchsorted(firsts, rows.mask.rows_of(ends))

    def pieces() -> Iterator[Pairs]:
        for piece in found.scored_pieces():
            left, right = (class_of_end[np.searchsorted(ends, side)] for side in (piece.left, piece.right))
            yield Pairs(left, right, piece.similarity)

    if rows.split >= 0:
        return best_matches(pieces(), out.classes, out.split, out.own)
    if grouping == "components":
        return connected(pieces(), out.order)
    ranked = PairStore(space, "ranked", most=found.most, passing=True)
    for piece in pieces():
        some = by_rank(piece, out.order)
        ranked.add(keys_of(some.left, some.right), some.similarity)
    by_item = ranked.pieces(whole=True)
    return greedy((Pairs(one.left, one.right, one.scores) for one in by_item), out.order, grouping)


def _firsts(rows: StoredRows, ends: I64) -> I64:
    """Return the first row of each class that is listed: those of pairs, which are items, and those with a copy."""
    return np.union1d(rows.mask.rows_of(ends), rows.copies.firsts)


def _listed(
    rows: StoredRows, ends: I64, choice: Choice, space: Workspace, policy: tuple[str, Lengths], pairs: Pairs | None
) -> RunOutput:  # fmt: skip
    """Return the result with the rows that are in a pair or a class of several, numbered through as items.

    ends: the items that are in a pair, ascending. policy: which rows to keep. pairs: None if they are on disk.
    """
    copies, split = rows.copies, rows.split
    firsts = _firsts(rows, ends)
    listed = np.union1d(firsts, copies.rows)
    check_memory(
        space.keeper, PER_DOCUMENT * len(listed), lambda: f"a result that lists {len(listed):,} items that have a pair"
    )
    here = len(listed) if split < 0 else int(np.searchsorted(listed, split))
    extra = {
        name: pa.chunked_array([taken(column, listed[:here])])
        for name, column in zip(rows.tables[0].column_names, rows.tables[0].columns, strict=True)
        if name != ID
    }
    best = preference(policy[0], policy[1](listed[:here]), extra)
    best = np.concatenate([best, np.arange(here, len(listed))])
    rank = np.empty(len(best), np.int64)
    rank[best] = np.arange(len(best))
    members = np.searchsorted(listed, np.concatenate([firsts, copies.rows]))
    number = np.concatenate([np.arange(len(firsts)), np.searchsorted(firsts, copies.firsts)])
    order = np.lexsort((rank[members], number))
    classes = Classes(members[order], np.cumsum(np.bincount(number, minlength=len(firsts))).astype(np.int64))
    ids = [rows.ids(0, listed[:here])]
    if split >= 0:
        ids.append(rows.ids(1, listed[here:] - split))
    if pairs is not None:
        left, right = (np.searchsorted(firsts, rows.mask.rows_of(side)) for side in (pairs.left, pairs.right))
        pairs = Pairs(left, right, pairs.similarity)
    return RunOutput(
        [pa.chunked_array([one]) for one in ids], here if split >= 0 else -1, classes, np.full(len(classes), rows.own),
        classes.ranked(best), choice, pairs=pairs, preferred=best, space=space,
        listed=ListedRows(listed, list(rows.counts)),
    )  # fmt: skip


def _total(rows: StoredRows, found: PairStore, max_pairs: int) -> int:
    """Return the number of pairs of rows; TooManyPairs if they are more than `max_pairs`."""
    if not len(rows.copies.rows):
        return len(found)
    firsts = np.sort(rows.copies.firsts)
    sizes = 1 + np.unique(firsts, return_counts=True)[1]

    def size(items: I64) -> I64:
        row = rows.mask.rows_of(items)
        return 1 + np.searchsorted(firsts, row, side="right") - np.searchsorted(firsts, row)

    total = int((sizes * (sizes - 1) // 2).sum()) if rows.split < 0 else 0  # pairs across are counted as they are made
    if rows.split < 0:
        total += sum(int((size(piece.left) * size(piece.right)).sum()) for piece in found.pieces())
    if total > max_pairs:
        raise too_many_copies(f"{total:,}", max_pairs, int(sizes.max()), ADVICE)
    return max(total, len(found) + len(rows.copies.rows))


def _expanded(rows: StoredRows, found: PairStore, space: Workspace) -> PairStore:
    """Return all pairs of rows: of different classes, and of equal rows."""
    about = {"pairs": len(found), "copies": len(rows.copies.rows)}
    out = PairStore(space, "pairs-of-rows", most=found.most, about=about)
    if out.complete:
        return out
    split = rows.split
    order = np.argsort(rows.copies.firsts, kind="stable")
    others, classes = rows.copies.rows[order], rows.copies.firsts[order]  # the copies, by class

    def members(row: I64) -> tuple[I64, I64]:
        """Return all rows that equal each given row, and the positions of these among the given rows."""
        low, high = np.searchsorted(classes, row), np.searchsorted(classes, row, side="right")
        counts = 1 + high - low
        place = np.repeat(np.arange(len(row)), counts)
        within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        known = np.append(others, 0)[np.minimum(low[place] + within - 1, len(others))]
        return place, np.where(within == 0, row[place], known)

    def add(left: I64, right: I64, scores: F64) -> None:
        low, high = np.minimum(left, right), np.maximum(left, right)
        wanted = (low < split) & (high >= split) if split >= 0 else low != high
        out.add(keys_of(low[wanted], high[wanted]), scores[wanted])

    for piece in found.pieces(most=max(1 << 10, found.most // 4)):
        place, left = members(rows.mask.rows_of(piece.left))
        second, right = members(rows.mask.rows_of(piece.right)[place])
        add(left[second], right, piece.scores[place][second])
    for at in range(0, len(others), 1 << 10):
        row, first = others[at : at + (1 << 10)], classes[at : at + (1 << 10)]
        place, other = members(first)
        once = row[place] > other
        add(row[place][once], other[once], np.full(int(once.sum()), rows.own))
    out.finish()
    return out


def _batches(rows: StoredRows, stored: PairStore) -> Iterator[tuple[pa.Array, pa.Array, F64]]:
    """Yield (left ids, right ids, scores) of all pairs, in order."""
    for piece in stored.pieces(most=min(stored.most, BATCH_PAIRS * 16)):
        for at in range(0, len(piece.keys), BATCH_PAIRS):
            some = FoundPairs(piece.keys[at : at + BATCH_PAIRS], piece.scores[at : at + BATCH_PAIRS])
            right = some.right if rows.split < 0 else some.right - rows.split
            yield rows.ids(0, some.left), rows.ids(1 if rows.split >= 0 else 0, right), some.scores


def pairs_in_memory(keeper: MemoryBudget) -> int:
    """Return how many pairs a store holds in memory at a time."""
    return max(1 << 12, keeper.budget // 16 // MEMORY_PER_KEPT_PAIR)
