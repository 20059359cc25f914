"""Pairs of windows of time series and motions, next to the slow twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
import oracles
from lookalike.errors import InputError, LookalikeError, TooManyPairs, UsageError
from lookalike.kinds.series.kernels import diagonals

ODD = [0.0, 0.0, 0.0, 1.0, -1.0, 2.5, 1e6, 1e6 + 1, 1e-6, float("nan"), float("inf")]


def rows(found: la.series.SeriesPairs) -> list[tuple[str, int, str, int]]:
    table = found.pairs
    return list(zip(*(table[name].to_pylist() for name in ("left", "left_start", "right", "right_start")), strict=True))


def values(draw: Any, columns: int) -> np.ndarray:
    """A series with stretches that occur again, scaled, and odd values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = rng.normal(size=(columns, draw(st.integers(8, 40))))
    if draw(st.booleans()):
        made = made.cumsum(axis=1)
    if draw(st.booleans()):
        made[:, -6:] = made[:, :6] * draw(st.sampled_from([1.0, 3.0, 1e-5])) + draw(st.sampled_from([0.0, 100.0]))
    for place, value in draw(st.lists(st.tuples(st.integers(0, 39), st.sampled_from(ODD)), max_size=4)):
        made[draw(st.integers(0, columns - 1)), place % made.shape[1]] = value
    return made


@st.composite
def collections(draw: Any) -> tuple[list[np.ndarray], int, float, int, int]:
    columns = draw(st.integers(1, 2))
    series = [values(draw, columns) for _ in range(draw(st.integers(1, 3)))]
    window = draw(st.integers(3, 8))
    return series, window, draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])), draw(st.integers(1, 8)), columns


@pytest.mark.promise("docs/how-to/series.md", "No pair is missed")
@pytest.mark.promise("docs/how-to/series.md", "distance of two windows is that over all columns")
@pytest.mark.promise("docs/how-to/series.md", "`--overlapping` reports them all")
@pytest.mark.promise(
    "docs/how-to/series.md", "Every pair that is left out is that close to a reported one that is nearer"
)
@settings(max_examples=60)
@given(collections(), st.booleans(), st.booleans())
def test_the_pairs_are_those_of_the_slow_twin(drawn: Any, overlapping: bool, between: bool) -> None:
    series, window, within, zone, _ = drawn
    between = between and len(series) > 1
    named = {str(number): one.T for number, one in enumerate(series)}
    source = {name: named[name] for name in list(named)[:1]} if between else named
    other = {name: named[name] for name in list(named)[1:]} if between else None
    found = la.series.pairs(source, against=other, window=window, within=within, exclusion=zone, motion=True,
                            overlapping=True, threads=1)  # fmt: skip
    known = oracles.windows_near(series, window, 2 * within, zone, split=1 if between else -1)
    margin = 1e-6  # the twin sums exactly: at the bound the two may differ
    surely = {(str(s), i, str(t), j) for distance, s, i, t, j in known if distance <= within - margin}
    perhaps = {(str(s), i, str(t), j) for distance, s, i, t, j in known if distance <= within + margin}
    assert surely <= set(rows(found)) <= perhaps
    exact = {(str(s), i, str(t), j): distance for distance, s, i, t, j in known}
    for row, distance in zip(rows(found), found.pairs["distance"].to_pylist(), strict=True):
        assert distance == pytest.approx(exact[row], abs=1e-5)
    if not overlapping:
        fewer = la.series.pairs(source, against=other, window=window, within=within, exclusion=zone, motion=True)
        all_pairs = [(0.0, int(s), i, int(t), j) for s, i, t, j in rows(found)]
        expected = oracles.without_overlaps(all_pairs, zone)
        assert rows(fewer) == [(str(s), i, str(t), j) for _, s, i, t, j in expected]


