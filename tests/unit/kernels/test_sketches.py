"""Arithmetic modulo 2^61 - 1, against integers of any size."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.kernels.sketches import mod_p61, times_p61
from oracles import P61

words = st.integers(0, 2**64 - 1) | st.sampled_from([P61 - 1, P61, P61 + 1, 2 * P61, 7 * P61, 2**63, 2**64 - 1])
below_p = st.integers(0, P61 - 1) | st.sampled_from([0, 1, 2**29, 2**32 - 1, 2**32, 2**60, P61 - 2, P61 - 1])


@given(a=below_p, b=below_p)
@settings(max_examples=400, deadline=None)
@example(a=P61 - 1, b=P61 - 1)
@example(a=2**32 - 1, b=2**32 - 1)
def test_products(a: int, b: int) -> None:
    assert int(times_p61(np.uint64(a), np.uint64(b))) == a * b % P61


@given(x=words)
@settings(max_examples=200, deadline=None)
def test_remainders(x: int) -> None:
    assert int(mod_p61(np.uint64(x))) == x % P61
