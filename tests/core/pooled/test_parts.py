"""Blocks, features, scales, hashing and the pool, beside NumPy and slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import kstest

from oracles.pooled.pool import Pool as Twin
from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.rows import as_rows
from rpnb.core.pooled import features, pool, pool_state, scale
from rpnb.core.pooled.algebra.blocks import (
    blank_matrix,
    cholesky,
    padded,
    place,
    solve,
    subtract_outer,
)
from rpnb.core.pooled.algebra.outer_products import (
    add_exact_products,
    add_products,
    pack_row,
)
from rpnb.core.pooled.algebra.row_products import (
    combine_rows,
    inner_products,
    multiply_rows,
)
from rpnb.core.pooled.algebra.triangles import fill_forms, form, invert
from rpnb.core.pooled.discriminant import (
    add_rows,
    class_offsets,
    common_mean,
    degrees,
    discriminants,
    shrinkage,
)
from rpnb.core.pooled.hashing import HASHED, draw_places, hash_rows
from rpnb.core.pooled.member import same_state

NO_SCORES = np.zeros((0, 0, 0))
EMPTY = np.zeros((0, 0))


def packed(matrix: FloatArray) -> FloatArray:
    E = matrix.shape[0]
    out = blank_matrix(E)
    for i in range(E):
        for j in range(16 * (i // 16 + 1)):
            out[place(i, j)] = matrix[i, j]
    return out


def unpacked(blocks: FloatArray, E: int) -> FloatArray:
    lower = np.array([[blocks[place(i, j)] for j in range(i + 1)] + [0.0] * (E - i - 1)
                      for i in range(E)])  # fmt: skip
    return lower + np.tril(lower, -1).T


def positive(E: int, seed: int) -> FloatArray:
    root = np.random.default_rng(seed).normal(size=(E, E))
    return root @ root.T + np.eye(E)


@pytest.mark.parametrize("E", [16, 48])
def test_factors_and_solutions_are_numpys(E: int) -> None:
    A = positive(E, 1)
    L = packed(A)
    assert cholesky(L, E)
    expected = np.linalg.cholesky(A)
    ours = np.array([[L[place(i, j)] if j <= i else 0.0 for j in range(E)]
                     for i in range(E)])  # fmt: skip
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    X = np.random.default_rng(2).normal(size=(E, 16))
    Y = X.copy()
    solve(L, E, Y)
    assert_allclose(A @ Y, X, rtol=1e-7, atol=1e-7)


def test_a_matrix_that_is_not_positive_has_no_factor() -> None:
    assert not cholesky(packed(-np.eye(16)), 16)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("last", [8, 9])
def test_products_of_rows_are_added(equal: bool, last: int) -> None:
    rng = np.random.default_rng(3)
    rows = (rng.integers(-2047, 2048, size=(9, 32)) / 128).astype(np.float32)
    weight = np.ones(9) if equal else rng.choice([0.5, 2.0], 9)
    kept = np.zeros(32 * 12, np.float32)
    for r in range(9):
        pack_row(rows[r], kept, r, 12)
    A = packed(np.eye(32))
    add_rows(A, kept, weight, 12, last)
    wide = rows[:last].astype(np.float64)
    expected = np.eye(32) + (wide.T * weight[:last]) @ wide
    assert_allclose(unpacked(A, 32), expected, rtol=0 if equal else 1e-5)
    before = A.copy()
    add_products(A, kept, kept, 12, 5, 5)
    add_exact_products(A, kept, 12, 5, 5)
    assert_array_equal(A, before)


def test_products_of_a_group_of_the_largest_entries_do_not_overflow() -> None:
    rows = np.full((256, 16), 2047 / 128, np.float32)
    rows[:, 1::2] = -2047 / 128
    kept = np.zeros(16 * 256, np.float32)
    for r in range(256):
        pack_row(rows[r], kept, r, 256)
    A = packed(np.zeros((16, 16)))
    add_exact_products(A, kept, 256, 0, 256)
    wide = rows.astype(np.float64)
    assert_array_equal(unpacked(A, 16), wide.T @ wide)


def test_outer_products_are_subtracted() -> None:
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(2, 3, 32))
    flat = [
        np.ascontiguousarray(part.reshape(3, 2, 16).swapaxes(0, 1)).ravel()
        for part in (left, right)
    ]
    A = packed(np.zeros((32, 32)))
    subtract_outer(A, flat[0], flat[1], 3)
    full = -np.einsum("ci,cj->ij", left, right)
    for i in range(32):
        for j in range(16 * (i // 16 + 1)):
            assert_allclose(A[place(i, j)], full[i, j], atol=1e-12)


@given(st.integers(0, 9), st.integers(1, 5))
def test_a_row_is_multiplied_alike_in_any_company(n: int, c: int) -> None:
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 7)).astype(np.float32)
    matrix = rng.normal(size=(7, 8 * c)).astype(np.float32)
    start = rng.normal(size=8 * c).astype(np.float32)
    out = np.empty((n, 8 * c), np.float32)
    multiply_rows(rows, matrix, start, out)
    assert_allclose(out, start + rows @ matrix, rtol=1e-4, atol=1e-5)
    for r in range(n):
        alone = np.empty((1, 8 * c), np.float32)
        multiply_rows(rows[r : r + 1], matrix, start, alone)
        assert alone[0].tobytes() == out[r].tobytes()


def test_inner_products_and_combinations_of_packed_rows() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(7, 32)).astype(np.float32)
    kept = np.zeros(32 * 8, np.float32)
    for r in range(7):
        pack_row(rows[r], kept, r, 8)
    whole = np.zeros((8, 8), np.float32)
    inner_products(kept, 8, 0, 7, whole)
    wide = rows.astype(np.float64)
    assert_allclose(np.tril(whole[:7, :7]), np.tril(wide @ wide.T), atol=1e-4)
    later = np.zeros((8, 8), np.float32)
    inner_products(kept, 8, 0, 3, later)
    inner_products(kept, 8, 3, 7, later)
    assert_array_equal(later, whole)
    factors = rng.normal(size=(7, 8))
    out = np.empty((8, 32))
    combine_rows(kept, 8, 7, factors, out)
    assert_allclose(out, factors.T @ wide, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [3, 5])
def test_forms_products_and_inverses_of_triangles(d: int) -> None:
    rng = np.random.default_rng(d)
    lower = np.tril_indices(d)
    matrices = np.array([positive(d, seed) for seed in range(12)])
    lanes = matrices[:, *lower].reshape(3, 4, -1).transpose(0, 2, 1)
    means = rng.normal(size=(12, d))
    x, m0 = rng.normal(size=(2, d))
    share, factor = rng.uniform(0.5, 1.0, size=(2, 12))
    forms = np.full(12, -7.0)
    fill_forms(
        np.ascontiguousarray(lanes).ravel(),
        np.ascontiguousarray(means.reshape(3, 4, d).transpose(0, 2, 1)).ravel(),
        np.array([True, False, True]),
        x,
        m0,
        share,
        1.0 - share,
        factor,
        np.empty(4 * d),
        forms,
    )
    delta = x - (share[:, None] * means + (1.0 - share)[:, None] * m0)
    expected = 1.0 + factor * np.einsum("ci,cij,cj->c", delta, matrices, delta)
    expected[4:8] = -7.0  # of a group that was not chosen
    assert_allclose(forms, expected, rtol=1e-9)

    v, inverse = np.empty(d), np.zeros((d * (d + 1) // 2, 4))
    entries = np.ascontiguousarray(lanes[1]).ravel()
    assert_allclose(form(entries, 2, 4, x, v), x @ matrices[6] @ x, rtol=1e-9)
    assert_allclose(v, matrices[6] @ x, rtol=1e-9)
    triangle = np.ascontiguousarray(matrices[6][lower])
    prior = np.ascontiguousarray(np.eye(d)[lower])
    volume = invert(prior, triangle, inverse.reshape(-1), 1, 4, np.empty((2, d, d)))
    both = matrices[6] + np.eye(d)
    assert_allclose(volume, np.linalg.slogdet(both)[1], rtol=1e-9)
    assert_allclose(inverse[:, 1], np.linalg.inv(both)[lower], rtol=1e-8, atol=1e-12)
    assert not inverse[:, [0, 2, 3]].any()


def test_the_inverse_of_a_matrix_that_rounding_made_singular_is_finite() -> None:
    lower = np.tril_indices(3)
    prior = np.ascontiguousarray(np.eye(3)[lower])
    for size in (1e17, 1e100):
        scatter = np.full(6, size)  # one row of huge weight: of the prior nothing stays
        assert np.linalg.matrix_rank(np.eye(3) + size) == 1
        inverse = np.zeros(6)
        volume = invert(prior, scatter, inverse, 0, 1, np.empty((2, 3, 3)))
        assert np.isfinite(volume)
        assert np.isfinite(inverse).all()
        assert (inverse[[0, 2, 5]] >= 0.0).all()


def test_sums_that_rounding_has_spoilt_get_more_ridge() -> None:
    count, B = np.array([4.0]), np.zeros((1, 16))
    A = packed(-3.0 * np.eye(16))
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    discriminants(count, B, A, 16, V, offset)
    assert np.isfinite(V).all()
    V[:] = 7.0
    discriminants(np.zeros(1), B, A, 16, V, offset)
    assert (V == 7.0).all()  # of no rows nothing is made
    discriminants(count, B, np.full_like(A, np.nan), 16, V, offset)
    assert (V == 7.0).all()  # and nothing of what no ridge can mend


def test_more_ridge_is_added_to_the_sums_themselves() -> None:
    """Not to what a factorisation left of them that failed at the last column."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(16, 16))
    S = root @ root.T
    S[15, 15] -= 400.0
    count, B = np.array([4.0, 6.0]), rng.normal(size=(2, 16))
    A = S + B.T @ (B / count[:, None])
    V, offset = np.zeros((16, 8), np.float32), np.zeros(8, np.float32)
    discriminants(count, B, packed(A), 16, V, offset)
    m, U = np.empty(16), np.empty((16, 8))
    df = degrees(count, common_mean(count, B, m))
    class_offsets(count, B, m, U)
    ridge, factor = shrinkage(
        np.trace(S) / df, (S**2).sum() / df**2, df, 16, np.trace(A) / df
    )
    assert np.linalg.eigvalsh(S)[0] + ridge < 0.0
    while np.linalg.eigvalsh(S)[0] + ridge < 0.0:
        ridge *= 10.0
    expected = factor * np.linalg.solve(S + ridge * np.eye(16), U)
    assert_allclose(V, expected, rtol=1e-4, atol=1e-6)


