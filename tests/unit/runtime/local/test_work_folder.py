"""Work folders: parts are made once, known again, and made again where they are damaged or belong to something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookalike.errors import OutputError
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace


def space(folder: Path, about: dict[str, object]) -> Workspace:
    return Workspace(MemoryBudget(1 << 62), folder, run=CheckpointFolder(folder / "run-1", about))


def close(used: Workspace) -> None:
    assert used.run is not None
    used.run.close()


def test_a_part_is_made_once(tmp_path: Path) -> None:
    made = []

    def make() -> tuple[dict[str, np.ndarray], dict[str, int]]:
        made.append(1)
        return {"left": np.arange(5, dtype=np.uint32), "empty": np.empty((0, 3))}, {"candidates": 7}

    for _ in range(3):
        used = space(tmp_path, {})
        arrays, counts = used.part("band-0", make)
        assert arrays["left"].tolist() == [0, 1, 2, 3, 4]
        assert arrays["empty"].shape == (0, 3)
        assert counts == {"candidates": 7}
        assert used.notes == []
        close(used)
    assert made == [1]


def test_arrays_are_filled_once(tmp_path: Path) -> None:
    for value in (1, 2):
        used = space(tmp_path, {})
        filled = used.filled("signatures", {"values": ((3, 2), np.uint32)}, lambda a, v=value: a["values"].fill(v))
        assert filled["values"].tolist() == [[1, 1]] * 3
        close(used)


@pytest.mark.parametrize("damage", ["changed", "shorter", "gone"])
def test_a_damaged_part_is_made_again(tmp_path: Path, damage: str) -> None:
    used = space(tmp_path, {})
    used.part("pairs", lambda: ({"left": np.arange(9)}, {}))
    close(used)
    file = tmp_path / "run-1" / "pairs.left"
    if damage == "gone":
        file.unlink()
    else:
        data = bytearray(file.read_bytes())
        data[40] ^= 1
        file.write_bytes(data if damage == "changed" else data[:-1])
    used = space(tmp_path, {})
    arrays, _ = used.part("pairs", lambda: ({"left": np.arange(3)}, {}))
    assert arrays["left"].tolist() == [0, 1, 2]
    assert used.notes == [f"{tmp_path / 'run-1' / 'pairs'} is damaged and is made again."]


def test_a_place_belongs_to_one_run_at_a_time(tmp_path: Path) -> None:
    used = space(tmp_path, {})
    with pytest.raises(OutputError, match=r"run-1 is in use by another run\. Wait for it, or name another `work_dir`"):
        space(tmp_path, {})
    close(used)
    close(space(tmp_path, {}))


def test_without_a_folder_all_is_in_memory() -> None:
    used = Workspace(MemoryBudget(1 << 62))
    assert used.part("x", lambda: ({"a": np.arange(2)}, {}))[0]["a"].tolist() == [0, 1]
    assert used.array((2, 2), np.uint64).shape == (2, 2)
    used.finish()


def test_scratch_files_leave_no_trace(tmp_path: Path) -> None:
    used = Workspace(MemoryBudget(1 << 62), tmp_path)
    room = used.array((1000,), np.uint64)
    room[:] = 3
    assert int(room.sum()) == 3000
    assert list(tmp_path.iterdir()) == []
