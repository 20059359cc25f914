"""Blocks are reserved before a work file is mapped, and a full disk is one line that names the folder."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import OutputError
from lookalike.runtime.local import disk_space
from lookalike.runtime.local.disk_space import reserve
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def unsupported(*_: object) -> None:
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


@pytest.mark.parametrize("nbytes", [0, 1, 3_000_001])
@pytest.mark.parametrize("supported", [True, False])
def test_a_reserved_file_has_its_blocks(
    tmp_path: Path, nbytes: int, supported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not supported:
        monkeypatch.setattr(os, "posix_fallocate", unsupported)
    with open(tmp_path / "file", "w+b") as file:
        reserve(file.fileno(), nbytes)
        status = os.fstat(file.fileno())
        assert status.st_size == nbytes
        assert status.st_blocks * 512 >= nbytes
        assert not any(file.read())


def test_a_file_that_cannot_be_reserved_takes_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = os.pwrite

    def half(file: int, data: bytes, at: int) -> int:
        return no_room() or 0 if at else written(file, data[: len(data) // 2], at)

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    monkeypatch.setattr(os, "pwrite", half)
    with open(tmp_path / "file", "w+b") as file:
        with pytest.raises(OSError, match="No space left"):
            reserve(file.fileno(), 1000)
        assert os.fstat(file.fileno()).st_size == 0


def test_a_full_disk_names_the_folder_what_is_free_and_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = CheckpointFolder(tmp_path / "run-1", {})
    used = Workspace(MemoryBudget(1 << 62), tmp_path, run=place)
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 7, 2_500_000))
    advice = (
        "Make room there and run the same command again (a run over files continues where it stopped), or name a "
        "folder on another disk with `work_dir`."
    )
    numbers = np.zeros(1_000_000)
    for folder, store in (
        (tmp_path, lambda: used.array((1_000_000,), np.int64)),
        (place.path, lambda: used.part("pairs", lambda: ({"left": numbers}, {}))),
        (place.path, lambda: used.filled("keys", {"keys": ((1_000_000,), np.int64)}, lambda _: None)),
    ):
        with pytest.raises(OutputError) as caught:
            store()
        expected = f"disk full: the work folder {folder} has 2.5 MB free, at least 8.0 MB more needed. {advice}"
        assert str(caught.value) == expected
    monkeypatch.setattr("lookalike.io.atomic._flush", no_room)
    with pytest.raises(OutputError) as caught:
        place.record()
    assert str(caught.value) == f"disk full: the work folder {place.path} has 2.5 MB free. {advice}"


SCRIPT = """
mount -t tmpfs -o size=2m none "$1/disk" || exit 77
run() { "$2" -m lookalike dedup "$1/in.parquet" -o "$1/out.parquet" --work-dir "$1/disk/work" --method lsh; }
run "$1" "$2" && exit 78
mount -o remount,size=200m "$1/disk" && run "$1" "$2"
"""


@pytest.mark.promise("docs/how-to/large.md", "If the disk is full, the run ends with one line")
def test_a_run_continues_on_a_disk_that_was_full(tmp_path: Path) -> None:
    """What the join stores does not fit: without reserved blocks, writing to their map ended the process with SIGBUS."""
    draw = np.random.default_rng(1)
    texts = [" ".join(map(str, draw.integers(0, 10_000, 12))) for _ in range(12_000)]
    pq.write_table(pa.table({"id": range(len(texts)), "text": texts}), tmp_path / "in.parquet")
    (tmp_path / "disk").mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("no unshare on this system")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(tmp_path), sys.executable],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare"):
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert f"disk full: the work folder {tmp_path}/disk/work/run-" in done.stderr
    assert "(12,000 documents) are taken from" in done.stderr + done.stdout
    whole = subprocess.run(
        [sys.executable, "-m", "lookalike", "dedup", "in.parquet", "-o", "whole.parquet", "--method", "lsh", "-q"],
        cwd=tmp_path, check=False,
    )  # fmt: skip
    assert whole.returncode == 0
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
