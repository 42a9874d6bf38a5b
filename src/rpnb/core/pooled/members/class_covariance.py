r"""A covariance for each class: the Student-t predictive of a normal model.

The rows x of a class are normal with unknown mean and covariance; the prior is normal
and inverse Wishart, with the covariance pooled over all classes as its centre (Murphy,
"Conjugate Bayesian analysis of the Gaussian distribution", 2007, section 9). Of each
class are kept n_c, the mean μ_c and the scatter S_c (Chan, Golub & LeVeque 1983); m₀ is
the mean of all rows. With d the dimension and ν₀ = 2d + 1,

.. math::
    Ψ &= ν_0 \frac{Σ_c S_c + dI}{Σ_c \max(n_c - 1, 0) + d}, \quad Λ_c = Ψ + S_c, \quad
    κ = n_c + 0.3, \quad ν = ν_0 + n_c - d + 1 \\
    \tilde μ &= (n_c μ_c + 0.3 m_0)/κ, \quad
    q_c = (x - \tilde μ)^T Λ_c^{-1} (x - \tilde μ) κ/(κ + 1) \\
    \mathrm{score}_c &= \log(n_c + 1) + \logΓ\tfrac{ν + d}{2} - \logΓ\tfrac{ν}{2}
    - ½\bigl(\log|Λ_c| + d \log\tfrac{κ + 1}{κ}\bigr) - \tfrac{ν + d}{2} \log(1 + q_c)

The inverse and the determinant of Λ_c follow a row by the Sherman-Morrison formula,
and all are made anew, with Ψ, when the rows learnt have grown by 15 %.

With more than 64 active classes, only the best 64 by linear discriminants of the pooled
covariance Ψ/ν₀ get their score,

.. math:: \log(n_c + 1) - ½ ν_0 (μ_c^T Ψ^{-1} μ_c - 2 μ_c^T Ψ^{-1} x),

and the others the lowest of these.
"""

from math import lgamma, log, log1p, sqrt
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiled import compiled
from rpnb.core.kernels.vectors import (
    doubles,
    fused,
    load_doubles,
    store_doubles,
    sum_doubles,
)
from rpnb.core.pooled.member import MemberRows, Shape, arrange, copy_state

OUTPUTS: Final = ("class_covariance",)
MERGEABLE: Final = True
USES_SCALE: Final = True

#: Weight of the mean of all rows in the mean of each class.
MEAN_WEIGHT: Final = 0.3
#: Classes that are scored for a row, at most.
SCORED: Final = 64
#: Growth of the rows learnt after which all is made anew.
GROWTH: Final = 1.15

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class ClassCovariance(NamedTuple):
    """Mean and scatter of each class, and what scores are made of."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight n_c"""
    mean: FloatArray
    """(M, d') μ_c; d' is d rounded up to a multiple of 4, with zeros"""
    scatter: FloatArray
    """(M, d', d') S_c"""
    inverse: FloatArray
    """(M, d', d') Λ_c⁻¹"""
    log_volume: FloatArray
    """(M,) log |Λ_c|"""
    constant: FloatArray
    """(M,) all of the score but the last term"""
    spread: FloatArray
    """(M,) μ_cᵀ Ψ⁻¹ μ_c"""
    total: FloatArray
    """(d',) sum of all rows"""
    weight: FloatArray
    """(1,) of all rows"""
    prior: FloatArray
    """(d', d') Ψ"""
    prior_inverse: FloatArray
    """(d', d') Ψ⁻¹"""
    seen: IntArray
    """(1,) rows learnt"""
    next: IntArray
    """(1,) after how many all is made anew"""
    dimension: IntArray
    """(1,) d"""


