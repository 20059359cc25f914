"""Arrays set aside come back, the disk's complaints are one line, and spans keep what they promise."""

from __future__ import annotations

import errno
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import OutputError
from lookalike.runtime.local.spill import Batch, PostingRun, PostingSpill, spans


@given(arrays=st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=20), max_size=8), stay=st.booleans())
@settings(deadline=None)
def test_arrays_come_back(arrays: list[list[int]], stay: bool) -> None:
    with PostingSpill(stay=stay) as spill:
        kinds = [np.uint32 if i % 2 else np.uint64 for i in range(len(arrays))]
        shelves = [spill.put(np.array(array, kind)) for array, kind in zip(arrays, kinds, strict=True)]
        for shelf, array, kind in [*zip(shelves, arrays, kinds, strict=True)][::-1]:
            back = spill.get(shelf)
            assert (back.tolist(), back.dtype) == (array, kind)
            assert (
                spill.get(shelf, len(array) // 3, len(array) // 2).tolist() == array[len(array) // 3 : len(array) // 2]
            )
        expected = sum(np.dtype(kind).itemsize * len(array) for array, kind in zip(arrays, kinds, strict=True))
        assert spill.nbytes == (0 if stay else expected)


@pytest.mark.parametrize("stay", [True, False])
def test_buckets_of_a_run(stay: bool) -> None:
    batch = Batch(np.arange(10, 16, dtype=np.uint64), np.arange(6, dtype=np.uint32), np.array([1, 1, 4, 6]))
    with PostingSpill(stay=stay) as spill:
        part = PostingRun.put(batch, spill).get(spill, 1, 3)
        assert [tuple(map(list, part.bucket(b))) for b in range(2)] == [([], []), ([11, 12, 13], [1, 2, 3])]
        whole = PostingRun.put(batch, spill).get(spill, 0, 4)
        assert [len(whole.bucket(b)[0]) for b in range(4)] == [1, 0, 3, 2]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with PostingSpill(tmp_path / "none") as spill, pytest.raises(OutputError) as caught:
        spill.put(np.zeros(500_000, np.uint64))
    assert str(caught.value) == (
        f"cannot set 4.0 MB aside in {tmp_path / 'none'}: No such file or directory. "
        "Make room there, name another folder for temporary files, or allow more memory."
    )


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        closed = False

        def seek(self, _at: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.closed = True

    full = Full()
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    with (
        PostingSpill(tmp_path) as spill,
        pytest.raises(OutputError, match=r"aside in .*: No space left on device\. Make room"),
    ):
        spill.put(np.zeros(5))
    assert full.closed


def test_a_file_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []
    make = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: files.append(make(**options)) or files[-1])
    with PostingSpill() as spill:
        shelf = spill.put(np.arange(100))
        files[0].truncate(80)
        assert spill.get(shelf, 0, 10).tolist() == list(range(10))
        with pytest.raises(OutputError, match=re.escape("a temporary file has become shorter while it was in use.")):
            spill.get(shelf)


@given(weights=st.lists(st.integers(0, 9), max_size=30), most=st.integers(1, 20))
@settings(deadline=None)
def test_spans(weights: list[int], most: int) -> None:
    cut = spans(np.array(weights, np.int64), most)
    assert [i for low, high in cut for i in range(low, high)] == list(range(len(weights)))
    assert all(high > low for low, high in cut)
    assert all(sum(weights[low:high]) <= most or high == low + 1 for low, high in cut)
    for low, high in cut[:-1]:
        assert sum(weights[low : high + 1]) > most
