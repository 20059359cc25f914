"""Mixing in 64 bits, against integers of any size."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kernels import hashing
from oracles import half_mix, mix

words = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1])


@given(x=words)
@settings(max_examples=200, deadline=None)
def test_mixing_against_the_twin(x: int) -> None:
    assert int(hashing.mix(np.uint64(x))) == mix(x)
    assert int(hashing.half_mix(np.uint64(x))) == half_mix(x)


@given(values=st.lists(words, max_size=10), seed=words)
@settings(max_examples=100, deadline=None)
def test_mixing_many_under_a_seed(values: list[int], seed: int) -> None:
    out = np.empty(len(values), np.uint64)
    hashing.mix_all(np.array(values, np.uint64), np.uint64(seed), out)
    assert out.tolist() == [mix(value ^ mix(seed)) for value in values]


def test_every_input_bit_moves_about_half_of_the_output_bits() -> None:
    """Each of 64 x 64 cells is a binomial of 4000 flips; the most extreme stays within 6.5 standard deviations."""
    values = np.random.default_rng(7).integers(0, 2**64, 4000, np.uint64)
    plain, flipped = np.empty_like(values), np.empty_like(values)
    hashing.mix_all(values, np.uint64(0), plain)
    for bit in range(64):
        hashing.mix_all(values ^ np.uint64(1 << bit), np.uint64(0), flipped)
        moved = (plain ^ flipped)[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        assert np.abs(moved.sum(axis=0).astype(np.int64) - 2000).max() < 6.5 * np.sqrt(1000)
