"""lookalike serve: a server that starts, says where, and stops."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lookalike.cli.main import main
from lookalike.index.index import Index
from web_server import ROSE, ask, bearer


@contextmanager
def command(*arguments: str, **more: Any) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "lookalike.cli.main", "serve", *arguments, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert " at http://127.0.0.1:" in line, child.communicate()
        yield child, ("127.0.0.1", int(line.split(" at ")[1].split(":")[2].split()[0]))
    finally:
        child.kill()
        child.communicate()


def test_the_command_serves_and_stops(index: Index, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("secret\nmore\n")
    place = index.store.place
    index.close()
    with command(place, "--token-file", str(secret), "--max-batch", "3") as (child, where):
        assert ask(where, "POST", "/items", {"items": ["b b b"], "ids": ["b"]}, bearer("secret"))[0] == 200
        assert ask(where, "POST", "/query", {"items": ["a"] * 4})[1]["error"] == "BatchTooLarge"
        child.terminate()
        _, complained = child.communicate(timeout=30)
        assert (child.returncode, complained) == (0, "")
    with Index.open(place) as again:
        assert "b" in again


def test_open_to_other_machines_needs_a_token_to_write(index: Index) -> None:
    index.close()
    with command(index.store.place, "--host", "0.0.0.0") as (child, where):
        status, refused = ask(where, "POST", "/items", {"items": ["b"], "ids": ["b"]})
        assert (status, refused["error"]) == (403, "WritesAreClosed")
        assert refused["message"].endswith("so writing needs a token: start it with --token-file.")
        assert ask(where, "POST", "/query", {"items": [ROSE]})[0] == 200
        child.terminate()
        assert child.communicate(timeout=30)[1].startswith("Anyone who reaches this server can read the index;")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "InputError: no such index: nowhere has no index.json."),
        (["{place}", "--token-for-reads"], "UsageError: --token-for-reads without a token. Add --token-file FILE."),
        (["{place}", "--token", ""], "UsageError: the token is empty, or not of plain ASCII characters."),
        (["{place}", "--token", "a", "--token-file", "b"], "UsageError: both --token and --token-file came"),
        (["{place}", "--token-file", "no/file"], "InputError: cannot read the token from no/file:"),
        (
            ["{place}", "--max-batch", "0"],
            "UsageError: --max-batch is 0; expected at least 1.",
        ),
        (["{place}", "--port", "99999"], "UsageError: a port is a number from 0"),
    ],
)
def test_the_command_says_what_is_wrong(
    index: Index,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [one.replace("{place}", index.store.place) for one in arguments]
    monkeypatch.setattr(sys, "argv", ["lookalike", "serve", *given])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as stopped:
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.value.code in (1, 2)
    said = capsys.readouterr()
    assert said.err.startswith(message)
    assert (said.out, said.err.count("\n")) == ("", 1)
