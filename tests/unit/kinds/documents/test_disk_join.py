"""A band lists its pairs; gathered sets are those of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.candidates import Band, Items
from lookalike.core.measures import SET_MEASURES, Bar
from lookalike.errors import OutputError
from lookalike.runtime.local import gathered


@given(
    keys=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9), st.sampled_from([1, 2, 3])), max_size=30),
    name=st.sampled_from(["jaccard", "containment", "overlap"]),
)
@settings(deadline=None)
def test_the_pairs_of_a_band(keys: list[tuple[int, int, int]], name: str) -> None:
    """All pairs of a bucket that may match by size, and whose sides differ."""
    sizes = np.array([size for _, size, _ in keys], np.int64)
    sides = np.array([side for _, _, side in keys], np.uint8)
    items = Items(np.zeros(1, np.uint64), np.zeros(len(keys), np.int64), sizes, sides)
    measure = SET_MEASURES[name]
    bar = Bar(measure.code, 3, 1) if name == "overlap" else Bar(measure.code, 1, 2)
    band = Band.sort(np.array([[key << 40] for key, _, _ in keys], np.uint64).reshape(-1, 1), 0)
    found = {(int(pair) >> 32, int(pair) & 0xFFFFFFFF) for part in band.listed(items, bar) for pair in part}
    wanted = set()
    for x in range(len(keys)):
        for y in range(x):
            small, large = sorted((int(sizes[x]), int(sizes[y])))
            reachable = {"jaccard": 2 * small >= large, "containment": True, "overlap": small >= 3}[name]
            if keys[x][0] == keys[y][0] and sides[x] | sides[y] == 3 and reachable:
                wanted.add((x, y))
    assert found == wanted


@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=40), data=st.data())
@settings(deadline=None)
def test_gathered_sets_are_those_of_the_file(
    sizes: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(sizes) - 1), unique=True, min_size=1))
    elements = np.arange(1, sum(sizes) + 1, dtype=np.uint64) * np.uint64(2654435761)
    ends = np.cumsum(sizes)
    items = Items(elements, ends - sizes, np.array(sizes), np.full(len(sizes), 3, np.uint8))
    path = tmp_path_factory.mktemp("sets") / "elements"
    elements.tofile(path)
    with pytest.MonkeyPatch.context() as patch, path.open("rb") as file:
        patch.setattr(gathered, "READ_THROUGH_GAP", 3)
        some = gathered.gathered(items, np.array(chosen), file.fileno())
    for at, number in enumerate(chosen):
        start = some.starts[at]
        wanted = elements[ends[number] - sizes[number] : ends[number]]
        assert some.elements[start : start + some.sizes[at]].tolist() == wanted.tolist()


def test_a_file_that_became_shorter_is_named(tmp_path: Path) -> None:
    (tmp_path / "elements").write_bytes(b"x" * 24)
    items = Items(np.zeros(9, np.uint64), np.array([0]), np.array([9]), np.full(1, 3, np.uint8))
    with (tmp_path / "elements").open("rb") as file, pytest.raises(OutputError, match="has become shorter"):
        gathered.gathered(items, np.array([0]), file.fileno())
