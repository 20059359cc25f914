"""Time, memory and disk of a forecast."""

from __future__ import annotations

from itertools import pairwise

import pytest

import lookalike as la
from lookalike.cost_model.costs import SHIPPED
from lookalike.kinds.documents.run_resources import (  # fmt: skip
    Range,
    RunSize,
    core_seconds,
    disk,
    elapsed,
    peak_memory,
    within_budget,
)


def size(factor: float) -> RunSize:
    return RunSize(1000 * factor, 1e6 * factor, 2e5 * factor, Range(50 * factor, 10 * factor, 200 * factor), 640)


def test_an_interval_holds_its_estimate_and_grows_with_the_run() -> None:
    sizes = [size(10.0**exponent) for exponent in range(5)]
    for ranges in (
        [peak_memory(one, 2) for one in sizes],
        [disk(one) for one in sizes],
        [core_seconds(10.0**exponent, SHIPPED) for exponent in range(-3, 4)],
        [elapsed(core_seconds(10.0**exponent, SHIPPED), 4, SHIPPED) for exponent in range(-3, 4)],
    ):
        assert all(one.low <= one.value <= one.high for one in ranges)
        for one, larger in pairwise(ranges):
            assert one.low < larger.low
            assert one.value < larger.value
            assert one.high < larger.high


@pytest.mark.parametrize("folder", [True, False])
def test_memory_stays_within_the_budget(folder: bool) -> None:
    for exponent in range(6):
        held = within_budget(peak_memory(size(10.0**exponent), 2), 4e8, folder=folder)
        assert held.low <= held.value <= held.high <= 4e8


def test_elapsed_time_lies_between_all_threads_and_one() -> None:
    core = core_seconds(100.0, SHIPPED)
    time = elapsed(core, 8, SHIPPED)
    assert (time.low, time.high) == (core.low / 8, core.high)


def test_the_command_states_the_intervals(lookalike, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "texts.csv").write_text("text\n" + "a text of some words that are all alike\n" * 2)
    said = dict(line.split(None, 1) for line in lookalike("plan", tmp_path / "texts.csv").out.splitlines())
    assert " s (0." in said["Time"]
    assert "without other load; about " in said["Time"]
    assert " MB (" in said["Memory"]
    made = la.forecast(["a text of some words", "another text of other words"], memory="400MB")
    assert made.disk_interval[0] <= made.disk <= made.disk_interval[1]
    assert made.memory_interval[1] <= 400_000_000
    assert made.core_seconds_interval[0] <= made.core_seconds <= made.core_seconds_interval[1]
