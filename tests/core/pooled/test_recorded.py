"""Labels of any delay: the pool learns from stored scores."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from core.pooled.models import NOTHING, learn, light_model, runs_of_labels
from oracles.pooled.late import pool_of
from rpnb.core.pooled.engine import run, score
from rpnb.core.pooled.member import same_state
from rpnb.core.pooled.model import copy_model
from rpnb.core.pooled.recorded import learn_recorded, predict_recorded


def test_predictions_are_those_of_the_next_rows() -> None:
    X, y = runs_of_labels(300)  # more than one block of rows
    model = light_model(0, active=2)
    learn(model, X[:60], np.minimum(y[:60], 1))
    before = copy_model(model)
    labels, log_P, scores = predict_recorded(model, X)
    expected, its = np.empty(300, np.int64), np.empty((300, 3))
    score(model, X, expected, its, ordered=True)
    assert_array_equal(labels, expected)
    assert_array_equal(log_P, its)
    assert np.isneginf(scores[:, :, 2]).all()
    assert np.isfinite(scores[:, :, :2]).all()
    for one, two in zip(before.states, model.states, strict=True):
        assert same_state(one, two)


def test_members_learn_now_and_the_pool_from_the_scores_of_then() -> None:
    X, y = runs_of_labels(40)
    model = light_model(0)
    learn(model, X[:10], y[:10])
    copied = copy_model(model)
    first = copy_model(light_model(0)).pool.weights.copy()
    # All rows are predicted now; their labels come much later, in another order.
    _, _, scores = predict_recorded(model, X[10:])
    order = np.random.default_rng(0).permutation(30)
    learn_recorded(model, X[10:][order], y[10:][order], np.ones(30), scores[order])
    labels = np.empty(30, np.int64)
    run(copied, X[10:][order], y[10:][order], np.ones(30), labels, NOTHING, 1)
    for one, two in zip(model.states, copied.states, strict=True):
        assert same_state(one, two)
    assert not same_state(model.pool, copied.pool)
    # The pool by its equations: the first ten rows as they came, then the others.
    again, now = light_model(0), []
    rows = np.concatenate([np.arange(10), 10 + order])
    for t in rows:
        now.append(predict_recorded(again, X[t : t + 1])[2][0])
        learn(again, X[t : t + 1], y[t : t + 1])
    then = np.concatenate([now[:10], scores[order]])
    oracle = pool_of(first, then, np.array(now), y[rows], 0)
    assert_allclose(model.pool.weights, oracle.w, rtol=1e-8, atol=1e-12)
    assert_allclose(model.pool.curvature, oracle.H, rtol=1e-8)
    terms = [*oracle.v, oracle.b]
    assert_allclose(model.pool.class_terms, terms, rtol=1e-6, atol=1e-12)
