"""Arrays that grow at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.runtime.local import growable_array
from lookalike.runtime.local.growable_array import GrowableArray


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint32])
@given(sizes=st.lists(st.integers(0, 3000), max_size=8))
@settings(max_examples=30, deadline=None)
def test_all_pieces_one_after_the_other(dtype: Any, sizes: list[int]) -> None:
    before, growable_array.MIN_ALLOCATION = (
        growable_array.MIN_ALLOCATION,
        4096,
    )  # small, so that it grows more than once
    try:
        draw = np.random.default_rng(len(sizes))
        pieces = [draw.integers(0, 2**31, size).astype(dtype) for size in sizes]
        array: GrowableArray[Any] = GrowableArray(dtype)
        for piece in pieces:
            array.append(piece)
        whole = array.finish()
    finally:
        growable_array.MIN_ALLOCATION = before
    assert whole.dtype == dtype
    assert whole.tolist() == [value for piece in pieces for value in piece.tolist()]
