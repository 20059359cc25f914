"""The kernels over rows of numbers against slow, obvious twins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lookalike.kernels import signs, vectors
from lookalike.kinds.faces.kernels import measurements
from lookalike.kinds.images.kernels import views as codes
from lookalike.kinds.images.kernels import windows

ROWS = arrays(np.float32, (6, 11), elements=st.floats(-100, 100, width=32, allow_subnormal=False))
WORDS = arrays(np.uint64, (2, 4), elements=st.integers(0, 2**64 - 1))


def angle(x: np.ndarray, y: np.ndarray) -> float:
    """By exact fractions up to the last square root: the law of cosines would lose the small angles."""
    dot = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True))
    xx = sum(Fraction(float(a)) ** 2 for a in x)
    yy = sum(Fraction(float(b)) ** 2 for b in y)
    cross = xx * yy - dot * dot
    return math.degrees(math.atan2(math.sqrt(cross), float(dot)))


@pytest.mark.promise("docs/how-to/vectors.md", "scores are computed from these in float64")
@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_scores_are_those_of_exact_arithmetic(rows: np.ndarray) -> None:
    lengths = np.empty(6)
    vectors.norms(rows, np.arange(6), lengths)
    assert lengths == pytest.approx(np.linalg.norm(rows.astype(np.float64), axis=1))
    for i, j in ((0, 1), (2, 3), (4, 5)):
        x, y = rows[i], rows[j]
        apart = -vectors.score(vectors.DISTANCE, x, y, 1.0, 1.0)
        assert apart == pytest.approx(float(np.linalg.norm(x.astype(np.float64) - y.astype(np.float64))))
        if lengths[i] and lengths[j]:
            assert -vectors.score(vectors.ANGLE, x, y, lengths[i], lengths[j]) == pytest.approx(angle(x, y), abs=1e-6)
            assert vectors.score(vectors.COSINE, x, y, lengths[i], lengths[j]) == pytest.approx(
                math.cos(math.radians(angle(x, y))), abs=1e-9
            )


def test_small_and_flat_angles_keep_their_digits() -> None:
    x = np.float32([1, 0, 0])
    for tiny in (1e-3, 1e-5, 1e-7):
        for sign in (1, -1):
            y = np.float32([sign, tiny, 0])
            length = math.hypot(1, float(np.float32(tiny)))
            found = -vectors.score(vectors.ANGLE, x, y, 1.0, length)
            bent = found if sign > 0 else 180 - found
            assert bent == pytest.approx(math.degrees(math.atan(float(np.float32(tiny)))), rel=1e-6, abs=1e-13)


@settings(max_examples=50, deadline=None)
@given(rows=ROWS)
def test_equal_rows_have_equal_fingerprints_and_zero_has_no_sign(rows: np.ndarray) -> None:
    prints = np.empty(6, np.uint64)
    vectors.row_prints(rows, prints)
    again = np.empty(6, np.uint64)
    vectors.row_prints(np.where(rows == 0, np.float32(-0.0), rows), again)
    assert (prints == again).all()
    for i in range(6):
        for j in range(i):
            assert (prints[i] == prints[j]) == bool((rows[i] == rows[j]).all())


def test_usable_rows() -> None:
    rows = np.float32([[1, 2], [np.nan, 1], [0, -0.0], [np.inf, 0], [-np.inf, 1], [3e38, -3e38]])
    out = np.empty(6, np.bool_)
    vectors.usable(rows, True, out)
    assert out.tolist() == [True, False, False, False, False, True]
    vectors.usable(rows, False, out)
    assert out.tolist() == [True, False, True, False, False, True]


@settings(max_examples=50, deadline=None)
@given(words=WORDS)
def test_ones(words: np.ndarray) -> None:
    assert [int(signs.ones(word)) for word in words[0]] == [int(word).bit_count() for word in words[0]]


def test_integer_products_of_the_longest_rows_do_not_overflow() -> None:
    for width in (1, 5, 1000):
        row = np.rint(np.full(width, 32767 / math.sqrt(width))).astype(np.int16)
        assert int(signs.product(row, row)) == sum(int(v) ** 2 for v in row)
        assert int(signs.product(row, -row)) == -sum(int(v) ** 2 for v in row)


def test_signs_and_parities_and_keys() -> None:
    random = np.random.default_rng(1)
    projected = random.standard_normal((9, 128)).astype(np.float32) * 5
    shift = random.standard_normal(128).astype(np.float32)
    out = np.empty((9, 2), np.uint64)
    signs.pack_signs(projected, shift, out)
    bits = [[int(out[i, b // 64]) >> b % 64 & 1 for b in range(128)] for i in range(9)]
    assert bits == (projected > shift).astype(int).tolist()
    signs.pack_parities(projected, shift, out)
    odd = [[int(out[i, b // 64]) >> b % 64 & 1 for b in range(128)] for i in range(9)]
    assert odd == (np.floor(projected - shift).astype(int) % 2).tolist()
    places = np.array([[0, 64, 127], [3, 5, 9]])
    keys = np.empty((9, 2), np.uint32)
    signs.table_keys(out, places, keys)
    assert keys.tolist() == [[int("".join(str(odd[i][p]) for p in row), 2) for row in places] for i in range(9)]


def test_pairs_in_buckets_are_found_once_and_only_if_near() -> None:
    random = np.random.default_rng(2)
    n = 120
    sketch = random.integers(0, 2**64, (n, 2), np.uint64)
    sketch[60:] = sketch[:60] ^ np.uint64(0b1011)  # three bits away from a partner
    rounded = random.integers(-50, 50, (n, 6)).astype(np.int16)
    bars = random.integers(-3000, 3000, n)
    sides = random.integers(1, 4, n).astype(np.uint8)
    places = np.array([[4, 9, 70, 100], [5, 6, 7, 127], [30, 31, 32, 33]])
    keys = np.empty((n, 3), np.uint32)
    signs.table_keys(sketch, places, keys)
    found = []
    for table in range(3):
        packed, ends, ordered = np.empty(n, np.uint64), np.empty(n, np.int64), np.empty_like(sketch)
        signs.pack_table(keys, table, packed)
        packed.sort()
        largest = signs.gather(packed, sketch, ordered, ends)
        at = 0
        while at < n:
            left, right = np.empty(largest, np.uint32), np.empty(largest, np.uint32)
            at, count, _, _ = signs.near_in_buckets(
                packed, ends, at, n, ordered, keys, table, 60, rounded, bars, sides, left, right
            )
            found += list(zip(left[:count].tolist(), right[:count].tolist(), strict=True))
    wanted = [
        (i, j)
        for j in range(n)
        for i in range(j)
        if (keys[i] == keys[j]).any()
        and sum((int(a) ^ int(b)).bit_count() for a, b in zip(sketch[i], sketch[j], strict=True)) <= 60
        and sides[i] | sides[j] == 3
        and 2 * int(rounded[i].astype(int) @ rounded[j].astype(int)) >= bars[i] + bars[j]
    ]
    assert sorted(found) == sorted(wanted)
    assert len(wanted) > 10


def test_scanning_a_tile() -> None:
    random = np.random.default_rng(3)
    tile = random.standard_normal((7, 5)).astype(np.float32)
    bar_x, bar_y = random.standard_normal(7).astype(np.float32), random.standard_normal(5).astype(np.float32)
    for once in (False, True):
        found, at = [], 0
        while at < 7:
            x, y = np.empty(5, np.uint32), np.empty(5, np.uint32)
            at, count = vectors.scan_tile(tile, bar_x, bar_y, 2, 3, once, at, x, y)
            found += list(zip(x[:count].tolist(), y[:count].tolist(), strict=True))
        reach = tile >= bar_x[:, None] + bar_y[None, :]
        assert found == [(i, j) for i in range(7) for j in range(5) if reach[i, j] and (not once or 3 + j < 2 + i)]


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, tolerance=st.floats(0.25, 50))
def test_agreeing_measurements(rows: np.ndarray, tolerance: float) -> None:
    x, y = rows[0], rows[1]
    wanted = sum(abs(Fraction(float(a)) - Fraction(float(b))) <= Fraction(tolerance) for a, b in zip(x, y, strict=True))
    assert measurements.agreeing(x, y, tolerance) == wanted


def test_windows_are_averages() -> None:
    random = np.random.default_rng(4)
    pixels = random.integers(0, 256, (48, 64)).astype(np.uint8)
    sums = np.zeros((49, 65))
    windows.sums_before(pixels, sums)
    out = np.empty((3, 4, 4))
    windows.cut_windows(sums, np.array([[0.0, 0, 64, 48], [16.0, 0, 64, 48], [3.5, 2.25, 11.5, 10.25]]), out)
    assert out[0] == pytest.approx(pixels.reshape(4, 12, 4, 16).mean(axis=(1, 3)))
    assert out[1] == pytest.approx(pixels[:, 16:].reshape(4, 12, 4, 12).mean(axis=(1, 3)))
    fine = np.kron(pixels, np.ones((4, 4)))[9:41, 14:46]
    assert out[2] == pytest.approx(fine.reshape(4, 8, 4, 8).mean(axis=(1, 3)))


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Of two thumbnails; those without contrast are alike where both are and have about one brightness."""
    x, y = one.astype(float), other.astype(float)
    if min(x.std(), y.std()) < 1:
        return float(max(x.std(), y.std()) < 2 and abs(x.mean() - y.mean()) < 8)
    return float(np.corrcoef(x, y)[0, 1])


