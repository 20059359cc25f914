"""Kernels are compiled ahead in other processes: all of them, or those of a command on its first run."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lookalike.kernels import _folders, _loader, warming
from lookalike.kernels._jit import Kernel, kind_of
from lookalike.kernels.examples import arguments_of
from lookalike.kernels.warming import Needed

SCRIPT = runpy.run_path(str(Path(__file__).parents[3] / "scripts/make_needed_kernels.py"))
loads_code = pytest.mark.skipif(not _loader.fingerprint(), reason="only on Linux with CPython on x86-64")
MIX_ALL = Needed("kernels.hashing", "mix_all", ((8, 1, 0x501), "<u8", (8, 1, 0x501)), 1)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _folders.folder.cache_clear()
    yield tmp_path
    _folders.folder.cache_clear()


def test_each_listed_kernel_exists_and_has_an_example_of_its_types() -> None:
    kernels, commands = warming._list()
    assert set().union(*commands.values()) <= set(range(len(kernels)))
    for needed in kernels:
        assert isinstance(needed.kernel, Kernel)
        assert tuple(map(kind_of, arguments_of(needed.kinds))) == needed.kinds


@loads_code
def test_the_list_names_what_a_command_calls(tmp_path: Path) -> None:
    """If this fails, run scripts/make_needed_kernels.py."""
    SCRIPT["write_inputs"](tmp_path)
    called = SCRIPT["record"](["pairs", "few.csv", "--text", "text", "-o", "out.parquet"], tmp_path)
    kernels, commands = warming._list()
    listed = {kernels[i][:3] for i in commands["pairs"]}
    assert called
    assert {(module, name, warming._tuples(kinds)) for module, name, kinds, _ in called} <= listed


@loads_code
def test_other_processes_compile_what_is_missing(empty_cache: Path) -> None:
    assert MIX_ALL.missing()
    warming.compile_together([MIX_ALL])
    assert not MIX_ALL.missing()
    assert list(empty_cache.glob("lookalike/kernels/kernels.hashing-*/mix_all-*.code"))


@loads_code
def test_nothing_is_compiled_ahead_that_cannot_be_kept(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty_cache / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty_cache / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(empty_cache))
    assert not MIX_ALL.missing()


def test_the_first_miss_compiles_all_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    asked: list[str] = []

    def missing(command: str) -> list[int]:
        asked.append(command)
        return [1] * (warming.FEW_KERNELS + 1)

    monkeypatch.setattr(warming, "_request", warming._Request())
    monkeypatch.setattr(warming, "missing", missing)
    monkeypatch.setattr(warming, "compile_together", compiled.append)
    assert not warming.compile_requested()
    warming.compile_on_first_miss(["records", "pairs"])
    assert warming.compile_requested()
    assert warming.compile_requested()
    assert asked == ["records pairs"]
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("words", "command"), [(["pairs", "a.csv"], "pairs"), (["pairs"], "pairs"), (["plan", "x"], "plan")]
)
def test_the_command_is_found_by_its_words(words: list[str], command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(warming, "_request", warming._Request())
    monkeypatch.setattr(warming, "missing", lambda name: asked.append(name) or [])
    warming.compile_on_first_miss(words)
    warming.compile_requested()
    assert asked == [command]


def test_the_command_warm_says_what_it_compiled(lookalike: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    remaining = [[MIX_ALL, MIX_ALL], [MIX_ALL]]
    monkeypatch.setattr(warming, "missing", lambda: remaining.pop(0))
    monkeypatch.setattr(warming, "compile_together", lambda kernels: None)
    done = lookalike("warm")
    assert done.code == 0
    assert "Compiled 1 kernels, 1 failed" in done.err
