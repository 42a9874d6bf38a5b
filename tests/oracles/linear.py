"""The pass of a linear learner in plain NumPy: slow, literal, and the tests' oracle.

Nothing is shared with the compiled pass but the records. The formulas are written as in
LIBOL's manual and the articles (cited in ``cpp/linear``), with a full covariance where
there is one. Steps that overflow are not refused here.
"""

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.linear import Algorithm, LinearAlgorithm, LinearState


def linear_pass_plain(
    rule: LinearAlgorithm,
    state: LinearState,
    X: FloatArray,
    y: IntArray,
    learn: bool,
    labels: IntArray,
) -> int:
    """Do a compiled pass over dense rows X (n, p), one formula at a time."""
    before = int(state.counts[1])
    for i, x in enumerate(X):
        if rule.two_class:
            labels[i] = _two_class_round(rule, state, x, int(y[i]), learn)
        else:
            labels[i] = _multiclass_round(rule, state, x, int(y[i]), learn)
        if learn and rule.algorithm == Algorithm.IELLIP:
            state.c[0] *= rule.b
    return int(state.counts[1]) - before


def _set_covariance(state: LinearState, covariance: FloatArray) -> None:
    """Set Σ, or its diagonal if the state keeps only that."""
    if state.S.shape[0] == 1:
        state.S[0] = np.diag(covariance)
    else:
        state.S[:] = covariance


def _covariance(state: LinearState) -> FloatArray:
    return np.diag(state.S[0]) if state.S.shape[0] == 1 else state.S.copy()


def _two_class_round(
    rule: LinearAlgorithm, state: LinearState, x: FloatArray, y: int, learn: bool
) -> int:
    w = state.W[0].copy()
    algorithm = rule.algorithm
    sigma = np.zeros((0, 0))
    if algorithm >= Algorithm.SOP:
        sigma = _covariance(state)
    if algorithm == Algorithm.SOP:
        sigma -= np.outer(sigma @ x, sigma @ x) / (1 + x @ sigma @ x)
        f = w @ sigma @ x
    else:
        f = w @ x
    label = 0 if f >= 0 else 1
    if not learn:
        return label
    if algorithm == Algorithm.SOP:
        _set_covariance(state, sigma)
    state.counts[0] += 1
    sign = 1 if y == 0 else -1
    wrong = label != y
    m = sign * f
    loss = max(0.0, 1 - m)
    C, t, k = rule.C, state.counts[0], state.counts[1] + 1
    if algorithm <= Algorithm.PERCEPTRON_PROPORTIONAL or algorithm == Algorithm.SOP:
        hit = wrong
        w += sign * x
    elif algorithm in (Algorithm.ROMMA, Algorithm.AGGRESSIVE_ROMMA):
        hit = wrong if algorithm == Algorithm.ROMMA else loss > 0
        D = (x @ x) * (w @ w) - f**2
        if not w.any():
            w += sign * x
        elif abs(D) > (0 if rule.libol else 1e-12 * (x @ x) * (w @ w)):
            c = ((x @ x) * (w @ w) - sign * f) / D
            w = c * w + (w @ w) * (sign - f) / D * x
    elif algorithm == Algorithm.ALMA:
        alpha, p = rule.alpha, rule.power
        gamma = 1 / alpha * np.sqrt(p - 1) / np.sqrt(k)
        hit = (1 - alpha) * gamma - m > 0
        w += C / (np.sqrt(p - 1) * np.sqrt(k)) * sign * x
        w /= max(1.0, float(np.linalg.norm(w)))
    elif algorithm in (Algorithm.OGD, Algorithm.OGD_ZERO_ONE):
        hit = loss > 0 if algorithm == Algorithm.OGD else wrong
        w += C / np.sqrt(t) * sign * x
    elif algorithm == Algorithm.OGD_LOGISTIC:
        hit = True
        w += C / np.sqrt(t) * sign * x / (1 + np.exp(m))
    elif algorithm == Algorithm.OGD_SQUARE:
        hit = f != sign
        w -= C / np.sqrt(t) * (f - sign) * x
    elif algorithm in (Algorithm.PA, Algorithm.PA1, Algorithm.PA2):
        hit = loss > 0
        steps = {Algorithm.PA2: loss / (x @ x + 1 / (2 * C))}
        steps[Algorithm.PA] = loss / (x @ x) if x.any() else 1.0
        steps[Algorithm.PA1] = min(C, steps[Algorithm.PA])
        w += steps[algorithm] * sign * x
    else:
        v = float(x @ sigma @ x)
        hit, step, drop, divisor = _covariance_step_two_class(
            rule, m, v, wrong, state.c[0]
        )
        g = sigma @ x
        w += step * sign * g
        sigma = (sigma - drop * np.outer(g, g)) / divisor
        if hit:
            _set_covariance(state, sigma)
    if hit:
        state.counts[1] += 1
        state.W[0] = w
    return label