def test_diagonals_are_entered_again_and_results_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long diagonals are entered again after some thousand rows, and a full buffer is emptied."""
    from lookalike.kinds.series import local

    rng = np.random.default_rng(5)
    series = rng.normal(size=6000)
    series[4000:4300] = 5 * series[300:600] + rng.normal(size=300) / 50
    expected = la.series.pairs(series, window=50, within=1.0, overlapping=True)
    assert {(left, right) for _, left, _, right in rows(expected)} >= {(300 + i, 4000 + i) for i in range(251)}
    monkeypatch.setattr(local, "PAIR_BUFFER", diagonals.DIAGONALS)
    monkeypatch.setattr(local, "CELLS_PER_BATCH", 1 << 18)
    again = la.series.pairs(series, window=50, within=1.0, overlapping=True, threads=2)
    assert again.pairs.equals(expected.pairs)


@pytest.mark.promise("docs/how-to/series.md", "none is lost where small and large values")
@pytest.mark.parametrize("jump", [1e3, 1e7, 1e9])
def test_values_of_very_different_sizes(jump: float) -> None:
    """The products along a diagonal lose digits where a series has both large and small values; no pair is lost."""
    rng = np.random.default_rng(9)
    small = rng.integers(-1000, 1000, 60) / 1024
    series = np.concatenate([small, rng.normal(size=200) * jump, small, jump + small, rng.normal(size=30)])
    found = la.series.pairs(series, window=40, within=0.01, exclusion=1, overlapping=True)
    assert {(left, right) for _, left, _, right in rows(found)} >= {(i, 260 + i) for i in range(21)}
    if jump <= 1e7:
        assert {(left, right) for _, left, _, right in rows(found)} >= {(i, 320 + i) for i in range(21)}


@settings(max_examples=20)
@given(collections(), st.integers(1, 6))
def test_the_nearest_pairs(drawn: Any, top: int) -> None:
    series, window, _, zone, _ = drawn
    named = {str(number): one.T for number, one in enumerate(series)}
    nearest = la.series.pairs(named, window=window, top=top, exclusion=zone, motion=True)
    widest = 2 * float(np.sqrt(window * len(series[0]))) + 1
    every = la.series.pairs(named, window=window, within=widest, exclusion=zone, motion=True)
    assert nearest.pairs.equals(every.pairs.slice(0, top))
    assert ("there are only" in " ".join(nearest.receipt["warnings"])) == (len(every) < top)


@pytest.mark.promise("docs/how-to/series.md", "Their correlation is 1 - distance² / (2 × window)")
def test_correlation_is_the_same_bound() -> None:
    rng = np.random.default_rng(2)
    series = rng.normal(size=500).cumsum()
    by_distance = la.series.pairs(series, window=20, within=np.sqrt(2 * 20 * 0.08))
    by_correlation = la.series.pairs(series, window=20, min_correlation=0.92)
    assert by_distance.pairs.equals(by_correlation.pairs)
    assert len(by_distance) > 3
    left, right = by_distance.pairs["left_start"][3].as_py(), by_distance.pairs["right_start"][3].as_py()
    known = np.corrcoef(series[left : left + 20], series[right : right + 20])[0, 1]
    assert by_distance.pairs["correlation"][3].as_py() == pytest.approx(known)


@pytest.mark.promise(
    "docs/how-to/series.md", "Windows of one value only, and windows with a missing value, match nothing"
)
def test_constant_and_missing_windows_are_counted() -> None:
    series = [1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 5.0, None, 1.0, 2.0, 4.0]
    found = la.series.pairs(pa.table({"x": series}), window=3, within=5, overlapping=True)
    assert found.receipt["counts"]["constant_windows"] == 2
    assert found.receipt["counts"]["missing_windows"] == 3
    assert found.receipt["warnings"] == [
        "2 windows of 9 have one value only and match nothing.",
        "3 windows of 9 have a missing value and match nothing.",
    ]
    assert ("x", 0, "x", 8) in rows(found)
    assert not {2, 3, 5, 6, 7} & {start for row in rows(found) for start in (row[1], row[3])}


def test_forms_of_input(tmp_path: Path) -> None:
    wave = np.array([0, 1, 5, 2, 0, 3, 3.5])
    long = np.concatenate([wave, wave[::-1], wave])
    names = ["a"] * len(wave) + ["b"] * len(long)
    table = pa.table({"device": names, "time": range(len(names)), "x": np.concatenate([wave, long])})
    lists = pa.table({"id": ["a", "b"], "values": [wave.tolist(), long.tolist()]})
    expected = [("a", 0, "b", 0), ("a", 0, "b", 14), ("b", 0, "b", 14)]
    for source, options in (
        ({"a": wave, "b": long}, {}),
        (table, {"series": "device"}),
        (lists, {}),
        (lists.to_pandas() if hasattr(lists, "to_pandas") else lists, {}),
    ):
        found = la.series.pairs(source, window=7, within=1e-6, **options)
        assert sorted(rows(found)) == expected
    np.save(tmp_path / "a.npy", wave)
    np.save(tmp_path / "b.npy", long)
    found = la.series.pairs([tmp_path / "a.npy", tmp_path / "b.npy"], window=7, within=1e-6)
    assert sorted(row[::2] for row in rows(found)) == [("a.npy", "b.npy"), ("a.npy", "b.npy"), ("b.npy", "b.npy")]
    (tmp_path / "two").mkdir()
    (tmp_path / "two/a.csv").write_text("time,x,y\n" + "".join(f"{i},{v},{v * 2}\n" for i, v in enumerate(wave)))
    (tmp_path / "two/b.csv").write_text("time,x,y\n" + "".join(f"{i},{v},{v * 2}\n" for i, v in enumerate(long)))
    both = la.series.pairs(tmp_path / "two", window=7, within=1e-6)
    assert ("a.csv:x", 0, "a.csv:y", 0) in rows(both)
    motion = la.series.pairs(tmp_path / "two", window=7, within=1e-6, motion=True, value=["x", "y"])
    assert sorted(rows(motion)) == [("a.csv", 0, "b.csv", 0), ("a.csv", 0, "b.csv", 14), ("b.csv", 0, "b.csv", 14)]
    known = la.series.pairs(tmp_path / "two/a.csv", against=tmp_path / "two/b.csv", window=7, within=0.1, value="x")
    assert sorted(rows(known)) == [("x", 0, "x", 0), ("x", 0, "x", 14)]
    assert rows(la.series.pairs(np.stack([wave, -wave], axis=1), window=7, min_correlation=-1)) == [
        ("series:0", 0, "series:1", 0)
    ]


@pytest.mark.promise("docs/how-to/series.md", "A window longer than a series is refused")
@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ([1.0] * 9, {"window": 10, "top": 1}, "series 'series' has 9 steps, fewer than the window of 10. Take a shorter"),
        ({"a": [1.0, 2], "b": [1, 2, 3]}, {"window": 3, "top": 1}, "series 'a' has 2 steps, fewer than"),
        ([[1.0], [1, 2], [1, 2, 3]], {"window": 3, "top": 1}, "has 1 step (and 1 more are short), fewer than"),
        ([1.0, 2], {"window": 2, "top": 1}, "window is 2; expected a whole number of steps, 3 or more."),
        ([1.0, 2], {"window": 3.5, "top": 1}, "window is 3.5; expected a whole number."),
        ([1.0, 2], {"top": 1}, "`window` is missing: give the number of steps in a window."),
        ([1.0, 2], {"window": 4}, "no bound given; expected one of `within`, `min_correlation` and `top`."),
        ([1.0, 2], {"window": 4, "top": 1, "within": 2}, "within and top given; expected one of"),
        ([1.0, 2], {"window": 4, "top": 0}, "top is 0; expected a whole number of pairs, 1 or more."),
        ([1.0, 2], {"window": 4, "within": -1.0}, "within is -1.0; expected at least 0."),
        ([1.0, 2], {"window": 4, "within": float("nan")}, "within is nan; expected at least 0."),
        ([1.0, 2], {"window": 4, "top": 1, "overlapping": True}, "`top` counts pairs without overlaps"),
        (["a", "b"], {"window": 4, "top": 1}, "series '0' holds <U1 of shape (); expected numbers"),
        ([], {"window": 4, "top": 1}, "the arrays has no series; expected at least one."),
        ({"a": np.zeros((9, 2)), "b": np.zeros((9, 3))}, {"window": 4, "top": 1, "motion": True},
         "motions of 2 and of 3 columns came; expected one number."),
        (pa.table({"x": ["a"]}), {"window": 4, "top": 1}, "no column of the table holds values of a series; give `value`."),
        (pa.table({"x": [1.0]}), {"window": 4, "top": 1, "value": "y"}, "no column 'y' in the table."),
        (pa.table({"x": ["a"]}), {"window": 4, "top": 1, "value": "x"}, "column 'x' in the table is string; expected"),
        (pa.table({"x": [1.0], "s": pa.array([None], "string")}), {"window": 4, "top": 1, "series": "s"},
         "column 's' in the table names no series in row 0"),
        ([1.0, 2], {"window": 4, "top": 1, "value": "x"}, "series is an array without columns; leave out `value` and"),
        ([1.0, 2], {"window": 4, "top": 1, "engine": "spark"}, "series are compared on one machine only."),
        ([1.0, 2], {"windw": 4}, "there is no option 'windw'. Nearest: 'window'."),
    ],
)  # fmt: skip
def test_one_clear_line(source: Any, options: Any, message: str) -> None:
    with pytest.raises(LookalikeError) as caught:
        la.series.pairs(source, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InputError | UsageError)


def test_too_many_pairs() -> None:
    wave = np.tile([0.0, 1.0, 3.0, 2.0], 100)
    with pytest.raises(TooManyPairs, match=r"more than 100 pairs of windows .* are within 1, and the search"):
        la.series.pairs(wave, window=4, within=1, max_pairs=100)


def test_the_command(tmp_path: Path, lookalike: Any) -> None:
    wave = [0, 1, 5, 2, 0, 3, 4, 9, 1, 0, 2, 10, 4, 0, 6]
    path = tmp_path / "walk.csv"
    path.write_text("time,x\n" + "".join(f"{i},{value}\n" for i, value in enumerate(wave)))
    done = lookalike("series", "pairs", path, "--window", 5, "--within", 1, "--value", "x")
    assert done.code == 0
    assert done.out.splitlines()[0] == "left\tleft_start\tright\tright_start\tdistance\tcorrelation"
    assert done.out.splitlines()[1].split("\t")[:4] == ["x", "1", "x", "10"]
    assert "Read     1 series" in done.err
    assert lookalike("series", "pairs", path, "-w", 5, "--top", 2, "-o", tmp_path / "out.csv", "-q").code == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3
    assert lookalike("series", "pairs", path, "-w", 5, "--top", 2, "-o", tmp_path / "all", "-q").code == 0
    assert la.load(tmp_path / "all").pairs.num_rows == 2
    for name in ("all", "out.csv"):
        done = lookalike("verify", tmp_path / name)
        assert done.code == 0
        assert "2 pairs of windows in order" in done.out + done.err
    no_page = lookalike("report", tmp_path / "all", "-o", tmp_path / "page.html")
    assert (no_page.code, no_page.err.endswith("for which there is no page; read its table.\n")) == (1, True)
    wrong = lookalike("series", "pairs", path, "-w", 50, "--top", 2)
    assert wrong.code == 1
    assert wrong.err == (
        "InputError: series 'x' has 15 steps, fewer than the window of 50. Take a shorter --window, or leave short "
        "series out.\n"
    )
    assert lookalike("series", "pairs", tmp_path / "none.csv", "-w", 5, "--top", 2).err.startswith(
        "MissingInput: no such"
    )
    (tmp_path / "empty.csv").write_text("")
    assert lookalike("series", "pairs", tmp_path / "empty.csv", "-w", 5, "--top", 2).code == 1
