"""The only module of the package that imports numba: compilation of a kernel for types of arguments."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lookalike.kernels._image import Image, UnsupportedCode, extract


def dispatcher_of(function: Callable[..., Any], home: Path) -> Any:
    """Return numba's dispatcher of a function, whose cache is in a folder unless NUMBA_CACHE_DIR names another."""
    import numba

    if "NUMBA_CACHE_DIR" not in os.environ:
        vars(numba.config)["CACHE_DIR"] = str(home)
    dispatcher: Any = numba.njit(nogil=True, cache=True)(function)
    dispatcher._cache = _cache_with_object_code(function) or dispatcher._cache
    return dispatcher


def _cache_with_object_code(function: Callable[..., Any]) -> Any:
    """Return numba's cache of a function, extended to retain the object code that it loads; None if numba differs."""
    try:
        from numba.core import caching
    except ImportError:
        return None
    results: Any = caching.CompileResultCacheImpl
    functions: Any = caching.FunctionCache

    class Results(results):  # type: ignore[misc]
        def rebuild(self, context: Any, payload: Any) -> Any:
            result = super().rebuild(context, payload)
            result.library.loaded_object_code = payload[0]
            return result

    class Functions(functions):  # type: ignore[misc]
        _impl_class = Results

    return Functions(function)


def compile_for(dispatcher: Any, arguments: tuple[Any, ...]) -> tuple[Any, Image | None]:
    """Compile a kernel for the types of arguments. Returns the entry point and the machine code if it can be saved."""
    import numba

    typeof: Any = numba.typeof
    types = tuple(typeof(argument) for argument in arguments)
    entry = dispatcher.compile(types)
    try:
        result = dispatcher.overloads[types]
        description, library = result.fndesc, result.library
        if result.environment.consts:
            return entry, None  # Python objects that the code refers to
        state = getattr(library, "loaded_object_code", None) or library.serialize_using_object_code()
        return entry, extract(state[2][0], description.llvm_cpython_wrapper_name, description.env_name)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, UnsupportedCode):
        return entry, None  # another version of numba, or code that the loader does not handle
