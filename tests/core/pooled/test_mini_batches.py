"""Blocks of a mini-batch are observed separately, in any order, and learned at once."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from oracles.pooled.blocks import place
from oracles.pooled.mini_batches import MiniBatches
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import prepare_rows, run, score
from rpnb.core.pooled.member import MemberRows, same_state
from rpnb.core.pooled.members import shared_covariance
from rpnb.core.pooled.mini_batches import (
    PooledBlock,
    has_scale,
    learn_blocks,
    observe_block,
)
from rpnb.core.pooled.model import MEMBERS, PooledModel, copy_model, new_model

MERGEABLE = [name for name, member in MEMBERS.items() if member.MERGEABLE]
# Members of counts only: a mini-batch gives the same bits as its rows one by one.
COUNTS = ["binned_bayes", "transitions"]
NOTHING = np.zeros((0, 0))
NO_LABELS = np.zeros(0, np.int64)
FIRST, MOST, M, P = 260, 500, 3, 4


def stream(n: int, weighted: bool = False) -> tuple[FloatArray, IntArray, FloatArray]:
    """The first n rows; some values are missing, and class 2 comes last."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, MOST)
    y[FIRST + 20 :: 3] = 2
    X = rng.normal(size=(MOST, P)) + rng.normal(size=(M, P))[y]
    X[rng.random((MOST, P)) < 0.03] = np.nan
    weight = rng.choice([1.0, 0.5, 2.0], MOST) if weighted else np.ones(MOST)
    return X[:n], y[:n], weight[:n]


@cache
def first_rows(names: tuple[str, ...], n: int, weighted: bool) -> PooledModel:
    """Return a model that has learned the first rows one by one; not to be changed."""
    X, y, weight = stream(n, weighted)
    model = new_model(names, P, 16, 0, np.zeros(M, np.bool_), 1)
    run(model, X, y, weight, np.empty(n, np.int64), NOTHING)
    return model


def begun(
    names: Sequence[str] = MERGEABLE, n: int = FIRST, weighted: bool = False
) -> PooledModel:
    return copy_model(first_rows(tuple(names), n, weighted))


def block(
    model: PooledModel,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray | None = None,
    jobs: int = 1,
) -> PooledBlock:
    weight = np.ones(len(y)) if weight is None else weight
    labels = np.empty(len(y), np.int64)
    arrays = observe_block(model, X, y, weight, labels, jobs)
    return PooledBlock(y, labels, weight, arrays)