# Features


@pytest.mark.parametrize("p", [1, 3, 40, 70])
def test_features_are_rectified_projections(p: int) -> None:
    D = 64
    n_dense = features.dense_columns(p, D)
    assert n_dense == (16 if p <= 64 else 32)
    drawn = features.draw_features(p, D, n_dense, 9)
    z = np.random.default_rng(0).normal(size=(6, p)).astype(np.float32)
    phi = np.full((6, features.columns_of(p, D)), 9.0, np.float32)
    low = np.empty((6, features.low_columns(p)), np.float32)
    features.fill_features(drawn, z, phi, low)
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
    features.fill_features(
        drawn, np.full((1, p), 1e3, np.float32), phi[:1], low[:1].copy()
    )
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


@pytest.mark.slow_uncompiled
def test_entries_have_the_distributions_they_should_have() -> None:
    drawn = features.draw_features(100, 512, 256, 1)
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
) -> tuple[scale.FeatureScale, SingleArray]:
    made = scale.begin(X.shape[1])
    n = len(X) if n is None else n
    z = np.empty(X.shape, np.float32)
    y, weight = np.zeros(len(X), np.int64), np.ones(len(X))
    scale.scale_rows(made, X[:n], y[:n], weight[:n], z[:n])
    return made, z


def test_a_scale_is_mean_and_deviation_of_the_first_rows() -> None:
    X = np.random.default_rng(0).normal(5, 3, (200, 3))
    X[:, 1] = 7.0
    X[3, 2] = np.nan
    made, _ = scaled(X)
    scale.fit_all(made)
    assert_allclose(made.mean, [X[:, 0].mean(), 7.0, np.nanmean(X[:, 2])])
    assert_allclose(made.deviation, [X[:, 0].std(), 1.0, np.nanstd(X[:, 2])])
    assert_array_equal(made.constant, [False, True, False])
    z = np.empty(X.shape, np.float32)
    scale.apply_scale(made, X, z)
    assert z[3, 2] == 0.0
    assert np.abs(z).max() <= 6.0
    X[0, 0] = 1e100
    scale.apply_scale(made, X, z)
    assert z[0, 0] == 6.0


