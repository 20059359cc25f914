"""The samples are the same everywhere, replace nothing, and are what the table of the README needs."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lookalike.cli.samples import texts

README_TEXT = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
README_COMMANDS = re.findall(r"^\| .* \| `(lookalike [^`]*)` \|$", README_TEXT, flags=re.M)
CORPUS_SHA256 = "6582936176843eac"


def test_samples_do_not_change() -> None:
    corpus = str(texts()["corpus.jsonl"])
    assert hashlib.sha256(corpus.encode()).hexdigest()[:16] == CORPUS_SHA256


def test_files_of_the_user_are_kept(lookalike, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("news.csv").write_text("mine")
    done = lookalike("samples", ".")
    assert (done.code, done.err) == (1, "OutputError: news.csv exists. Use --force to replace it, or another name.\n")
    assert (Path("news.csv").read_text(), sorted(os.listdir("."))) == ("mine", ["news.csv"])
    assert lookalike("samples", ".", "--force").code == 0
    assert Path("news.csv").read_text().startswith("id,text\n")


def test_the_commands_of_the_readme_run_on_the_samples(lookalike, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lookalike("samples", ".").code == 0
    assert len(README_COMMANDS) >= 10
    for line in README_COMMANDS:
        if "<" in line:
            words = line.replace("lookalike", f"{sys.executable} -m lookalike", 1)
            done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout.count("\n")) == (0, 13), done.stderr
            continue
        for command in line.split(" && "):
            assert lookalike(*command.split()[1:]).code == 0, command
