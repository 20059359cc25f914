"""lookalike report and lookalike explore."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from shown import save_families


def test_a_report_of_a_folder(tmp_path: Path, lookalike) -> None:
    folder = save_families(tmp_path)
    done = lookalike("report", folder, "-o", tmp_path / "page.html")
    assert (done.code, done.out) == (0, "")
    assert f"Wrote    {tmp_path / 'page.html'} (" in done.err
    assert lookalike("report", folder, "-o", tmp_path / "page.html").err.startswith("OutputError: ")
    assert lookalike("report", folder, "-o", tmp_path / "page.html", "--force", "-q").err == ""


def test_texts_that_are_gone_are_told(tmp_path: Path, lookalike) -> None:
    folder = save_families(tmp_path)
    (tmp_path / "families.parquet").rename(tmp_path / "moved.parquet")
    done = lookalike("report", folder, "-o", tmp_path / "page.html", "-q")
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert done.err.startswith("Warning: ")
    assert "families.parquet is not there any more" in done.err
    done = lookalike("report", folder, "-o", tmp_path / "b.html", "-q", "--input", tmp_path / "moved.parquet")
    assert (done.code, done.err) == (0, "")
    done = lookalike("report", folder, "-o", tmp_path / "c.html", "--input", tmp_path / "nowhere.parquet")
    assert (done.code, done.err[:12]) == (1, "InputError: ")
    assert not (tmp_path / "c.html").exists()


def test_what_is_no_result_is_refused(tmp_path: Path, lookalike) -> None:
    done = lookalike("report", tmp_path / "none", "-o", tmp_path / "page.html")
    assert done.code == 1
    assert "none is not there. pairs, groups and dedup write one with -o FOLDER" in done.err
    done = lookalike("explore", tmp_path)
    assert done.code == 1
    assert "no result folder: it has no receipt.json" in done.err


def test_the_explorer_serves_until_it_is_stopped(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    command = [sys.executable, "-m", "lookalike.cli.main", "explore", str(save_families(tmp_path)), "--port", "0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert line.startswith(f"Exploring {tmp_path / 'result'} at http://127.0.0.1:"), line
        with urllib.request.urlopen(line.split(" at ")[1].split()[0] + "/api/overview") as answer:
            assert answer.status == 200
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert (child.returncode, said) == (0, "")
    finally:
        child.kill()
        child.wait()
