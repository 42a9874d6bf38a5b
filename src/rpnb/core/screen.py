"""Scores in single precision that know how wrong they may be.

Most labels are decided by a wide margin, and half the bits decide them at twice the
speed. A screened score comes with a bound on its distance from the definitive one
(`rpnb.core.scoring`); where the bounds of two classes overlap, the caller computes the
definitive scores of those classes. So screening never changes a label.

To keep the bound small, observations are first moved by an origin x₀ amid the data.
With z' = z − z₀ and μ' = μ − z₀, the score of a class is

    constant − ½ Σ μ'²/σ²  +  Σ z'·(μ'/σ² − ½ z'/σ²),

two fused operations a column, where `square` is −½/σ² and `linear` is μ'/σ².
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.arrays import FloatArray, SingleArray
from rpnb.core.compiled import compiled, compiled_approximate
from rpnb.core.moments import Gaussians

# Columns summed in single precision before the sum moves to double.
PANEL = 512
# Unit roundoffs, and the smallest single-precision number.
_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
_TINY = 2.0**-149
# Bound of the relative error of PANEL products and sums in any order, Higham's γ (2002,
# section 3.1), with room for the roundings of `square`, `linear`, of z and of products.
_GAMMA = (PANEL + 16) * _SINGLE * 1.01


class Screen(NamedTuple):
    """The classes' laws in single precision, relative to the origin."""

    square: SingleArray
    """(M, F) −½/σ²"""
    linear: SingleArray
    """(M, F) (μ − z₀)/σ²"""
    constant: FloatArray
    """(M,) log density at the mean, minus half of `pull`"""
    pull: FloatArray
    """(M,) Σ (μ − z₀)²/σ²"""
    stiffness: FloatArray
    """(M,) Σ 1/σ²"""
    origin: FloatArray
    """(F,) z₀"""


def unset_screen(M: int, F: int) -> Screen:
    """Room for the screen of M classes, to be filled by `refresh_screen`."""
    return Screen(
        np.empty((M, F), np.float32),
        np.empty((M, F), np.float32),
        np.empty(M),
        np.empty(M),
        np.empty(M),
        np.empty(F),
    )


@compiled_approximate
def refresh_screen(screen: Screen, m: int, gaussians: Gaussians) -> None:
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
    screen.pull[m] = pull
    screen.stiffness[m] = stiffness
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
    |error| of any entry of the row's projection, taken by a single-precision matrix
    product in any order, relative to the definitive projection; to `reach` a bound on
    the entries themselves. `longest` is the largest Euclidean norm of a column of the
    projection: by Cauchy and Schwarz no entry exceeds |x|·longest.
    """
    p = X.shape[1]
    away = 0.0
    for i in range(p):
        away += x0[i] * x0[i]
    away = sqrt(away)
    for b in range(X.shape[0]):
        moved_square = 0.0
        square = 0.0
        for i in range(p):
            x = X[b, i]
            moved = (x - x0[i]) * scale
            out[b, i] = moved
            moved_square += moved * moved
            square += x * x
        single = (p + 8) * _SINGLE * 1.01 * sqrt(moved_square)
        double = (2 * p + 16) * _DOUBLE * scale * (sqrt(square) + away)
        noise[b] = (single + double) * longest + p * _TINY * (1.0 + longest)
        reach[b] = sqrt(moved_square) * longest


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


@compiled_approximate
def _panel(z: SingleArray, square: SingleArray, linear: SingleArray) -> np.float32:
    total = np.float32(0.0)
    for f in range(z.shape[0]):
        total += z[f] * (linear[f] + z[f] * square[f])
    return total


@compiled_approximate
def _four_panels(
    z0: SingleArray,
    z1: SingleArray,
    z2: SingleArray,
    z3: SingleArray,
    square: SingleArray,
    linear: SingleArray,
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Four rows together: the class's numbers are loaded once."""
    t0 = np.float32(0.0)
    t1 = np.float32(0.0)
    t2 = np.float32(0.0)
    t3 = np.float32(0.0)
    for f in range(square.shape[0]):
        a = square[f]
        b = linear[f]
        t0 += z0[f] * (b + z0[f] * a)
        t1 += z1[f] * (b + z1[f] * a)
        t2 += z2[f] * (b + z2[f] * a)
        t3 += z3[f] * (b + z3[f] * a)
    return t0, t1, t2, t3


@compiled
def screen_row(z: SingleArray, screen: Screen, m: int) -> float:
    """Screened score of class m, without the class prior, for one moved row (F,)."""
    F = z.shape[0]
    total = screen.constant[m]
    for start in range(0, F, PANEL):
        stop = min(start + PANEL, F)
        total += _panel(
            z[start:stop], screen.square[m, start:stop], screen.linear[m, start:stop]
        )
    return total


@compiled
def screen_rows(Z: SingleArray, screen: Screen, scores: FloatArray) -> None:
    """Screened scores (n, M), without the class prior, of moved rows Z (n, F).

    The number of rows is a multiple of four.
    """
    n, F = Z.shape
    M = screen.constant.shape[0]
    for b in range(n):
        for m in range(M):
            scores[b, m] = screen.constant[m]
    for start in range(0, F, PANEL):
        stop = min(start + PANEL, F)
        for b in range(0, n, 4):
            z0 = Z[b, start:stop]
            z1 = Z[b + 1, start:stop]
            z2 = Z[b + 2, start:stop]
            z3 = Z[b + 3, start:stop]
            for m in range(M):
                t0, t1, t2, t3 = _four_panels(
                    z0,
                    z1,
                    z2,
                    z3,
                    screen.square[m, start:stop],
                    screen.linear[m, start:stop],
                )
                scores[b, m] += t0
                scores[b + 1, m] += t1
                scores[b + 2, m] += t2
                scores[b + 3, m] += t3


@compiled
def doubt(
    value: float,
    gaussians: Gaussians,
    screen: Screen,
    m: int,
    bias: float,
    noise: float,
    reach: float,
) -> float:
    """Bound |screened − definitive score| of class m, where `value` was screened.

    With e = `noise`, W = `stiffness`, P = `pull` and Q = Σ ((z − μ)/σ)², which the
    score itself reveals: moving every z by at most e moves the score by at most
    e·√(W·Q) + ½·W·e² (Cauchy and Schwarz), and rounding moves it by γ times the sum of
    the terms' absolute values. Q is known only up to this bound; the first line makes
    it an upper one. `docs/algorithm.md` has the derivation.
    """
    F = screen.origin.shape[0]
    P = screen.pull[m]
    slack = screen.stiffness[m] * noise * noise
    seen = 2.0 * (gaussians.constant[m] - value)
    Q = 1.05 * (max(seen, 0.0) + 52.0 * slack + 6.0 * _GAMMA * P)
    root = sqrt(Q) + sqrt(P)
    bound = noise * sqrt(screen.stiffness[m] * Q) + 0.5 * slack
    bound += _GAMMA * (0.5 * root * root + root * sqrt(P))
    bound += F * _TINY * reach * (1.0 + reach)
    bound += (F + 64) * _DOUBLE * (Q + P + abs(gaussians.constant[m]) + abs(bias))
    # What overflowed single precision, to either side, is not known at all: NaN.
    return bound + 0.0 * value