def _covariance_step_two_class(
    rule: LinearAlgorithm, m: float, v: float, wrong: bool, c: float
) -> tuple[bool, float, float, float]:
    """Trigger, α, β and divisor of the second-order learners of two classes."""
    C, phi = rule.C, rule.phi
    loss = max(0.0, 1 - m)
    if rule.algorithm == Algorithm.IELLIP:
        if not wrong or v == 0:
            return False, 0.0, 0.0, 1.0
        return True, (1 - m) / v, c / v, 1 - c
    if rule.algorithm == Algorithm.AROW:
        return loss > 0, loss / (v + C), 1 / (v + C), 1.0
    if rule.algorithm == Algorithm.NAROW:
        if v <= 1 / C:
            return loss > 0, 0.0, 0.0, 1.0
        beta = 1 / (v + v / (C * v - 1))
        return loss > 0, loss * beta, beta, 1.0
    if rule.algorithm == Algorithm.NHERD:
        beta = 1 / (v + 1 / C)
        return loss > 0, loss * beta, beta**2 * (v + 2 / C), 1.0
    if v <= 0 or phi * np.sqrt(v) - m <= 0:
        return False, 0.0, 0.0, 1.0
    if rule.algorithm == Algorithm.SCW2:
        n = v + 1 / (2 * C)
        root = phi**4 * m**2 * v**2 + 4 * n * v * phi**2 * (n + v * phi**2)
        if rule.libol:
            root = 2 * phi**4 * m**2 * v + 4 * n * v * phi**2 * (n + 2 * v * phi)
        alpha = -(2 * m * n + phi**2 * m * v) + np.sqrt(root)
        alpha /= 2 * (n**2 + n * v * phi**2)
    else:
        psi, xi = 1 + phi**2 / 2, 1 + phi**2
        alpha = -m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)
        alpha /= v * xi
    alpha = max(0.0, min(alpha, C if rule.algorithm == Algorithm.SCW1 else np.inf))
    u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return True, alpha, alpha * phi / (np.sqrt(u) + alpha * phi * v), 1.0


def _first_of_largest(scores: FloatArray, mask: BoolArray) -> int:
    """Index of the largest masked score, the first of equals, passing over NaN."""
    if not mask.any():
        return -1
    usable = mask & ~np.isnan(scores)
    if not usable.any():
        return int(np.flatnonzero(mask)[0])
    return int(np.argmax(np.where(usable, scores, -np.inf)))


