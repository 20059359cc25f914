"""Long strings in an index: where keys would be too many, strings of similar length are scanned, with the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError
from lookalike.index import scan
from lookalike.index.store import Blobs
from lookalike.kinds.strings import index as index_strings
from lookalike.kinds.strings.index import StringKind
from lookalike.kinds.strings.kernels import probes as edit_probes
from lookalike.web.service import Service
from web_server import ask, serving

KINDS = [
    StringKind(threshold=threshold, measure=measure)  # type: ignore[arg-type]
    for threshold in (0, 2, 5, 0.4, 0.8, 0.95)
    for measure in ("levenshtein", "indel")
]
SOME = st.lists(st.text("ab", max_size=14), min_size=1, max_size=12, unique=True)


def features(texts: list[str]) -> Blobs:
    return Blobs.of([text.encode("utf-32-le") for text in texts])


@given(st.sampled_from(KINDS), st.lists(st.integers(0, 70), max_size=4), st.integers(0, 3000))
@settings(max_examples=60, deadline=None)
def test_probes_are_counted_without_making_them(kind: StringKind, lengths: list[int], limit: int) -> None:
    queries = features(["ab" * (length // 2) + "c" * (length % 2) for length in lengths])
    counts = np.empty(len(lengths), np.int64)
    edit_probes.probe_counts(queries.offsets >> 2, *kind._bar, limit, counts)
    real = np.diff(kind.probes(queries).offsets)
    assert np.array_equal(counts[counts <= limit], real[counts <= limit])
    assert np.all(real[counts > limit] > limit)


def answers(place: Path, kind: StringKind, stored: list[str], queries: list[str]) -> list[Any]:
    with la.Index.create(place, kind="strings", threshold=kind.threshold, measure=kind.measure) as index:
        index.add(stored[::2])
        new = index.add_if_new([*stored, *queries], ids=list(range(100, 100 + len(stored) + len(queries))))
        removed = index.remove([0])
        return [index.query(queries), index.query(queries, k=1), new, removed, index.groups().to_pylist()]


@given(kind=st.sampled_from(KINDS), stored=SOME, queries=SOME)
@settings(max_examples=12, deadline=None)
def test_scans_and_keys_give_the_same_answers(
    tmp_path_factory: pytest.TempPathFactory, kind: StringKind, stored: list[str], queries: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("long")
    by_keys = answers(folder / "keys", kind, stored, queries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_strings, "PROBES_OF_A_QUERY", 2)
        assert answers(folder / "scan", kind, stored, queries) == by_keys


def test_a_long_string_is_found_by_similarity(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    long = "".join(draw.choice(list("abcdefgh"), 4000))
    near = long[:1000] + "x" * 500 + long[1500:]
    with la.Index.create(tmp_path / "index", kind="strings", threshold=0.8) as index:
        index.add([near, long[::-1], "short"], ids=["near", "far", "short"])
        assert index.query([long, "shorts"]) == [[("near", 0.875)], [("short", 1 - 1 / 6)]]
        assert index.query([long], threshold=0.9) == [[]]


def test_scans_that_would_take_too_long_are_refused(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", kind="strings", threshold=0.8) as index:
        index.add(["a" * 110_000])
        asked = (
            "a string of 100,000 letters came; comparing it at 0.8 with the strings of similar length would take this"
        )
        for call in (index.query, index.add_if_new):
            with pytest.raises(UsageError, match=f"^{asked} call beyond 4,000,000,000 steps. Ask for nearer matches"):
                call(["a" * 100_000])
        assert index.query(["a" * 109_999], threshold=0.9999) == [[(0, 1 - 1 / 110_000)]]
        with pytest.raises(UsageError, match=r"^strings of 200,000 and 200,000 letters came; .* Split them"):
            index.compare("a" * 200_000, "b" * 200_000)
        assert len(index) == 1


@pytest.mark.promise("docs/how-to/serve.md", "are put into groups first; where long strings would make that take")
def test_grouping_before_a_removal_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    long = ["".join(draw.choice(list("abcdefgh"), 1000)) for _ in range(3)]
    with la.Index.create(tmp_path / "index", kind="strings", threshold=0.8) as index:
        index.add([*long, long[0] + "x"], ids=["a", "b", "c", "d"])
        with monkeypatch.context() as patch:
            patch.setattr(scan, "SCAN_STEPS", 10**6)
            expected = "^before an item is removed or replaced, .* more than 1,000,000 steps .*`lookalike index export`"
            for change in (lambda: index.remove(["a"]), lambda: index.add(["new"], ids=["b"])):
                with pytest.raises(UsageError, match=expected):
                    change()
            with serving(Service(index)) as where:
                status, refused = ask(where, "DELETE", "/items/a")
                assert (status, refused["message"].startswith("before an item is removed")) == (422, True)
            assert (list(index), index.info()["ungrouped"]) == (["a", "b", "c", "d"], 4)
            assert index.groups().column("id").to_pylist() == ["a", "d"]  # without a limit
            assert index.remove(["a"]) == 1
            assert index.group_of("d") == 0
