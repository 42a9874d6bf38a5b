"""Labels that come late: the pool learns from the scores of the prediction."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from core.pooled.models import (
    LIGHT,
    assert_same_model,
    learn,
    light_model,
    runs_of_labels,
)
from oracles.pooled.late import pool_of, scores_when_predicted
from pooled_memory import size_of_model
from rpnb._core.pooled import Pending
from rpnb.core.pooled.engine import score
from rpnb.core.pooled.member import same_state
from rpnb.core.pooled.model import (
    arrange_classes,
    copy_model,
    new_model,
)


@pytest.mark.parametrize("delay", [1, 9])
def test_the_pool_equals_an_oracle_that_keeps_scores_of_predictions(delay: int) -> None:
    X, y = runs_of_labels(28)
    model = light_model(delay)
    first = model.pool.weights.copy()
    scores = scores_when_predicted(model, X, y, delay, Pending.block_rows(delay))
    now = scores_when_predicted(model, X, y, 0, 1)
    learn(model, X, y)
    oracle = pool_of(first, scores, now, y, delay)
    assert_allclose(model.pool.weights, oracle.w, rtol=1e-8, atol=1e-12)
    assert_allclose(model.pool.curvature, oracle.H, rtol=1e-8)
    assert_allclose(
        model.pool.class_terms, [*oracle.v, oracle.b], rtol=1e-6, atol=1e-12
    )
    assert_allclose(
        [model.pool.power[0], model.pool.noise[0]], [oracle.power, oracle.noise]
    )
    wrong = scores.argmax(axis=2) != y[:, None]
    assert_array_equal(model.pool.mistakes[:-1], wrong.sum(axis=0))


def test_members_learn_at_once_and_predictions_are_theirs() -> None:
    X, y = runs_of_labels(40)
    late, fresh = light_model(6), light_model(0)
    learn(late, X, y)
    learn(fresh, X, y)
    assert same_state(late.scale, fresh.scale)
    for one, two in zip(late.states[:2], fresh.states[:2], strict=True):
        assert same_state(one, two)  # all but transitions
    fresh = fresh.replace(
        shape=late.shape, states=[*fresh.states[:2], late.states[2]], pool=late.pool
    )
    ours, its = np.empty((40, 3)), np.empty((40, 3))
    labels = np.empty(40, np.int64)
    score(late, X, labels, ours, ordered=True)
    score(fresh, X, labels, its, ordered=True)
    assert_array_equal(ours, its)


@pytest.mark.parametrize("delay", [1, 9, 30])
def test_blocks_may_end_anywhere_and_threads_change_nothing(delay: int) -> None:
    X, y = runs_of_labels(60)
    y[7::11] = -1  # rows that never get a label
    whole, parts, threads = (light_model(delay, active=0) for _ in range(3))
    expected = learn(whole, X, y)
    found = [
        learn(parts, X[start:stop], y[start:stop])
        for start, stop in pairwise([0, 1, 2, 13, 14, 40, 60])
    ]
    assert_array_equal(expected, np.concatenate(found))
    assert_array_equal(expected, learn(threads, X, y, jobs=2))
    assert_same_model(whole, parts)
    assert_same_model(whole, threads)
    assert np.isfinite(whole.pool.weights).all()


def test_weights_of_fresh_labels_shrink_with_the_delay() -> None:
    # Without transitions, whose share would fall to the neighbours.
    X, y = runs_of_labels(200)
    weights = []
    for delay in (0, 7, 30):
        model = new_model(LIGHT[:2], 3, 16, 0, np.arange(3) < 3, 1, delay)
        learn(model, X, y)
        weights.append(model.pool.weights[1])
    assert weights[2] < weights[1] < weights[0]


def test_classes_join_in_between() -> None:
    X, y = runs_of_labels(50)
    y[:20] = np.where(y[:20] == 1, 2, y[:20])  # class 1 joins later
    late, early = light_model(5, active=0), light_model(5, active=0)
    late = arrange_classes(late, np.array([0, 1]), np.zeros(0, np.int64))
    learn(late, X[:20], y[:20] // 2)
    late = arrange_classes(late, np.array([0, -1, 1]), np.zeros(0, np.int64))
    learn(late, X[20:], y[20:])
    learn(early, X, y)
    assert_same_model(late, early)


def test_a_copy_shares_nothing_and_no_size_depends_on_the_rows() -> None:
    model = light_model(2)
    copied = copy_model(model)
    size = size_of_model(model)
    assert size > size_of_model(light_model(0))
    X, y = runs_of_labels(6)
    learn(model, X, y)
    assert size_of_model(model) == size
    assert copied.late is not None
    assert copied.late.pending.seen[0] == 0
    learn(copied, X, y)
    assert_same_model(model, copied)


def test_hashed_rows_are_kept_hashed() -> None:
    model = light_model(2, p=4100)
    X = np.random.default_rng(0).normal(size=(6, 4100))
    learn(model, X, np.arange(6) % 3)
    assert model.late is not None
    assert model.late.pending.rows.shape == (3, 1024)
    assert model.late.behind.scale.seen[0] == 3
    # What it scales and projects are the same 1,024 columns.
    assert_array_equal(model.late.behind.scale.rows[:3], model.scale.rows[:3])