def _multiclass_round(
    rule: LinearAlgorithm, state: LinearState, x: FloatArray, y: int, learn: bool
) -> int:
    W = state.W.copy()
    algorithm, C, phi = rule.algorithm, rule.C, rule.phi
    F = W @ x
    label = _first_of_largest(F, state.eligible)
    if not learn:
        return label
    state.counts[0] += 1
    state.eligible[y] = True
    s = _first_of_largest(F, state.eligible & (np.arange(len(F)) != y))
    if s < 0:
        return label
    m = F[y] - F[s]
    loss = 0.0 if np.isnan(m) else max(0.0, 1 - m)
    wrong = label != y
    hit = loss > 0
    if algorithm in (Algorithm.PERCEPTRON_UNIFORM, Algorithm.PERCEPTRON_PROPORTIONAL):
        hit = wrong
        E = [i for i in np.flatnonzero(state.eligible) if F[i] > F[y]]
        W[y] += x
        for i in E:
            if algorithm == Algorithm.PERCEPTRON_UNIFORM:
                W[i] -= x / len(E)
            else:
                W[i] -= x * (F[i] - F[y]) / sum(F[j] - F[y] for j in E)
    elif algorithm in (Algorithm.ROMMA, Algorithm.AGGRESSIVE_ROMMA):
        hit = wrong if algorithm == Algorithm.ROMMA else hit
        norm = (W**2).sum()
        q = 2 * (x @ x) * norm
        if not W.any():
            W[y] += x
            W[s] -= x
        elif rule.libol or (q - m**2 > 1e-12 * q and m < 1):
            c, delta = (q - m) / (q - m**2), norm * (1 - m) / (q - m**2)
            W[y] = c * W[y] + delta * x
            W[s] = c * W[s] - delta * x
    elif algorithm < Algorithm.SOP:
        if algorithm == Algorithm.OGD:
            alpha = C / np.sqrt(state.counts[0])
        elif algorithm == Algorithm.PA2:
            alpha = loss / (2 * (x @ x) + 1 / (2 * C))
        elif algorithm in (Algorithm.PA, Algorithm.PA1):
            # Zero rows are passed over, unless as in the library: ∞·0 is NaN.
            alpha = loss / (2 * (x @ x)) if x.any() or rule.libol else 0.0
            alpha = min(alpha, C) if algorithm == Algorithm.PA1 else alpha
        else:
            hit, alpha = wrong, 1.0
        W[y] += alpha * x
        W[s] -= alpha * x
    else:
        sigma = _covariance(state)
        v = float(x @ sigma @ x)
        g = sigma @ x
        if algorithm == Algorithm.AROW:
            beta = 1 / (v + C)
            alpha = loss * beta
        else:
            hit = v > 0 and phi * np.sqrt(v) - m > 0
            alpha = beta = 0.0
            if hit:
                alpha, beta = _confidence_step_multiclass(rule, m, v)
        W[y] += alpha * g
        W[s] -= alpha * g
        if hit:
            _set_covariance(state, sigma - beta * np.outer(g, g))
    if hit:
        state.counts[1] += 1
        state.W[:] = W
    return label


def _confidence_step_multiclass(
    rule: LinearAlgorithm, m: float, v: float
) -> tuple[float, float]:
    """α and β of Algorithm.CW, SCW-I and SCW-II for more than two classes."""
    C, phi = rule.C, rule.phi
    psi = 1 + phi**2 / 2
    if rule.algorithm in (Algorithm.CW, Algorithm.SCW1):
        root = m**2 * psi**2 - m**2 * psi + 2 * v * phi**2 * psi
        alpha = max(0.0, (-m * psi + np.sqrt(root)) / (2 * v * psi))
        alpha = min(alpha, C) if rule.algorithm == Algorithm.SCW1 else alpha
    else:
        n = 2 * v + 1 / (2 * C)
        root = phi**4 * m**2 * v**2 + 8 * n * v * phi**2 * (n + v * phi**2)
        top = -(2 * m * n + phi**2 * m * v) + np.sqrt(root)
        alpha = max(0.0, top / (2 * (n**2 + n * v * phi**2)))
    u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 8 * v)) ** 2 / 8
    return alpha, alpha * phi / (np.sqrt(2 * u) + alpha * phi * v)
