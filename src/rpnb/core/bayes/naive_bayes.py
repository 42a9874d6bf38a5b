"""Gaussian naive Bayes on the raw features, learned from every row.

A reference learner: the same moments and scores as RPNB's, but of the features instead
of their projections, and with class priors equal to the classes' frequencies.
"""

from typing import NamedTuple

import numpy as np

from rpnb._core.bayes import add_rows, run_naive_bayes, score_naive_bayes
from rpnb.core.bayes.statistics import (
    Gaussians,
    Moments,
    Prior,
    empty_gaussians,
    empty_moments,
    merge,
    refresh,
)
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import log


class NaiveBayes(NamedTuple):
    """The state of the learner, over M classes and p features."""

    prior: Prior
    """has weight 0: only its floor is used, and its variance before the first row"""
    moments: Moments
    gaussians: Gaussians
    eligible: BoolArray
    """(M,) whether the class has been declared or seen"""
    log_seen: FloatArray
    """(M,) log of the weight of the class's rows, −∞ before the first"""


def blank_naive_bayes(M: int, p: int, floor: float) -> NaiveBayes:
    """Return the initial state of a learner of M classes and p features."""
    prior = Prior(0.0, 1.0, 0.0, floor)
    moments, gaussians = empty_moments(M, p), empty_gaussians(M, p)
    for m in range(M):
        refresh(gaussians, m, moments, prior)
    eligible = np.zeros(M, np.bool_)
    return NaiveBayes(prior, moments, gaussians, eligible, np.full(M, -np.inf))


def arrange_naive_bayes(state: NaiveBayes, source: IntArray) -> NaiveBayes:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    old = source >= 0
    M, p = source.shape[0], state.moments.mean.shape[1]
    new = blank_naive_bayes(M, p, state.prior.floor)
    for mine, theirs in (
        *zip(new.moments, state.moments, strict=True),
        *zip(new.gaussians, state.gaussians, strict=True),
        (new.eligible, state.eligible),
        (new.log_seen, state.log_seen),
    ):
        mine[old] = theirs[source[old]]
    return new


def derive_naive_bayes(state: NaiveBayes) -> None:
    """Recompute densities and log priors from the moments."""
    with np.errstate(divide="ignore"):
        state.log_seen[:] = log(state.moments.weight)
    for m in range(state.eligible.shape[0]):
        refresh(state.gaussians, m, state.moments, state.prior)


def naive_bayes_pass(
    state: NaiveBayes,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    labels: IntArray,
) -> None:
    """Predict each row of X (n, p), then learn it if `learn`.

    `y` (n,) holds the classes' numbers, −1 for a row that is only predicted. `weight`
    is (n,), or (1,) where all rows have the same weight. Predictions are written to
    `labels` (n,), −1 while no class is known.
    """
    run_naive_bayes(*state, X, y, weight, learn, labels)


def block_moments(
    state: NaiveBayes, X: FloatArray, y: IntArray, weight: FloatArray
) -> Moments:
    """Return the moments of a block of rows; `merge_moments` adds them to a state."""
    moments = empty_moments(*state.moments.mean.shape)
    add_rows(moments, X, y, weight)
    return moments


def merge_moments(state: NaiveBayes, moments: Moments) -> None:
    """Learn rows, given their moments."""
    seen = np.flatnonzero(moments.weight > 0.0)
    for m in seen.tolist():
        merge(state.moments, m, moments, m)
    state.eligible[seen] = True
    derive_naive_bayes(state)


def naive_bayes_scores(state: NaiveBayes, X: FloatArray, out: FloatArray) -> None:
    """Write log P(y_m) + log P(x | y_m), up to a constant, to `out` (n, M)."""
    score_naive_bayes(state.gaussians, state.log_seen, X, out)
