"""Scores in single precision with error bounds.

Most labels are decided by a wide margin, and single precision finds them at twice the
speed. A single-precision score comes with a bound on its distance from the
double-precision score of `core.bayes.scoring`, which defines the label. Where the
bounds of two classes overlap, the caller computes the double-precision scores of those
classes, so a label never depends on single precision.

To keep the bound small, observations are first centred by an origin x₀, the mean of
some rows. With z₀ its projection, z' = z − z₀ and μ' = μ − z₀, the score of a class is

    constant − ½ Σ μ'²/σ²  +  Σ z'·(μ'/σ² − ½ z'/σ²),

two fused operations per column, where `square` is −½/σ² and `linear` is μ'/σ².
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiling.compiled import (
    compiled,
    compiled_approximate,
    compiled_inline,
)
from rpnb.core.kernels.vectors import (
    SINGLES,
    load_singles,
    multiply_add,
    singles,
    sum_singles,
)

# Columns summed in single precision, in eight lanes, before the sums go to double.
PANEL = 4096
# Unit roundoffs, and the smallest single-precision number.
_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
_TINY = 2.0**-149
# Where there are more than `_LONG` features, groups of this many are summed by BLAS in
# any order and the groups' sums are then added, which keeps the error bound small. With
# fewer features one sum is faster, and the larger bound costs less than more sums.
FEATURES_PER_SUM = 256
_LONG = 4 * FEATURES_PER_SUM
# Rounding errors of a term besides its summation: of `square`, `linear`, z, products.
_OTHERS = 16


class SingleDensities(NamedTuple):
    """The classes' densities in single precision, relative to the origin."""

    square: SingleArray
    """(M, F) −½/σ²"""
    linear: SingleArray
    """(M, F) (μ − z₀)/σ²"""
    constant: FloatArray
    """(M,) log density at the mean, minus half of the square of `mean_norm`"""
    mean_norm: FloatArray
    """(M,) √(Σ (μ − z₀)²/σ²)"""
    precision_norm: FloatArray
    """(M,) √(Σ 1/σ²)"""
    origin: FloatArray
    """(F,) z₀"""


def empty_single_densities(M: int, F: int) -> SingleDensities:
    """Return arrays for M classes, to be filled by `refresh_single_densities`."""
    return SingleDensities(
        np.empty((M, F), np.float32),
        np.empty((M, F), np.float32),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.empty(F),
    )


@compiled_approximate
def refresh_single_densities(
    densities: SingleDensities, m: int, gaussians: Gaussians
) -> None:
    """Compute class m's single-precision density from its double-precision density."""
    mean = gaussians.mean[m]
    precision = gaussians.precision[m]
    square = densities.square[m]
    linear = densities.linear[m]
    origin = densities.origin
    mean_square = 0.0
    precision_sum = 0.0
    for f in range(mean.shape[0]):
        w = precision[f]
        centred = mean[f] - origin[f]
        along = w * centred
        square[f] = -0.5 * w
        linear[f] = along
        mean_square += along * centred
        precision_sum += w
    densities.mean_norm[m] = sqrt(mean_square)
    densities.precision_norm[m] = sqrt(precision_sum)
    densities.constant[m] = gaussians.constant[m] - 0.5 * mean_square


@compiled
def centre_rows(
    X: FloatArray,
    x0: FloatArray,
    scale: float,
    max_column_norm: float,
    out: SingleArray,
    projection_error: FloatArray,
    row_norm: FloatArray,
) -> None:
    """Subtract the origin from rows of X (n, p) and bound the projection's error.

    Written are, for each row: to `out`, scale·(x − x₀) in single precision; to
    `projection_error`, a bound on the absolute error of any entry of its projection by
    `project_centred`, compared with the double-precision projection; to `row_norm`, a
    bound on the entries themselves. `max_column_norm` is the largest Euclidean norm of
    a column of the projection matrix: by Cauchy and Schwarz no entry exceeds
    |x|·max_column_norm.
    """
    p = X.shape[1]
    away = 0.0
    for i in range(p):
        away += x0[i] * x0[i]
    away = sqrt(away)
    group = features_per_sum(p)
    roundings = group + (p - 1) // group + 8
    for b in range(X.shape[0]):
        moved_square = 0.0
        square = 0.0
        for i in range(p):
            x = X[b, i]
            centred = (x - x0[i]) * scale
            out[b, i] = centred
            moved_square += centred * centred
            square += x * x
        single = roundings * _SINGLE * 1.01 * sqrt(moved_square)
        double = (2 * p + 16) * _DOUBLE * scale * (sqrt(square) + away)
        projection_error[b] = (single + double) * max_column_norm + p * _TINY * (
            1.0 + max_column_norm
        )
        row_norm[b] = sqrt(moved_square) * max_column_norm


