"""Online Bayes: against covariances that are inverted, and where this goes wrong."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.tree_ensembles import OnlineBayes
from rpnb.core.bayes.online_bayes import (
    ClassCovariances,
    add_to_covariance,
    covariance_without,
    insert_covariance,
    new_covariances,
    pass_online_bayes,
)
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray, IntArray
from strategies import Stream, streams


def a_stream(seed: int, n: int = 120, p: int = 4, M: int = 3) -> Stream:
    """Rows of M classes with different covariances."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    shapes = rng.normal(size=(M, p, p))
    X = np.einsum("npq,nq->np", shapes[y], rng.normal(size=(n, p)))
    return Stream(X + rng.normal(size=(M, p))[y], y, M)


def run(
    classes: ClassCovariances,
    X: FloatArray,
    y: IntArray,
    learn: int = LEARN_ALL,
    weight: FloatArray | None = None,
) -> tuple[FloatArray, IntArray, int]:
    scores = np.zeros((len(X), len(classes.weight)))
    labels = np.full(len(X), -9)
    weight = np.ones(1) if weight is None else weight
    updates = pass_online_bayes(classes, X, y, weight, learn, scores, labels)
    return scores, labels, updates


def inverse(classes: ClassCovariances, m: int) -> FloatArray:
    product: FloatArray = np.einsum("ij,kj->ik", classes.root[m], classes.root[m])
    return product


@pytest.mark.parametrize("learn", [LEARN_ALL, LEARN_MISTAKES])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_pass_equals_the_oracle(learn: int, weighted: bool) -> None:
    for seed in range(3):
        X, y, M = a_stream(seed)
        weight = np.random.default_rng(seed).random(len(X)) * 2.0 + 0.1
        weight = weight if weighted else np.ones(len(X))
        classes = new_covariances(M, X.shape[1])
        scores, labels, updates = run(classes, X, y, learn, weight)
        plain = OnlineBayes(M, X.shape[1])
        expected_updates = 0
        for i in range(len(X)):
            expected = plain.scores(X[i])
            assert_allclose(scores[i], expected, rtol=1e-9, atol=1e-9)
            assert labels[i] == expected.argmax()
            if learn == LEARN_ALL or labels[i] != y[i]:
                plain.learn(X[i], int(y[i]), weight[i])
                expected_updates += 1
        assert updates == expected_updates
        assert 0 < updates <= len(X)
        assert_allclose(classes.weight, plain.n)
        assert_allclose(classes.mean, plain.mean, atol=1e-12)
        for m in range(M):
            assert_allclose(inverse(classes, m), np.linalg.inv(plain.S[m]), rtol=1e-8)
            log_volume = np.linalg.slogdet(plain.S[m])[1]
            assert_allclose(classes.log_volume[m], log_volume, rtol=1e-9)


def test_the_root_is_triangular_and_the_prior_counts_what_was_learned() -> None:
    X, y, M = a_stream(0)
    classes = new_covariances(M, 4)
    scores, labels, _ = run(classes, X[:1], y[:1])
    assert labels[0] == 0  # all classes are alike: the lowest is taken
    assert_allclose(scores[0], -np.log(3.0) - 0.5 * (X[0] ** 2).sum())
    run(classes, X[1:], y[1:])
    assert_array_equal(classes.root, np.triu(classes.root))
    assert_array_equal(classes.weight, 1.0 + np.bincount(y))


def test_where_variances_differ_widely_the_inverse_itself_would_be_lost() -> None:
    """The control: Sherman and Morrison's formula on the same rows."""
    p = 5
    rng = np.random.default_rng(2)
    standard = rng.normal(size=(100, p))
    scale = np.array([1e10, 1.0, 1.0, 1.0, 1.0])
    turn, _ = np.linalg.qr(rng.normal(size=(p, p)))
    X = standard * scale @ turn
    classes = new_covariances(1, p)
    run(classes, X, np.zeros(100, np.int64))
    n, mean, P = 1.0, np.zeros(p), np.eye(p)
    for x in X:
        delta = x - mean
        v = P @ delta
        P = (n + 1.0) / n * (P - np.outer(v, v) / (n + 1.0 + delta @ v))
        mean = mean + delta / (n + 1.0)
        n += 1.0
    # The truth, from the rows as they were before they were scaled and turned.
    rows = np.concatenate((np.zeros((1, p)), standard))
    centred = rows - rows.mean(axis=0)
    S = (np.diag(scale**-2.0) + centred.T @ centred) / 101.0
    errors = []
    for row in centred[1:]:
        x = row * scale @ turn
        distance = row @ np.linalg.solve(S, row)
        assert_allclose(((x @ classes.root[0]) ** 2).sum(), distance, rtol=1e-4)
        errors.append(x @ P @ x / distance - 1.0)
    assert min(errors) < -10.0
    assert max(errors) > 10.0
    log_volume = np.linalg.slogdet(S)[1] + 2.0 * np.log(scale).sum()
    assert_allclose(classes.log_volume[0], log_volume, rtol=1e-6)


