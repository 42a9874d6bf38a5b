"""Scores in single precision that know how wrong they may be.

Most labels are decided by a wide margin, and half the bits decide them at twice the
speed. A screened score comes with a bound on its distance from the definitive one
(`core.bayes.scoring`); where the bounds of two classes overlap, the caller computes the
definitive scores of those classes. So screening never changes a label.

To keep the bound small, observations are first moved by an origin x₀ amid the data.
With z' = z − z₀ and μ' = μ − z₀, the score of a class is

    constant − ½ Σ μ'²/σ²  +  Σ z'·(μ'/σ² − ½ z'/σ²),

two fused operations a column, where `square` is −½/σ² and `linear` is μ'/σ².
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.densities import Gaussians
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiled import compiled, compiled_approximate, compiled_inline
from rpnb.core.kernels.vectors import (
    SINGLES,
    load_singles,
    multiply_add,
    singles,
    sum_singles,
)

# Columns summed in single precision, in eight lanes, before the sums move to double.
PANEL = 4096
# Unit roundoffs, and the smallest single-precision number.
_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
_TINY = 2.0**-149
# Features whose products are summed in any order before the sum joins the others, where
# there are many more: below, more doubt costs less than more sums.
STRETCH = 256
_LONG = 4 * STRETCH
# Roundings of a term besides its summation: of `square`, `linear`, z and the products.
_OTHERS = 16


class ScreenedDensities(NamedTuple):
    """The classes' laws in single precision, relative to the origin."""

    square: SingleArray
    """(M, F) −½/σ²"""
    linear: SingleArray
    """(M, F) (μ − z₀)/σ²"""
    constant: FloatArray
    """(M,) log density at the mean, minus half of the square of `pull`"""
    pull: FloatArray
    """(M,) √(Σ (μ − z₀)²/σ²)"""
    stiffness: FloatArray
    """(M,) √(Σ 1/σ²)"""
    origin: FloatArray
    """(F,) z₀"""


def unset_screen(M: int, F: int) -> ScreenedDensities:
    """Room for the screen of M classes, to be filled by `refresh_screen`."""
    return ScreenedDensities(
        np.empty((M, F), np.float32),
        np.empty((M, F), np.float32),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.empty(F),
    )


@compiled_approximate
def refresh_screen(screen: ScreenedDensities, m: int, gaussians: Gaussians) -> None:
    """Bring class m's screen up to date with its laws."""
    mean = gaussians.mean[m]
    precision = gaussians.precision[m]
    square = screen.square[m]
    linear = screen.linear[m]
    origin = screen.origin
    pull = 0.0
    stiffness = 0.0
    for f in range(mean.shape[0]):
        w = precision[f]
        moved = mean[f] - origin[f]
        along = w * moved
        square[f] = -0.5 * w
        linear[f] = along
        pull += along * moved
        stiffness += w
    screen.pull[m] = sqrt(pull)
    screen.stiffness[m] = sqrt(stiffness)
    screen.constant[m] = gaussians.constant[m] - 0.5 * pull


@compiled
def centre(
    X: FloatArray,
    x0: FloatArray,
    scale: float,
    longest: float,
    out: SingleArray,
    noise: FloatArray,
    reach: FloatArray,
) -> None:
    """Move rows of X (n, p) by the origin and bound what rounding does to them.

    Writes scale·(x − x₀), as single-precision rows, to `out`; to `noise` a bound on
    |error| of any entry of the row's projection, taken by `product`, relative to the
    definitive projection; to `reach` a bound on the entries themselves. `longest` is
    the largest Euclidean norm of a column of the projection: by Cauchy and Schwarz no
    entry exceeds |x|·longest.
    """
    p = X.shape[1]
    away = 0.0
    for i in range(p):
        away += x0[i] * x0[i]
    away = sqrt(away)
    stretch = stretch_of(p)
    roundings = stretch + (p - 1) // stretch + 8
    for b in range(X.shape[0]):
        moved_square = 0.0
        square = 0.0
        for i in range(p):
            x = X[b, i]
            moved = (x - x0[i]) * scale
            out[b, i] = moved
            moved_square += moved * moved
            square += x * x
        single = roundings * _SINGLE * 1.01 * sqrt(moved_square)
        double = (2 * p + 16) * _DOUBLE * scale * (sqrt(square) + away)
        noise[b] = (single + double) * longest + p * _TINY * (1.0 + longest)
        reach[b] = sqrt(moved_square) * longest


@compiled
def stretch_of(p: int) -> int:
    """Return how many of p features `product` sums in any order."""
    return p if p <= _LONG else STRETCH


def product(
    moved: SingleArray, R: SingleArray, extra: SingleArray, Z: SingleArray
) -> None:
    """Project moved rows (n, p) in single precision: Z = moved·R.

    Of many features, a stretch is summed in whatever order BLAS likes, and the
    stretches one after the other: another then adds but one rounding to the bound of
    the error. `extra` (≥ 1, F) is working space for that, and as many rows as it has
    are handled at a time.
    """
    p = R.shape[0]
    stretch = stretch_of(p)
    # What overflows single precision is decided in double precision.
    with np.errstate(over="ignore", invalid="ignore"):
        if stretch == p:
            np.matmul(moved, R, out=Z)
            return
        for start in range(0, Z.shape[0], extra.shape[0]):
            rows = slice(start, start + extra.shape[0])
            x, z = moved[rows], Z[rows]
            np.matmul(x[:, :stretch], R[:stretch], out=z)
            for i in range(stretch, p, stretch):
                part = extra[: z.shape[0]]
                np.matmul(x[:, i : i + stretch], R[i : i + stretch], out=part)
                np.add(z, part, out=z)


