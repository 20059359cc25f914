"""The selftest agrees on this machine, and says so when an answer is another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lookalike.cli import selftest
from lookalike.cli.main import app


@pytest.mark.promise("docs/how-to/selftest.md", "the same bytes")
def test_every_way_agrees() -> None:
    """The command of the page, without --quiet."""
    call = CliRunner().invoke(app, ["selftest"])
    assert call.exit_code == 0, call.output
    lines = call.output.splitlines()
    assert [line.split(" (")[0] for line in lines] == [f"agrees   {case.name}" for case in selftest.SELFTEST_CASES]
    assert all("command line" in line and "1 thread" in line for line in lines)


@pytest.mark.promise("docs/how-to/selftest.md", "exit code 1")
def test_another_answer_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(selftest.SHIPPED_ANSWERS, tmp_path / "expected")
    file = tmp_path / "expected/bits.csv"
    file.write_bytes(file.read_bytes().replace(b",2\n", b",3\n", 1))
    monkeypatch.setattr(selftest, "SHIPPED_ANSWERS", tmp_path / "expected")
    monkeypatch.setattr(selftest, "SELFTEST_CASES", [case for case in selftest.SELFTEST_CASES if case.name == "bits"])
    call = CliRunner().invoke(app, ["selftest", "--quiet"])
    assert call.exit_code == 1
    assert "differs  bits" in call.output
    assert "the bytes differ from those expected" in call.output


@pytest.mark.xdist_group("spark")
def test_spark_agrees() -> None:
    (case,) = [case for case in selftest.SELFTEST_CASES if case.name == "documents, exact"]
    ways = dict(selftest._results(case, spark=True))
    assert ways["Spark"] == ""