def begin(shape: Shape, active: BoolArray, seed: int) -> ClassCovariance:
    """Return the state of no rows."""
    M, d = active.shape[0], shape.d
    D = -(-d // 4) * 4
    state = ClassCovariance(
        active.copy(),
        np.zeros(M),
        np.zeros((M, D)),
        np.zeros((M, D, D)),
        np.zeros((M, D, D)),
        np.zeros(M),
        np.zeros(M),
        np.zeros(M),
        np.zeros(D),
        np.zeros(1),
        np.zeros((D, D)),
        np.zeros((D, D)),
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
        np.full(1, d),
    )
    _refresh(state)
    return state


def grow_classes(
    state: ClassCovariance, source: IntArray, active: BoolArray
) -> ClassCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    grown = copy_state(state)._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        mean=arrange(state.mean, source, 0.0),
        scatter=arrange(state.scatter, source, 0.0),
        inverse=arrange(state.inverse, source, 0.0),
        log_volume=arrange(state.log_volume, source, 0.0),
        constant=arrange(state.constant, source, 0.0),
        spread=arrange(state.spread, source, 0.0),
    )
    _begin_classes(grown, np.flatnonzero(source < 0))
    return grown


def score_rows(state: ClassCovariance, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    _pass(state, rows.low, _NO_LABELS, _NO_WEIGHT, scores)


def learn_rows(
    state: ClassCovariance,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    """Score each row, then learn it, in order."""
    _pass(state, rows.low, y, weight, scores)


@compiled
def _pass(
    state: ClassCovariance,
    low: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    n = low.shape[0]
    D = state.mean.shape[1]
    wanted = scores.shape[0] > 0
    x = np.zeros(D)
    m0 = np.zeros(D)
    delta = np.zeros(D)
    v = np.zeros(D)
    for i in range(n):
        for j in range(low.shape[1]):
            x[j] = low[i, j]
        if wanted:
            if state.weight[0] > 0.0:
                for j in range(D):
                    m0[j] = state.total[j] / state.weight[0]
            _score(state, x, m0, delta, v, scores[i, 0])
        if y.shape[0] > 0 and y[i] >= 0:
            _observe(state, x, y[i], weight[i], delta, v)
            if wanted and state.seen[0] >= state.next[0]:
                _refresh(state)
    if not wanted:
        _refresh(state)


@compiled
def _score(
    state: ClassCovariance,
    x: FloatArray,
    m0: FloatArray,
    delta: FloatArray,
    v: FloatArray,
    scores: FloatArray,
) -> None:
    active = 0
    for c in range(state.active.shape[0]):
        active += state.active[c]
    if active <= SCORED:
        for c in range(state.active.shape[0]):
            if state.active[c]:
                scores[c] = _score_class(state, c, x, m0, delta, v)
        return
    promise = _promises(state, x, v)
    least = np.sort(promise)[-SCORED]
    lowest = np.inf
    for c in range(state.active.shape[0]):
        if promise[c] >= least:
            scores[c] = _score_class(state, c, x, m0, delta, v)
            lowest = min(lowest, scores[c])
    for c in range(state.active.shape[0]):
        if promise[c] < least:
            scores[c] = lowest


@compiled
def _score_class(
    state: ClassCovariance,
    c: int,
    x: FloatArray,
    m0: FloatArray,
    delta: FloatArray,
    v: FloatArray,
) -> float:
    n = state.class_weight[c]
    kappa = n + MEAN_WEIGHT
    share = n / kappa
    rest = MEAN_WEIGHT / kappa
    for j in range(x.shape[0]):
        delta[j] = x[j] - (share * state.mean[c, j] + rest * m0[j])
    q = _form(state.inverse[c], delta, v) * (kappa / (kappa + 1.0))
    power = 0.5 * (2.0 * state.dimension[0] + 1.0 + n + 1.0)
    return state.constant[c] - power * log1p(max(q, 0.0))


@compiled
def _promises(state: ClassCovariance, x: FloatArray, v: FloatArray) -> FloatArray:
    """Return linear discriminants of the active classes, −∞ for the others."""
    M, D = state.mean.shape
    _form(state.prior_inverse, x, v)
    nu = 2.0 * state.dimension[0] + 1.0
    promise = np.full(M, -np.inf)
    for c in range(M):
        if state.active[c]:
            product = 0.0
            for j in range(D):
                product += state.mean[c, j] * v[j]
            distance = state.spread[c] - 2.0 * product
            promise[c] = log(state.class_weight[c] + 1.0) - 0.5 * nu * distance
    return promise


@compiled
def _form(matrix: FloatArray, delta: FloatArray, v: FloatArray) -> float:
    """Set v to matrix · delta; return ⟨delta, v⟩."""
    D = delta.shape[0]
    entries = matrix.reshape(D * D)
    total = doubles(0.0)
    whole = D - D % 16
    for j in range(0, whole, 16):
        a = doubles(0.0)
        b = doubles(0.0)
        c = doubles(0.0)
        d = doubles(0.0)
        for k in range(D):
            w = doubles(delta[k])
            at = k * D + j
            a = fused(load_doubles(entries, at), w, a)
            b = fused(load_doubles(entries, at + 4), w, b)
            c = fused(load_doubles(entries, at + 8), w, c)
            d = fused(load_doubles(entries, at + 12), w, d)
        store_doubles(v, j, a)
        store_doubles(v, j + 4, b)
        store_doubles(v, j + 8, c)
        store_doubles(v, j + 12, d)
        total = fused(a, load_doubles(delta, j), total)
        total = fused(b, load_doubles(delta, j + 4), total)
        total = fused(c, load_doubles(delta, j + 8), total)
        total = fused(d, load_doubles(delta, j + 12), total)
    for j in range(whole, D, 4):
        a = doubles(0.0)
        for k in range(D):
            a = fused(load_doubles(entries, k * D + j), doubles(delta[k]), a)
        store_doubles(v, j, a)
        total = fused(a, load_doubles(delta, j), total)
    return sum_doubles(total)


@compiled
def _observe(
    state: ClassCovariance,
    x: FloatArray,
    c: int,
    weight: float,
    delta: FloatArray,
    v: FloatArray,
) -> None:
    """Learn a row of class c: mean, scatter, inverse and determinant."""
    D = x.shape[0]
    n = state.class_weight[c]
    after = n + weight
    f = n * weight / after
    for j in range(D):
        delta[j] = x[j] - state.mean[c, j]
        state.mean[c, j] += weight / after * delta[j]
        state.total[j] += weight * x[j]
    state.weight[0] += weight
    state.class_weight[c] = after
    state.active[c] = True
    state.seen[0] += 1
    if f > 0.0:
        grown = 1.0 + f * _form(state.inverse[c], delta, v)
        scatter, inverse = state.scatter[c], state.inverse[c]
        for k in range(D):
            a = f * delta[k]
            b = f / grown * v[k]
            for j in range(D):
                scatter[k, j] += a * delta[j]
                inverse[k, j] -= b * v[j]
        state.log_volume[c] += log(grown)
    state.spread[c] = _form(state.prior_inverse, state.mean[c], v)
    _set_constant(state, c)


@compiled
def _set_constant(state: ClassCovariance, c: int) -> None:
    d = state.dimension[0]
    n = state.class_weight[c]
    kappa = n + MEAN_WEIGHT
    nu = 2.0 * d + 1.0 + n - d + 1.0
    state.constant[c] = (
        log(n + 1.0)
        + lgamma(0.5 * (nu + d))
        - lgamma(0.5 * nu)
        - 0.5 * (state.log_volume[c] + d * log((kappa + 1.0) / kappa))
    )


@compiled
def _refresh(state: ClassCovariance) -> None:
    """Make Ψ and all that follows from it anew."""
    M, D = state.mean.shape
    d = state.dimension[0]
    prior = state.prior
    prior[:] = 0.0
    df = np.float64(d)
    for c in range(M):
        if state.class_weight[c] > 0.0:
            df += max(state.class_weight[c] - 1.0, 0.0)
            prior[:] += state.scatter[c]
    for j in range(d):
        prior[j, j] += d
    prior[:] *= (2.0 * d + 1.0) / df
    work = np.empty((D, D))
    v = np.empty(D)
    blank = np.zeros((D, D))
    volume = _invert(state, blank, state.prior_inverse, work)
    for c in range(M):
        if state.class_weight[c] > 0.0:
            state.log_volume[c] = _invert(
                state, state.scatter[c], state.inverse[c], work
            )
            state.spread[c] = _form(state.prior_inverse, state.mean[c], v)
        else:
            state.inverse[c] = state.prior_inverse
            state.log_volume[c] = volume
        _set_constant(state, c)
    seen = state.seen[0]
    state.next[0] = max(seen + 1, np.int64(seen * GROWTH))


@compiled
def _begin_classes(state: ClassCovariance, classes: IntArray) -> None:
    """Give classes without rows the inverse of Ψ."""
    D = state.mean.shape[1]
    volume = _invert(state, np.zeros((D, D)), state.prior_inverse, np.empty((D, D)))
    for c in classes:
        state.inverse[c] = state.prior_inverse
        state.log_volume[c] = volume
        _set_constant(state, c)


@compiled
def _invert(
    state: ClassCovariance, scatter: FloatArray, inverse: FloatArray, work: FloatArray
) -> float:
    """Set `inverse` to that of Λ = Ψ + scatter, by Cholesky's factor; return log |Λ|.

    Places beyond the dimension stay zero.
    """
    d = state.dimension[0]
    # L below the diagonal of `work`, row by row.
    for i in range(d):
        for j in range(d):
            work[i, j] = state.prior[i, j] + scatter[i, j]
    volume = 0.0
    for k in range(d):
        root = sqrt(work[k, k])
        volume += 2.0 * log(root)
        for i in range(k, d):
            work[k, i] /= root
        for i in range(k + 1, d):
            factor = work[k, i]
            for j in range(i, d):
                work[i, j] -= factor * work[k, j]
    # Row k of `work`, from the diagonal on, is column k of L. Inverse of L, by rows.
    for i in range(d):
        for j in range(d):
            inverse[i, j] = 1.0 if i == j else 0.0
    for k in range(d):
        pivot = work[k, k]
        for j in range(k + 1):
            inverse[k, j] /= pivot
        for i in range(k + 1, d):
            factor = work[k, i]
            for j in range(k + 1):
                inverse[i, j] -= factor * inverse[k, j]
    # (L Lᵀ)⁻¹ = L⁻ᵀ L⁻¹, in place of L⁻¹.
    for i in range(d):
        for j in range(d):
            work[i, j] = inverse[i, j]
            inverse[i, j] = 0.0
    for k in range(d):
        for i in range(k + 1):
            factor = work[k, i]
            for j in range(k + 1):
                inverse[i, j] += factor * work[k, j]
    return volume


def merge(
    states: list[ClassCovariance], base: ClassCovariance | None = None
) -> ClassCovariance:
    """Return the statistics of several states, less all but one times `base`."""
    merged = copy_state(states[0])
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, part in parts:
        count = merged.class_weight + sign * part.class_weight
        share = part.class_weight / np.where(count > 0.0, count, 1.0)
        delta = part.mean - merged.mean
        outer = delta[:, :, None] * delta[:, None, :]
        between = (sign * merged.class_weight * share)[:, None, None] * outer
        merged.scatter[:] += sign * part.scatter + between
        merged.mean[:] += (sign * share)[:, None] * delta
        merged.class_weight[:] = count
        merged.total[:] += sign * part.total
        merged.weight[:] += sign * part.weight
        merged.seen[:] += int(sign) * part.seen
        merged.active[:] |= part.active
    _refresh(merged)
    return merged
