"""The normal densities of the classes: their moments combined with the prior's.

A prediction reads nothing but the densities, equation (4). They are derived from the
moments whenever these change, which for a stream with many mistakes is a good part of
all work: `learn_density` updates moments and density in one loop over the columns.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.moments import Moments, with_observation
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import (
    DOUBLES,
    Doubles,
    doubles,
    exponent,
    limit,
    load_doubles,
    mantissa,
    store_doubles,
    sum_doubles,
)

_LOG_TWO = np.log(2.0)
_LOG_TWO_PI = np.log(2.0 * np.pi)
# A variance above this would overflow when it is multiplied by the number of columns.
_CEILING = 1e300


class Prior(NamedTuple):
    """Initial mean and variance of every column, which count as `weight` rows."""

    mean: float
    variance: float
    weight: float
    floor: float
    """Smallest variance that is ever read."""


class Gaussians(NamedTuple):
    """Normal densities of M classes, derived from moments and prior: equation (4)."""

    mean: FloatArray
    """(M, F) μ"""
    precision: FloatArray
    """(M, F) 1/σ²"""
    constant: FloatArray
    """(M,) −Σ log(√(2π)·σ): a class's log density at its mean."""


def empty_gaussians(M: int, F: int) -> Gaussians:
    """Return uninitialised arrays for M classes, to be filled by `refresh`."""
    return Gaussians(np.empty((M, F)), np.empty((M, F)), np.empty(M))


class PriorShare(NamedTuple):
    """The numbers that combine a class's moments with the prior by Theorem 1."""

    mean: float
    """the prior's mean"""
    scatter: float
    """the prior's scatter: weight times variance"""
    share: float
    """the prior's share of the total weight"""
    between: float
    """the factor of the squared distance of the two means"""
    inverse: float
    """one over the total weight"""
    floor: float


@compiled
def share_of_prior(prior: Prior, seen: float) -> PriorShare:
    """Return what combines moments of total weight `seen` with the prior."""
    total = prior.weight + seen
    # If neither has any weight, the density is the prior's.
    return PriorShare(
        prior.mean,
        prior.weight * prior.variance if total > 0.0 else prior.variance,
        prior.weight / total if total > 0.0 else 1.0,
        prior.weight / total * seen if total > 0.0 else 0.0,
        1.0 / total if total > 0.0 else 1.0,
        prior.floor,
    )


@compiled
def refresh(gaussians: Gaussians, m: int, moments: Moments, prior: Prior) -> None:
    """Derive class m's density: its moments combined with the prior by Theorem 1."""
    _derive(gaussians, m, moments, prior, moments.mean[m, :0], 0.0, 0.0)


@compiled
def learn_density(
    gaussians: Gaussians,
    m: int,
    moments: Moments,
    prior: Prior,
    z: FloatArray,
    weight: float,
) -> None:
    """Do what `moments.add_observation` and then `refresh` do, to the bit."""
    before = moments.weight[m]
    share = weight / (before + weight)
    moments.weight[m] = before + weight
    _derive(gaussians, m, moments, prior, z, share, before * share)


@compiled
def _derive(
    gaussians: Gaussians,
    m: int,
    moments: Moments,
    prior: Prior,
    z: FloatArray,
    share: float,
    between: float,
) -> None:
    """Add z (F,), or nothing if it is (0,), to class m's moments, then its density."""
    prior_share = share_of_prior(prior, moments.weight[m])
    mean = moments.mean[m]
    scatter = moments.scatter[m]
    density_mean = gaussians.mean[m]
    precision = gaussians.precision[m]
    F = mean.shape[0]
    whole = F - F % DOUBLES
    product = doubles(1.0)
    exponents = doubles(0.0)
    for f in range(0, whole, DOUBLES):
        mu = load_doubles(mean, f)
        s = load_doubles(scatter, f)
        if z.shape[0] > 0:
            mu, s = with_observation(load_doubles(z, f), mu, s, share, between)
            store_doubles(mean, f, mu)
            store_doubles(scatter, f, s)
        mu, variance = density_of(mu, s, prior_share)
        store_doubles(density_mean, f, mu)
        store_doubles(precision, f, 1.0 / variance)
        product, exponents = multiply_scaled(product, exponents, variance)
    # The columns that do not fill a vector.
    rest = 1.0
    powers = sum_doubles(exponents)
    for f in range(whole, F):
        if z.shape[0] > 0:
            mean[f], scatter[f] = with_observation(
                z[f], mean[f], scatter[f], share, between
            )
        density_mean[f], value = density_of(mean[f], scatter[f], prior_share)
        precision[f] = 1.0 / value
        rest, powers = multiply_scaled(rest, powers, value)
    gaussians.constant[m] = log_density_at_mean(F, product, rest, powers)


@compiled
def log_density_at_mean(F: int, product: Doubles, rest: float, powers: float) -> float:
    """Return −Σ log(√(2π)·σ) of F columns.

    The product of the variances is that of `product`'s lanes and `rest`, times two to
    `powers` less 1023 a column; see `multiply_scaled`.
    """
    lanes = np.empty(DOUBLES)
    store_doubles(lanes, 0, product)
    logarithms = np.log(rest)
    for lane in range(DOUBLES):
        logarithms += np.log(lanes[lane])
    logarithms += (powers - 1023.0 * F) * _LOG_TWO
    return -0.5 * (F * _LOG_TWO_PI + logarithms)


@compiled
def density_of(
    mean: Doubles, scatter: Doubles, prior_share: PriorShare
) -> tuple[Doubles, Doubles]:
    """Return the density's mean and variance, of one column or of a vector of them."""
    delta = prior_share.mean - mean
    value = (
        prior_share.scatter + scatter + delta * delta * prior_share.between
    ) * prior_share.inverse
    return mean + delta * prior_share.share, limit(value, prior_share.floor, _CEILING)


@compiled
def multiply_scaled(
    product: Doubles, exponents: Doubles, value: Doubles
) -> tuple[Doubles, Doubles]:
    """Multiply a product by a value; it is kept as a mantissa and a sum of exponents.

    The mantissa is 1 ≤ m < 2. So a product of F variances neither overflows nor needs F
    logarithms. The exponents are biased: 1023 is to be subtracted for each factor.
    """
    product = product * value
    return mantissa(product), exponents + exponent(product)
