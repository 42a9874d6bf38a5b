"""Elementary functions are accurate, and equal their formulas to the bit."""

import math
from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.elementary import exponentials, logarithms
from rpnb._core.numbers import erfc, fill_exponentials, hypot, lgamma, log1p, power
from rpnb.core.kernels.elementary import exp, log

EXACT = Context(prec=40, Emin=-9999, Emax=9999)
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


def test_lgamma_is_that_of_the_c_library() -> None:
    x = np.geomspace(1e-4, 1e8, 3000).tolist()
    expected = [math.lgamma(each) for each in x]
    assert_allclose([lgamma(each) for each in x], expected, 1e-14, 1e-14)
