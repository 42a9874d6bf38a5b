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

Four classes are handled at once, as the lanes of a vector; matrices are symmetric, and
only their lower triangles are kept, row by row: entry (j, k), k ≤ j, has the number
j(j + 1)/2 + k.
"""

from math import lgamma, log
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    SingleArray,
    WordArray,
)
from rpnb.core.kernels.compiling.compiled import (
    compiled,
    compiled_borrowing,
    compiled_borrowing_inline,
)
from rpnb.core.kernels.random_bits import fill_logs
from rpnb.core.pooled.algebra.triangles import fill_forms, form, invert
from rpnb.core.pooled.member import (
    MemberRows,
    Shape,
    arrange,
    copy_state,
    without_sums,
)

OUTPUTS: Final = ("class_covariance",)
MERGEABLE: Final = True
USES_SCALE: Final = True
SUMS: Final = ("active", "class_weight", "mean", "scatter", "total", "weight", "seen")

#: Weight of the mean of all rows in the mean of each class.
MEAN_WEIGHT: Final = 0.3
#: Classes that are scored for a row, at most.
SCORED: Final = 64
#: Growth of the rows learnt after which all is made anew.
GROWTH: Final = 1.15
# Classes handled at once.
_LANES: Final = 4

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)


class ClassCovariance(NamedTuple):
    """Mean and scatter of each class, and what scores are made of.

    There are d dimensions, P = d(d + 1)/2 entries of a triangle, and G groups of four
    classes: class c is lane c mod 4 of group c div 4.
    """

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight n_c"""
    mean: FloatArray
    """(G, d, 4) μ_c"""
    scatter: FloatArray
    """(M, P) S_c"""
    inverse: FloatArray
    """(G, P, 4) Λ_c⁻¹"""
    log_volume: FloatArray
    """(M,) log |Λ_c|"""
    constant: FloatArray
    """(M,) all of the score but the last term"""
    spread: FloatArray
    """(M,) μ_cᵀ Ψ⁻¹ μ_c where M > 64, else 0"""
    total: FloatArray
    """(d,) sum of all rows"""
    weight: FloatArray
    """(1,) of all rows"""
    prior: FloatArray
    """(P,) Ψ"""
    prior_inverse: FloatArray
    """(P,) Ψ⁻¹"""
    seen: IntArray
    """(1,) rows learnt"""
    next: IntArray
    """(1,) after how many all is made anew"""