def test_a_feature_without_values_has_a_scale() -> None:
    made, _ = scaled(np.full((4, 1), np.nan))
    scale.fit_all(made)
    assert (made.mean[0], made.deviation[0]) == (0.0, 1.0)


def test_rows_without_a_label_do_not_count() -> None:
    made = scale.begin(1)
    X, z = np.ones((3, 1)), np.empty((3, 1), np.float32)
    scale.scale_rows(made, X, np.array([0, -1, 0]), np.ones(3), z)
    assert made.seen[0] == 2
    scale.scale_rows(made, X, np.zeros(0, np.int64), np.zeros(0), z)
    assert made.seen[0] == 2


def test_replays_are_at_powers_of_two() -> None:
    assert [scale.next_replay(t) for t in (0, 1, 2, 3, 127, 128, 255)] == [
        2, 2, 4, 4, 128, 256, 256,
    ]  # fmt: skip


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
    scale.fit_all(made)
    before = made.mean[0], made.deviation[0]
    z = np.empty((224, 1), np.float32)
    scale.scale_rows(made, X[256:], np.zeros(224, np.int64), np.ones(224), z)
    assert ((made.mean[0], made.deviation[0]) != before) == follows
    if follows:
        assert abs(z[-60:].mean()) < 0.5
        assert 0.5 < z[-60:].std() < 2.0


