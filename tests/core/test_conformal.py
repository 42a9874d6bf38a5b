"""Prediction sets: their thresholds follow the misses, whatever the stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.conformal import (
    COVERAGES,
    in_set,
    learn_threshold,
    new_thresholds,
    strangeness,
    thresholds_of,
    track_thresholds,
)


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60),
    st.integers(0, len(COVERAGES) - 1),
)
def test_the_share_of_misses_is_bounded_on_any_stream(
    probabilities: list[float], c: int
) -> None:
    thresholds, misses = new_thresholds(), []
    for p in probabilities:
        before = thresholds[c]
        misses.append(strangeness(p) > before)
        learn_threshold(thresholds, p)
    # The sum of the updates is what the threshold has moved.
    moved = 0.2 * np.sum(np.array(misses) - (1.0 - COVERAGES[c]))
    assert_allclose(thresholds[c], moved, atol=1e-9)
    assert abs(thresholds[c]) <= 12.0 + 0.2


def test_coverage_holds_against_an_adversary() -> None:
    # It gives every true class a probability just too small, as long as that is legal.
    thresholds, missed = new_thresholds(), np.zeros(len(COVERAGES))
    c = int(np.flatnonzero(COVERAGES == 0.9)[0])
    for _ in range(3000):
        q = thresholds[c]
        p = 1.0 / (1.0 + np.exp(min(q + 0.01, 11.9)))
        missed += strangeness(p) > thresholds
        learn_threshold(thresholds, p)
    assert abs(missed[c] / 3000 - 0.1) < 0.025


def test_strangeness_is_finite() -> None:
    assert strangeness(0.0) == strangeness(np.nan) == 12.0
    assert strangeness(1.0) == -12.0
    assert strangeness(0.5) == 0.0


def test_thresholds_between_tracked_ones_are_interpolated() -> None:
    rows = np.array([np.arange(12.0), np.arange(12.0)[::-1]])
    assert_array_equal(thresholds_of(rows, 0.9), [6.0, 5.0])
    assert_array_equal(thresholds_of(rows, 0.5), [0.0, 11.0])
    low, between, high = (thresholds_of(rows, c)[0] for c in (0.9, 0.91, 0.925))
    assert low < between < high


@pytest.mark.parametrize("n", [1, 2])
def test_a_set_holds_the_classes_with_enough_probability(n: int) -> None:
    P = np.array([[0.7, 0.3, 0.0], [0.7, 0.3, 0.0]])
    out = np.empty(P.shape, np.bool_)
    in_set(P, np.array([0.0, 12.0])[:n], out)
    assert_array_equal(out[0], [True, False, False])
    assert_array_equal(out[1], [True, n == 2, False])


def test_thresholds_are_tracked_row_by_row() -> None:
    rng = np.random.default_rng(1)
    P, y = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    thresholds, twin = new_thresholds(), new_thresholds()
    before = np.empty((40, COVERAGES.shape[0]))
    track_thresholds(thresholds, P, y, before)
    for i in range(40):
        assert_array_equal(before[i], twin)
        learn_threshold(twin, P[i, y[i]])
    assert_array_equal(thresholds, twin)
