"""A page is opened in the browser on a terminal with windows, or on request."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import pytest

from lookalike.cli.browser import open_page
from shown import save_families


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


@pytest.mark.parametrize(("terminal", "display", "opens"), [(True, ":0", 1), (False, ":0", 0), (True, "", 0)])
def test_by_default_on_a_terminal_with_windows(
    visited: list[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, display: str, opens: int
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    open_page("http://127.0.0.1:1/", wanted=None)
    assert len(visited) == opens


def test_a_report_opens_on_request(visited: list[str], lookalike, tmp_path: Path) -> None:
    folder, page = save_families(tmp_path), tmp_path / "page.html"
    assert lookalike("report", folder, "-o", page, "--no-open").code == 0
    assert visited == []
    assert lookalike("report", folder, "-o", page, "--force", "--open").code == 0
    assert visited == [page.as_uri()]


def test_the_explorer_opens_where_it_listens(visited: list[str], lookalike, tmp_path: Path, monkeypatch) -> None:
    from uvicorn import Server

    monkeypatch.setattr(Server, "run", lambda *_: None)
    done = lookalike("explore", save_families(tmp_path), "--port", 0, "--open")
    assert done.code == 0, done.err
    assert len(visited) == 1
    assert f" at {visited[0]} " in done.out