def test_a_feature_that_was_constant_gets_a_scale_when_it_varies() -> None:
    X = np.full((400, 1), 3.0)
    X[310:, 0] = np.random.default_rng(0).normal(100, 0.01, 90)
    made, _ = scaled(X, 256)
    scale.fit_all(made)
    z = np.empty((144, 1), np.float32)
    scale.scale_rows(made, X[256:], np.zeros(144, np.int64), np.ones(144), z)
    assert not made.constant[0]
    assert_allclose(made.mean[0], 100, atol=0.01)


@pytest.mark.parametrize("new", [31, 32])
def test_half_of_the_last_rows_make_a_scale_of_their_own(new: int) -> None:
    """Those that are still as before, at no distance from the constant, do not."""
    X = np.full((384, 1), 3.0)
    X[-new:, 0] = np.tile([99.0, 101.0], 16)[:new]
    made, _ = scaled(X, 256)
    scale.fit_all(made)
    z = np.empty((128, 1), np.float32)
    scale.scale_rows(made, X[256:], np.zeros(128, np.int64), np.ones(128), z)
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
    dense, sparse = np.empty((4, HASHED)), np.empty((4, HASHED))
    hash_rows(as_rows(X), p, places, dense)
    hash_rows(as_rows(csr_array(X)), p, places, sparse)
    assert dense.tobytes() == sparse.tobytes()
    S = np.zeros((p, HASHED))
    S[np.arange(p), np.abs(places) - 1] = np.sign(places)
    assert_allclose(dense, X @ S, atol=1e-12)
    X[0, 0] = np.nan
    hash_rows(as_rows(X), p, places, sparse)
    assert np.isfinite(sparse).all()


