"""Moments without some of their observations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.bayes.statistics import Moments, add_observation, empty_moments, without
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.passes.engine import learn_all
from rpnb.core.passes.engine import moments_of as moments_of_rows
from strategies import WEIGHT, make_model, well_behaved

_RNG = np.random.default_rng(0)
Z, Y = _RNG.normal(size=(30, 4)) + 5.0, _RNG.integers(0, 2, 30)


def moments_of(z: FloatArray, y: IntArray) -> Moments:
    made = empty_moments(2, 4)
    for row, m in zip(z, y.tolist(), strict=True):
        add_observation(made, m, row, 1.0)
    return made


@pytest.mark.parametrize("n", [1, 7, 29])
def test_what_is_left_is_that_of_the_other_rows(n: int) -> None:
    all_rows = moments_of(Z, Y)
    left, heavy, strange = without(all_rows, moments_of(Z[:n], Y[:n]))
    assert heavy.shape == strange.shape == (0,)
    for mine, expected in zip(left, moments_of(Z[n:], Y[n:]), strict=True):
        assert_allclose(mine, expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(all_rows.weight, moments_of(Z, Y).weight)


def test_nothing_is_left_of_all_rows() -> None:
    left, heavy, strange = without(moments_of(Z, Y), moments_of(Z[::-1], Y[::-1]))
    assert heavy.shape == strange.shape == (0,)
    for part in left:
        assert_array_equal(part, 0.0)


def test_more_rows_than_were_learned_are_found() -> None:
    _, heavy, _ = without(moments_of(Z[:5], Y[:5] * 0), moments_of(Z, Y * 0))
    assert heavy.tolist() == [0]


def test_other_rows_are_found() -> None:
    ones = np.ones(30, np.int64)
    some = moments_of(Z, ones)
    assert without(some, moments_of(Z[:9] + 9.0, ones[:9]))[2].tolist() == [1]
    assert without(some, moments_of(Z + 1.0, ones))[2].tolist() == [1]


@pytest.mark.parametrize(("off", "found"), [(0.5e-6, []), (1.5e-6, [1])])
def test_what_rounding_may_do_is_a_millionth_of_the_squares(
    off: float, found: list[int]
) -> None:
    ones = np.ones(30, np.int64)
    some, other = moments_of(Z, ones), moments_of(Z, ones)
    squares = some.scatter[1, 2] + some.weight[1] * some.mean[1, 2] ** 2
    other.scatter[1, 2] += off * squares
    assert without(other, some)[2].tolist() == found


def test_rows_of_a_model_have_the_moments_that_it_learned() -> None:
    stream = well_behaved(2, 30)
    model = make_model(6, 3)
    learn_all(model, stream.X, stream.y, WEIGHT)
    for mine, theirs in zip(
        moments_of_rows(model, stream.X, stream.y, WEIGHT), model.moments, strict=True
    ):
        assert_array_equal(mine, theirs)
