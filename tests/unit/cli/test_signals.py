"""Ctrl-C and SIGTERM end a command at once, leave no half output, and say how to go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# A run that hangs in compiled code (here: in a sleep that holds no lock) at the moment named by the argument.
PROGRAM = """
import sys, time
from lookalike.cli import main
from lookalike.io import verbatim
before = verbatim.copied_rows
def hang(*arguments, **options):
    yield next(before(*arguments, **options))
    print("hanging", flush=True)
    time.sleep(60)
verbatim.copied_rows = hang
main.main()
"""

COMPARING = """
import time
from lookalike.kinds.documents import compare
from lookalike.cli import main
def hang(*_, **__):
    print("hanging", flush=True)
    time.sleep(60)
compare.compare = hang
main.main()
"""

# Spark that does not come to an end of its start, at which Java's words are not let through.
STARTING = """
import time
from lookalike.cli import main
from lookalike.runtime.spark import session
from pyspark.sql import SparkSession
def hang(self):
    print("hanging", flush=True)
    time.sleep(60)
SparkSession.Builder.getOrCreate = hang
main.main()
"""


def stopped(tmp_path: Path, heard: signal.Signals, *more: str) -> tuple[int, str]:
    (tmp_path / "x.csv").write_text("text\n" + "a rose is a rose is a rose\n" * 50)
    command = [sys.executable, "-c", PROGRAM, "dedup", "x.csv", "-o", "clean.csv", *more]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "hanging\n"
    os.kill(run.pid, heard)
    _, err = run.communicate(timeout=60)
    return run.returncode, err


@pytest.mark.parametrize(("heard", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nothing_half_written_is_left(tmp_path: Path, heard: signal.Signals, code: int) -> None:
    begin = time.monotonic()
    assert stopped(tmp_path, heard) == (code, "Stopped. No output was written.\n")
    assert time.monotonic() - begin < 50, "the hanging thread was not waited for"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_a_work_folder_is_named(tmp_path: Path) -> None:
    code, err = stopped(tmp_path, signal.SIGINT, "--work-dir", "work")
    assert code == 130
    assert err == (
        "Stopped. What is done is kept in work: the same command goes on from there. "
        "To remove it: lookalike runs clean work\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["work", "x.csv"]


def test_commands_that_write_nothing_end_in_the_same_words() -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", COMPARING, "compare", "a rose", "a lily"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "hanging\n"
    os.kill(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, "Stopped. No output was written.\n")


def test_while_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a rose\n")
    run = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", STARTING, "pairs", "x.txt", "--engine", "spark", "-o", "y.csv"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "hanging\n"
    os.kill(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, "Stopped. No output was written.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_ctrl_c_before_anything_has_begun_ends_without_a_word() -> None:
    program = """
import os, signal, sys
from lookalike.__main__ import main
class Interrupt:
    def find_spec(name, *_):
        if name == "lookalike.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


# A run that is killed when its first output has its name, or (with another signal) stopped then.
PUBLISHING = """
import os, signal, sys
from lookalike.cli import main
from lookalike.io import atomic
replace, signal_sent = os.replace, int(sys.argv.pop())
def last(old, new):
    replace(old, new)
    if str(new) == "clean.csv":
        os.kill(os.getpid(), signal_sent)
atomic.os.replace = last
main.main()
"""


def test_a_command_killed_between_two_outputs_succeeds_when_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("text\n" + "a rose is a rose is a rose\n" * 50)
    command = ["dedup", "x.csv", "-o", "clean.csv", "--removed", "removed.csv"]
    run = subprocess.run([sys.executable, "-c", PUBLISHING, *command, "9"], capture_output=True)
    assert run.returncode == -9
    assert Path("clean.csv").exists()
    assert not Path("clean.csv.receipt.json").exists()
    assert lookalike(*command).code == 0
    assert sorted(os.listdir()) == ["clean.csv", "clean.csv.receipt.json", "removed.csv", "x.csv"]
    assert lookalike(*command).err == "OutputError: clean.csv exists. Use --force to replace it, or another name.\n"


def test_outputs_that_got_their_names_are_listed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text\n" + "a rose is a rose is a rose\n" * 50)
    command = ["dedup", "x.csv", "-o", "clean.csv", "--removed", "removed.csv", "-q", str(int(signal.SIGTERM))]
    run = subprocess.run([sys.executable, "-c", PUBLISHING, *command], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 143
    assert run.stderr == "Stopped after the output was written: clean.csv, removed.csv, clean.csv.receipt.json.\n"
    assert sorted(os.listdir(tmp_path)) == ["clean.csv", "clean.csv.receipt.json", "removed.csv", "x.csv"]


def test_two_outputs_of_one_name_are_refused(tmp_path: Path, lookalike) -> None:
    (tmp_path / "x.csv").write_text("text\na\n")
    clean = tmp_path / "clean.csv"
    done = lookalike("dedup", tmp_path / "x.csv", "-o", clean, "--removed", clean)
    assert done.code == 2
    assert done.err == f"UsageError: {clean} is named for two outputs. Use another name for one of them.\n"
