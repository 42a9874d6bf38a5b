"""Features, scales, hashing and the pool, against NumPy and oracles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import kstest

from oracles.pooled.pool import Pool as OraclePool
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.pooled import features, pool
from rpnb.core.pooled.engine import prepare_rows
from rpnb.core.pooled.member import same_state
from rpnb.core.pooled.model import HASHED, draw_places, new_model

NO_SCORES = np.zeros((0, 0, 0))
EMPTY = np.zeros((0, 0))


# Features


@pytest.mark.parametrize("p", [1, 3, 40, 70])
def test_features_are_rectified_projections(p: int) -> None:
    D = 64
    n_dense = features.dense_columns(p, D)
    assert n_dense == (16 if p <= 64 else 32)
    drawn = features.Features.draw(p, D, n_dense, 9)
    z = np.random.default_rng(0).normal(size=(6, p)).astype(np.float32)
    phi = np.full((6, features.columns_of(p, D)), 9.0, np.float32)
    low = np.empty((6, features.low_columns(p)), np.float32)
    drawn.fill(z, phi, low)
    raw = features.raw_columns(p)
    assert raw == (p if p <= 64 else 0)
    assert_array_equal(phi * 128, np.round(phi * 128))
    assert_allclose(phi[:, :raw], z[:, :raw], atol=1 / 256)
    W = np.zeros((p, D))
    C = drawn.dense.shape[1]
    W[:, :C] = drawn.dense
    for k in range(4):
        W[drawn.reads[k], np.arange(C, D)] += drawn.entry[k]
    bias = np.concatenate([drawn.dense_bias, drawn.sparse_bias])
    assert (np.abs(bias) < 1).all()
    assert_allclose(
        phi[:, raw : raw + D], np.maximum(0, z @ W + bias), atol=1 / 256 + 1e-5
    )
    assert (phi[:, raw + D :] == 0).all()
    drawn.fill(np.full((1, p), 1e3, np.float32), phi[:1], low[:1].copy())
    assert phi[0].max() == 2047 / 128
    read = (W[:, n_dense:] != 0).sum(axis=0)
    assert read.min() >= 1
    assert read.max() <= min(4, p)
    if p > 32:
        P = drawn.low.astype(np.float64)
        assert_allclose(P.T @ P, np.eye(32), atol=1e-5)
        assert_allclose(low, z @ drawn.low, rtol=1e-3, atol=1e-4)
    else:
        assert_array_equal(low, z)


def test_entries_have_the_distributions_they_should_have() -> None:
    drawn = features.Features.draw(100, 512, 256, 1)
    assert kstest(drawn.dense.ravel() * 10, "norm").pvalue > 0.01
    bias = np.concatenate([drawn.dense_bias, drawn.sparse_bias])
    assert kstest(bias, "uniform", (-1, 2)).pvalue > 0.01
    count = (drawn.entry != 0).sum(axis=0)
    assert set(count) == {1, 2, 3, 4}
    ones = drawn.entry[0, count == 1]
    assert kstest(ones, "norm").pvalue > 0.01
    assert np.ptp(drawn.reads[0, count == 1]) > 80
    for f in range(256):
        chosen = drawn.reads[: count[f], f]
        assert len(set(chosen)) == count[f]
        assert_array_equal(chosen, np.sort(chosen))


# Scales


def scaled(
    X: FloatArray, n: int | None = None
) -> tuple[features.FeatureScale, SingleArray]:
    made = features.FeatureScale.begin(X.shape[1])
    n = len(X) if n is None else n
    z = np.empty(X.shape, np.float32)
    y, weight = np.zeros(len(X), np.int64), np.ones(len(X))
    made.scale_rows(X[:n], y[:n], weight[:n], z[:n])
    return made, z


def test_a_scale_is_mean_and_deviation_of_the_first_rows() -> None:
    X = np.random.default_rng(0).normal(5, 3, (200, 3))
    X[:, 1] = 7.0
    X[3, 2] = np.nan
    made, _ = scaled(X)
    made.fit_all()
    assert_allclose(made.mean, [X[:, 0].mean(), 7.0, np.nanmean(X[:, 2])])
    assert_allclose(made.deviation, [X[:, 0].std(), 1.0, np.nanstd(X[:, 2])])
    assert_array_equal(made.constant, [False, True, False])
    z = np.empty(X.shape, np.float32)
    made.apply(X, z)
    assert z[3, 2] == 0.0
    assert np.abs(z).max() <= 6.0
    X[0, 0] = 1e100
    made.apply(X, z)
    assert z[0, 0] == 6.0


def test_a_feature_without_values_has_a_scale() -> None:
    made, _ = scaled(np.full((4, 1), np.nan))
    made.fit_all()
    assert (made.mean[0], made.deviation[0]) == (0.0, 1.0)


def test_rows_without_a_label_do_not_count() -> None:
    made = features.FeatureScale.begin(1)
    X, z = np.ones((3, 1)), np.empty((3, 1), np.float32)
    made.scale_rows(X, np.array([0, -1, 0]), np.ones(3), z)
    assert made.seen[0] == 2
    made.scale_rows(X, np.zeros(0, np.int64), np.zeros(0), z)
    assert made.seen[0] == 2


@pytest.mark.parametrize(
    ("change", "follows"),
    [
        (lambda x: x + 50.0, True),
        (lambda x: x * 1000.0, True),
        (lambda x: x / 1000.0, True),
        (lambda x: x + 1.0, False),
        (lambda x: x * 3.0, False),
        (lambda x: 0.0 * x, False),
    ],
    ids=["shifted", "larger", "smaller", "hardly shifted", "wider", "constant"],
)
def test_a_scale_follows_a_feature_that_leaves_it(
    change: object, follows: bool
) -> None:
    assert callable(change)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(480, 1))
    X[300:] = change(X[300:])
    X[400] = np.nan
    made, _ = scaled(X, 256)
    made.fit_all()
    before = made.mean[0], made.deviation[0]
    z = np.empty((224, 1), np.float32)
    made.scale_rows(X[256:], np.zeros(224, np.int64), np.ones(224), z)
    assert ((made.mean[0], made.deviation[0]) != before) == follows
    if follows:
        assert abs(z[-60:].mean()) < 0.5
        assert 0.5 < z[-60:].std() < 2.0


def test_a_feature_that_was_constant_gets_a_scale_when_it_varies() -> None:
    X = np.full((400, 1), 3.0)
    X[310:, 0] = np.random.default_rng(0).normal(100, 0.01, 90)
    made, _ = scaled(X, 256)
    made.fit_all()
    z = np.empty((144, 1), np.float32)
    made.scale_rows(X[256:], np.zeros(144, np.int64), np.ones(144), z)
    assert not made.constant[0]
    assert_allclose(made.mean[0], 100, atol=0.01)


@pytest.mark.parametrize("new", [31, 32])
def test_half_of_the_last_rows_make_a_scale_of_their_own(new: int) -> None:
    """Values that still equal the constant do not."""
    X = np.full((384, 1), 3.0)
    X[-new:, 0] = np.tile([99.0, 101.0], 16)[:new]
    made, _ = scaled(X, 256)
    made.fit_all()
    z = np.empty((128, 1), np.float32)
    made.scale_rows(X[256:], np.zeros(128, np.int64), np.ones(128), z)
    assert made.constant[0] == (new == 31)
    expected = [3.0, 1.0] if new == 31 else [100.0, 1.0]
    assert_allclose([made.mean[0], made.deviation[0]], expected)


# Hashing


def test_hashed_rows_keep_inner_products_and_are_alike_dense_and_sparse() -> None:
    p = 6000
    rng = np.random.default_rng(0)
    X = np.where(rng.random((4, p)) < 0.01, rng.normal(size=(4, p)), 0.0)
    places = draw_places(p, 3)
    assert set(np.abs(places)) <= set(range(1, HASHED + 1))
    assert 0.45 < (places > 0).mean() < 0.55
    assert places[:4].tolist() == [358, -543, -471, -785]  # in models on disk too
    model = new_model(["transitions"], p, 16, 0, np.zeros(2, np.bool_), 3)
    assert_array_equal(model.places, places)
    dense = prepare_rows(model, X).raw
    assert dense.tobytes() == prepare_rows(model, csr_array(X)).raw.tobytes()
    S = np.zeros((p, HASHED))
    S[np.arange(p), np.abs(places) - 1] = np.sign(places)
    assert_allclose(dense, X @ S, atol=1e-12)
    X[0, 0] = np.nan
    assert np.isfinite(prepare_rows(model, X).raw).all()


# The pool


def test_means_predict_where_labels_are_noisy_and_steps_where_they_change() -> None:
    """α falls where steps are noise, and rises again when the best member changes."""
    n, change = 6000, 4000
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    scores = rng.normal(size=(n, 4, 2))
    best = np.where(np.arange(n) < change, 0, 3)
    scores[np.arange(n), best, y] += 1.0
    made = pool.begin(np.full(4, 0.25), np.ones(2, np.bool_))
    mix = []
    for first in range(0, n, 50):
        part = slice(first, first + 50)
        labels = np.empty(50, np.int64)
        pool.pool_rows(
            made, scores[part], y[part], np.ones(50), labels, EMPTY, NO_SCORES
        )
        mix.append(made.mix[0])
    assert mix[change // 50 - 1] < 0.5
    assert max(mix[change // 50 :]) > 0.7


@pytest.mark.parametrize(("weighted", "seen"), [(False, 0), (True, 0), (False, 7900)])
def test_the_pool_equals_its_oracle(weighted: bool, seen: int) -> None:
    K, M, n = 4, 5, 300
    rng = np.random.default_rng(0)
    weight = rng.choice([0.5, 1.0, 40.0], n) if weighted else np.ones(n)
    y = rng.integers(0, M, n)
    scores = rng.normal(size=(n, K, M)) * 3
    scores[np.arange(n), 1, y] += 3.0
    scores[np.arange(n), 2, y] += 1.0
    first = np.full(K, 0.25)
    ours, oracle = pool.begin(first, np.ones(M, np.bool_)), OraclePool(first, M)
    ours.seen[0] = oracle.seen = seen
    labels, logs = np.empty(n, np.int64), np.empty((n, M))
    pool.pool_rows(ours, scores, y, weight, labels, logs, NO_SCORES)
    mistakes = np.zeros(K)
    for i in range(n):
        assert_allclose(np.exp(logs[i]), oracle.probabilities(scores[i]), rtol=1e-8)
        assert labels[i] == oracle.probabilities(scores[i]).argmax()
        mistakes += weight[i] * (scores[i].argmax(axis=1) != y[i])
        oracle.learn(scores[i], y[i], weight=weight[i])
    assert_allclose(ours.weights, oracle.w, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.curvature, oracle.H, rtol=1e-9)
    assert_allclose(ours.class_terms, [*oracle.v, oracle.b], rtol=1e-8, atol=1e-14)
    assert_allclose(ours.class_curvature, [*oracle.h_v, oracle.h_b], rtol=1e-9)
    assert_allclose(ours.mean_weights, oracle.mean_w, rtol=1e-9)
    assert_allclose(
        ours.mean_terms, [*oracle.mean_v, oracle.mean_b], rtol=1e-8, atol=1e-14
    )
    assert_allclose([ours.mix[0], ours.mix_curvature[0]], [oracle.mix, oracle.h_mix])
    assert_allclose([ours.power[0], ours.noise[0]], [oracle.power, oracle.noise])
    assert_allclose(ours.class_weight, np.bincount(y, weight))
    assert_array_equal(ours.mistakes[:-1], mistakes)
    assert ours.mistakes[-1] == weight[labels != y].sum()
    assert ours.seen[1] == (labels != y).sum()
    assert ours.weights[1] > 2 * ours.weights[0]


def test_scores_far_below_the_best_keep_their_order_and_have_a_limit() -> None:
    made = pool.begin(np.ones(1), np.ones(2, np.bool_))
    made.noise[0] = 0.0
    below = np.array([1.0, 5.9, 6.0, 6.1, 20.0, 60.0, 500.0, 1e9])
    scores = np.zeros((len(below), 1, 2))
    scores[:, 0, 1] = -below
    # A cut-off would make all scores beyond 6 equal.
    assert len(np.unique(np.minimum(below, 6.0))) == 3
    labels, logs = np.empty(len(below), np.int64), np.empty((len(below), 2))
    nothing = np.zeros(0, np.int64), np.zeros(0)
    pool.pool_rows(made, scores, *nothing, labels, logs, scores[:0])
    odds = logs[:, 1] - logs[:, 0]
    assert (np.diff(odds) < 0.0).all()
    assert odds.min() >= -12.0 - 1e-9
    assert_allclose(odds[:3], -below[:3])


def test_noise_does_not_hide_the_order_of_rows_of_a_rare_class() -> None:
    made = pool.begin(np.ones(1), np.ones(2, np.bool_))
    made.class_weight[:] = [9990.0, 10.0]
    made.noise[0] = 0.02
    scores = np.zeros((2, 1, 2))
    scores[:, 0, 1] = [-5.5, -5.9]  # 0.004 and 0.003, below half of the noise
    labels, logs = np.empty(2, np.int64), np.empty((2, 2))
    nothing = np.zeros(0, np.int64), np.zeros(0)
    pool.pool_rows(made, scores, *nothing, labels, logs, scores[:0])
    assert_allclose(logs[0, 1] - logs[1, 1], 0.4, atol=0.01)


def test_classes_that_are_not_active_are_never_predicted() -> None:
    scores = np.zeros((3, 1, 3))
    scores[:, 0, 2] = np.nan
    scores[:, 0, 0] = 9.0
    empty = pool.begin(np.ones(1), np.zeros(3, np.bool_))
    labels, logs = np.empty(3, np.int64), np.empty((3, 3))
    classes = np.array([1, -1, 0])
    weight = np.array([2.0, 1.0, 3.0])
    pool.pool_rows(empty, scores, classes, weight, labels, logs, NO_SCORES)
    assert list(labels) == [-1, 1, 1]
    # A mistake of all, where none knows a class, and where none knows this class.
    assert list(empty.mistakes) == [5.0, 5.0]
    assert list(empty.weight) == [5.0]
    assert_allclose(logs[1], [-np.inf, 0.0, -np.inf], atol=1e-12)
    assert list(empty.seen) == [2, 2]
    assert list(empty.active) == [True, True, False]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e300, 3.0])
def test_scores_of_classes_that_are_not_active_leave_no_trace(odd: float) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(60, 3, 5))
    y = rng.integers(0, 4, 60)
    active = np.array([True, True, True, True, False])
    found = []
    for value in (0.0, odd):
        scores[:, :, 4] = value
        state = pool.begin(np.full(3, 0.3), active)
        labels, logs = np.empty(60, np.int64), np.empty((60, 5))
        late = np.zeros((0, 3, 5))
        pool.pool_rows(state, scores, y, np.ones(60), labels, logs, late)
        found.append((labels.tolist(), logs.tolist(), [a.tolist() for a in state]))
    assert found[0] == found[1]


@pytest.mark.parametrize("M", [2, 5, 6, 13])
def test_rows_scored_in_advance_are_learned_as_others(M: int) -> None:
    K, n = 3, 30
    rng = np.random.default_rng(M)
    y, weight = rng.integers(0, M, n), rng.choice([0.5, 1.0], n)
    scores = rng.normal(size=(n, K, M))
    scores[np.arange(n), 0, y] += 2.0
    one, two = (pool.begin(np.full(K, 0.3), np.ones(M, np.bool_)) for _ in range(2))
    labels = np.empty(n, np.int64)
    pool.pool_rows(one, scores, y, weight, labels, EMPTY, NO_SCORES)
    pool.learn_scored_rows(two, scores, y, weight, labels)
    assert same_state(one, two)


def test_what_a_class_adds_does_not_depend_on_when_it_is_declared() -> None:
    """A class that is known but not active changes nothing, not even its entries."""
    K, n = 3, 200
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    y[150:] = rng.integers(0, 3, 50)
    y[150] = 2
    scores = rng.normal(size=(n, K, 3))
    scores[np.arange(n), 0, y] += 2.0
    active = np.array([True, True, False])
    known = pool.begin(np.full(K, 0.3), active)
    later = pool.begin(np.full(K, 0.3), active[:2])
    labels, ones = np.empty(n, np.int64), np.ones(n)
    pool.pool_rows(known, scores, y, ones, labels, EMPTY, NO_SCORES)
    first = np.ascontiguousarray(scores[:150, :, :2])
    pool.pool_rows(
        later, first, y[:150], ones[:150], labels[:150].copy(), EMPTY, NO_SCORES
    )
    later = pool.grow_classes(later, np.array([0, 1, -1]), active)
    pool.pool_rows(
        later, scores[150:], y[150:], ones[150:], labels[150:].copy(), EMPTY, NO_SCORES
    )
    assert same_state(known, later)
    swapped = pool.grow_classes(known, np.array([2, -1, 0]), active)
    assert_array_equal(swapped.class_terms[:, [0, 2]], known.class_terms[:, [2, 0]])
    assert_array_equal(swapped.mean_terms[:, [0, 2]], known.mean_terms[:, [2, 0]])
    assert_array_equal(swapped.class_terms[:, 1], 0.0)
    assert_array_equal(swapped.mean_terms[:, 1], 0.0)
    assert_array_equal(swapped.class_curvature[:, 1], [400.0] * K + [60.0])
    assert_array_equal(swapped.class_weight, known.class_weight[[2, 1, 0]] * [1, 0, 1])


def test_terms_of_classes_are_slower_where_labels_are_late() -> None:
    first, active = np.full(2, 0.5), np.ones(3, np.bool_)
    for delay, times in ((0, 1.0), (5, 1.0), (50, 10.0)):
        late = pool.begin(first, active, delay)
        assert_array_equal(late.class_ridge, [400.0 * times, 400.0 * times, 60 * times])
        assert_array_equal(late.class_curvature, late.class_ridge[:, None] * np.ones(3))


def test_pools_merge_by_their_curvature() -> None:
    pools = []
    for w, h in ((0.2, 30.0), (0.8, 90.0)):
        one = pool.begin(np.full(2, w), np.ones(2, np.bool_))
        one.curvature[:] = h * np.eye(2)
        one.class_terms[:] = w
        one.class_curvature[:] = h
        one.power[0], one.power_curvature[0], one.noise[0] = w, h, w
        one.mix[0], one.mix_curvature[0] = w, h
        one.mean_weights[:], one.mean_terms[:] = w, -w
        one.seen[:] = 7
        one.mistakes[:], one.weight[:] = 3.0, 8.0
        one.class_weight[:] = [5.0, 3.0]
        one.active[:] = [True, w > 0.5]
        pools.append(one)
    merged = pool.merge(pools)
    for field in (merged.weights, merged.class_terms, merged.power, merged.mix):
        assert_allclose(field, 0.65)
    for field in (merged.class_curvature, merged.power_curvature, merged.mix_curvature):
        assert_allclose(field, 60.0)
    assert_allclose(merged.mean_weights, 0.5)  # as many rows in both
    assert_allclose(merged.mean_terms, -0.5)
    assert_allclose(merged.curvature, 60.0 * np.eye(2))
    assert_allclose(merged.noise, 0.5)
    assert merged.active.all()
    assert not pools[0].active.all()
    less = pool.merge(pools, pools[0])
    assert [*merged.seen, *less.seen] == [14, 14, 7, 7]
    assert [*merged.mistakes, *less.mistakes] == [6.0] * 3 + [3.0] * 3
    assert [*merged.weight, *less.weight] == [16.0, 8.0]
    assert [*merged.class_weight, *less.class_weight] == [10.0, 6.0, 5.0, 3.0]


def test_the_history_keeps_every_second_entry_once_it_is_full() -> None:
    K, n = 2, 300
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(n, K, 2)), rng.integers(0, 2, n)
    ours = pool.begin(np.full(K, 0.5), np.ones(2, np.bool_))
    ours.clock[1] = 1  # an entry with each row
    expected = []
    labels = np.empty(1, np.int64)
    for i in range(n):
        part = slice(i, i + 1)
        pool.pool_rows(
            ours, scores[part], y[part], np.ones(1), labels, EMPTY, NO_SCORES
        )
        expected.append([i + 1, i + 1, *ours.mistakes, *pool.weights_in_use(ours)])
    # Full after 128 rows, and again after 128 + 64 · 2.
    assert list(ours.clock) == [64 + (n - 256) // 4, 4]
    assert_array_equal(ours.history[: ours.clock[0]], expected[3::4])
