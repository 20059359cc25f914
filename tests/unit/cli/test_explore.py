"""lookalike report and lookalike explore."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from lookalike.web.result_loader import open_result
from lookalike.web.view import ResultView
from shown import save_families


@pytest.mark.parametrize("asked", ["pairs", "groups"])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl"])
def test_a_file_of_pairs_or_groups_is_a_result(tmp_path: Path, lookalike, asked: str, suffix: str) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text('{"text":"one two three four five six"}\n' * 2 + '{"text":"some other text that is alone"}\n')
    file, folder = tmp_path / f"out{suffix}", tmp_path / "out"
    for output in (file, folder):
        assert lookalike(asked, source, "-q", "-o", output).code == 0
    alone, whole = open_result(file), open_result(folder)
    assert alone.tables[asked].to_pylist() == whole.tables[asked].to_pylist()
    assert lookalike("report", file, "-o", tmp_path / "r.html").code == 0
    assert "one two three" in (tmp_path / "r.html").read_text() or asked == "groups"


def test_csv_and_the_removed_rows_of_dedup_are_results(tmp_path: Path, lookalike) -> None:
    source = tmp_path / "x.jsonl"
    rows = [{"id": f"0{at}", "text": f"one two three four five six seven {'eight' * (at % 2)}"} for at in range(3)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert lookalike("pairs", source, "-k", "2", "-t", "0.5", "-q", "-o", tmp_path / "p.csv").code == 0
    view = ResultView(open_result(tmp_path / "p.csv"))
    assert all(row["left"]["begin"].startswith("one two") for row in view.pairs()["rows"])
    command = ("dedup", source, "-k", "2", "-t", "0.5", "-q", "-o", tmp_path / "d.jsonl")
    assert lookalike(*command).code == 0
    assert "d.jsonl holds the rows that dedup kept" in lookalike("report", tmp_path / "d.jsonl").err
    assert lookalike(*command, "--removed", tmp_path / "gone.csv", "--force").code == 0
    for name in ("d.jsonl", "gone.csv"):
        view = ResultView(open_result(tmp_path / name))
        assert {row["right"]["name"] for row in view.pairs()["rows"]} == {"01", "02"}
        assert view.pairs()["rows"][0]["right"]["begin"].startswith("one two")


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
    assert "no result: it has no receipt.json" in done.err


def test_the_explorer_serves_until_it_is_stopped(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    command = [sys.executable, "-m", "lookalike.cli.main", "explore", str(save_families(tmp_path)), "--port", "0"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert line.startswith(f"Exploring {tmp_path / 'result'} at http://127.0.0.1:"), line
        with urllib.request.urlopen(line.split(" at ")[1].split("/?token=")[0] + "/api/overview") as answer:
            assert answer.status == 200
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert (child.returncode, said) == (0, "")
    finally:
        child.kill()
        child.wait()