@compiled
def features_per_sum(p: int) -> int:
    """Return how many of p features `project_centred` sums at once, in any order."""
    return p if p <= _LONG else FEATURES_PER_SUM


def project_centred(
    centred: SingleArray, R: SingleArray, extra: SingleArray, Z: SingleArray
) -> None:
    """Project centred rows (n, p) in single precision: Z = centred·R.

    Where there are many features, each group of them is summed in whatever order BLAS
    chooses, and the groups' sums are added one by one, so that a further group adds
    only one rounding error to the bound. `extra` (≥ 1, F) is working space for this;
    rows are handled as many at a time as it has.
    """
    p = R.shape[0]
    group = features_per_sum(p)
    # Rows that overflow single precision get their label in double precision.
    with np.errstate(over="ignore", invalid="ignore"):
        if group == p:
            np.matmul(centred, R, out=Z)
            return
        for start in range(0, Z.shape[0], extra.shape[0]):
            rows = slice(start, start + extra.shape[0])
            x, z = centred[rows], Z[rows]
            np.matmul(x[:, :group], R[:group], out=z)
            for i in range(group, p, group):
                part = extra[: z.shape[0]]
                np.matmul(x[:, i : i + group], R[i : i + group], out=part)
                np.add(z, part, out=z)


@compiled_approximate
def centre_projected(
    Z: FloatArray,
    origin: FloatArray,
    out: SingleArray,
    projection_error: FloatArray,
    row_norm: FloatArray,
) -> None:
    """Subtract the projected origin from projected rows Z (n, F); see `centre_rows`.

    Rounding z − z₀ to single precision is a relative error, which the bound of the sum
    includes; `projection_error` is only what underflows single precision.
    """
    for b in range(Z.shape[0]):
        z = Z[b]
        to = out[b]
        square = 0.0
        for f in range(z.shape[0]):
            centred = z[f] - origin[f]
            to[f] = centred
            square += centred * centred
        projection_error[b] = _TINY
        row_norm[b] = sqrt(square)


@compiled
def score_rows(Z: SingleArray, densities: SingleDensities, scores: FloatArray) -> None:
    """Write single-precision scores (n, M), without prior, of centred rows Z (n, F).

    The number of rows must be a multiple of four.
    """
    M = scores.shape[1]
    for b in range(0, Z.shape[0], 4):
        _score_four(Z, b, densities, 0, M, scores)


@compiled
def score_class(
    Z: SingleArray, densities: SingleDensities, m: int, first: int, scores: FloatArray
) -> None:
    """Compute class m's scores again for rows from `first` on, a multiple of four."""
    for b in range(first, Z.shape[0], 4):
        _score_four(Z, b, densities, m, m + 1, scores)


@compiled
def _score_four(
    Z: SingleArray,
    b: int,
    densities: SingleDensities,
    first: int,
    last: int,
    scores: FloatArray,
) -> None:
    """Score rows b … b + 3 under the classes first … last − 1.

    A class's numbers are loaded once for the four rows.
    """
    M, F = densities.square.shape
    z = Z.reshape(Z.size)
    square = densities.square.reshape(M * F)
    linear = densities.linear.reshape(M * F)
    whole = F - F % SINGLES
    z0 = b * F
    z1 = z0 + F
    z2 = z1 + F
    z3 = z2 + F
    for m in range(first, last):
        at = m * F
        total = densities.constant[m]
        s0, s1, s2, s3 = total, total, total, total
        for start in range(0, whole, PANEL):
            t0 = singles(0.0)
            t1 = singles(0.0)
            t2 = singles(0.0)
            t3 = singles(0.0)
            for f in range(start, min(start + PANEL, whole), SINGLES):
                a = load_singles(square, at + f)
                c = load_singles(linear, at + f)
                x = load_singles(z, z0 + f)
                t0 = multiply_add(x, multiply_add(x, a, c), t0)
                x = load_singles(z, z1 + f)
                t1 = multiply_add(x, multiply_add(x, a, c), t1)
                x = load_singles(z, z2 + f)
                t2 = multiply_add(x, multiply_add(x, a, c), t2)
                x = load_singles(z, z3 + f)
                t3 = multiply_add(x, multiply_add(x, a, c), t3)
            s0 += sum_singles(t0)
            s1 += sum_singles(t1)
            s2 += sum_singles(t2)
            s3 += sum_singles(t3)
        # The columns that do not fill a vector.
        for f in range(whole, F):
            s0 += z[z0 + f] * (linear[at + f] + z[z0 + f] * square[at + f])
            s1 += z[z1 + f] * (linear[at + f] + z[z1 + f] * square[at + f])
            s2 += z[z2 + f] * (linear[at + f] + z[z2 + f] * square[at + f])
            s3 += z[z3 + f] * (linear[at + f] + z[z3 + f] * square[at + f])
        scores[b, m] = s0
        scores[b + 1, m] = s1
        scores[b + 2, m] = s2
        scores[b + 3, m] = s3