@pytest.mark.parametrize("hashes", [1, 2])
@pytest.mark.parametrize("has_crops", [True, False])
def test_nearest_views(hashes: int, has_crops: bool) -> None:
    """Few different codes and thumbnails, so that several views of a pair differ least, some of them alike."""
    random = np.random.default_rng(5)
    n, places, shapes = 25, 2, 3
    count = 1 + shapes * places if has_crops else 1
    near = np.array([0, 1, 3, 7, 2**60 - 1], np.uint64)
    whole, views = random.choice(near, (n, hashes)), random.choice(near, (n, count))
    own, sides = random.integers(0, shapes, n), np.full(n, 3, np.uint8)
    pictures = random.integers(0, 256, (4, 256)).astype(np.uint8)
    pictures[3] = 90
    shown = random.integers(0, 4, (n, count))
    for i in range(n if has_crops else 0):  # a window of the own shape is the whole
        windows_of_own_shape = slice(1 + own[i] * places, 1 + (own[i] + 1) * places)
        views[i, windows_of_own_shape], shown[i, windows_of_own_shape] = views[i, 0], shown[i, 0]
    thumbs = pictures[shown]

    def apart(x: int, y: int) -> int:
        return (int(x) ^ int(y)).bit_count()

    wanted, nearby = {}, 0
    for j in range(n):
        for i in range(j):
            mean = math.ceil(sum(apart(whole[i, k], whole[j, k]) for k in range(hashes)) / hashes)
            pairs = [(mean, 0, 0)]
            if has_crops and mean:
                pairs += [
                    (apart(views[i, 0], views[j, v]), 0, v) for p in range(places) if (v := 1 + own[i] * places + p)
                ]
                pairs += [
                    (apart(views[i, v], views[j, 0]), v, 0) for p in range(places) if (v := 1 + own[j] * places + p)
                ]
            least = min(bits for bits, _, _ in pairs)
            nearby += least <= 2
            if least <= 2 and any(
                bits == least and correlation(thumbs[i, a], thumbs[j, b]) >= 0.7 for bits, a, b in pairs
            ):
                wanted[i, j] = least
    found, compared = matching_views(whole, views, own, thumbs.reshape(n, -1), places, sides, shapes)
    assert (found, compared) == (wanted, nearby)
    assert 0 < len(wanted) < nearby
    back = np.arange(n)[::-1]
    found, _ = matching_views(whole[back], views[back], own[back], thumbs[back].reshape(n, -1), places, sides, shapes)
    again = {(n - 1 - j, n - 1 - i): bits for (i, j), bits in found.items()}
    assert again == wanted, "it does not matter which picture comes first"


