"""lookalike vectors, faces and images."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DATA = np.array([[1.0, 0.0, 2.0], [1.0, 0.1, 2.0], [0.0, 5.0, -1.0], [1.0, 0.0, 2.0]])


def test_vectors_pairs_in_a_pipe(tmp_path: Path, lookalike) -> None:
    np.save(tmp_path / "x.npy", DATA)
    done = lookalike("vectors", "pairs", tmp_path / "x.npy", "--max-angle", "5")
    assert done.code == 0
    assert done.out.splitlines() == ["left\tright\tangle", "0\t1\t2.56064", "0\t3\t0", "1\t3\t2.56064"]
    assert "Read     4 vectors" in done.err
    assert "1 exact copy" in done.err
    assert "angle at most 5 degrees · exact join, none missed" in done.err


def test_vectors_groups_dedup_and_against(tmp_path: Path, lookalike) -> None:
    table = pa.table({"id": list("abcd"), "vector": DATA.tolist(), "n": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "x.parquet")
    np.save(tmp_path / "y.npy", DATA[2:3])
    grouped = lookalike("vectors", "groups", tmp_path / "x.parquet", "--max-distance", "0.5")
    assert grouped.out.splitlines()[1:] == ["a\t0\t3\ta", "b\t0\t3\ta", "d\t0\t3\ta"]
    done = lookalike(
        "vectors", "dedup", tmp_path / "x.parquet", "--min-cosine", "0.99", "--keep", "max:n", "-o", tmp_path / "c.csv"
    )
    assert done.code == 0
    assert (tmp_path / "c.csv").read_text().splitlines()[1:] == ['"c","[0.0, 5.0, -1.0]",3', '"d","[1.0, 0.0, 2.0]",4']
    across = lookalike("vectors", "pairs", tmp_path / "x.parquet", "--against", tmp_path / "y.npy", "--max-angle", "1")
    assert across.out.splitlines()[1:] == ["c\t0\t0"]


def test_vectors_receipt(tmp_path: Path, lookalike) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((400, 8)))
    done = lookalike("vectors", "pairs", tmp_path / "x.npy", "--max-angle", "20", "--method", "lsh", "--json", "-q")
    receipt = json.loads(done.out)
    assert receipt["items"] == "vectors"
    assert receipt["job"]["measure"] == "angle"
    assert receipt["plan"]["recall_at_threshold"] >= 0.99
    assert receipt["recall_measured"]["sampled"] in range(128, 200)  # a few more, so that every stratum has some


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["vectors", "pairs", "x.npy"], 2, "UsageError: nothing given; expected one of --max-angle (degrees)"),
        (["vectors", "pairs", "x.npy", "--max-angle", "300"], 2, "UsageError: max_angle is 300; expected a number from 0 to 180."),
        (["vectors", "pairs", "y.npy", "--max-angle", "3"], 1, "MissingInput: no such file: y.npy. Nearest: 'x.npy'."),
        (["vectors", "pairs", "nan.npy", "--max-angle", "3"], 1, "InputError: nan.npy row 1: number 0 is NaN or missing"),
        (["vectors", "pairs", "empty.npy", "--max-angle", "3"], 1, "InputError: empty.npy is empty (0 bytes); expected an array."),
        (["vectors", "pairs", "t.parquet", "--column", "vektor", "--max-angle", "3"], 1, "ColumnNotFound: no column 'vektor' in t.parquet. Nearest: 'vector'."),
        (["vectors", "dedup", "x.npy", "--max-angle", "3"], 2, "UsageError: dedup writes the kept rows to a file"),
        (["faces", "pairs", "x.npy", "--tolerance", "-1"], 2, "UsageError: tolerance is -1.0; expected a number above 0"),
        (["faces", "query", "x.npy", "--against", "z.npy"], 1, "MissingInput: no such file: z.npy."),
        (["faces", "query", "x.npy", "--against", "x.npy", "--top", "0"], 2, "UsageError: top is 0; expected at least 1."),
        (["images", "pairs", "."], 1, "InputError: no pictures in ."),
        (["images", "pairs", "nowhere"], 1, "MissingInput: no such file or folder: nowhere."),
        (["images", "pairs", "x.npy", "-d", "90"], 2, "UsageError: max_bits is 90; expected a whole number from 0 to 64."),
    ],
)  # fmt: skip
def test_bad_wishes_get_one_clear_line(
    tmp_path: Path, lookalike, monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", DATA)
    np.save("nan.npy", np.array([[1.0], [np.nan]]))
    Path("empty.npy").touch()
    pq.write_table(pa.table({"vector": DATA.tolist()}), "t.parquet")
    done = lookalike(*words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1


def test_faces_query(tmp_path: Path, lookalike) -> None:
    np.save(tmp_path / "gallery.npy", np.array([[10, 20, 30, 40], [90, 80, 70, 60], [12, 19, 33, 90]]))
    np.save(tmp_path / "probes.npy", np.array([[11, 22, 31, 43], [0, 0, 0, 0]]))
    words = ("faces", "query", tmp_path / "probes.npy", "--against", tmp_path / "gallery.npy", "-t", "0.75")
    done = lookalike(*words)
    assert done.out.splitlines() == ["probe\tmatch\tagreement", "0\t0\t1", "0\t2\t0.75"]
    assert "Scored   6 of 6 pairs (100.0%)" in done.err
    assert lookalike(*words, "--top", "1", "-o", tmp_path / "m.csv").code == 0
    assert (tmp_path / "m.csv").read_text().splitlines()[1:] == ["0,0,1"]


def test_images_and_their_sheet(tmp_path: Path, lookalike) -> None:
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "p"
    folder.mkdir()
    random = np.random.default_rng(1)
    for number in range(3):
        pixels = image.fromarray(random.integers(0, 256, (8, 8)).astype(np.uint8)).resize((90, 90))
        pixels.save(folder / f"{number}.png")
        pixels.resize((45, 45)).save(folder / f"{number}b.jpg")
    (folder / "z.gif").write_bytes(b"?")
    done = lookalike("images", "groups", folder, "--sheet", tmp_path / "s.html", "--hash", "phash", "--hash", "dhash")
    assert done.code == 0
    assert done.out.splitlines()[1:3] == ["0.png\t0\t2\t0.png", "0b.jpg\t0\t2\t0.png"]
    assert "Warning: 1 file of" in done.err
    assert "z.gif: not a picture that Pillow knows" in done.err
    assert f"Wrote    {tmp_path / 's.html'}" in done.err
    again = lookalike("images", "groups", folder, "--sheet", tmp_path / "s.html")
    assert again.err.startswith("OutputError")
    assert lookalike("images", "groups", folder, "--sheet", tmp_path / "s.html", "--force", "-q").code == 0
