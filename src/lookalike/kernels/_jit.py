"""The only module of the package that imports numba: the `jit` decorator and its compilation cache."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

PACKAGE = Path(__file__).parents[1]
IMPORTS = re.compile(r"^from lookalike\.((?:\w+\.)*kernels)(?:\.(\w+))? import (\([^)]*\)|.*)$", re.MULTILINE)


def _file(module: str) -> Path:
    """Return the file of a module, whose name is relative to the package."""
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


def sources(module: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return a kernel module (such as `kernels.hashing`) and the kernel modules it imports, directly or indirectly."""
    if module in seen or not _file(module).exists():
        return seen
    seen = seen | {module}
    for folder, home, names in IMPORTS.findall(_file(module).read_text()):
        for name in [home] if home else re.findall(r"\w+", names):
            seen = sources(f"{folder}.{name}", seen)
    return seen


@cache
def _cache_folder(module: str) -> str:
    """Return a cache folder for the compiled kernels of a module; a temporary folder if the user's is not writable.

    Its name contains a hash of all sources that the module depends on, because numba's cache only checks the file of a
    function, not the functions that it calls.
    """
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(sources(module) | {"kernels._jit"}):
        digest.update(_file(name).read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    base = home / "lookalike" / "kernels" / f"{module}-{digest.hexdigest()}"
    try:
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=base):
            return str(base)
    except OSError:
        return tempfile.mkdtemp(prefix="lookalike-kernels-")


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call, cache the machine code on disk, release the GIL; no fast-math."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = _cache_folder(function.__module__.partition(".")[2])  # type: ignore[attr-defined]
    return numba.njit(nogil=True, cache=True)(function)
