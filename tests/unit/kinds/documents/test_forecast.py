"""What a run would come to, predicted from a sample."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.io.read import open_collection
from lookalike.kinds.documents import forecast as forecasts
from lookalike.kinds.documents.forecast import SAMPLED_POSITIONS, sample


def texts(count: int, copies: int = 0) -> list[str]:
    draw = random.Random(4)
    unlike = [" ".join(f"w{draw.randrange(100_000)}" for _ in range(30)) for _ in range(count - copies)]
    template = " ".join(f"t{n}" for n in range(60))
    return draw.sample([*unlike, *(f"{template} x{n}" for n in range(copies))], count)


def test_a_sample_is_spread_over_the_collection(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": texts(6400), "id": range(6400)}), tmp_path / "x.parquet", row_group_size=100)
    ids = [batch.ids[0].as_py() for _, batch in sample(open_collection(tmp_path / "x.parquet"))]
    assert ids == list(range(0, 6400, 6400 // SAMPLED_POSITIONS))


def test_many_files_are_looked_into(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:03}.jsonl").write_text(f'{{"text": "file {number}"}}\n')
    seen = [batch.texts[0].as_py() for _, batch in sample(open_collection(tmp_path))]
    assert len(seen) == SAMPLED_POSITIONS
    assert seen[0] == "file 0"
    assert seen[-1] == "file 96"


def test_pairs_and_crowds_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 of 12,000 documents are near-copies of one template: 4,498,500 pairs."""
    pq.write_table(pa.table({"text": texts(12_000, copies=3000)}), tmp_path / "x.parquet", row_group_size=500)
    monkeypatch.setattr(forecasts, "READ_BYTES", 1 << 20)
    made = la.forecast(tmp_path / "x.parquet", threshold=0.8)
    assert (made.documents, made.places, made.complete) == (12_000, SAMPLED_POSITIONS, False)
    assert made.sampled < 8000
    assert abs(made.pairs / 4_498_500 - 1) < 0.2
    assert made.pairs_interval[0] <= 4_498_500 <= made.pairs_interval[1]
    assert made.candidates_interval[1] >= 4_498_500
    assert len(made.crowds) == 1
    assert made.crowds[0].startswith("about ")
    assert "look-alikes: 't0 t1 t2 t3" in made.crowds[0]
    assert not made.work_folder


def test_the_budget_decides_on_a_work_folder() -> None:
    table = pa.table({"text": ["some text of some length " * 40] * 100})
    assert not la.forecast(table).work_folder
    assert la.forecast(table, memory="400MB").work_folder
    assert la.forecast(table, memory="400MB").disk > 0


@pytest.mark.parametrize("count", [0, 1])
def test_next_to_nothing(count: int) -> None:
    made = la.forecast(pa.table({"text": pa.array(["one two three"] * count, pa.string())}))
    assert (made.documents, made.pairs, made.exact_copies, made.crowds) == (count, 0, 0.0, [])


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "up to 64 MiB of text are read whole")
def test_a_small_collection_is_read_once() -> None:
    """Places that lie close together do not read the same documents twice, which would look like copies."""
    made = la.forecast(texts(100))
    assert (made.sampled, made.exact_copies, made.pairs, made.complete) == (100, 0.0, 0, True)
    assert forecasts.READ_BYTES == 64 << 20
