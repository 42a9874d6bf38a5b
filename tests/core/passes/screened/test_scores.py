"""Single-precision scores, and the bounds of their errors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb._core.passes import (
    PANEL,
    SingleDensities,
    centre_rows,
    error_bound,
    find_leader,
    quick_error_bound,
    refresh_single_densities,
    score_centred,
)
from rpnb.core.bayes.model import Model
from rpnb.core.bayes.statistics import LEARN_ALL
from rpnb.core.passes.engine import run, scores
from rpnb.core.projection.matrices import project
from strategies import Stream, make_model, streams

WEIGHT = np.ones(1)


def single_precision(
    model: Model, X: np.ndarray, x0: np.ndarray
) -> tuple[SingleDensities, np.ndarray, np.ndarray, np.ndarray]:
    """Return single-precision densities and projections, their errors and norms."""
    R, scale = model.projection.R, 1.0 / np.sqrt(model.projection.q)
    densities = SingleDensities.empty(model.M, model.F)
    first = np.zeros(1, np.int64)
    project(x0[None, :], first, scale, R, densities.origin[None, :])
    for m in range(model.M):
        refresh_single_densities(densities, m, model.gaussians)
    n = X.shape[0]
    centred = np.empty(X.shape, np.float32)
    projection_error, row_norm = np.empty(n), np.empty(n)
    max_column_norm = model.projection.max_column_norm
    centre_rows(X, x0, scale, max_column_norm, centred, projection_error, row_norm)
    Z = np.zeros((-(-n // 4) * 4, model.F), np.float32)
    with np.errstate(all="ignore"):
        Z[:n] = centred @ R
    return densities, Z, projection_error, row_norm


def learned(stream: Stream, K: int) -> Model:
    model = make_model(stream.X.shape[1], stream.M, K=K)
    labels = np.empty(stream.y.shape[0], np.int64)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, labels)
    return model


@given(streams(max_n=24), st.sampled_from([2, 30, 1 + PANEL // 3]))
def test_a_single_precision_score_is_within_its_bound(stream: Stream, K: int) -> None:
    model = learned(stream, K)
    exact = scores(model, stream.X)
    densities, Z, projection_error, row_norm = single_precision(
        model, stream.X, stream.X.mean(axis=0)
    )
    found = np.empty((Z.shape[0], model.M))
    score_centred(Z, densities, found)
    for i in range(stream.X.shape[0]):
        for m in range(model.M):
            value = found[i, m]
            about = (
                value,
                model.gaussians,
                densities,
                m,
                0.0,
                projection_error[i],
                row_norm[i],
            )
            bound = error_bound(*about)
            # A bound that is NaN, from numbers beyond single precision, always holds.
            assert not abs(value - exact[i, m]) > bound
            assert not bound > quick_error_bound(*about)
    # Rows are scored eight at a time, or four: a score does not depend on the others.
    again = np.empty_like(found)
    for first in range(0, Z.shape[0], 4):
        rows = slice(first, first + 4)
        score_centred(Z[rows], densities, again[rows])
    assert_array_equal(again, found)


@given(st.floats(0, 1e9), st.floats(1e-6, 1e6), st.floats(0, 1e9), st.floats(0, 1e-3))
def test_the_quick_bound_is_above_the_other(
    mean_norm: float, precision_norm: float, distance: float, projection_error: float
) -> None:
    model = make_model(3, 1, K=30)
    densities, _, _, _ = single_precision(model, np.ones((1, 3)), np.zeros(3))
    densities.mean_norm[0], densities.precision_norm[0] = mean_norm, precision_norm
    value = model.gaussians.constant[0] - distance
    about = (value, model.gaussians, densities, 0, 0.5, projection_error, 1.0)
    assert error_bound(*about) <= quick_error_bound(*about)


def test_the_quick_bound_covers_projection_errors_far_from_the_mean() -> None:
    # Where the product of projection error and distance exceeds the other terms.
    model = make_model(3, 1, K=30)
    densities, _, _, _ = single_precision(model, np.ones((1, 3)), np.zeros(3))
    densities.mean_norm[0], densities.precision_norm[0] = 0.0, 1.0
    value = model.gaussians.constant[0] - 5000.0
    about = (value, model.gaussians, densities, 0, 0.0, 3e-3, 1.0)
    assert 0.3 < error_bound(*about) <= quick_error_bound(*about)


def test_the_bound_is_small_enough_to_decide_and_not_wildly_so() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 100)
    X = rng.normal(size=(100, 16)) + rng.normal(size=(3, 16))[y] + 100.0
    model = learned(Stream(X, y, 3), 100)
    exact = scores(model, X)
    densities, Z, projection_error, row_norm = single_precision(
        model, X, X.mean(axis=0)
    )
    found = np.empty((100, 3))
    score_centred(Z, densities, found)
    error = np.abs(found - exact)
    gaussians = model.gaussians
    bound, quick = (
        np.array(
            [
                [
                    of(
                        found[i, m],
                        gaussians,
                        densities,
                        m,
                        0.0,
                        projection_error[i],
                        row_norm[i],
                    )
                    for m in M
                ]
                for i in range(100)
            ]
        )
        for of, M in ((error_bound, range(3)), (quick_error_bound, range(3)))
    )
    assert (error <= bound).all()
    assert bound.max() < 1.0
    assert (quick >= bound).all()
    # Scores of two classes usually differ by tens.
    assert quick.max() < 2.0
    # The negative control: with an origin far from the data the bound is useless.
    densities, Z, projection_error, row_norm = single_precision(model, X, np.zeros(16))
    far = error_bound(
        found[0, 0],
        model.gaussians,
        densities,
        0,
        0.0,
        projection_error[0],
        row_norm[0],
    )
    assert far > 20 * bound[0, 0]


def test_a_number_beyond_single_precision_leaves_the_label_uncertain() -> None:
    model = make_model(2, 3)
    X = np.array([[1e60, -1e60]])
    densities, Z, projection_error, row_norm = single_precision(model, X, np.zeros(2))
    found = np.empty((4, 3))
    score_centred(Z, densities, found)
    rivals = np.empty(3, np.bool_)
    _, certain = find_leader(
        found[0], model, densities, projection_error[0], row_norm[0], rivals
    )
    assert not certain
    assert_array_equal(rivals, True)


def test_classes_that_are_not_eligible_are_never_rivals() -> None:
    model = make_model(2, 3)
    densities, _, projection_error, row_norm = single_precision(
        model, np.ones((1, 2)), np.zeros(2)
    )
    rivals = np.empty(3, np.bool_)
    model.classes.eligible[:] = [False, True, False]
    label, certain = find_leader(
        np.zeros(3), model, densities, projection_error[0], row_norm[0], rivals
    )
    assert (label, certain) == (1, True)
    # With equal scores, all eligible classes are rivals.
    model.classes.eligible[:] = [True, False, True]
    label, certain = find_leader(
        np.zeros(3), model, densities, projection_error[0], row_norm[0], rivals
    )
    assert (label, certain) == (0, False)
    assert_array_equal(rivals, [True, False, True])
    model.classes.eligible[:] = False
    label, certain = find_leader(
        np.zeros(3), model, densities, projection_error[0], row_norm[0], rivals
    )
    assert (label, certain) == (-1, True)
