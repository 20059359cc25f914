"""Pairs of items, with their scores or without, written to disk as they are found, and read back sorted and unique."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from lookalike.core.arrays import F64, I64, U64, Pairs
from lookalike.runtime.local.checkpoints import checksum
from lookalike.runtime.local.disk_space import storing
from lookalike.runtime.local.gathered import read_exactly
from lookalike.runtime.local.joins import check_count
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace, write_all

STEP_COMMIT_SECONDS = 3.0  # minimum time between two commits
SAMPLED_KEYS = 1 << 15  # keys that are sampled to divide the pairs into pieces
KEY_HALF = np.uint64(32)  # a key is the left item in the high 32 bits and the right one in the low 32 bits
LOW_HALF = np.uint64(0xFFFFFFFF)
KEY_BYTES = SCORE_BYTES = 8
NO_SCORES: F64 = np.empty(0)
MEMORY_PER_KEPT_PAIR = 64  # bytes of memory for each pair of a piece while it is sorted


class KeyRun(NamedTuple):
    """A sorted run of pairs in the file: its first byte and its number of pairs; the scores follow the keys."""

    start: int
    pairs: int


class FoundPairs(NamedTuple):
    """Pairs in ascending order of their keys. keys u64[p]; scores f64[p], empty in a store without scores."""

    keys: U64
    scores: F64

    @property
    def left(self) -> I64:
        return (self.keys >> KEY_HALF).astype(np.int64)

    @property
    def right(self) -> I64:
        return (self.keys & LOW_HALF).astype(np.int64)


def keys_of(left: Any, right: Any) -> U64:
    """Return the keys of pairs of items below 2^32.

    >>> [hex(key) for key in keys_of(np.array([1]), np.array([2]))]
    ['0x100000002']
    """
    keys: U64 = (np.asarray(left).astype(np.uint64) << KEY_HALF) | np.asarray(right).astype(np.uint64)
    return keys


@dataclass
class _Waiting:
    keys: list[U64]
    scores: list[F64]
    pairs: int = 0


class PairStore:
    """Pairs in one file, as sorted runs; memory holds `most` pairs at a time.

    A store with a name belongs to the checkpoints of the run: `step` counts the finished steps, which a resumed run
    leaves out. Without checkpoints the file has no name and is deleted with the process.
    """

    def __init__(
        self, space: Workspace, name: str, *, most: int, about: Mapping[str, Any] | None = None,
        division: int = 0, scored: bool = True, passing: bool = False,
    ) -> None:  # fmt: skip
        """most: pairs in memory. about: what the pairs depend on. division: what only the steps depend on.

        Pairs of another division are reused if they are complete. scored: pairs have scores. passing: the pairs are no
        checkpoint.
        """
        assert space.folder is not None
        self._name, self.most, self._scored = name, max(1 << 10, most), scored
        self._pair_bytes = KEY_BYTES + SCORE_BYTES * scored
        self._place: CheckpointFolder | None = None if passing else space.run
        self._about, self._division = dict(about or {}), division
        self._waiting, self._allowed = _Waiting([], []), 0
        self._runs: list[KeyRun] = []
        self.steps, self.complete, self.counts = 0, False, dict[str, int]()
        folder = space.folder if self._place is None else self._place.path
        self._path = folder / (f"scratch-{name}-{os.getpid()}" if self._place is None else name)
        known = None if self._place is None else self._place.progress.get(name)
        if known is not None and self._is_whole(known):
            self._runs = [KeyRun(*run) for run in known["runs"]]
            self.steps, self.complete, self.counts = known["steps"], known["complete"], known["counts"]
        elif known is not None and self._fits(known):
            space.notes.append(f"{self._path} is damaged and is made again.")
        with storing(self._path):
            self._file: IO[bytes] = open(self._path, "a+b", buffering=0)  # noqa: SIM115  (open as long as the store)
            weakref.finalize(self, self._file.close)
            self._file.truncate(self._end)
            if self._place is None:
                self._path.unlink()
        self._crcs: list[int] = [] if known is None or not self._runs else known["crc"]
        self._committed = time.monotonic()

    def _fits(self, known: Mapping[str, Any]) -> bool:
        same_steps = known["complete"] or known["division"] == self._division
        return bool(known["about"] == self._about and same_steps)

    def _is_whole(self, known: Mapping[str, Any]) -> bool:
        return self._fits(known) and all(
            checksum(self._path, start, start + pairs * self._pair_bytes) == crc
            for (start, pairs), crc in zip(known["runs"], known["crc"], strict=True)
        )

    def __len__(self) -> int:
        """Return the number of pairs; those that were added several times may count as often."""
        return sum(run.pairs for run in self._runs) + self._waiting.pairs

    @property
    def _end(self) -> int:
        return self._runs[-1].start + self._runs[-1].pairs * self._pair_bytes if self._runs else 0

    @property
    def nbytes(self) -> int:
        return self._end

    def add(self, keys: U64, scores: F64 = NO_SCORES) -> None:
        """Add pairs in any order."""
        if len(keys):
            self._waiting.keys.append(keys)
            self._waiting.scores.append(scores)
            self._waiting.pairs += len(keys)
            if self._waiting.pairs >= self.most:
                self._write()

    def count(self, **counts: int) -> None:
        """Add to the counts, which are committed with the steps."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + int(number)

    def check_count(self, limit: int, advice: str, *, last: bool = False) -> None:
        """Raise PairLimitReached if more than `limit` distinct pairs were added. last: no more are to come."""
        if len(self) > max(limit, 0 if last else self._allowed):
            check_count(sum(len(piece.keys) for piece in self.pieces()), limit, advice)
            self._allowed = len(self) + len(self) // 4  # until then their number is not counted again

    def step(self) -> None:
        """Mark the end of a step; from time to time everything so far is committed."""
        self.steps += 1
        if time.monotonic() - self._committed >= STEP_COMMIT_SECONDS:
            self._commit()

    def finish(self) -> None:
        """Commit all pairs: nothing is added any more."""
        self.complete = True
        self._commit()

    def _write(self) -> None:
        if not self._waiting.pairs:
            return
        keys, scores = _merged(
            [FoundPairs(*pair) for pair in zip(self._waiting.keys, self._waiting.scores, strict=True)]
        )
        self._waiting = _Waiting([], [])
        run = KeyRun(self._end, len(keys))
        with storing(self._path, len(keys) * self._pair_bytes):
            write_all(self._file, keys)
            write_all(self._file, scores)
        self._runs.append(run)

    def _commit(self) -> None:
        self._write()
        if self._place is not None:
            with storing(self._path):
                os.fsync(self._file.fileno())
            for run in self._runs[len(self._crcs) :]:
                self._crcs.append(checksum(self._path, run.start, run.start + run.pairs * self._pair_bytes) or 0)
            self._place.progress[self._name] = {
                "about": self._about, "division": self._division, "runs": [list(run) for run in self._runs],
                "crc": self._crcs, "steps": self.steps, "complete": self.complete, "counts": self.counts,
            }  # fmt: skip
            self._place.record()
        self._committed = time.monotonic()

    def pieces(
        self, low: int = 0, high: int = 1 << 64, *, most: int | None = None, whole: bool = False
    ) -> Iterator[FoundPairs]:
        """Yield the distinct pairs whose key is from `low` to `high` - 1, ascending, about `most` at a time.

        whole: all pairs of a left item are in one piece.
        """
        self._write()
        begins = [self._place_of(run, low) for run in self._runs]
        ends = [self._place_of(run, high) for run in self._runs]
        total = sum(end - begin for begin, end in zip(begins, ends, strict=True))
        cuts = self._cuts(begins, ends, total, most or self.most)
        if whole:
            cuts = sorted({cut >> 32 << 32 for cut in cuts})
        for cut in [*cuts, high]:
            stops = [self._place_of(run, cut) for run in self._runs]
            parts = [
                self._part(run, begin, end) for run, begin, end in zip(self._runs, begins, stops, strict=True)
                if begin < end
            ]  # fmt: skip
            begins = stops
            if parts:
                yield parts[0] if len(parts) == 1 else _merged(parts)

    def scored_pieces(self) -> Iterator[Pairs]:
        """Yield all pairs, piece by piece."""
        for piece in self.pieces():
            yield Pairs(piece.left, piece.right, piece.scores)

    def whole(self) -> Pairs:
        """Return all pairs, in memory."""
        pieces = [FoundPairs(np.empty(0, np.uint64), np.empty(0)), *self.pieces()]
        found = FoundPairs(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
        return Pairs(found.left, found.right, found.scores)

    def counts_between(self, edges: list[int]) -> I64:
        """Return how many pairs, repeated ones included, have a key from each edge to the next."""
        self._write()
        at = np.array([[self._place_of(run, edge) for edge in edges] for run in self._runs], np.int64)
        counts: I64 = np.diff(at.reshape(-1, len(edges)), axis=1).sum(axis=0)
        return counts

    def _cuts(self, begins: list[int], ends: list[int], total: int, most: int) -> list[int]:
        """Return the keys that divide the pairs into pieces of about `most`, from a sample of each run."""
        if total <= most:
            return []
        stride = max(1, min(total // SAMPLED_KEYS, most // 8))
        sampled = np.concatenate([
            self._keys(run, begin, end)[:: stride] if end - begin <= 1 << 20 else self._strided(run, begin, end, stride)
            for run, begin, end in zip(self._runs, begins, ends, strict=True)
        ])  # fmt: skip
        sampled.sort()
        return sorted({int(key) for key in sampled[:: max(1, most // stride)][1:]})

    def _strided(self, run: KeyRun, begin: int, end: int, stride: int) -> U64:
        return np.concatenate([self._keys(run, at, at + 1) for at in range(begin, end, stride)])

    def _place_of(self, run: KeyRun, key: int) -> int:
        """Return the position of the first pair of the run whose key is at least `key`."""
        low, high = 0, run.pairs
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if int(self._keys(run, middle, middle + 1)[0]) < key else (low, middle)
        return low

    def _keys(self, run: KeyRun, begin: int, end: int) -> U64:
        keys = np.empty(end - begin, np.uint64)
        read_exactly(self._file.fileno(), keys.view(np.uint8).data, run.start + 8 * begin)
        return keys

    def _part(self, run: KeyRun, begin: int, end: int) -> FoundPairs:
        if not self._scored:
            return FoundPairs(self._keys(run, begin, end), NO_SCORES)
        scores = np.empty(end - begin, np.float64)
        read_exactly(self._file.fileno(), scores.view(np.uint8).data, run.start + 8 * (run.pairs + begin))
        return FoundPairs(self._keys(run, begin, end), scores)


def _merged(parts: list[FoundPairs]) -> FoundPairs:
    """Merge parts; of repeated pairs one stays."""
    scored = len(parts[0].scores) > 0
    if not scored:
        keys, scores = np.concatenate([part.keys for part in parts]), NO_SCORES
        keys.sort()
    else:
        keys = np.concatenate([part.keys for part in parts])
        order = np.argsort(keys, kind="stable")
        keys, scores = keys[order], np.concatenate([part.scores for part in parts])[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    return FoundPairs(keys[new], scores[new] if scored else scores)