def same(a: PooledModel, b: PooledModel, names: Sequence[str] = MERGEABLE) -> bool:
    """Whether scale, pool and the named members are equal to the bit."""
    return (
        same_state(a.scale, b.scale)
        and same_state(a.pool, b.pool)
        and all(
            same_state(one, two)
            for name, one, two in zip(a.names, a.states, b.states, strict=True)
            if name in names
        )
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_mini_batch_equals_its_oracle(weighted: bool) -> None:
    X, y, weight = stream(500, weighted)
    # After row 256 all members have learned the first rows with one scale.
    model = begun(n=256, weighted=weighted)
    rows = prepare_rows(model, X)
    columns = model.shape.dimension

    def part(start: int, stop: int) -> tuple[MemberRows, IntArray, FloatArray]:
        where = slice(start, stop)
        some = [rows.raw[where], rows.z[where], rows.low[where], rows.phi[where]]
        return MemberRows._make(some), y[where], weight[where]

    oracle = MiniBatches(*part(0, 256), M, columns)
    oracle.continue_pool(model.pool)
    # Class 2 first appears within the first mini-batch; no check changes the scale in
    # either.
    for start, stop in ((256, 380), (380, 440)):
        cut = (start + stop) // 2
        blocks = [
            block(model, X[a:b], y[a:b], weight[a:b])
            for a, b in ((start, cut), (cut, stop))
        ]
        learn_blocks(model, blocks)
        oracle.learn(*part(start, stop))
        assert_allclose(model.pool.weights, oracle.pool.w, atol=2e-3)
        terms = [*oracle.pool.v, oracle.pool.b]
        assert_allclose(model.pool.class_terms, terms, atol=2e-3)
        assert_allclose(model.pool.power, oracle.pool.power, rtol=1e-3)
        assert_allclose(model.pool.noise, oracle.pool.noise, rtol=1e-3)
        assert model.pool.seen[0] == oracle.pool.seen == stop
        assert_array_equal(model.pool.active, oracle.active)
    for k, module in enumerate(model.modules):
        found = np.zeros((60, 1, M))
        module.score_rows(model.states[k], part(440, 500)[0], found)
        expected = [oracle.scores(rows, i)[k] for i in range(440, 500)]
        if model.names[k] == "transitions":
            # Of a constant that all classes share, it has none.
            assert_allclose(np.diff(found[:, 0]), np.diff(expected), rtol=1e-9)
        else:
            assert_allclose(found[:, 0], expected, rtol=2e-3, atol=2e-3)


@settings(max_examples=15)
@given(
    st.lists(st.integers(1, 149), max_size=4, unique=True), st.randoms(), st.booleans()
)
def test_blocks_are_observed_in_any_order(
    cuts: list[int], random: object, weighted: bool
) -> None:
    X, y, weight = stream(FIRST + 150, weighted)
    edges = [FIRST + cut for cut in (0, *sorted(cuts), 150)]
    parts = [slice(*pair) for pair in pairwise(edges)]
    order = list(range(len(parts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    one, other, whole = (begun(weighted=weighted) for _ in range(3))
    blocks = [block(one, X[part], y[part], weight[part]) for part in parts]
    learn_blocks(one, blocks)
    found = {
        k: block(begun(weighted=weighted), X[parts[k]], y[parts[k]], weight[parts[k]])
        for k in order
    }
    assert same(other, begun(weighted=weighted))
    learn_blocks(other, [found[k] for k in sorted(found)])
    assert same(one, other)
    # Sums of rows of weight 1 are exact: nothing depends on the cuts either, but for
    # means and scatters of classes.
    all_rows = slice(FIRST, FIRST + 150)
    learn_blocks(whole, [block(whole, X[all_rows], y[all_rows], weight[all_rows])])
    if not weighted:
        assert same(one, whole, [n for n in MERGEABLE if n != "class_covariance"])
    for name, mine, its in zip(one.names, one.states, whole.states, strict=True):
        if name == "class_covariance":
            assert_allclose(mine.mean, its.mean, atol=1e-12)
            assert_allclose(mine.scatter, its.scatter, atol=1e-10)


def test_sums_are_those_of_rows_learned_one_by_one() -> None:
    X, y, weight = stream(FIRST + 90)
    rest = slice(FIRST, FIRST + 90)
    batch, rows = begun(), begun()
    learn_blocks(batch, [block(batch, X[rest], y[rest])])
    labels = np.empty(90, np.int64)
    run(rows, X[rest], y[rest], weight[rest], labels, NOTHING)
    assert same_state(batch.scale, rows.scale)
    for name, module, mine, its in zip(
        batch.names, batch.modules, batch.states, rows.states, strict=True
    ):
        if name in COUNTS:
            assert same_state(mine, its)
        if name == "shared_covariance":
            settled = module.merge([its])
            for array in (*module.SUMS, "log_count", "V", "offset"):
                assert_array_equal(getattr(mine, array), getattr(settled, array))
        if name == "class_covariance":
            assert_allclose(mine.mean, its.mean, atol=1e-12)
            assert_allclose(mine.inverse, module.merge([its]).inverse, rtol=1e-9)
    # The pool learned from other scores.
    assert batch.pool.seen[0] == rows.pool.seen[0]
    assert not np.array_equal(batch.pool.weights, rows.pool.weights)


def test_observing_predicts_and_changes_nothing_and_threads_neither() -> None:
    X, y, _ = stream(FIRST + 40)
    X, y = X[FIRST:], y[FIRST:]
    model = begun()
    expected = np.empty(40, np.int64)
    score(model, X, expected, NOTHING, ordered=True)
    one, two = block(model, X, y), block(model, X, y, jobs=2)
    assert same(model, begun())
    assert_array_equal(one.labels, expected)
    assert_array_equal(two.labels, expected)
    for name, array in one.arrays.items():
        assert_array_equal(array, two.arrays[name])
    sparse = block(model, csr_array(np.nan_to_num(X)), y)
    assert_array_equal(sparse.arrays["last_rows"], np.nan_to_num(X))
    relative = one.arrays["scores"]
    assert relative.dtype == np.float32
    assert (relative <= 0.0).all()
    assert (relative.max(axis=2) == 0.0).all()
    assert (relative[:, :, 2] == -6.0).all()  # not active yet


def test_a_class_that_was_unknown_moves_no_weight() -> None:
    X, _, _ = stream(FIRST + 40)
    model = begun(COUNTS)
    before = copy_model(model)
    y = np.full(40, 2)
    learn_blocks(model, [block(model, X[FIRST:], y)])
    assert_array_equal(model.pool.weights, before.pool.weights)
    assert_array_equal(model.pool.mistakes, before.pool.mistakes + 40.0)
    assert model.pool.active[2]
    assert all(state.active[2] for state in model.states)


def test_without_a_scale_rows_are_learned_one_by_one() -> None:
    X, y, weight = stream(FIRST)
    rows = new_model(COUNTS, P, 16, 0, np.zeros(M, np.bool_), 1)
    batch = copy_model(rows)
    assert not has_scale(batch)
    blocks = [block(batch, X[:150], y[:150]), block(batch, X[150:], y[150:])]
    assert (blocks[0].labels == -1).all()
    learn_blocks(batch, blocks)
    run(rows, X, y, weight, np.empty(FIRST, np.int64), NOTHING)
    assert has_scale(batch)
    assert same(batch, rows)


def test_hashed_rows_are_hashed_once() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((270, 4100)) < 0.01, rng.normal(size=(270, 4100)), 0.0)
    y = rng.integers(0, 2, 270)
    dense = new_model(["transitions"], 4100, 16, 0, np.zeros(2, np.bool_), 1)
    sparse = copy_model(dense)
    for model, table in ((dense, X), (sparse, csr_array(X))):
        for part in (slice(0, 256), slice(256, 270)):
            learn_blocks(model, [block(model, table[part], y[part])])
    assert same(dense, sparse)
    assert dense.scale.seen[0] == 270


def test_the_scale_looks_once_at_the_last_rows() -> None:
    model = begun(COUNTS, 256)
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, P)), rng.integers(0, 2, 400)
    X[:, 1] += 1e3
    X[350:, 1] += 5e3
    before = model.scale.mean.copy()
    # No check is due yet.
    learn_blocks(model, [block(model, X[:63], y[:63])])
    assert_array_equal(model.scale.mean, before)
    blocks = [block(model, X[63:390], y[63:390]), block(model, X[390:], y[390:])]
    learn_blocks(model, blocks)
    assert model.scale.seen[0] == 656
    assert_allclose(model.scale.mean[1], X[336:, 1].mean())
    assert_allclose(model.scale.deviation[1], X[336:, 1].std())
    assert_array_equal(np.delete(model.scale.mean, 1), np.delete(before, 1))
    kept = {tuple(row) for row in model.scale.rows[:64]}
    assert kept == {tuple(row) for row in X[336:]}


def test_sums_of_rows_alone_are_those_of_numpy() -> None:
    """More than two groups of 128, and more rows than a state keeps."""
    X, y, weight = stream(270, weighted=True)
    model = new_model(
        ["shared_covariance", "class_covariance"], P, 16, 0, np.ones(M, np.bool_), 1
    )
    rows = prepare_rows(model, np.nan_to_num(X))
    for module, state in zip(model.modules, model.states, strict=True):
        part = module.sum_rows(state, rows, y, weight)
        assert part.seen[0] == 270
        assert_allclose(part.class_weight, np.bincount(y, weight, M))
        assert state.seen[0] == 0
        if module is shared_covariance:
            phi = rows.phi.astype(np.float64)
            for m in range(M):
                its = y == m
                assert_allclose(part.B[m], weight[its] @ phi[its])
            merged = module.merge([state, part])
            assert_allclose(merged.A, part.A)
            trace = sum(part.A[place(f, f)] for f in range(20))
            assert_allclose(trace, (weight[:, None] * phi**2).sum(), rtol=1e-5)
        else:
            mean = np.average(rows.low[y == 1], axis=0, weights=weight[y == 1])
            assert_allclose(part.mean[0, :, 1], mean, rtol=1e-6)