@compiled_inline
def error_bound(
    value: float,
    gaussians: Gaussians,
    densities: SingleDensities,
    m: int,
    bias: float,
    projection_error: float,
    row_norm: float,
) -> float:
    """Bound |single-precision − double-precision score| of class m.

    `value` is the single-precision score. Let e = `projection_error`, W = Σ 1/σ²,
    P = Σ (μ − z₀)²/σ² and Q = Σ ((z − μ)/σ)². Changing every z by at most e changes the
    score by at most e·√(W·Q) + ½·W·e² (Cauchy and Schwarz), and rounding changes it by
    at most γ times the sum of the terms' absolute values, which is at most
    ½·(√Q + √P)² + √P·(√Q + √P) + ½·P. Q follows from the score itself, up to its error:
    the factor 1.05 and the terms beside `seen` make it an upper bound.
    `docs/algorithm.md` has the derivation.
    """
    F = densities.origin.shape[0]
    gamma = summation_error(F)
    p = densities.mean_norm[m]
    e = projection_error * densities.precision_norm[m]
    seen = 2.0 * (gaussians.constant[m] - value)
    Q = 1.05 * (max(seen, 0.0) + 52.0 * (e * e) + 6.0 * gamma * (p * p))
    q = sqrt(Q)
    bound = e * q + 0.5 * (e * e)
    bound += gamma * ((q + p) * (0.5 * (q + p) + p) + 0.5 * p * p)
    bound += F * _TINY * (1.0 + row_norm * (1.0 + row_norm))
    bound += (F + 64) * _DOUBLE * (Q + p * p + abs(gaussians.constant[m]) + abs(bias))
    # NaN if the score overflowed single precision: then nothing is known about it.
    return bound + 0.0 * value


@compiled_inline
def quick_error_bound(
    value: float,
    gaussians: Gaussians,
    densities: SingleDensities,
    m: int,
    bias: float,
    projection_error: float,
    row_norm: float,
) -> float:
    """Bound `error_bound` from above without its square root, which takes most time.

    √x·√y is at most ½(x/θ + θ·y) for any θ > 0. θ = 2⁻¹⁴ for the projection error and
    θ = 1 for rounding leave the bound far below usual differences of two scores.
    """
    F = densities.origin.shape[0]
    gamma = summation_error(F)
    P = densities.mean_norm[m] * densities.mean_norm[m]
    e = projection_error * densities.precision_norm[m]
    seen = 2.0 * (gaussians.constant[m] - value)
    Q = 1.05 * (max(seen, 0.0) + 52.0 * (e * e) + 6.0 * gamma * P)
    bound = (0.5 + 2.0**13) * (e * e) + 2.0**-15 * Q
    bound += gamma * (1.5 * Q + 3.0 * P)
    bound += F * _TINY * (1.0 + row_norm * (1.0 + row_norm))
    bound += (F + 64) * _DOUBLE * (Q + P + abs(gaussians.constant[m]) + abs(bias))
    # The factor covers the rounding errors of this sum and of `error_bound`'s.
    return 1.001 * bound + 0.0 * value


@compiled_inline
def summation_error(F: int) -> float:
    """Return γ, the relative error of a score's terms including their summation.

    A lane adds every eighth column of a panel; γ is Higham's (2002, section 3.1) for
    that number of terms.
    """
    lane = min(F, PANEL) // SINGLES + 1
    return (lane + _OTHERS) * _SINGLE * 1.01