@compiled_approximate
def move(
    Z: FloatArray,
    origin: FloatArray,
    out: SingleArray,
    noise: FloatArray,
    reach: FloatArray,
) -> None:
    """Move rows Z (n, F), projected already, by the projected origin; see `centre`.

    Rounding z − z₀ to single precision is an error relative to it, for which the bound
    of the sum has room; only what falls below single precision is left as noise.
    """
    for b in range(Z.shape[0]):
        z = Z[b]
        to = out[b]
        square = 0.0
        for f in range(z.shape[0]):
            moved = z[f] - origin[f]
            to[f] = moved
            square += moved * moved
        noise[b] = _TINY
        reach[b] = sqrt(square)


@compiled
def screen_rows(Z: SingleArray, screen: ScreenedDensities, scores: FloatArray) -> None:
    """Screened scores (n, M), without the class prior, of moved rows Z (n, F).

    The number of rows is a multiple of four.
    """
    M = scores.shape[1]
    for b in range(0, Z.shape[0], 4):
        _screen_four(Z, b, screen, 0, M, scores)


@compiled
def screen_class(
    Z: SingleArray, screen: ScreenedDensities, m: int, first: int, scores: FloatArray
) -> None:
    """Write class m's scores anew for the rows from `first` on, a multiple of four."""
    for b in range(first, Z.shape[0], 4):
        _screen_four(Z, b, screen, m, m + 1, scores)


@compiled
def _screen_four(
    Z: SingleArray,
    b: int,
    screen: ScreenedDensities,
    first: int,
    last: int,
    scores: FloatArray,
) -> None:
    """Screen four rows from b on for the classes first … last − 1.

    The rows share the loads of a class's numbers.
    """
    M, F = screen.square.shape
    z = Z.reshape(Z.size)
    square = screen.square.reshape(M * F)
    linear = screen.linear.reshape(M * F)
    whole = F - F % SINGLES
    z0 = b * F
    z1 = z0 + F
    z2 = z1 + F
    z3 = z2 + F
    for m in range(first, last):
        at = m * F
        total = screen.constant[m]
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
def doubt(
    value: float,
    gaussians: Gaussians,
    screen: ScreenedDensities,
    m: int,
    bias: float,
    noise: float,
    reach: float,
) -> float:
    """Bound |screened − definitive score| of class m, where `value` was screened.

    With e = `noise`, W = Σ 1/σ², P = Σ (μ − z₀)²/σ² and Q = Σ ((z − μ)/σ)², which the
    score itself reveals: moving every z by at most e moves the score by at most
    e·√(W·Q) + ½·W·e² (Cauchy and Schwarz), and rounding moves it by γ times the sum of
    the terms' absolute values. Q is known only up to this bound; the first line makes
    it an upper one. `docs/algorithm.md` has the derivation.
    """
    F = screen.origin.shape[0]
    gamma = error_of_sums(F)
    p = screen.pull[m]
    e = noise * screen.stiffness[m]
    seen = 2.0 * (gaussians.constant[m] - value)
    Q = 1.05 * (max(seen, 0.0) + 52.0 * (e * e) + 6.0 * gamma * (p * p))
    q = sqrt(Q)
    bound = e * q + 0.5 * (e * e)
    bound += gamma * ((q + p) * (0.5 * (q + p) + p) + 0.5 * p * p)
    bound += F * _TINY * (1.0 + reach * (1.0 + reach))
    bound += (F + 64) * _DOUBLE * (Q + p * p + abs(gaussians.constant[m]) + abs(bias))
    # What overflowed single precision, to either side, is not known at all: NaN.
    return bound + 0.0 * value


@compiled_inline
def loose_doubt(
    value: float,
    gaussians: Gaussians,
    screen: ScreenedDensities,
    m: int,
    bias: float,
    noise: float,
    reach: float,
) -> float:
    """Bound `doubt` from above without a square root, which is the most of its time.

    √x·√y is at most ½(x/θ + θ·y) for any θ > 0; with θ = 2⁻¹⁴ the term of the noise
    stays far below what usually lies between two classes, and with θ = 1 so do those of
    rounding.
    """
    F = screen.origin.shape[0]
    gamma = error_of_sums(F)
    P = screen.pull[m] * screen.pull[m]
    e = noise * screen.stiffness[m]
    seen = 2.0 * (gaussians.constant[m] - value)
    Q = 1.05 * (max(seen, 0.0) + 52.0 * (e * e) + 6.0 * gamma * P)
    bound = (0.5 + 2.0**13) * (e * e) + 2.0**-15 * Q
    bound += gamma * (1.5 * Q + 3.0 * P)
    bound += F * _TINY * (1.0 + reach * (1.0 + reach))
    bound += (F + 64) * _DOUBLE * (Q + P + abs(gaussians.constant[m]) + abs(bias))
    # With room for the roundings of this sum and of the other.
    return 1.001 * bound + 0.0 * value


@compiled_inline
def error_of_sums(F: int) -> float:
    """Bound the relative error of the terms of a screened score, with their summation.

    A lane adds up every eighth of the columns of a panel, so Higham's γ (2002, section
    3.1) is that of so many terms.
    """
    lane = min(F, PANEL) // SINGLES + 1
    return (lane + _OTHERS) * _SINGLE * 1.01