def begin(shape: Shape, active: BoolArray, seed: int) -> ClassCovariance:
    """Return the state of no rows."""
    M, d = active.shape[0], shape.d
    G, P = -(-M // _LANES), d * (d + 1) // 2
    state = ClassCovariance(
        active.copy(),
        np.zeros(M),
        np.zeros((G, d, _LANES)),
        np.zeros((M, P)),
        np.zeros((G, P, _LANES)),
        np.zeros(M),
        np.zeros(M),
        np.zeros(M),
        np.zeros(d),
        np.zeros(1),
        np.zeros(P),
        np.zeros(P),
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
    )
    _refresh(state)
    return state


def by_class(lanes: NDArray[Any], M: int) -> NDArray[Any]:
    """Return (M, size) of (G, size, 4)."""
    G, size, _ = lanes.shape
    return lanes.transpose(0, 2, 1).reshape(G * _LANES, size)[:M]


def _by_lane(classes: NDArray[Any]) -> NDArray[Any]:
    """Return (G, size, 4) of (M, size), with zeros for classes that there are not."""
    M, size = classes.shape
    G = -(-M // _LANES)
    filled = np.zeros((G * _LANES, size))
    filled[:M] = classes
    lanes = filled.reshape(G, _LANES, size).transpose(0, 2, 1)
    return np.ascontiguousarray(lanes)


def grow_classes(
    state: ClassCovariance, source: IntArray, active: BoolArray
) -> ClassCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    M = state.class_weight.shape[0]
    grown = copy_state(state)._replace(
        active=active.copy(),
        class_weight=arrange(state.class_weight, source, 0.0),
        mean=_by_lane(arrange(by_class(state.mean, M), source, 0.0)),
        scatter=arrange(state.scatter, source, 0.0),
        inverse=_by_lane(arrange(by_class(state.inverse, M), source, 0.0)),
        log_volume=arrange(state.log_volume, source, 0.0),
        constant=arrange(state.constant, source, 0.0),
        spread=np.zeros(source.shape[0]),
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


class _Space(NamedTuple):
    """Working space of a pass; what follows from a class's weight is kept up."""

    share: FloatArray
    """(4G,) weight of a class's mean in its centre"""
    rest: FloatArray
    """(4G,) weight of the mean of all rows in it"""
    factor: FloatArray
    """(4G,) κ/(κ + 1)"""
    power: FloatArray
    """(4G,) half of ν + d"""
    logs: FloatArray
    """(4G,)"""
    bits: WordArray
    """(4G,)"""
    delta: FloatArray
    """(4d,) differences from the centres of four classes"""
    row: FloatArray
    """(d,)"""
    mean: FloatArray
    """(d,) of all rows"""
    v: FloatArray
    """(d,)"""
    chosen: BoolArray
    """(G,) groups that are scored: those with active classes, if these are few"""


@compiled
def _new_space(state: ClassCovariance) -> _Space:
    G, d, _ = state.mean.shape
    space = _Space(
        np.zeros(4 * G),
        np.zeros(4 * G),
        np.zeros(4 * G),
        np.zeros(4 * G),
        np.ones(4 * G),
        np.zeros(4 * G, np.int32),
        np.zeros(4 * d),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
        np.zeros(G, np.bool_),
    )
    for c in range(state.active.shape[0]):
        _weigh_class(space, c, state.class_weight[c], d)
        space.chosen[c // 4] |= state.active[c]
    return space


@compiled_borrowing_inline
def _weigh_class(space: _Space, c: int, n: float, d: int) -> None:
    kappa = n + MEAN_WEIGHT
    space.share[c] = n / kappa
    space.rest[c] = MEAN_WEIGHT / kappa
    space.factor[c] = kappa / (kappa + 1.0)
    space.power[c] = 0.5 * (2.0 * d + 1.0 + n + 1.0)


@compiled
def _pass(
    state: ClassCovariance,
    low: SingleArray,
    y: IntArray,
    weight: FloatArray,
    scores: FloatArray,
) -> None:
    n, d = low.shape
    wanted = scores.shape[0] > 0
    space = _new_space(state)
    x = space.row
    n_active = 0
    for c in range(state.active.shape[0]):
        n_active += state.active[c]
    for i in range(n):
        for j in range(d):
            x[j] = low[i, j]
        if wanted:
            if state.weight[0] > 0.0:
                for j in range(d):
                    space.mean[j] = state.total[j] / state.weight[0]
            if n_active <= SCORED:
                _score_all(state, space, scores[i, 0])
            else:
                _score_promising(state, space, scores[i, 0])
        if y.shape[0] > 0 and y[i] >= 0:
            if not state.active[y[i]]:
                n_active += 1
                space.chosen[y[i] // 4] = True
            _observe(state, y[i], weight[i], space)
            if wanted and state.seen[0] >= state.next[0]:
                _refresh(state)
    if not wanted:
        _refresh(state)


@compiled_borrowing
def _score_all(state: ClassCovariance, space: _Space, scores: FloatArray) -> None:
    _score_chosen(state, space)
    for c in range(scores.shape[0]):
        scores[c] = state.constant[c] - space.power[c] * space.logs[c]


@compiled_borrowing
def _score_chosen(state: ClassCovariance, space: _Space) -> None:
    """Set log(1 + q) of all classes of the groups chosen."""
    fill_forms(
        state.inverse.reshape(state.inverse.size),
        state.mean.reshape(state.mean.size),
        space.chosen,
        space.row,
        space.mean,
        space.share,
        space.rest,
        space.factor,
        space.delta,
        space.logs,
    )
    fill_logs(space.logs, space.bits)


@compiled
def _score_promising(state: ClassCovariance, space: _Space, scores: FloatArray) -> None:
    """Score the most promising classes; the others get the lowest of these scores."""
    promise = _promises(state, space)
    least = np.sort(promise)[-SCORED]
    space.chosen[:] = False
    for c in range(scores.shape[0]):
        space.chosen[c // 4] |= promise[c] >= least
    _score_chosen(state, space)
    lowest = np.inf
    for c in range(scores.shape[0]):
        if promise[c] >= least:
            scores[c] = state.constant[c] - space.power[c] * space.logs[c]
            lowest = min(lowest, scores[c])
    for c in range(scores.shape[0]):
        if promise[c] < least:
            scores[c] = lowest


@compiled
def _promises(state: ClassCovariance, space: _Space) -> FloatArray:
    """Return linear discriminants of the active classes, −∞ for the others."""
    M = state.active.shape[0]
    x, v = space.row, space.v
    d = x.shape[0]
    form(state.prior_inverse, 0, 1, x, v)
    nu = 2.0 * d + 1.0
    promise = np.full(M, -np.inf)
    for c in range(M):
        if state.active[c]:
            product = 0.0
            for j in range(d):
                product += state.mean[c // 4, j, c % 4] * v[j]
            distance = state.spread[c] - 2.0 * product
            promise[c] = log(state.class_weight[c] + 1.0) - 0.5 * nu * distance
    return promise


@compiled_borrowing
def _observe(state: ClassCovariance, c: int, weight: float, space: _Space) -> None:
    """Learn a row of class c: mean, scatter, inverse and determinant."""
    x, v = space.row, space.v
    d = x.shape[0]
    delta = space.delta[:d]
    n = state.class_weight[c]
    after = n + weight
    f = n * weight / after
    group, lane = c // 4, c % 4
    for j in range(d):
        delta[j] = x[j] - state.mean[group, j, lane]
        state.mean[group, j, lane] += weight / after * delta[j]
        state.total[j] += weight * x[j]
    state.weight[0] += weight
    state.class_weight[c] = after
    state.active[c] = True
    state.seen[0] += 1
    _weigh_class(space, c, after, d)
    if f > 0.0:
        entries = state.inverse.reshape(state.inverse.size)
        first = 4 * state.inverse.shape[1] * group + lane
        grown = 1.0 + f * form(entries, first, 4, delta, v)
        scatter = state.scatter[c]
        at = 0
        for j in range(d):
            a = f * delta[j]
            b = f / grown * v[j]
            for k in range(j + 1):
                scatter[at + k] += a * delta[k]
                entries[first + 4 * (at + k)] -= b * v[k]
            at += j + 1
        if grown >= 1.0:
            state.log_volume[c] += log(grown)
        else:  # weights so far apart that rounding has made the inverse indefinite
            _refresh(state)
    _set_spread(state, c, delta, v)
    _set_constant(state, c)


@compiled_borrowing
def _set_spread(
    state: ClassCovariance, c: int, mean: FloatArray, v: FloatArray
) -> None:
    """Set μ_cᵀ Ψ⁻¹ μ_c if there are classes enough; `mean` and v are working space."""
    if state.spread.shape[0] > SCORED:
        for j in range(mean.shape[0]):
            mean[j] = state.mean[c // 4, j, c % 4]
        state.spread[c] = form(state.prior_inverse, 0, 1, mean, v)


@compiled_borrowing
def _set_constant(state: ClassCovariance, c: int) -> None:
    d = state.mean.shape[1]
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
    M = state.class_weight.shape[0]
    d = state.mean.shape[1]
    prior = state.prior
    prior[:] = 0.0
    df = np.float64(d)
    for c in range(M):
        if state.class_weight[c] > 0.0:
            df += max(state.class_weight[c] - 1.0, 0.0)
            for j in range(prior.shape[0]):
                prior[j] += state.scatter[c, j]
    for j in range(d):
        prior[j * (j + 3) // 2] += d
    for j in range(prior.shape[0]):
        prior[j] *= (2.0 * d + 1.0) / df
    work = np.empty((2, d, d))
    v = np.empty(d)
    mean = np.empty(d)
    volume = invert(prior, np.zeros_like(prior), state.prior_inverse, 0, 1, work)
    entries = state.inverse.reshape(state.inverse.size)
    for c in range(M):
        first = 4 * prior.shape[0] * (c // 4) + c % 4
        if state.class_weight[c] > 0.0:
            scatter = state.scatter[c]
            state.log_volume[c] = invert(prior, scatter, entries, first, 4, work)
            _set_spread(state, c, mean, v)
        else:
            _take_prior(state, c, volume)
        _set_constant(state, c)
    seen = state.seen[0]
    state.next[0] = max(seen + 1, np.int64(seen * GROWTH))


@compiled_borrowing
def _take_prior(state: ClassCovariance, c: int, volume: float) -> None:
    """Give a class without rows the inverse of Ψ."""
    for j in range(state.prior_inverse.shape[0]):
        state.inverse[c // 4, j, c % 4] = state.prior_inverse[j]
    state.log_volume[c] = volume


@compiled
def _begin_classes(state: ClassCovariance, classes: IntArray) -> None:
    """Give classes without rows the inverse of Ψ, and the others their spread."""
    d = state.mean.shape[1]
    prior = state.prior
    work = np.empty((2, d, d))
    volume = invert(prior, np.zeros_like(prior), state.prior_inverse, 0, 1, work)
    for c in classes:
        _take_prior(state, c, volume)
        _set_constant(state, c)
    for c in range(state.class_weight.shape[0]):
        if state.class_weight[c] > 0.0:
            _set_spread(state, c, work[0, 0], work[1, 0])


def merge(
    states: list[ClassCovariance], base: ClassCovariance | None = None
) -> ClassCovariance:
    """Return the statistics of several states, less all but one times `base`."""
    merged = copy_state(states[0])
    M, d = merged.class_weight.shape[0], merged.mean.shape[1]
    mean = by_class(merged.mean, M).copy()
    rows, columns = np.tril_indices(d)
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    for sign, part in parts:
        count = merged.class_weight + sign * part.class_weight
        share = part.class_weight / np.where(count > 0.0, count, 1.0)
        delta = by_class(part.mean, M) - mean
        outer = delta[:, rows] * delta[:, columns]
        between = (sign * merged.class_weight * share)[:, None] * outer
        merged.scatter[:] += sign * part.scatter + between
        mean += (sign * share)[:, None] * delta
        merged.class_weight[:] = count
        merged.total[:] += sign * part.total
        merged.weight[:] += sign * part.weight
        merged.seen[:] += int(sign) * part.seen
        merged.active[:] |= part.active
    merged.mean[:] = _by_lane(mean)
    _refresh(merged)
    return merged


def sum_rows(
    state: ClassCovariance, rows: MemberRows, y: IntArray, weight: FloatArray
) -> ClassCovariance:
    """Return the statistics of rows alone."""
    part = without_sums(state, SUMS)
    _refresh(part)
    learn_rows(part, rows, y, weight, np.zeros((0, 1, state.active.shape[0])))
    return part
