"""Learning a row into the moments and the single-precision densities only.

Where labels are decided by single-precision scores, the densities in double precision
are hardly ever read. A class that learns therefore gets its moments and its
single-precision density updated in one loop over its columns; the double-precision
density is refreshed when it is needed. This saves one double-precision division per
column, and writing as many bytes as the moments take.
"""

from math import sqrt

from rpnb.core.bayes.densities import (
    Gaussians,
    Prior,
    PriorShare,
    density_of,
    log_density_at_mean,
    multiply_scaled,
    share_of_prior,
)
from rpnb.core.bayes.moments import Moments, with_observation
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
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
from rpnb.core.passes.screened.scores import PANEL, SingleDensities

# The sums of squares are taken in single precision: factor by which they may be too
# small.
_SLACK = 1.001
# Variances up to this and sums of precisions up to this are normal numbers in single
# precision, and so are their inverses.
_LARGEST_PRECISION = 2.0**120
_LARGEST_VARIANCE = 2.0**120


@compiled
def learn_into_singles(
    densities: SingleDensities,
    gaussians: Gaussians,
    m: int,
    moments: Moments,
    prior: Prior,
    z: FloatArray,
    weight: float,
) -> bool:
    """Add z (F,) to class m's moments and update its single-precision density.

    The moments and the class's constant get the same bits as by
    `bayes.densities.learn_density`; mean and precision in `gaussians` are not updated.
    The single-precision density is that of `refresh_single_densities`, up to rounding
    errors that the error bounds include. Returns False where variances are beyond
    single precision: the caller must then refresh it from the double-precision density.
    """
    before = moments.weight[m]
    share = weight / (before + weight)
    between = before * share
    moments.weight[m] = before + weight
    prior_share = share_of_prior(prior, moments.weight[m])
    mean = moments.mean[m]
    scatter = moments.scatter[m]
    origin = densities.origin
    square = densities.square[m]
    linear = densities.linear[m]
    F = mean.shape[0]
    whole = F - F % SINGLES
    product = doubles(1.0)
    exponents = doubles(0.0)
    widest = doubles(0.0)
    mean_square = 0.0
    precision_sum = 0.0
    for start in range(0, whole, PANEL):
        mean_squares = singles(0.0)
        precisions = singles(0.0)
        for f in range(start, min(start + PANEL, whole), SINGLES):
            mu, variance = _learn_four(z, mean, scatter, f, share, between, prior_share)
            product, exponents = multiply_scaled(product, exponents, variance)
            centred = mu - load_doubles(origin, f)
            g = f + DOUBLES
            mu, also = _learn_four(z, mean, scatter, g, share, between, prior_share)
            product, exponents = multiply_scaled(product, exponents, also)
            widest = greater(widest, greater(variance, also))
            w = 1.0 / narrowed(variance, also)
            from_origin = narrowed(centred, mu - load_doubles(origin, g))
            along = w * from_origin
            store_singles(square, f, w * -0.5)
            store_singles(linear, f, along)
            mean_squares = multiply_add(along, from_origin, mean_squares)
            precisions = precisions + w
        mean_square += sum_singles(mean_squares)
        precision_sum += sum_singles(precisions)
    # The columns that do not fill a vector of eight; `learn_density` takes four of them
    # at a time, so the same is done here.
    fours = F - F % DOUBLES
    for f in range(whole, fours, DOUBLES):
        _, variance = _learn_four(z, mean, scatter, f, share, between, prior_share)
        product, exponents = multiply_scaled(product, exponents, variance)
    rest = 1.0
    powers = sum_doubles(exponents)
    # The sum of the lanes is an upper bound of the largest variance.
    most = sum_doubles(widest)
    for f in range(whole, F):
        if f >= fours:
            mean[f], scatter[f] = with_observation(
                z[f], mean[f], scatter[f], share, between
            )
        mu_f, value = density_of(mean[f], scatter[f], prior_share)
        if f >= fours:
            rest, powers = multiply_scaled(rest, powers, value)
        w_f = 1.0 / value
        moved_f = mu_f - origin[f]
        square[f] = -0.5 * w_f
        linear[f] = w_f * moved_f
        mean_square += w_f * moved_f * moved_f
        precision_sum += w_f
        most = max(most, value)
    constant = log_density_at_mean(F, product, rest, powers)
    gaussians.constant[m] = constant
    densities.constant[m] = constant - 0.5 * mean_square
    densities.mean_norm[m] = sqrt(mean_square) * _SLACK
    densities.precision_norm[m] = sqrt(precision_sum) * _SLACK
    return precision_sum < _LARGEST_PRECISION and most < _LARGEST_VARIANCE


@compiled_inline
def _learn_four(
    z: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    f: int,
    share: float,
    between: float,
    prior_share: PriorShare,
) -> tuple[Doubles, Doubles]:
    """Add four columns of z to the moments; return the density's mean and variance."""
    mu, s = with_observation(
        load_doubles(z, f),
        load_doubles(mean, f),
        load_doubles(scatter, f),
        share,
        between,
    )
    store_doubles(mean, f, mu)
    store_doubles(scatter, f, s)
    return density_of(mu, s, prior_share)