@given(st.lists(st.integers(0, 120), max_size=4), st.sampled_from([1, 2]))
def test_parts_leave_the_same_bits_as_the_whole(cuts: list[int], learn: int) -> None:
    X, y, M = a_stream(1)
    whole = new_covariances(M, 4)
    scores, _, updates = run(whole, X, y, learn)
    parts = new_covariances(M, 4)
    results = [
        run(parts, X[start:stop], y[start:stop], learn)
        for start, stop in pairwise([0, *sorted(cuts), 120])
    ]
    assert_array_equal(np.concatenate([result[0] for result in results]), scores)
    assert sum(result[2] for result in results) == updates
    for mine, yours in zip(parts, whole, strict=True):
        assert_array_equal(mine, yours)


@given(streams(max_n=40))
def test_the_state_is_finite(stream: Stream) -> None:
    X, y, M = stream
    classes = new_covariances(M, X.shape[1])
    scores, labels, _ = run(classes, X, y)
    for array in (*classes, scores):
        assert np.isfinite(array).all()
    assert ((labels >= 0) & (labels < M)).all()


def test_rows_of_1e150_zero_and_the_same_again() -> None:
    X = np.array([[1e150, 1e150], [-1e150, 1e150], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    X = np.concatenate((X, X))
    classes = new_covariances(2, 2)
    scores, _, _ = run(classes, X, np.arange(10) // 5)
    for array in (*classes, scores):
        assert np.isfinite(array).all()


@pytest.mark.parametrize("weight", [1e10, 1e100])
def test_heavy_rows_of_1e150_leave_numbers(weight: float) -> None:
    rng = np.random.default_rng(0)
    X = 1e150 * np.where(rng.random((40, 6)) < 0.5, -1.0, 1.0)
    X[::3] *= 1e-150
    classes = new_covariances(2, 6)
    scores, _, _ = run(classes, X, np.arange(40) % 2, weight=np.full(40, weight))
    assert np.isfinite(scores).all()
    assert all(np.isfinite(field).all() for field in classes)
    assert (np.diagonal(classes.root, axis1=1, axis2=2) >= 0.0).all()


def test_predicting_changes_nothing_and_weightless_rows_are_not_learned() -> None:
    X, y, M = a_stream(2)
    classes = new_covariances(M, 4)
    run(classes, X, y)
    copies = [array.copy() for array in classes]
    _, labels, updates = run(classes, X, np.zeros(0, np.int64), LEARN_NOTHING)
    assert updates == 0
    assert (labels == y).mean() > 0.6
    assert run(classes, X, y, LEARN_ALL, np.zeros(1))[2] == 0
    for array, before in zip(classes, copies, strict=True):
        assert_array_equal(array, before)


def test_rows_without_a_label_are_predicted_and_leave_no_trace() -> None:
    X, y, M = a_stream(2)
    given = y.copy()
    given[::3] = -1
    state, without = new_covariances(M, 4), new_covariances(M, 4)
    _, labels, updates = run(state, X, given)
    known = given >= 0
    _, expected, _ = run(without, X[known], y[known])
    assert_array_equal(labels[known], expected)
    assert updates == known.sum()
    for one, other in zip(state, without, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_a_class_inserted_later_equals_one_known_and_never_seen(m: int) -> None:
    X, y, M = a_stream(3)
    moved = y + (y >= m)
    expected = new_covariances(M + 1, 4)
    run(expected, X, moved)
    early = new_covariances(M, 4)
    run(early, X[:60], y[:60])
    late = insert_covariance(early, m)
    run(late, X[60:], moved[60:])
    for mine, yours in zip(late, expected, strict=True):
        assert_array_equal(mine, yours)


def test_a_row_of_weight_two_is_two_rows_of_weight_one() -> None:
    x = np.array([1.0, -2.0, 0.5])
    once, twice = new_covariances(1, 3), new_covariances(1, 3)
    add_to_covariance(once, 0, x, 2.0)
    add_to_covariance(twice, 0, x, 1.0)
    add_to_covariance(twice, 0, x, 1.0)
    for one, two in zip(once, twice, strict=True):
        assert_allclose(one, two, atol=1e-12)


def class_after(X: FloatArray) -> ClassCovariances:
    """Return one class that has learned rows."""
    classes = new_covariances(1, X.shape[1])
    for x in X:
        add_to_covariance(classes, 0, x, 1.0)
    return classes


def test_a_class_without_rows_is_one_that_never_learned_them() -> None:
    X = np.random.default_rng(2).normal(size=(30, 3)) * [1.0, 5.0, 0.2] + 2.0
    left = covariance_without(class_after(X), 0, X[:12], np.ones(12))
    assert left is not None
    for mine, theirs in zip(left, class_after(X[12:]), strict=True):
        assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
    nothing = covariance_without(class_after(X), 0, X, np.ones(30))
    assert nothing is not None
    for mine, theirs in zip(nothing, new_covariances(1, 3), strict=True):
        assert_array_equal(mine, theirs)


def test_rows_that_cannot_have_been_learned_are_refused() -> None:
    X = np.random.default_rng(2).normal(size=(30, 3))
    classes = class_after(X)
    assert covariance_without(classes, 0, np.vstack([X, X]), np.ones(60)) is None
    assert covariance_without(classes, 0, X + 0.01, np.ones(30)) is None
    assert covariance_without(classes, 0, 3.0 * X[:25], np.ones(25)) is None
    # The smallest variance is lost among the largest.
    wide = X * [1e9, 1.0, 1.0]
    assert covariance_without(class_after(wide), 0, wide[:5], np.ones(5)) is None
