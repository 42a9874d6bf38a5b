"""The bound of a single-precision score, term by term, on inputs that come close to it.

A lane's single-precision sum is taken from left to right: for a 1 followed by numbers
of half its last digit, each of which is lost, the error is nearly as large as Higham's
bound allows. Every test states the share of the bound that the error must reach, so
that a smaller bound fails, and a much larger one too.
"""

import numpy as np
import pytest

from rpnb._core.passes import (
    FEATURES_PER_SUM,
    PANEL,
    SingleDensities,
    centre_projected,
    centre_rows,
    error_bound,
    features_per_sum,
    refresh_single_densities,
    score_centred,
    summation_error,
)
from rpnb.core.bayes.statistics import Gaussians, score
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.passes.screened import project_centred
from rpnb.core.projection.matrices import project

#: Half the last digit of 1 in single and in double precision.
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
#: Lanes in which the bound expects sums to be taken; some processors have more.
SINGLES = 8
#: 1/√q for q = 16.
SCALE = 0.25


def one_class(
    precision: float, mean: FloatArray, constant: float = 0.0
) -> tuple[Gaussians, SingleDensities]:
    """Return one class's density in double and single precision, origin at zero."""
    F = mean.shape[0]
    gaussians = Gaussians(
        mean[None, :], np.full((1, F), float(precision)), np.array([constant])
    )
    densities = SingleDensities.empty(1, F)
    densities.origin[:] = 0.0
    refresh_single_densities(densities, 0, gaussians)
    return gaussians, densities


def from_left_to_right(z: SingleArray, densities: SingleDensities) -> float:
    """Return the single-precision score, each lane's columns added one by one."""
    terms = z * (densities.linear[0] + z * densities.square[0])
    assert terms.dtype == np.float32
    total = float(densities.constant[0])
    for start in range(0, terms.shape[0], PANEL):
        for lane in range(start, min(start + SINGLES, terms.shape[0])):
            of_lane = terms[lane : start + PANEL : SINGLES]
            total += float(np.cumsum(of_lane, dtype=np.float32)[-1])
    return total


def compiled(z: SingleArray, densities: SingleDensities) -> float:
    """Return the single-precision score as it is computed, among other rows."""
    found = np.empty((4, 1))
    score_centred(np.stack([z, z, z, z]), densities, found)
    assert len(set(found[:, 0])) == 1
    return float(found[0, 0])


def share_of_bound(
    gaussians: Gaussians,
    densities: SingleDensities,
    seen: FloatArray,
    true: FloatArray,
    projection_error: float = 0.0,
    bias: float = 0.0,
) -> float:
    """Return the error of the single-precision score as a share of its bound.

    The single-precision score is that of the row `seen`, the double-precision score
    that of `true`: they differ by at most `projection_error`. The compiled sum must be
    within the bound too.
    """
    z = seen.astype(np.float32)
    row_norm = float(np.linalg.norm(seen))
    exact = score(true, gaussians, 0, bias, -np.inf)
    shares = []
    for value in (from_left_to_right(z, densities), compiled(z, densities)):
        bound = error_bound(
            value, gaussians, densities, 0, bias, projection_error, row_norm
        )
        shares.append(abs(value + bias - exact) / bound)
    assert shares[1] <= 1.0
    return shares[0]


def fading(F: int) -> FloatArray:
    """Return numbers whose squares in a lane are 1 and then half its last digit."""
    z = np.full(F, np.sqrt(SINGLE))
    z[np.arange(F) % PANEL < SINGLES] = 1.0
    return z


@pytest.mark.parametrize("F", [1, 7, PANEL, PANEL + 1])
@pytest.mark.parametrize("precision", [1e-6, 4.0, 1e6])
def test_projection_errors_change_a_score_as_much_as_the_bound_says(
    F: int, precision: float
) -> None:
    # Cauchy and Schwarz are met where all columns are as far from their means.
    gaussians, densities = one_class(precision, np.zeros(F))
    distant = np.full(F, 3.0)
    projection_error = 2.0**-7
    assert (
        0.95
        < share_of_bound(
            gaussians, densities, distant, distant + projection_error, projection_error
        )
        <= 1.0
    )
    assert (
        0.95
        < share_of_bound(
            gaussians,
            densities,
            -distant,
            -distant - projection_error,
            projection_error,
        )
        <= 1.0
    )


