"""Machine code is loaded without the compiler, gives the compiler's answers, and is ignored where it does not fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import _compiler, _loader
from lookalike.kernels._image import Image, UnsupportedCode
from lookalike.kernels._jit import Kernel, kind_of

loads_code = pytest.mark.skipif(not _loader.fingerprint(), reason="only on Linux with CPython on x86-64")


def spread(values: Any, width: int, out: Any) -> Any:  # allocates, divides and returns a tuple
    copy = np.empty(len(values), np.float64)
    for i in range(len(values)):
        copy[i] = values[i] // width
        out[i] = copy[i] > 1
    return copy.sum(), len(values)


def kernel(folder: Path, function: Callable[..., Any] = spread) -> Kernel:
    return Kernel(function, lambda: folder)


def arguments(n: int, width: int = 2) -> tuple[Any, ...]:
    return np.arange(n, dtype=np.int64), width, np.zeros(n, np.bool_)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the compiler was asked")

    monkeypatch.setattr(_compiler, "compile_for", refuse)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the machine code of `spread`."""
    folder = tmp_path_factory.mktemp("code")
    assert kernel(folder)(*arguments(5)) == (4.0, 5)
    return folder


@loads_code
def test_the_second_process_loads_what_the_first_compiled(folder: Path, no_compiler: None) -> None:
    values, width, out = arguments(7)
    assert kernel(folder)(values, width, out) == (9.0, 7)
    assert out.tolist() == [False] * 4 + [True] * 3


@loads_code
def test_an_error_in_loaded_code_is_pythons(folder: Path, no_compiler: None) -> None:
    with pytest.raises(ZeroDivisionError):
        kernel(folder)(*arguments(3, width=0))


@loads_code
@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[:99] + b"x" + b[100:], lambda b: b"", lambda b: b * 2]
)
def test_a_damaged_file_is_compiled_again(
    damage: Callable[[bytes], bytes], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = folder.glob("*.code")
    content = file.read_bytes()
    file.write_bytes(damage(content))
    assert kernel(folder)(*arguments(5)) == (4.0, 5)
    Image.from_bytes(file.read_bytes())
    file.write_bytes(content)


@loads_code
def test_code_of_another_machine_has_another_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loader, "fingerprint", lambda: b"another processor")
    before = set(folder.iterdir())
    assert kernel(folder)(*arguments(5)) == (4.0, 5)
    (file,) = set(folder.iterdir()) - before
    file.unlink()


@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_CACHE_DIR"])
def test_settings_of_the_compiler_leave_the_loading_to_it(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, "1")
    _loader.fingerprint.cache_clear()
    assert _loader.fingerprint() == b""
    assert kernel(tmp_path)(*arguments(5)) == (4.0, 5)
    assert not list(tmp_path.glob("*.code"))
    monkeypatch.undo()
    _loader.fingerprint.cache_clear()


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    assert kernel(tmp_path / "missing")(*arguments(5)) == (4.0, 5)


@loads_code
def test_a_symbol_that_the_process_lacks_is_refused(folder: Path) -> None:
    (file,) = folder.glob("*.code")
    image = Image.from_bytes(file.read_bytes())
    fields = {**vars(image), "symbols": (*image.symbols[:-1], "no_such_symbol")}
    with pytest.raises(UnsupportedCode, match="no_such_symbol"):
        _loader.load(Image(**fields), spread)


ARRAYS = st.builds(
    lambda dtype, shape, order, frozen: _array(dtype, shape, order, frozen),
    st.sampled_from(["?", "u1", "i4", "u8", "f4", "f8"]),
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.sampled_from(["C", "F", "A"]),
    st.booleans(),
)
VALUES = st.one_of(
    ARRAYS,
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.booleans(),
    st.floats(),
    st.builds(np.uint32),
    st.builds(np.int64),
)


def _array(dtype: str, shape: list[int], order: str, frozen: bool) -> Any:
    array = np.zeros(shape, dtype, order="F" if order == "F" else "C")
    if order == "A":
        array = array[..., ::2]
    array.flags.writeable = not frozen
    return array


@given(st.lists(st.one_of(VALUES, st.tuples(VALUES, VALUES)), min_size=2, max_size=2))
def test_values_of_one_kind_have_one_type_of_the_compiler(pair: list[Any]) -> None:
    """A coarser kind would run machine code on data of another type."""
    import numba

    left, right = pair
    if kind_of(left) == kind_of(right):
        assert numba.typeof(left) == numba.typeof(right)


def test_other_values_are_left_to_the_compiler() -> None:
    for value in ("text", None, np.zeros(2, "S3"), np.zeros(2, ">i4"), np.zeros(2, "M8[s]"), (1, "text")):
        assert kind_of(value) is None


COMMANDS = [
    "pairs texts.csv --text text -o out.parquet --force",
    "passages texts.csv --text text --min-tokens 5 -o out.csv --force",
    "records pairs texts.csv -o out.csv --force",
]


@loads_code
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_ran_before_does_not_load_the_compiler(command: str, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text(
        "text,town\nthe quick brown fox jumps over the dog,York\nthe quick brown fox jumps over the dog,York\n"
        "nothing like the others here,Leeds\n"
    )
    probe = (
        f"import sys; from lookalike.cli.main import app; app({command.split()!r}, standalone_mode=False); "
        "print({'numba', 'llvmlite', 'pandas', 'scipy'} & set(sys.modules))"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_kernels_are_pickled_by_name() -> None:
    import pickle

    from lookalike.kernels.hashing import mix

    assert pickle.loads(pickle.dumps(mix)) is mix
    assert type(mix) is Kernel
