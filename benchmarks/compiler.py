"""The one door to the compiler for the benchmarks, which must not lean on the package they measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile on first call and keep the machine code on disk."""
    compiled: Any = numba.njit(nogil=True, cache=True)(function)
    return cast(F, compiled)


@jit
def mix(x: Any) -> Any:
    """A bijection of 64-bit numbers that spreads every bit (the finaliser of splitmix64)."""
    x = (x ^ (x >> numba.uint64(30))) * numba.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numba.uint64(27))) * numba.uint64(0x94D049BB133111EB)
    return x ^ (x >> numba.uint64(31))
