"""Kernels are compiled ahead in other processes: all of them, or those of a command on its first run."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookalike.kernels import _folders, _loader, warming
from lookalike.kernels._jit import Kernel, kind_of
from lookalike.kernels.examples import arguments_of
from lookalike.kernels.warming import Needed

ROOT = Path(__file__).parents[3]
SCRIPT = runpy.run_path(str(ROOT / "scripts/make_needed_kernels.py"))
runs_level = pytest.mark.skipif(not _loader.fingerprint_of_level(), reason="only on Linux with CPython on x86-64-v3")
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of machine code of a wheel, with one kernel."""
    target = tmp_path_factory.mktemp("wheel")
    script = str(ROOT / "scripts/make_machine_code.py")
    code = (
        f"import runpy; from pathlib import Path; from lookalike.kernels.warming import Needed; "
        f"print(runpy.run_path({script!r})['compile_module']([Needed(*{tuple(MIX_ALL)!r})], Path({str(target)!r})))"
    )
    level = {"NUMBA_CPU_NAME": _loader.CPU_LEVEL, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(target / "cache")}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **level}, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
    return target


@pytest.fixture
def installed(wheel: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a wheel that is installed, next to an empty cache."""
    monkeypatch.setattr(_folders, "IN_WHEEL", wheel)
    _folders.folder_in_wheel.cache_clear()
    yield wheel
    _folders.folder_in_wheel.cache_clear()


def mixed() -> list[int]:
    """Return what the kernel of the wheel computes, by a process that has not loaded it yet."""
    from lookalike.kernels import hashing

    out = np.zeros(3, np.uint64)
    kernel = Kernel(hashing.mix_all.py_func, hashing.mix_all._folder)
    kernel(np.arange(3, dtype=np.uint64), np.uint64(7), out)
    return [int(value) for value in out]


@runs_level
def test_machine_code_of_a_wheel_is_used_without_compiling(installed: Path, empty_cache: Path) -> None:
    expected = mixed()
    assert not MIX_ALL.missing()
    assert not list(empty_cache.rglob("*.code"))
    for file in installed.rglob("*.code"):
        content = file.read_bytes()
        file.write_bytes(content[:-1])  # damaged: it is compiled again, with the same answer
        assert mixed() == expected
        file.write_bytes(content)
    assert list(empty_cache.rglob("*.code"))


@runs_level
@pytest.mark.parametrize("name", ["CPU_LEVEL", "CPU_LEVEL_FLAGS"])
def test_machine_code_for_other_processors_is_ignored(
    name: str, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not MIX_ALL.missing()
    monkeypatch.setattr(_loader, name, {"CPU_LEVEL": "another", "CPU_LEVEL_FLAGS": {b"no_such_flag"}}[name])
    _loader.fingerprint_of_level.cache_clear()
    assert MIX_ALL.missing()
    monkeypatch.undo()
    _loader.fingerprint_of_level.cache_clear()
