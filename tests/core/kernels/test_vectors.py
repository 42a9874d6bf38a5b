"""Vectors do, compiled, what they do in plain Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.core.kernels import vectors
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import (
    doubles,
    exponent,
    fused,
    greater,
    lesser,
    limit,
    load_doubles,
    load_singles,
    load_widened,
    mantissa,
    multiply_add,
    narrowed,
    singles,
    store_doubles,
    store_singles,
    sum_doubles,
    sum_singles,
    where_greater,
)


@compiled
def calculate(a: Any, b: Any, low: float, high: float, out: Any) -> None:
    x, y = load_doubles(a, 1), load_doubles(b, 0)
    store_doubles(out, 0, x + y)
    store_doubles(out, 4, x - 2.0)
    store_doubles(out, 8, 3.0 - y * x)
    store_doubles(out, 12, 1.0 / x)
    store_doubles(out, 16, x / y)
    store_doubles(out, 20, limit(x, low, high))
    store_doubles(out, 24, exponent(x) + mantissa(x))
    store_doubles(out, 28, doubles(low))
    out[32] = limit(a[0], low, high)
    out[33] = exponent(a[0])
    out[34] = mantissa(a[0])
    out[35] = sum_doubles(x)
    store_doubles(out, 36, lesser(x, y))
    store_doubles(out, 40, greater(x, y))
    store_doubles(out, 44, where_greater(x, y, doubles(low), doubles(high)))


@compiled
def calculate_singles(a: Any, wide: Any, out: Any) -> float:
    x = load_singles(a, 1)
    store_singles(out, 0, multiply_add(x, singles(0.5), x))
    store_singles(out, 8, (x - 1.0) * x)
    store_doubles(wide, 1, load_widened(a, 3))
    return sum_singles(x)


positive = st.floats(1e-300, 1e300)


@given(
    st.lists(positive, min_size=5, max_size=5),
    st.lists(positive, min_size=4, max_size=4),
    positive,
    positive,
)
def test_arithmetic_in_doubles(
    a: list[float], b: list[float], low: float, high: float
) -> None:
    low, high = min(low, high), max(low, high)
    x, y = np.array(a[1:]), np.array(b)
    out = np.full(48, np.nan)
    with np.errstate(all="ignore"):
        calculate(np.array(a), y, low, high, out)
        powers = np.frexp(x)
        expected = [
            *(x + y),
            *(x - 2.0),
            *(3.0 - y * x),
            *(1.0 / x),
            *(x / y),
            *np.clip(x, low, high),
            *((powers[1] + 1022.0) + 2.0 * powers[0]),
            *([low] * 4),
            np.clip(a[0], low, high),
            np.frexp(a[0])[1] + 1022.0,
            2.0 * np.frexp(a[0])[0],
            ((x[0] + x[1]) + x[2]) + x[3],
            *np.minimum(x, y),
            *np.maximum(x, y),
            *np.where(x > y, low, high),
        ]
    assert_array_equal(out, expected)


@given(st.lists(st.floats(-(2.0**60), 2.0**60, width=32), min_size=9, max_size=9))
def test_arithmetic_in_singles(values: list[float]) -> None:
    a = np.array(values, np.float32)
    x = a[1:]
    out, wide = np.full(16, np.nan, np.float32), np.full(6, np.nan)
    total = calculate_singles(a, wide, out)
    assert_array_equal(out[8:], (x - np.float32(1)) * x)
    assert_array_equal(wide[1:5], a[3:7].astype(np.float64))
    assert np.isnan(wide[[0, 5]]).all()
    exact = x.astype(np.float64) * 1.5
    # Once or twice rounded.
    assert (np.abs(out[:8] - exact) <= 2.0**-23 * np.abs(exact) + 2.0**-149).all()
    size = np.abs(x).astype(np.float64).sum()
    assert abs(total - x.astype(np.float64).sum()) <= 1e-15 * size


@compiled
def narrow(a: Any, out: Any) -> None:
    store_singles(out, 0, narrowed(load_doubles(a, 0), load_doubles(a, 4)))


@given(st.lists(st.floats(-1e38, 1e38), min_size=8, max_size=8))
def test_two_vectors_of_doubles_make_one_of_singles(values: list[float]) -> None:
    a, out = np.array(values), np.empty(8, np.float32)
    narrow(a, out)
    assert_array_equal(out, a.astype(np.float32))


def test_a_fused_operation_rounds_once_when_compiled() -> None:
    @compiled
    def one(a: Any, out: Any) -> None:
        x = load_doubles(a, 0)
        store_doubles(out, 0, fused(x, x, doubles(-1.0)))

    small = 2.0**-30
    out = np.empty(4)
    one(np.full(4, 1.0 + small), out)
    rounds_once = hasattr(one, "signatures")
    assert_array_equal(out, 2.0 * small + (small * small if rounds_once else 0.0))


@pytest.mark.parametrize("name", sorted(set(vectors.__all__) - {"Singles", "Doubles"}))
def test_every_name_is_there(name: str) -> None:
    assert hasattr(vectors, name)
