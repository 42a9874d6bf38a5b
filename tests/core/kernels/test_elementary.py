"""Elementary functions are accurate, and equal their formulas to the bit."""

import math
from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

import oracles.elementary as oracle
from oracles.elementary import exponentials, logarithms
from rpnb._core.numbers import (
    erfc,
    fill_circle,
    fill_exponentials,
    hypot,
    lgamma,
    log1p,
    power,
)
from rpnb.core.kernels.elementary import circle, exp, log, normal_quantile

EXACT = Context(prec=40, Emin=-9999, Emax=9999)
TWO_PI = Decimal("6.283185307179586476925286766559005768394338798750")
positive = st.floats(min_value=0.0, exclude_min=True, allow_infinity=False)


@given(positive)
def test_logarithms_are_within_one_unit_of_the_last_place(x: float) -> None:
    found = float(log(x))
    exact = Decimal(x).ln(EXACT)
    assert abs(Decimal(found) - exact) <= Decimal(math.ulp(float(exact)))
    assert found == logarithms(np.array([x]))[0]


@given(st.floats(min_value=-760.0, max_value=720.0))
def test_exponentials_are_within_one_unit_of_the_last_place(x: float) -> None:
    found = float(exp(x))
    exact = Decimal(x).exp(EXACT)
    if exact > Decimal(2) ** 1024 - Decimal(2) ** 970:
        assert found == math.inf
    else:
        assert abs(Decimal(found) - exact) <= Decimal(math.ulp(float(exact)))
    assert found == exponentials(np.array([x]))[0]


def test_limits() -> None:
    found = log([0.0, math.inf, -1.0, math.nan, 1.0])
    assert_array_equal(found, [-math.inf, math.inf, math.nan, math.nan, 0.0])
    found = exp([-math.inf, math.inf, math.nan, 0.0])
    assert_array_equal(found, [0.0, math.inf, math.nan, 1.0])
    assert log1p(0.0) == 0.0
    assert log1p(math.inf) == math.inf
    assert power(0.3, 1.0) == 0.3
    assert hypot(0.0, 0.0) == 0.0
    assert hypot(-math.inf, 1.0) == math.inf
    assert hypot(3e300, -4e300) == 5e300
    assert (erfc(0.0), erfc(40.0), erfc(-40.0)) == (1.0, 0.0, 2.0)


def test_arrays_keep_their_shape_and_what_was_given() -> None:
    given_values = np.asfortranarray(np.arange(1.0, 7.0).reshape(2, 3))[:, ::2]
    before = given_values.copy()
    assert_array_equal(exp(log(given_values)).round(9), before)
    assert_array_equal(given_values, before)


def test_values_below_the_least_count_as_that() -> None:
    values = np.array([-1000.0, -700.0, -699.0])
    fill_exponentials(values, -700.0)
    assert_array_equal(values, exp([-700.0, -700.0, -699.0]))


@pytest.mark.parametrize(
    ("function", "known", "lowest", "highest", "relative"),
    [
        (erfc, math.erfc, 1e-4, 26.0, 1e-12),
        (lambda x: erfc(-x), lambda x: math.erfc(-x), 1e-4, 26.0, 1e-12),
        (log1p, math.log1p, 1e-20, 1e20, 1e-15),
        (lambda x: power(0.999, x), lambda x: math.pow(0.999, x), 1e-3, 1e5, 1e-13),
    ],
)
def test_other_functions_are_those_of_the_c_library(
    function: Callable[[float], float],
    known: Callable[[float], float],
    lowest: float,
    highest: float,
    relative: float,
) -> None:
    x = np.geomspace(lowest, highest, 3000).tolist()
    expected = [known(each) for each in x]
    assert_allclose([function(each) for each in x], expected, relative)


@pytest.mark.parametrize(
    ("function", "plain", "lowest", "highest"),
    [
        (erfc, oracle.erfc, -26.0, 26.0),
        (log1p, oracle.log1p, -0.999, 1e6),
        (lambda x: log1p(x * 1e-16), lambda x: oracle.log1p(x * 1e-16), 0.0, 9.0),
        (lambda x: power(0.999, x), lambda x: oracle.power(0.999, x), 0.0, 1e5),
        (lambda x: hypot(x, 3.0), lambda x: oracle.hypot(x, 3.0), -9.0, 9.0),
        (lgamma, oracle.lgamma, 1e-9, 30.0),
        (lgamma, oracle.lgamma, 1.0, 1e8),
    ],
)
def test_other_functions_equal_their_formulas(
    function: Callable[[float], float],
    plain: Callable[[float], float],
    lowest: float,
    highest: float,
) -> None:
    for each in np.linspace(lowest, highest, 2001).tolist():
        assert function(each) == plain(each), each


def sine_of_turn(k: int, period: int) -> Decimal:
    """Return sin(2πk/period) by its series, with 40 digits."""
    angle = EXACT.multiply(TWO_PI, EXACT.divide(Decimal(k), Decimal(period)))
    total = term = angle
    for n in range(2, 80, 2):
        term = EXACT.divide(term * angle * angle, Decimal(-n * (n + 1)))
        total = EXACT.add(total, term)
    return total


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**60))
def test_circles_are_within_two_units_of_the_last_place(k: int, period: int) -> None:
    (sine,), (cosine,) = circle(np.array([k]), period)
    assert (sine, cosine) == oracle.circle_point(k, period)
    within = k % period
    for found, quarters in ((sine, 4 * within), (cosine, 4 * within + period)):
        exact = sine_of_turn(quarters % (4 * period), 4 * period)
        error = abs(Decimal(float(found)) - exact)
        assert error <= 2 * Decimal(math.ulp(float(exact))) or error < Decimal("1e-37")


def test_quarters_of_a_circle_are_exact() -> None:
    sine, cosine = circle(np.arange(-4, 5), 4)
    assert sine.tolist() == [0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]
    assert cosine.tolist() == [1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0]
    assert not np.signbit([*sine[sine == 0.0], *cosine[cosine == 0.0]]).any()


def test_what_circles_refuse() -> None:
    k, out = np.arange(3), np.empty(3)
    for period in (0, -5, 2**60 + 1):
        with pytest.raises(ValueError, match=r"period must be from 1 to 2\^60"):
            fill_circle(k, period, out, out)
    for sine, cosine in ((out, out[:2]), (out[:2], out)):
        with pytest.raises(ValueError, match="as long as k"):
            fill_circle(k, 7, sine, cosine)


def test_quantiles_are_those_of_the_normal_distribution() -> None:
    p = np.linspace(0.001, 0.999, 999)
    found = [normal_quantile(each) for each in p.tolist()]
    assert_allclose(found, ndtri(p), rtol=1e-12, atol=1e-15)
    tail = (1.0 - 0.5 ** np.arange(1, 53)).tolist()
    assert_allclose([normal_quantile(each) for each in tail], ndtri(tail), 1e-12)
    assert normal_quantile(0.5) == 0.0
    assert (normal_quantile(0.0), normal_quantile(1.0)) == (-math.inf, math.inf)


def test_lgamma_is_that_of_the_c_library() -> None:
    x = np.geomspace(1e-4, 1e8, 3000).tolist()
    expected = [math.lgamma(each) for each in x]
    assert_allclose([lgamma(each) for each in x], expected, 1e-14, 1e-14)
