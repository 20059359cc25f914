"""Lines under a label, and stages that end."""

from __future__ import annotations

import io
from typing import Any

import pytest

from lookalike.cli import terminal
from lookalike.core.trace import Trace

TEXT = "jaccard at least 0.8 on word 5-shingles · exact join"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, out: io.StringIO, columns: int = 40) -> terminal.Screen:
    for name, value in {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    made = terminal.Screen()
    made.file = out
    return made


def test_a_long_line_goes_on_below_its_text_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    shown(monkeypatch, out).say("Compared", TEXT)
    assert out.getvalue() == "Compared jaccard at least 0.8 on word\n         5-shingles · exact join\n"


def test_a_pipe_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    shown(monkeypatch, out).say("Compacted", TEXT + " [bold]")
    assert out.getvalue() == f"Compacted {TEXT} [bold]\n"


def test_a_reader_that_has_gone_is_left_to_main(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        shown(monkeypatch, Gone()).say("Read", TEXT)


def test_a_stage_is_all_done_at_its_end() -> None:
    reported: list[Any] = []
    trace = Trace(lambda *what: reported.append(what))
    with trace.stage("read") as report:
        report(300, None)
        with trace.stage("match"):
            pass
    assert reported == [
        ("read", 0, None), ("read", 300, None), ("match", 0, None), ("match", 1, 1), ("read", 300, 300),
    ]  # fmt: skip


def test_a_kernel_that_is_compiled_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from lookalike.kernels import _jit

    out = Terminal()
    screen = shown(monkeypatch, out, 100)
    screen.is_interactive = True
    monkeypatch.setattr(terminal, "err", screen)
    with terminal.progress(quiet=False):
        assert _jit.on_compile is not None
        _jit.on_compile()
    assert _jit.on_compile is None
    assert "Compiling, which is done once" in out.getvalue()