def test_projection_errors_change_a_score_also_at_the_mean() -> None:
    # At the mean the distance is zero, and only the error's square is left.
    gaussians, densities = one_class(4.0, np.zeros(16))
    middle = np.zeros(16)
    assert 0.06 < share_of_bound(gaussians, densities, middle, middle + 0.5, 0.5) <= 1.0


@pytest.mark.parametrize("panels", [1, 3])
def test_rounding_in_a_panel_errs_as_much_as_the_bound_says(panels: int) -> None:
    gaussians, densities = one_class(2.0, np.zeros(panels * PANEL))
    z = fading(panels * PANEL)
    assert 0.8 < share_of_bound(gaussians, densities, z, z) <= 1.0


def test_rounding_counts_the_distance_of_the_mean_from_the_origin() -> None:
    # At its mean a class has distance zero, and the terms of the score cancel ½·P,
    # which is summed in double precision here; the bound allows for single.
    z = fading(PANEL)
    gaussians, densities = one_class(2.0, z)
    assert 0.2 < share_of_bound(gaussians, densities, z, z) <= 1.0


@pytest.mark.parametrize("ratio", [1.5, 3.0, 10.0])
@pytest.mark.parametrize("F", [5, 40])
def test_rounding_counts_the_absolute_value_of_every_term(F: int, ratio: float) -> None:
    # Where z is a multiple > 1 of the mean, the norm of z is √Q + √P and Cauchy and
    # Schwarz hold with equality: the bound is γ·Σ|terms| and a little more. Without its
    # cross term √P·(√Q + √P) it would be less.
    mean = np.linspace(1.0, 2.0, F)
    gaussians, densities = one_class(2.0, mean)
    z = ratio * mean
    exact = score(z, gaussians, 0, 0.0, -np.inf)
    bound = error_bound(exact, gaussians, densities, 0, 0.0, 0.0, 0.0)
    linear, square = 2.0 * mean * z, 0.5 * 2.0 * z * z
    terms = linear.sum() + square.sum() + 0.5 * np.sum(2.0 * mean**2)
    assert 0.9 < summation_error(F) * terms / bound <= 1.0


@pytest.mark.parametrize(
    ("precision", "z", "share"),
    [
        # −½/σ² becomes zero, and is multiplied by a large square.
        (2.0**-149, 2.0**60, 0.45),
        # It does not, but its product with z does.
        (2.98 * 2.0**-149, 0.5, 0.2),
        # Nor does this one, but the product of both with z.
        (0.98 * 2.0**-89, 2.0**-30, 0.45),
    ],
)
def test_what_single_precision_cannot_hold_is_in_the_bound(
    precision: float, z: float, share: float
) -> None:
    gaussians, densities = one_class(precision, np.zeros(1))
    assert (
        share
        < share_of_bound(gaussians, densities, np.full(1, z), np.full(1, z))
        <= 1.0
    )


def test_large_constants_lose_digits_in_double_precision() -> None:
    # An odd last digit, of which ½·P is half: subtracted and added, it rounds twice.
    odd = 2.0**33 + 2.0**-19
    gaussians, densities = one_class(2.0**-19, np.ones(1), odd)
    z = np.ones(1)
    assert 0.03 < share_of_bound(gaussians, densities, z, z) <= 1.0


def test_large_biases_lose_digits_in_double_precision() -> None:
    # The single-precision score is half a digit of the bias, the other a little more.
    even = 2.0**33 + 2.0**-18
    z = fading(512)
    z[np.arange(512) % SINGLES > 0] = 0.0
    gaussians, densities = one_class(2.0**-19, np.zeros(512))
    assert 0.003 < share_of_bound(gaussians, densities, z, z, bias=even) <= 1.0


def projected(X: FloatArray, R: SingleArray) -> FloatArray:
    """Return the double-precision projections of rows, of one column."""
    Z = np.zeros((X.shape[0], 1))
    project(X, np.arange(X.shape[0]), SCALE, R, Z)
    return Z[:, 0]


def share_of_projection_error(x: FloatArray, x0: FloatArray, r: FloatArray) -> float:
    """Return the error of a row's projection as a share of its bound."""
    R = r.astype(np.float32)[:, None]
    max_column_norm = float(np.linalg.norm(r))
    centred = np.empty((1, x.shape[0]), np.float32)
    projection_error, row_norm = np.empty(1), np.empty(1)
    centre_rows(
        x[None, :], x0, SCALE, max_column_norm, centred, projection_error, row_norm
    )
    single_precision = np.float32(0.0)
    group = features_per_sum(x.shape[0])
    for start in range(0, x.shape[0], group):
        terms = (centred[0] * R[:, 0])[start : start + group]
        single_precision += np.cumsum(terms, dtype=np.float32)[-1]
    z, z0 = projected(np.stack([x, x0]), R)
    assert abs(float(single_precision)) <= row_norm[0] * (1.0 + 1e-6)
    return float(abs(float(single_precision) - (z - z0)) / projection_error[0])