# The pool


@pytest.mark.parametrize("weighted", [False, True])
def test_the_pool_is_its_twin(weighted: bool) -> None:
    K, M, n = 4, 5, 300
    rng = np.random.default_rng(0)
    weight = rng.choice([0.5, 1.0, 40.0], n) if weighted else np.ones(n)
    y = rng.integers(0, M, n)
    scores = rng.normal(size=(n, K, M)) * 3
    scores[np.arange(n), 1, y] += 3.0
    scores[np.arange(n), 2, y] += 1.0
    first = np.full(K, 0.25)
    ours, twin = pool_state.begin(first, np.ones(M, np.bool_)), Twin(first, M)
    labels, logs = np.empty(n, np.int64), np.empty((n, M))
    pool.pool_rows(ours, scores, y, weight, labels, logs, NO_SCORES)
    mistakes = np.zeros(K)
    for i in range(n):
        assert_allclose(np.exp(logs[i]), twin.given_out(scores[i]), rtol=1e-8)
        assert labels[i] == twin.posterior(scores[i]).argmax()
        mistakes += weight[i] * (scores[i].argmax(axis=1) != y[i])
        twin.learn(scores[i], y[i], weight=weight[i])
    assert_allclose(ours.weights, twin.w, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.curvature, twin.H, rtol=1e-9)
    assert_allclose(ours.class_terms, [*twin.v, twin.b], rtol=1e-8, atol=1e-14)
    assert_allclose(ours.class_curvature, [*twin.h_v, twin.h_b], rtol=1e-9)
    assert_allclose([ours.power[0], ours.noise[0]], [twin.power, twin.noise])
    assert_array_equal(ours.mistakes[:-1], mistakes)
    assert ours.mistakes[-1] == weight[labels != y].sum()
    assert ours.seen[1] == (labels != y).sum()
    assert ours.weights[1] > 2 * ours.weights[0]


def test_classes_that_are_not_active_are_never_predicted() -> None:
    scores = np.zeros((3, 1, 3))
    scores[:, 0, 2] = np.nan
    scores[:, 0, 0] = 9.0
    empty = pool_state.begin(np.ones(1), np.zeros(3, np.bool_))
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


@pytest.mark.parametrize("M", [2, 5, 6, 13])
def test_rows_that_were_scored_beforehand_are_learnt_as_others(M: int) -> None:
    K, n = 3, 30
    rng = np.random.default_rng(M)
    y, weight = rng.integers(0, M, n), rng.choice([0.5, 1.0], n)
    scores = rng.normal(size=(n, K, M))
    scores[np.arange(n), 0, y] += 2.0
    one, two = (
        pool_state.begin(np.full(K, 0.3), np.ones(M, np.bool_)) for _ in range(2)
    )
    labels = np.empty(n, np.int64)
    pool.pool_rows(one, scores, y, weight, labels, EMPTY, NO_SCORES)
    pool.learn_scored_rows(two, scores, y, weight, labels)
    assert same_state(one, two)


