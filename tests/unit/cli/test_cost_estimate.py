"""lookalike plan --items and --calibrate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookalike.cli.quantities import amount
from lookalike.cost_model.costs import Costs
from lookalike.errors import UsageError
from lookalike.kinds.documents import calibration

ROWS = ["Documents", "Plan", "Candidates", "Pairs", "CPU", "Time", "Shuffle", "Memory", "Disk", "Recall", "Costs"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("given", "unit", "value"),
    [("1e9", "", 1e9), ("10M", "", 1e7), ("10m", "", 1e7), ("1_000", "", 1000), ("2kB", "B", 2000), ("2 KB", "B", 2000),
     ("1.5e3", "B", 1500), ("3T", "", 3e12), ("7", "B", 7)],
)  # fmt: skip
def test_numbers_as_people_write_them(given: str, unit: str, value: float) -> None:
    assert amount("items", given, unit=unit) == value


@pytest.mark.parametrize("given", ["-3", "0", "", "many", "10MB", "1e", "3X", "1e999", "nan", "1,000"])
def test_numbers_that_are_none(given: str) -> None:
    with pytest.raises(UsageError) as caught:
        amount("items", given)
    assert str(caught.value) == f"--items is {given!r}; expected a number above 0, such as 1000000, 1e9 or 10M."


def test_a_cluster_on_paper(lookalike) -> None:
    done = lookalike("plan", "--items", "1e9", "--mean-bytes", "2000", "--executors", "200")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()[: len(ROWS)]] == ROWS
    assert "Documents   1.00e+09 of 2.0 kB: 2.0 TB of text" in done.out
    assert "on 200 executors of 4 cores" in done.out
    assert "recall 0.9922 at threshold 0.8" in done.out
    assert "Costs       shipped with the package; lookalike plan --calibrate" in done.out


def test_one_machine_on_paper(lookalike) -> None:
    done = lookalike("plan", "--items", "10M", "--mean-bytes", "2kB")
    assert "cores of this machine" in done.out
    assert "Shuffle" not in done.out


def test_numbers_for_programs(lookalike) -> None:
    made = json.loads(lookalike("plan", "--items", "1e9", "--mean-bytes", "2kB", "--executors", "200", "--json").out)
    assert made["load"]["items"] == 1e9
    assert made["plan"]["bands"] == 16
    assert made["cpu_hours"] == pytest.approx(sum(made["cpu"].values()) / 3600)
    assert made["shuffle_bytes"] == pytest.approx(sum(one["bytes"] for one in made["shuffle"].values()))


def test_a_warning_goes_beside_the_answer(lookalike) -> None:
    done = lookalike("plan", "--items", "1e11", "--mean-bytes", "2kB", "--executors", "2000")
    assert done.err.startswith("Warning: 49 pairs of unlike items for each item share a bucket")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--items", "-3", "--mean-bytes", "9"], "--items is '-3'; expected a number above 0"),
        (["--items", "1e9"], "--items needs --mean-bytes: how long is a document on average, such as 2kB?"),
        (
            ["--items", "1e9", "--mean-bytes", "2 pages"],
            "--mean-bytes is '2 pages'; expected a number above 0, such as 2000, 2kB or 2e3.",
        ),
        (["--items", "1e9", "--mean-bytes", "9", "--executors", "0"], "executors is 0; expected at least 1."),
        (["--mean-bytes", "9"], "--mean-bytes and --executors go with --items"),
        (["x.txt", "--items", "5", "--mean-bytes", "9"], "--items is for documents that are not here"),
    ],
)
def test_what_cannot_be_reckoned(words: list[str], message: str, lookalike) -> None:
    done = lookalike("plan", *words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_calibration_is_kept_for_later_plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lookalike) -> None:
    monkeypatch.setattr(calibration, "calibrate", lambda say: say("sketching") and Costs(byte_shingled=1000.0))
    before = lookalike("plan", "--items", "1e6", "--mean-bytes", "2kB", "--json")
    done = lookalike("plan", "--calibrate")
    assert done.err == "measuring: sketching\n"
    assert "byte_shingled      1000       2.1 ns\n" in done.out
    assert f"Kept in {tmp_path / 'lookalike' / 'costs.json'}\n" in done.out
    after = lookalike("plan", "--items", "1e6", "--mean-bytes", "2kB", "--json")
    assert json.loads(after.out)["cpu"]["shingle"] > 100 * json.loads(before.out)["cpu"]["shingle"]
    assert "measured on this machine" in json.loads(after.out)["costs"]
    assert json.loads(lookalike("plan", "--calibrate", "--json").out)["byte_shingled"] == 1000.0
