"""Values of the types that the list of needed kernels describes, to compile for without data."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lookalike.kernels._jit import C_ORDER, FORTRAN_ORDER

WRITEABLE_FLAG = 0x400  # of numpy's flags
DTYPES = {np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQfd"}


def arguments_of(kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return one value for each description of a type that `kind_of` returned."""
    return tuple(map(_value, kinds))


def _value(kind: Any) -> Any:
    if isinstance(kind, str):
        plain = {"i": 1, "u": 1 << 63, "b": True, "f": 1.0}
        return plain[kind] if kind in plain else np.dtype(kind).type(1)
    if isinstance(kind[0], str):
        module, name, parts = kind
        if module == "builtins":
            return arguments_of(parts)
        if not module.startswith("lookalike."):
            raise ValueError(f"unexpected type {module}.{name}")
        return getattr(import_module(module), name)(*arguments_of(parts))
    number, dimensions, flags = kind
    array = np.ones((4,) * dimensions, DTYPES[number], order="F" if flags & FORTRAN_ORDER else "C")
    if not flags & (C_ORDER | FORTRAN_ORDER):
        array = array[..., ::2]
    array.flags.writeable = bool(flags & WRITEABLE_FLAG)
    return array