def test_what_a_class_adds_does_not_depend_on_when_it_is_declared() -> None:
    """A class that is known but not active leaves no trace, not even in its own."""
    K, n = 3, 200
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    y[150:] = rng.integers(0, 3, 50)
    y[150] = 2
    scores = rng.normal(size=(n, K, 3))
    scores[np.arange(n), 0, y] += 2.0
    active = np.array([True, True, False])
    known = pool_state.begin(np.full(K, 0.3), active)
    later = pool_state.begin(np.full(K, 0.3), active[:2])
    labels, ones = np.empty(n, np.int64), np.ones(n)
    pool.pool_rows(known, scores, y, ones, labels, EMPTY, NO_SCORES)
    first = np.ascontiguousarray(scores[:150, :, :2])
    pool.pool_rows(later, first, y[:150], ones, labels[:150].copy(), EMPTY, NO_SCORES)
    later = pool_state.grow_classes(later, np.array([0, 1, -1]), active)
    pool.pool_rows(
        later, scores[150:], y[150:], ones[150:], labels[150:].copy(), EMPTY, NO_SCORES
    )
    assert same_state(known, later)
    swapped = pool_state.grow_classes(known, np.array([2, -1, 0]), active)
    assert_array_equal(swapped.class_terms[:, [0, 2]], known.class_terms[:, [2, 0]])
    assert_array_equal(swapped.class_terms[:, 1], 0.0)
    assert_array_equal(swapped.class_curvature[:, 1], [400.0] * K + [60.0])


def test_terms_of_classes_are_slower_where_labels_are_late() -> None:
    first, active = np.full(2, 0.5), np.ones(3, np.bool_)
    for delay, times in ((0, 1.0), (5, 1.0), (50, 10.0)):
        late = pool_state.begin(first, active, delay)
        assert_array_equal(late.class_ridge, [400.0 * times, 400.0 * times, 60 * times])
        assert_array_equal(late.class_curvature, late.class_ridge[:, None] * np.ones(3))


def test_pools_merge_by_their_curvature() -> None:
    pools = []
    for w, h in ((0.2, 30.0), (0.8, 90.0)):
        one = pool_state.begin(np.full(2, w), np.ones(2, np.bool_))
        one.curvature[:] = h * np.eye(2)
        one.class_terms[:] = w
        one.class_curvature[:] = h
        one.power[0], one.power_curvature[0], one.noise[0] = w, h, w
        one.seen[:] = 7
        one.mistakes[:], one.weight[:] = 3.0, 8.0
        one.active[:] = [True, w > 0.5]
        pools.append(one)
    merged = pool_state.merge(pools)
    for field in (merged.weights, merged.class_terms, merged.power):
        assert_allclose(field, 0.65)
    for field in (merged.class_curvature, merged.power_curvature):
        assert_allclose(field, 60.0)
    assert_allclose(merged.curvature, 60.0 * np.eye(2))
    assert_allclose(merged.noise, 0.5)
    assert merged.active.all()
    assert not pools[0].active.all()
    less = pool_state.merge(pools, pools[0])
    assert [*merged.seen, *less.seen] == [14, 14, 7, 7]
    assert [*merged.mistakes, *less.mistakes] == [6.0] * 3 + [3.0] * 3
    assert [*merged.weight, *less.weight] == [16.0, 8.0]


def test_sizes_are_rounded_up() -> None:
    assert [padded(size) for size in (1, 16, 17)] == [16, 16, 32]


def test_the_history_keeps_every_second_entry_once_it_is_full() -> None:
    K, n = 2, 300
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(n, K, 2)), rng.integers(0, 2, n)
    ours = pool_state.begin(np.full(K, 0.5), np.ones(2, np.bool_))
    ours.clock[1] = 1  # an entry with each row
    expected = []
    labels = np.empty(1, np.int64)
    for i in range(n):
        part = slice(i, i + 1)
        pool.pool_rows(
            ours, scores[part], y[part], np.ones(1), labels, EMPTY, NO_SCORES
        )
        expected.append([i + 1, i + 1, *ours.mistakes, *ours.weights])
    # Full after 128 rows, and again after 128 + 64 · 2.
    assert list(ours.clock) == [64 + (n - 256) // 4, 4]
    assert_array_equal(ours.history[: ours.clock[0]], expected[3::4])
