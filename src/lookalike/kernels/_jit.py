"""The `jit` decorator: kernels are compiled once for the types of their arguments, then loaded without the compiler."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.kernels import warming

if TYPE_CHECKING:
    from lookalike.kernels._image import Image

C_ORDER, FORTRAN_ORDER = 1, 2  # of numpy's flags
LAYOUT = 0x503  # order, alignment and write access of numpy's flags
PLAIN_TYPES = 12  # numpy's type numbers up to here are booleans, integers and floats of up to 64 bits
SCALARS: dict[type, str] = {
    bool: "b",
    float: "f",
    **{kind: np.dtype(kind).str for kind in (np.bool_, np.float32, np.float64)},
    **{kind: np.dtype(kind).str for kind in (np.int8, np.int16, np.int32, np.int64)},
    **{kind: np.dtype(kind).str for kind in (np.uint8, np.uint16, np.uint32, np.uint64)},
}

on_compile: Callable[[], None] | None = None  # called before a kernel is compiled, which takes about a second

MAKING = threading.Lock()  # numba reads the folder of its cache from a global setting


def jit(function: Callable[..., Any]) -> Kernel:
    """Compile a function on its first call, cache the machine code on disk, release the GIL; no fast-math."""

    def folder() -> Path:
        from lookalike.kernels import _folders

        return _folders.folder(function.__module__.partition(".")[2])

    return Kernel(function, folder)


def kind_of(value: Any) -> Any:
    """Return a hashable description of a value's type, as precise as the compiler's; None for unusual types."""
    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        dtype = value.dtype
        flags = value.flags.num & LAYOUT
        if flags & C_ORDER:
            flags &= ~FORTRAN_ORDER
        return (dtype.num, value.ndim, flags) if dtype.num <= PLAIN_TYPES and dtype.isnative else None
    if kind is int:
        return "i" if -(1 << 63) <= value < 1 << 63 else "u"
    if isinstance(value, tuple):
        parts = tuple(map(kind_of, value))
        return None if None in parts else (kind.__module__, kind.__qualname__, parts)
    return SCALARS.get(kind)


class Kernel:
    """A compiled function. Calling it loads or compiles the machine code for the types of the arguments once."""

    def __init__(self, function: Callable[..., Any], folder: Callable[[], Path]) -> None:
        self.py_func = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self._folder = folder
        self._dispatcher: Any = None
        self._entries: dict[tuple[Any, ...], Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        kinds = tuple(map(kind_of, arguments))
        try:
            entry = self._entries[kinds]
        except KeyError:
            entry = self._entries[kinds] = self._entry(kinds, arguments)
        return entry(*arguments)

    def __reduce__(self) -> str:
        return self.__qualname__

    @property
    def dispatcher(self) -> Any:
        """Return numba's dispatcher, which compiles."""
        from lookalike.kernels._compiler import dispatcher_of

        with MAKING:
            if self._dispatcher is None:
                self._dispatcher = dispatcher_of(self.py_func, self._folder())
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """Return the type that numba gives to this kernel where another one calls it."""
        return self.dispatcher._numba_type_

    def _entry(self, kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        """Return the compiled function for arguments of these types; the dispatcher if only numba can load it."""
        file = self.file(kinds)
        if file is None:
            return self.dispatcher
        entry = self._load(file) or self._load(self.file_in_wheel(kinds))
        if entry is None:
            if on_compile is not None:
                on_compile()
            if warming.compile_requested():
                entry = self._load(file)
        return self.compiled(kinds, arguments) if entry is None else entry

    def file(self, kinds: tuple[Any, ...]) -> Path | None:
        """Return the place of the machine code for arguments of these types; None if only numba can load it."""
        from lookalike.kernels._loader import fingerprint

        if None in kinds or not fingerprint():
            return None
        return self._folder() / self._file_name(kinds, fingerprint())

    def file_in_wheel(self, kinds: tuple[Any, ...]) -> Path | None:
        """Return the place of the machine code that a wheel may contain; None where it cannot run."""
        from lookalike.kernels._folders import folder_in_wheel
        from lookalike.kernels._loader import fingerprint_of_level

        if not fingerprint_of_level():
            return None
        home = folder_in_wheel(self.__module__.partition(".")[2])
        return home / self._file_name(kinds, fingerprint_of_level())

    def _file_name(self, kinds: tuple[Any, ...], fingerprint: bytes) -> str:
        digest = hashlib.blake2b(repr(kinds).encode() + fingerprint, digest_size=8).hexdigest()
        return f"{self.__name__}-{digest}.code"

    def _load(self, file: Path | None) -> Any:
        """Return the compiled function that a file contains; None without a file that fits."""
        from lookalike.kernels._image import Image, UnsupportedCode
        from lookalike.kernels._loader import load

        if file is None:
            return None
        try:
            return load(Image.from_bytes(file.read_bytes()), self.py_func)
        except (OSError, UnsupportedCode):
            return None

    def compiled(self, kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        """Compile for arguments of these types, and save the machine code."""
        from lookalike.kernels._compiler import compile_for

        entry, image = compile_for(self.dispatcher, arguments)
        file = self.file(kinds)
        if image is not None and file is not None:
            _save(image, file)
        return entry


def _save(image: Image, file: Path) -> None:
    """Write an image atomically; where the folder does not allow it, the next process compiles again."""
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=file.stem, delete=False) as target:
            target.write(image.to_bytes())
        os.replace(target.name, file)
    except OSError:
        pass
