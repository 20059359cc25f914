"""Folders of compiled kernels, one per kernel module, with names that change when a source changes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from functools import cache
from pathlib import Path

COMPILATION = {"kernels._compiler", "kernels._image"}  # modules that determine the machine code and its format
PACKAGE = Path(__file__).parents[1]
IN_WHEEL = PACKAGE / "kernels" / "machine_code"  # only in wheels of `make wheel`
IMPORTS = re.compile(r"^from lookalike\.((?:\w+\.)*kernels)(?:\.(\w+))? import (\([^)]*\)|.*)$", re.MULTILINE)


def _file(module: str) -> Path:
    """Return the file of a module, whose name is relative to the package."""
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


@cache
def _content(file: Path) -> bytes:
    return file.read_bytes()


def sources(module: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return a kernel module (such as `kernels.hashing`) and the kernel modules it imports, directly or indirectly."""
    if module in seen or not _file(module).exists():
        return seen
    seen = seen | {module}
    for parent, home, names in IMPORTS.findall(_content(_file(module)).decode()):
        for name in [home] if home else re.findall(r"\w+", names):
            if not name.startswith("_"):
                seen = sources(f"{parent}.{name}", seen)
    return seen


def cache_home() -> Path:
    """Return the folder of all compiled kernels of this user."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "lookalike" / "kernels"


def _name(module: str) -> str:
    """Return the name of a module's folder, which changes with the sources that the machine code depends on."""
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(sources(module) | COMPILATION):
        digest.update(_content(_file(name)))
    return f"{module}-{digest.hexdigest()}"


@cache
def folder_in_wheel(module: str) -> Path:
    """Return the folder with the machine code of a module that a wheel contains, which may be missing."""
    return IN_WHEEL / _name(module)


def _is_private(folder: Path) -> bool:
    """Return whether only this user (and the user's group) can write in a folder."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & stat.S_IWOTH


@cache
def folder(module: str) -> Path:
    """Return a cache folder for the compiled kernels of a module; a temporary folder if the user's is not writable.

    Its name contains a hash of all sources that the module depends on, because numba's cache only checks the file of a
    function, not the functions that it calls. A folder in which others can write is not used: its code is run.
    """
    base = cache_home() / _name(module)
    try:
        base.mkdir(0o700, parents=True, exist_ok=True)
        if os.access(base, os.W_OK | os.X_OK) and _is_private(base) and _is_private(base.parent):
            return base
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="lookalike-kernels-"))
