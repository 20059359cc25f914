"""Groups of a list of pairs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.evaluation.pair_groups import listed_output
from lookalike.result import answer

IDS = st.one_of(st.integers(-3, 5), st.sampled_from([10**12, -(10**15)]))
PAIRS = st.lists(st.tuples(IDS, IDS, st.sampled_from([0.1, 0.5, 0.9])), max_size=14)


def slow_components(pairs: list[tuple[int, int, float]], keep: str) -> list[tuple[int, int, int, int]]:
    seen = list(dict.fromkeys(one for left, right, _ in pairs for one in (left, right)))
    group = {one: {one} for one in seen}
    for left, right, _ in pairs:
        union = group[left] | group[right]
        group |= dict.fromkeys(union, union)
    rows, numbers = [], 0
    for one in seen:
        members = [other for other in seen if other in group[one]]
        if members[0] == one and len(members) > 1:
            rows += [(member, numbers, len(members), members[0 if keep == "first" else -1]) for member in members]
            numbers += 1
    return rows


@given(PAIRS, st.booleans(), st.sampled_from(["first", "last"]))
@settings(max_examples=80)
def test_components_agree_with_a_slow_version(pairs, texts: bool, keep: str) -> None:
    kind = str if texts else int
    columns = list(zip(*pairs, strict=True)) or [(), (), ()]
    ids = [pa.array(map(kind, column), pa.string() if texts else pa.int64()) for column in columns[:2]]
    table = pa.table({"left": ids[0], "right": ids[1], "similarity": pa.array(columns[2], pa.float64())})
    job, source, found = listed_output(table, keep, Trace())
    groups = answer("groups", "components", job, [source], found, Trace()).groups
    expected = slow_components(pairs, keep)
    rows = [tuple(row.values()) for row in groups.to_pylist()]
    assert rows == [(kind(i), number, size, kind(best)) for i, number, size, best in expected]


@given(PAIRS, st.sampled_from(["stars", "cliques"]))
@settings(max_examples=60)
def test_stars_and_cliques_hold_pairs_only(pairs, grouping) -> None:
    columns = list(zip(*pairs, strict=True)) or [(), (), ()]
    table = pa.table({"left": pa.array(columns[0], pa.int64()), "right": pa.array(columns[1], pa.int64())})
    job, source, found = listed_output(table, "first", Trace())
    listed = {frozenset(pair[:2]) for pair in pairs}
    rows = answer("groups", grouping, job, [source], found, Trace()).groups.to_pylist()
    for row in rows:
        others = [row["representative"]] if grouping == "stars" else [
            one["id"] for one in rows if one["group"] == row["group"]
        ]  # fmt: skip
        assert all(other == row["id"] or frozenset((row["id"], other)) in listed for other in others)


def test_distances_join_the_nearest(tmp_path: Path, lookalike) -> None:
    (tmp_path / "pairs.jsonl").write_text(
        '{"left": 1, "right": 5, "distance": 9}\n{"left": 2, "right": 6, "distance": 9}\n'
        '{"left": 1, "right": 3, "distance": 4}\n{"left": 2, "right": 3, "distance": 1}\n'
    )
    done = lookalike("groups", "--pairs", tmp_path / "pairs.jsonl", "--grouping", "stars", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert lookalike("verify", tmp_path / "out").code == 0
    result = la.load(tmp_path / "out")
    assert {row["id"]: row["representative"] for row in result.groups.to_pylist()} == {
        1: 1, 5: 1, 2: 2, 6: 2, 3: 2,
    }  # fmt: skip
    assert "distance" in result.pairs.column_names


@pytest.mark.parametrize(
    ("content", "options", "code", "says"),
    [
        ("left,right\n7,007\n7,7\n", (), 0, "1 pair of an id with itself left out"),
        ("left,right\n", (), 0, "has no pairs, so there are no groups"),
        ("", (), 1, "is empty (0 bytes)"),
        ("a,b\n1,2\n", (), 1, "has not both columns left and right"),
        ("left,right\n1,\n", (), 1, "has no id in row 0"),
        ("left,right\n1,2\n", ("--unit", "char"), 2, "--unit is for a search"),
        ("left,right\n1,2\n", ("--keep", "longest"), 2, "expected first or last"),
        ("left,right\n1,2\n", ("more.csv",), 2, "leave out more.csv"),
    ],
)
def test_unusual_lists(tmp_path: Path, lookalike, content: str, options: tuple[str, ...], code: int, says: str) -> None:
    (tmp_path / "pairs.csv").write_text(content)
    done = lookalike("groups", "--pairs", tmp_path / "pairs.csv", *options)
    assert done.code == code, done.err
    assert says in done.err
    if code:
        assert done.err.count("\n") == 1


def test_groups_need_an_input(lookalike) -> None:
    done = lookalike("groups")
    assert done.code == 2
    assert "no INPUT came" in done.err


def test_standard_output_has_the_groups_alone(tmp_path: Path, lookalike) -> None:
    (tmp_path / "pairs.csv").write_text("left,right\na,b\n")
    done = lookalike("groups", "--pairs", tmp_path / "pairs.csv", "-o", "-", "-q")
    assert done.out.replace('"', "") == "id\tgroup\tsize\trepresentative\na\t0\t2\ta\nb\t0\t2\ta\n"


def test_scrub_and_decontaminate_run_on_one_machine() -> None:
    for run in (lambda: la.scrub(["a"], engine="spark"), lambda: la.decontaminate(["a"], ["b"], engine="spark")):
        with pytest.raises(UsageError, match=r"scrub and decontaminate do not run on Spark: they run on one machine"):
            run()
