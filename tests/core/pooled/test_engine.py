"""The pooled model as a whole, through its core."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from core.pooled.models import LIGHT, NOTHING, assert_same_model, learn
from pooled_memory import size_of_model
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import prepare_rows, run, score
from rpnb.core.pooled.member import copy_state, score_rows
from rpnb.core.pooled.model import (
    MEMBERS,
    PooledModel,
    arrange_classes,
    copy_model,
    merge_models,
    new_model,
)
from rpnb.core.pooled.pool import pool_rows

NAMES = [
    name for name in MEMBERS if name not in ("window_forest", "selected_neighbours")
]


def stream(n: int, p: int = 3) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n)
    y[n // 2 :: 3] = 2
    return rng.normal(size=(n, p)) + 2.0 * y[:, None], y


def model_of(p: int = 3, M: int = 3, names: list[str] = NAMES) -> PooledModel:
    return new_model(names, p, 16, 0, np.zeros(M, np.bool_), 1)


@pytest.mark.parametrize(
    ("names", "cuts"),
    [(NAMES, [0, 1, 2, 3, 20, 40]), (LIGHT, [0, 100, 255, 256, 257, 290])],
    ids=["all", "light"],
)
def test_blocks_may_end_anywhere_and_threads_change_nothing(
    names: list[str], cuts: list[int]
) -> None:
    X, y = stream(cuts[-1])
    whole, parts, threads = (model_of(names=names) for _ in range(3))
    expected = learn(whole, X, y)
    found = [
        learn(parts, X[start:stop], y[start:stop]) for start, stop in pairwise(cuts)
    ]
    assert_array_equal(expected, np.concatenate(found))
    assert_array_equal(expected, learn(threads, X, y, jobs=2))
    assert_same_model(whole, parts)
    assert_same_model(whole, threads)


def test_a_single_member_learns_in_the_thread_that_calls() -> None:
    X, y = stream(300)
    alone, threads = (model_of(names=["shared_covariance"]) for _ in range(2))
    assert_array_equal(learn(alone, X, y), learn(threads, X, y, jobs=2))
    assert_same_model(alone, threads)


def test_predicting_gives_what_learning_would_have_predicted() -> None:
    X, y = stream(60)
    model = model_of()
    learn(model, X[:40], y[:40])
    before = copy_model(model)
    labels, logs = np.empty(20, np.int64), np.empty((20, 3))
    score(model, X[40:], labels, logs, ordered=True)
    assert_same_model(model, before)
    again, other = np.empty(20, np.int64), np.empty((20, 3))
    run(model, X[40:], np.full(20, -1), np.ones(20), again, other)
    assert_array_equal(labels, again)
    assert_array_equal(logs, other)
    assert_same_model(model, before)


@pytest.mark.parametrize("p", [20, 4100])
def test_sparse_rows_are_dense_ones(p: int) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((3, p)) < 0.02, 1.0, 0.0)
    y = np.array([0, 1, 1])
    names = ["binned_bayes", "transitions"]
    dense = model_of(p, 2, names)
    sparse = copy_model(dense)
    assert_array_equal(learn(dense, X, y), learn(sparse, csr_array(X), y))
    assert_same_model(dense, sparse)


def test_classes_join_in_between() -> None:
    X, y = stream(40)
    late = model_of(M=0)
    late = arrange_classes(late, np.full(2, -1), np.zeros(0, np.int64))
    early = model_of()
    learn(late, X[:20], y[:20])
    late = arrange_classes(late, np.array([0, 1, -1]), np.zeros(0, np.int64))
    learn(late, X[20:], y[20:])
    learn(early, X, y)
    assert_same_model(late, early)


def test_classes_join_a_model_that_is_given_up() -> None:
    X, y = stream(300)
    model = model_of(M=2)
    learn(model, X[:140], y[:140])
    source, declared = np.array([0, -1, 1]), np.array([1])
    copied = arrange_classes(model, source, declared)
    moved = arrange_classes(model, source, declared, given_up=True)
    boosted = moved.names.index("boosted_trees")
    assert moved.states[boosted] is model.states[boosted]
    assert copied.states[boosted] is not model.states[boosted]
    assert_same_model(moved, copied)


def test_shards_of_one_model_merge() -> None:
    X, y = stream(330)
    base = model_of(names=LIGHT)
    learn(base, X[:260], y[:260])
    a, b = copy_model(base), copy_model(base)
    learn(a, X[260:300], y[260:300])
    learn(b, X[300:], y[300:])
    merged = merge_models([a, b], base)
    assert merged.pool.seen[0] == 330
    assert merged.scale.seen[0] == 330
    assert merge_models([a, b], None).pool.seen[0] == 300 + 290
    labels = np.empty(330, np.int64)
    score(merged, X, labels, NOTHING, ordered=True)
    assert np.mean(labels != y) < 0.5


def test_members_that_start_late_start_at_once_if_alone() -> None:
    assert model_of(names=["transitions"]).pool.weights[0] == 1.0
    model = model_of()
    assert list(model.pool.weights) == [0.2] * 5 + [0.0] * 2
    assert model.outputs == NAMES


def test_size_does_not_depend_on_the_rows() -> None:
    X, y = stream(30)
    fixed = [name for name in NAMES if name != "boosted_trees"]
    model = model_of(names=fixed)
    size = size_of_model(model)
    learn(model, X, y)
    assert size_of_model(model) == size > 10_000


def test_rows_in_no_order_are_scored_without_the_most_recent_labels() -> None:
    """Transitions give class frequencies, the forest its slow counts only."""
    X, y = stream(400)
    y = np.sort(y)  # long runs, so that the most recent labels matter
    model = model_of(names=list(MEMBERS))
    learn(model, X, y)
    rows = prepare_rows(model, X)
    parts = []
    for name, state in zip(model.names, model.states, strict=True):
        outputs = len(MEMBERS[name].OUTPUTS)
        scores = np.zeros((400, outputs, 3))
        score_rows(state, rows, scores)
        if name == "transitions":
            counts = np.bincount(y) + 0.5
            scores[...] = np.log(counts / counts.sum())
        elif name == "window_forest":
            scores[:, 1] = scores[:, 0]
        parts.append(scores)
    expected, logs = np.empty(400, np.int64), np.empty((400, 3))
    nobody = np.full(400, -1)
    scores = np.concatenate(parts, axis=1)
    late = np.zeros((0, *scores.shape[1:]))
    pool = copy_state(model.pool)
    pool_rows(pool, scores, nobody, np.ones(400), expected, logs, late)
    found, its = np.empty(400, np.int64), np.empty((400, 3))
    score(model, X, found, its, ordered=False)
    assert_array_equal(found, expected)
    assert_allclose(its, logs, rtol=1e-12)
    score(model, X, found, NOTHING, ordered=True)
    assert (found != expected).any()
    one, its_one = np.empty(1, np.int64), np.empty((1, 3))
    for i in (0, 399):
        score(model, X[i : i + 1], one, its_one, ordered=False)
        assert one[0] == expected[i]
        assert_array_equal(its_one[0], its[i])