@pytest.mark.parametrize(("p", "share"), [(300, 0.9), (5 * FEATURES_PER_SUM, 0.15)])
def test_a_single_precision_product_errs_as_much_as_its_bound(
    p: int, share: float
) -> None:
    x = np.full(p, np.sqrt(SINGLE))
    x[0] = 1.0
    assert share < share_of_projection_error(x, np.zeros(p), x) <= 1.0


@pytest.mark.parametrize(
    "p", [1, 300, 4 * FEATURES_PER_SUM, 4 * FEATURES_PER_SUM + 1, 6 * FEATURES_PER_SUM]
)
@pytest.mark.parametrize(("n", "few"), [(1, 1), (3, 4), (9, 4)])
def test_a_product_by_groups_of_features_is_within_its_bound(
    p: int, n: int, few: int
) -> None:
    rng = np.random.default_rng(p)
    X = 1e3 + rng.normal(size=(n, p))
    R = rng.normal(size=(p, 3)).astype(np.float32)
    max_column_norm = float(np.linalg.norm(R.astype(np.float64), axis=0).max())
    centred, projection_error, row_norm = (
        np.empty((n, p), np.float32),
        np.empty(n),
        np.empty(n),
    )
    x0 = np.full(p, 1e3)
    centre_rows(X, x0, SCALE, max_column_norm, centred, projection_error, row_norm)
    Z = np.full((n, 3), np.nan, np.float32)
    project_centred(centred, R, np.empty((few, 3), np.float32), Z)
    exact = np.empty((n + 1, 3))
    project(np.vstack([X, x0]), np.arange(n + 1), SCALE, R, exact)
    error = np.abs(Z - (exact[:-1] - exact[-1]))
    assert (error <= projection_error[:, None]).all()
    # It is a product, not just a number of that size.
    assert (projection_error < 1e-3 * max_column_norm * np.sqrt(p)).all()


def test_rows_far_from_zero_lose_digits_in_double_precision() -> None:
    # Two nearly equal rows: half digits are lost in one, and round to whole ones in the
    # other.
    r = np.full(300, 2.0**-26)
    x = np.full(300, 2.0**-27)
    r[0] = x[0] = 1.0
    x0 = x * (1.0 + 2.0**-20)
    x0[0] = 1.0
    assert r[1] * x[1] == DOUBLE
    assert 0.45 < share_of_projection_error(x, x0, r) <= 1.0


def test_rows_that_underflow_single_precision_are_in_the_bound() -> None:
    tiny, steep = np.full(1, 2.0**-150 / SCALE), np.full(1, 1024.0)
    assert 0.45 < share_of_projection_error(tiny, np.zeros(1), steep) <= 1.0


def test_no_projection_is_beyond_the_row_norm_and_some_are_at_it() -> None:
    r = np.array([3.0, -4.0, 12.0])
    centred = np.empty((2, 3), np.float32)
    projection_error, row_norm = np.empty(2), np.empty(2)
    X = np.stack([5.0 + 2.0 * r, 5.0 - r])
    centre_rows(X, np.full(3, 5.0), 0.5, 13.0, centred, projection_error, row_norm)
    np.testing.assert_allclose(np.abs(centred @ r), row_norm, rtol=1e-6)


def test_projected_rows_are_centred_with_little_error() -> None:
    Z = np.array([[2.0**-150, 3.0], [-4.0, 0.0]])
    out = np.empty((2, 2), np.float32)
    projection_error, row_norm = np.empty(2), np.empty(2)
    centre_projected(Z, np.array([0.0, 3.0]), out, projection_error, row_norm)
    np.testing.assert_array_equal(out, [[0.0, 0.0], [-4.0, -3.0]])
    lost = np.abs(Z - [0.0, 3.0] - out).max(axis=1)
    assert 0.5 * projection_error[0] <= lost[0] <= projection_error[0]
    np.testing.assert_allclose(row_norm, [2.0**-150, 5.0])
