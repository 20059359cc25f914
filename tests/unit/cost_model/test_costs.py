"""Costs are measured by running the stages, kept in a file, and read back only if they make sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookalike.cost_model.costs import SHIPPED, Costs, costs_file, keep_costs, known_costs
from lookalike.errors import InputError, OutputError
from lookalike.kinds.documents import calibration
from lookalike.kinds.documents.calibration import calibrate


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_shipped_costs_are_taken_and_said_to_be_so() -> None:
    known = known_costs()
    assert known.costs == SHIPPED
    assert known.words() == "shipped with the package"


def test_kept_costs_come_back(home: Path) -> None:
    mine = Costs(slot=3.5)
    assert keep_costs(mine) == costs_file() == home / "lookalike" / "costs.json"
    assert known_costs().costs == mine
    assert known_costs().words() == f"measured on this machine ({costs_file()})"
    assert [path.name for path in costs_file().parent.iterdir()] == ["costs.json"], "no draft is left"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ('{"version": 0, "costs": {}}', "is of another version of lookalike"),
        ("[]", "is of another version of lookalike"),
        (
            json.dumps({"version": 2, "costs": {**SHIPPED.as_dict(), "slot": "high"}}),
            "slot in .* is 'high'; expected nano",
        ),
        (
            json.dumps({"version": 2, "costs": {**SHIPPED.as_dict(), "slot": -1}}),
            "slot in .* is -1; expected nanoseconds",
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    keep_costs(SHIPPED)
    costs_file().write_text(text)
    with pytest.raises(InputError, match=rf"{message}.*Remove it, or measure the costs again\.$"):
        known_costs()


def test_a_place_that_cannot_be_written(home: Path) -> None:
    (home / "lookalike").write_text("a file")
    with pytest.raises(OutputError, match="Set XDG_CACHE_HOME to a folder of yours"):
        keep_costs(SHIPPED)


def test_every_cost_of_one_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_start", lambda: {"start": 1.0})  # its own process compiles again here
    monkeypatch.setattr(calibration, "find_spec", lambda name: None)  # Java takes longer to start than all the rest
    steps: list[str] = []
    made = calibrate(steps.append, scale=0.01)
    assert steps[:2] == ["starting", "fresh memory"]
    assert len(steps) == 7
    assert all(value > 0 for value in made.as_dict().values())
    assert made.slot != SHIPPED.slot