def matching_views(
    whole: Any, views: Any, own: Any, thumbs: Any, places: int, sides: Any, shapes: int
) -> tuple[dict[tuple[int, int], int], int]:
    """Return the bits of each pair within 2 bits whose thumbnails agree, and how many pairs are within 2 bits."""
    n = len(whole)
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(shapes + 1))
    by_column = np.ascontiguousarray(whole[order].T), np.ascontiguousarray(views[order].T)
    left, right = np.empty(2 * n * n, np.uint32), np.empty(2 * n * n, np.uint32)
    at, count = codes.near_views(*by_column, own[order], ends, places, sides, 2, 0, n, left, right)
    assert at == n
    one, other = order[left[:count]], order[right[:count]]
    low, high = np.minimum(one, other), np.maximum(one, other)
    out = np.empty((count, 2), np.int64)
    codes.verify_views(whole, views, own, thumbs, np.arange(n), places, 2, 0.7, low, high, out)
    return {(int(low[k]), int(high[k])): int(out[k, 0]) for k in range(count) if out[k, 0] >= 0}, count


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=512, max_size=512))
def test_likeness_is_the_correlation(data: bytes) -> None:
    one, other = np.frombuffer(data, np.uint8).reshape(2, 256)
    for a, b in ((one, other), (one, one), (one // 128, other // 128), (one // 64, one // 64)):
        assert codes.likeness(a, b) == pytest.approx(correlation(a, b), abs=1e-9)
