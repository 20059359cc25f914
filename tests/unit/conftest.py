"""Running the command line inside the test process: fast, and the exit code is at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from lookalike.cli.main import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def lookalike(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """lookalike("pairs", "x.csv") -> (exit code, standard output, standard error)."""

    def run(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["lookalike", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Done(code, *capsys.readouterr())

    return run
