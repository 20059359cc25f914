"""The one door to the compiler: nothing else in the package imports numba."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _digest() -> str:
    """Of all kernel sources: the compiler's cache looks only at the file of a function, not at what it calls."""
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _cache_folder() -> str:
    """A folder of the user's own for compiled kernels, or a temporary one where none can be written."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    base = home / "lookalike" / "kernels" / _digest()
    try:
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=base):
            return str(base)
    except OSError:
        return tempfile.mkdtemp(prefix="lookalike-kernels-")


os.environ.setdefault("NUMBA_CACHE_DIR", _cache_folder())

import numba  # noqa: E402  (the cache folder must be known before the import)


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first call, keep the machine code on disk, release the GIL; no fast-math."""
    return numba.njit(nogil=True, cache=True)(function)
