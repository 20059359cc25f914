"""Compiled kernels are kept until any kernel's source changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.kernels import _jit


def test_any_changed_source_means_another_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler itself looks only at the file of a function: a changed callee elsewhere would go unseen."""
    monkeypatch.setattr(_jit, "__file__", str(tmp_path / "_jit.py"))
    (tmp_path / "caller.py").write_text("calls")
    (tmp_path / "callee.py").write_text("one")
    before = _jit._digest()
    assert _jit._digest() == before
    (tmp_path / "callee.py").write_text("two")
    assert _jit._digest() != before


def test_the_cache_is_in_the_users_folder_or_a_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Path(_jit._cache_folder()) == tmp_path / "lookalike" / "kernels" / _jit._digest()
    (tmp_path / "file").write_text("no folder can be made here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Path(_jit._cache_folder()).name.startswith("lookalike-kernels-")
