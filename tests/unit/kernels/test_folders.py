"""Compiled kernels are kept until a source that they are made from changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.kernels import _folders


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_folders, "PACKAGE", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, text in {
        "kernels/_compiler": "",
        "kernels/_image": "",
        "kinds/x/kernels/caller": "from lookalike.kernels.middle import (\n    one,\n    two,\n)\n",
        "kernels/middle": "from lookalike.kernels import callee, other\n",
        "kernels/callee": "",
        "kernels/other": "from lookalike.kinds.x.kernels.caller import name  # a circle\n",
        "kernels/stranger": "",
    }.items():
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def folder() -> Path:
    _folders._content.cache_clear()
    _folders.folder.cache_clear()
    return _folders.folder("kinds.x.kernels.caller")


def test_all_sources_that_a_kernel_is_made_from_are_known(home: Path) -> None:
    shared = {"kernels.middle", "kernels.callee", "kernels.other"}
    assert _folders.sources("kinds.x.kernels.caller") == {"kinds.x.kernels.caller", *shared}
    assert _folders.sources("kernels.callee") == {"kernels.callee"}


def test_a_changed_callee_means_another_cache_a_stranger_does_not(home: Path) -> None:
    """The compiler itself looks only at the file of a function: a changed callee elsewhere would go unseen."""
    before = folder()
    (home / "kernels/stranger.py").write_text("changed")
    assert folder() == before
    (home / "kernels/callee.py").write_text("changed")
    assert folder() != before


def test_the_cache_is_in_the_users_folder_or_a_temporary_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder().parent == home / "cache" / "lookalike" / "kernels"
    (home / "file").write_text("no folder can be made here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(home))
    assert folder().name.startswith("lookalike-kernels-")
    _folders.folder.cache_clear()


@pytest.mark.promise("docs/explanation/security.md", "others can write, is not used")
@pytest.mark.parametrize("shared", ["cache/lookalike/kernels", ""])
def test_a_cache_in_which_others_can_write_is_not_used(home: Path, shared: str) -> None:
    """Its files are run, and numba's own cache is unpickled."""
    mine = folder()
    assert home in mine.parents
    assert mine.stat().st_mode & 0o777 == 0o700
    (home / shared if shared else mine).chmod(0o777)
    other = folder()
    assert home not in other.parents
    assert other.stat().st_mode & 0o777 == 0o700
