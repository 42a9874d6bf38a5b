"""Learning a row into the screen alone.

Where labels are decided by screened scores, the laws in double precision are hardly
ever read: a class that learns gets its moments and its screen brought up to date, in
one go over its columns, and its laws when someone asks for them. That spares a division
in double precision a column, and as many bytes as the moments take.
"""

from math import sqrt

from rpnb.core.bayes.densities import (
    Gaussians,
    Prior,
    PriorShare,
    density_at_mean,
    joining_of,
    law_of,
    times,
)
from rpnb.core.bayes.moments import Moments, joined
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import (
    DOUBLES,
    SINGLES,
    Doubles,
    doubles,
    greater,
    load_doubles,
    multiply_add,
    narrowed,
    singles,
    store_doubles,
    store_singles,
    sum_doubles,
    sum_singles,
)
from rpnb.core.passes.screened.scores import PANEL, ScreenedDensities

# The sums of squares are taken in single precision: what they may be too small.
_ROOM = 1.001
# Between the inverse of the one and the other, variances and their inverses have all
# their bits in single precision.
_STIFFEST = 2.0**120
_WIDEST = 2.0**120


@compiled
def learn_into_screen(
    screen: ScreenedDensities,
    gaussians: Gaussians,
    m: int,
    moments: Moments,
    prior: Prior,
    z: FloatArray,
    weight: float,
) -> bool:
    """Let z (F,) join class m's moments, and bring its screen up to date.

    Does to the moments and to the class's constant what `bayes.densities.learn` does,
    to the bit; its other laws are left as they were. The screen is that of
    `refresh_screen`, up to roundings for which the bounds have room.
    Returns whether that is so: variances may be beyond single precision, and then the
    screen must come from the laws.
    """
    before = moments.weight[m]
    share = weight / (before + weight)
    between = before * share
    moments.weight[m] = before + weight
    joining = joining_of(prior, moments.weight[m])
    mean = moments.mean[m]
    scatter = moments.scatter[m]
    origin = screen.origin
    square = screen.square[m]
    linear = screen.linear[m]
    F = mean.shape[0]
    whole = F - F % SINGLES
    product = doubles(1.0)
    exponents = doubles(0.0)
    widest = doubles(0.0)
    pull = 0.0
    stiffness = 0.0
    for start in range(0, whole, PANEL):
        pulls = singles(0.0)
        stiffs = singles(0.0)
        for f in range(start, min(start + PANEL, whole), SINGLES):
            mu, variance = _learn_four(z, mean, scatter, f, share, between, joining)
            product, exponents = times(product, exponents, variance)
            moved = mu - load_doubles(origin, f)
            g = f + DOUBLES
            mu, also = _learn_four(z, mean, scatter, g, share, between, joining)
            product, exponents = times(product, exponents, also)
            widest = greater(widest, greater(variance, also))
            w = 1.0 / narrowed(variance, also)
            from_origin = narrowed(moved, mu - load_doubles(origin, g))
            along = w * from_origin
            store_singles(square, f, w * -0.5)
            store_singles(linear, f, along)
            pulls = multiply_add(along, from_origin, pulls)
            stiffs = stiffs + w
        pull += sum_singles(pulls)
        stiffness += sum_singles(stiffs)
    # The columns that do not fill a vector; `learn` still takes four of them at a time.
    fours = F - F % DOUBLES
    for f in range(whole, fours, DOUBLES):
        _, variance = _learn_four(z, mean, scatter, f, share, between, joining)
        product, exponents = times(product, exponents, variance)
    rest = 1.0
    powers = sum_doubles(exponents)
    # No variance is above their sum.
    most = sum_doubles(widest)
    for f in range(whole, F):
        if f >= fours:
            mean[f], scatter[f] = joined(z[f], mean[f], scatter[f], share, between)
        mu_f, value = law_of(mean[f], scatter[f], joining)
        if f >= fours:
            rest, powers = times(rest, powers, value)
        w_f = 1.0 / value
        moved_f = mu_f - origin[f]
        square[f] = -0.5 * w_f
        linear[f] = w_f * moved_f
        pull += w_f * moved_f * moved_f
        stiffness += w_f
        most = max(most, value)
    constant = density_at_mean(F, product, rest, powers)
    gaussians.constant[m] = constant
    screen.constant[m] = constant - 0.5 * pull
    screen.pull[m] = sqrt(pull) * _ROOM
    screen.stiffness[m] = sqrt(stiffness) * _ROOM
    return stiffness < _STIFFEST and most < _WIDEST


@compiled_inline
def _learn_four(
    z: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    f: int,
    share: float,
    between: float,
    joining: PriorShare,
) -> tuple[Doubles, Doubles]:
    """Let four columns of z join the moments; return means and variances of laws."""
    mu, s = joined(
        load_doubles(z, f),
        load_doubles(mean, f),
        load_doubles(scatter, f),
        share,
        between,
    )
    store_doubles(mean, f, mu)
    store_doubles(scatter, f, s)
    return law_of(mu, s, joining)
