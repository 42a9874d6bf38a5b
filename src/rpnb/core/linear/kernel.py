"""The compiled pass of a linear learner over a block of rows: test, then train.

Each row is scored, its label predicted, and, if it is to be learnt, one step of the
algorithm is taken. The state is a record of arrays, written in place: consecutive
passes over parts of a stream leave the same bits as one pass over all of it.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.rows import RowBlock, RowValues, row_at
from rpnb.core.linear.algorithms import (
    AGGRESSIVE_ROMMA,
    ALMA,
    CW,
    IELLIP,
    PERCEPTRON_PROPORTIONAL,
    PERCEPTRON_UNIFORM,
    ROMMA,
    SOP,
    LinearAlgorithm,
    StepInputs,
    is_triggered,
    perceptron_shares,
    step_of,
)
from rpnb.core.linear.row_ops import (
    covariance_product,
    divide_covariance,
    dot,
    is_credible,
    products,
    project_to_ball,
    shrink_covariance,
    square_norm,
    stays_finite,
    update_weights,
)
from rpnb.core.linear.state import ROUNDS, UPDATES, LinearState


class _Workspace(NamedTuple):
    """Working space of a pass."""

    scores: FloatArray
    """(M,)"""
    shares: FloatArray
    """(M,)"""
    g: FloatArray
    """(p,) for Σx"""


class _Target(NamedTuple):
    """What a labelled row tells a learner, after its prediction."""

    up: int
    """the row of W to which a multiple of the direction is added"""
    down: int
    """the row of W from which it is subtracted, −1 in the two-class form"""
    sign: float
    """y = ±1 in the two-class form, else 1"""
    m: float
    """margin"""
    wrong: bool
    """whether the prediction was wrong"""


@compiled
def linear_pass(
    rule: LinearAlgorithm,
    state: LinearState,
    rows: RowBlock,
    y: IntArray,
    learn: bool,
    labels: IntArray,
) -> int:
    """Predict each row and, if `learn`, learn from it; return the number of updates.

    Parameters
    ----------
    rule, state : LinearAlgorithm, LinearState
        The learner. `state` is written to if `learn`.
    rows : RowBlock
        n rows, dense or sparse.
    y : array of shape (n,)
        Numbers of the classes, −1 for a row that is only predicted; not read unless
        `learn`. In the two-class form 0 stands for +1 and 1 for −1.
    learn : bool
        Whether to learn from a row once it has been predicted.
    labels : array of shape (n,)
        Receives the predictions: the eligible class of the highest score, the first of
        equals, and −1 while none is eligible; in the two-class form 0 if f ≥ 0, else 1.

    Notes
    -----
    A row's class becomes eligible after the prediction and before the step. Only
    eligible classes are predicted or rivals; a class new in this round has zero weights
    and the score 0. While no other class is eligible there is no rival, and the round,
    though counted as a round, is no update. So a learner whose classes are all declared
    at the start does as LIBOL, which knows M.

    An update is a round that meets the algorithm's trigger, as LIBOL counts, even if
    its step has length zero or is not taken. A step is not taken if its numbers, or a
    weight after it, would not be finite (a zero row in multi-class PA; squares that
    overflow), if v < 0, or if Σx is only rounding error (`is_credible`). So weights and
    covariances stay finite for all finite rows. With `rule.libol` only v < 0 prevents a
    step: both rows of a step that is not finite become NaN, as in the library. A class
    with a NaN score is predicted, or the rival, only if all scores are NaN.
    """
    M, p = state.W.shape
    workspace = _Workspace(np.empty(M), np.empty(M), np.empty(p))
    scores = workspace.scores
    before = state.counts[UPDATES]
    for i in range(rows.starts.shape[0] - 1):
        row = row_at(rows, i)
        direction, v = _score(rule, state, workspace, row)
        if rule.two_class:
            labels[i] = 0 if scores[0] >= 0.0 else 1
        else:
            labels[i] = _leader(scores, state.eligible, -1)
        if not learn or y[i] < 0:
            continue
        state.counts[ROUNDS] += 1
        if rule.algorithm == SOP and _is_usable(rule, state.S, direction, v):
            shrink_covariance(state.S, direction, v, 1.0 / (1.0 + v), rule.libol)
        wrong = labels[i] != y[i]
        if rule.two_class:
            sign = 1.0 if y[i] == 0 else -1.0
            target = _Target(0, -1, sign, sign * scores[0], wrong)
        else:
            state.eligible[y[i]] = True
            s = _leader(scores, state.eligible, y[i])
            if s < 0:
                continue
            target = _Target(y[i], s, 1.0, scores[y[i]] - scores[s], wrong)
        _learn(rule, state, workspace, row, target)
        if rule.algorithm == IELLIP:
            state.c[0] *= rule.b
    return int(state.counts[UPDATES] - before)


@compiled
def linear_scores(
    rule: LinearAlgorithm, state: LinearState, rows: RowBlock, out: FloatArray
) -> None:
    """Write the scores that decide the labels to `out`: (n, M), two-class f: (n, 1)."""
    M, p = state.W.shape
    workspace = _Workspace(np.empty(M), np.empty(M), np.empty(p))
    for i in range(rows.starts.shape[0] - 1):
        _score(rule, state, workspace, row_at(rows, i))
        out[i] = workspace.scores


@compiled
def _score(
    rule: LinearAlgorithm, state: LinearState, workspace: _Workspace, row: RowValues
) -> tuple[RowValues, float]:
    """Fill `workspace.scores`; return Σx and v for SOP, placeholders for the others.

    SOP, in every round: Σ' = Σ − (Σx)(Σx)ᵀ/(1 + v), then f = wᵀΣ'x with the new Σ'. As
    Σ'x = Σx/(1 + v), f can be computed without Σ', so predicting changes no state.
    """
    if rule.algorithm != SOP:
        products(row, state.W, workspace.scores)
        return row, 0.0
    direction, v = covariance_product(row, state.S, workspace.g)
    workspace.scores[0] = dot(direction, state.W[0]) / (1.0 + max(v, 0.0))
    return direction, v


@compiled
def _leader(scores: FloatArray, eligible: BoolArray, but: int) -> int:
    """Return the eligible class of the highest score, the first of equals, or −1.

    Class `but` is left out. A class with a NaN leads only if all scores are NaN.
    """
    best = -1
    for m in range(scores.shape[0]):
        if eligible[m] and m != but:
            ahead = best < 0 or scores[m] > scores[best]
            if ahead or (np.isnan(scores[best]) and not np.isnan(scores[m])):
                best = m
    return best


@compiled
def _is_usable(
    rule: LinearAlgorithm, S: FloatArray, direction: RowValues, v: float
) -> bool:
    """Whether Σx and v may be used for a step; LIBOL only asks for v ≥ 0."""
    return v >= 0.0 if rule.libol else is_credible(S, direction, v)


@compiled
def _learn(
    rule: LinearAlgorithm,
    state: LinearState,
    workspace: _Workspace,
    row: RowValues,
    target: _Target,
) -> None:
    """Update the state by one labelled row, if the algorithm's trigger is met."""
    algorithm = rule.algorithm
    W, S = state.W, state.S
    up, down = target.up, target.down
    direction, v = row, 0.0
    if algorithm >= CW or (algorithm == IELLIP and target.wrong):
        direction, v = covariance_product(row, S, workspace.g)
    k = state.counts[UPDATES] + 1
    if not is_triggered(rule, target.m, target.wrong, v, k):
        return
    state.counts[UPDATES] = k
    if algorithm in (PERCEPTRON_UNIFORM, PERCEPTRON_PROPORTIONAL) and down >= 0:
        _update_by_shares(rule, state, workspace, row, up)
        return
    weight = square = 0.0
    if algorithm > SOP:
        if algorithm < CW and algorithm != IELLIP:
            direction, v = covariance_product(row, S, workspace.g)
        if not _is_usable(rule, S, direction, v):
            return
    else:
        square = square_norm(row.values)
    if algorithm in (ROMMA, AGGRESSIVE_ROMMA):
        for m in range(W.shape[0]):
            weight += square_norm(W[m])
    sides = 1 if down < 0 else 2
    t = state.counts[ROUNDS]
    step = step_of(
        rule, StepInputs(target.m, t, k, square, weight, v, state.c[0], sides)
    )
    alpha = target.sign * step.alpha
    finite = np.isfinite(step.keep) and np.isfinite(alpha) and np.isfinite(step.beta)
    if rule.libol:
        if not finite:
            W[up] = np.nan
            if down >= 0:
                W[down] = np.nan
            return
    else:
        finite = finite and stays_finite(W[up], direction, step.keep, alpha)
        if down >= 0:
            finite = finite and stays_finite(W[down], direction, step.keep, -alpha)
        if not finite:
            return
    update_weights(W[up], direction, step.keep, alpha)
    if down >= 0:
        update_weights(W[down], direction, step.keep, -alpha)
    if algorithm == ALMA:
        project_to_ball(W[up])
    if step.beta > 0.0:
        shrink_covariance(S, direction, v, step.beta, rule.libol)
        if step.divisor != 1.0:
            divide_covariance(S, step.divisor)


@compiled
def _update_by_shares(
    rule: LinearAlgorithm,
    state: LinearState,
    workspace: _Workspace,
    row: RowValues,
    y: int,
) -> None:
    """Take the step of the perceptrons that move all rows of W scored above row y."""
    shares = workspace.shares
    perceptron_shares(rule.algorithm, workspace.scores, state.eligible, y, shares)
    for m in range(shares.shape[0]):
        if not rule.libol and not stays_finite(state.W[m], row, 1.0, shares[m]):
            return
    for m in range(shares.shape[0]):
        if shares[m] != 0.0:
            update_weights(state.W[m], row, 1.0, shares[m])
