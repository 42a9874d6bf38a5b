"""Sparse rows, and distributions without a matrix: the same bits as dense products."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from oracles import paper as plain
from rpnb._core import projection as kernels
from rpnb._core.passes import (
    PANEL,
    SingleDensities,
    centre_projected,
    error_bound,
    refresh_single_densities,
    run_exact,
    score_centred,
)
from rpnb._core.projection import project
from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.statistics import COMBINERS, LEARN_ALL, LEARN_MISTAKES, Combiner
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import RowBlock, RowTable
from rpnb.core.passes.engine import classify, learn_all, run, run_batches, scores
from rpnb.core.passes.screened import ScreenedPass
from rpnb.core.projection import record as models
from rpnb.core.projection.apply import project_rows, rows_for_passes
from rpnb.core.projection.matrices import MATRIX_DISTRIBUTIONS, Distribution
from rpnb.core.projection.record import STRUCTURED, make_projection
from strategies import (
    Stream,
    distributions,
    make_model,
    matrix_distributions,
    oracle_of,
    streams,
)

WEIGHT = np.ones(1)
learning = st.sampled_from([LEARN_MISTAKES, LEARN_ALL])
rules = st.sampled_from(COMBINERS)
wide_laws = st.sampled_from(["very_sparse", "hadamard"])


def thinned(stream: Stream, share: float = 0.5) -> Stream:
    """Return the stream with zeros in it, some of them negative, and a row of zeros."""
    kept = np.random.default_rng(stream.X.shape[0]).random(stream.X.shape) < share
    X = stream.X * kept
    X[0] = 0.0
    return stream._replace(X=X)


def unkept(model: Model) -> Model:
    """Return the model with a matrix that has to be drawn where needed."""
    model = copy_model(model)
    model.projection = replace(model.projection, R=model.projection.R[:0])
    return model


def state(model: Model) -> list[bytes]:
    parts = (*model.moments, *model.gaussians, *model.classes)
    return [
        *(part.tobytes() for part in parts),
        model.n_seen.to_bytes(8),
        model.n_updates.to_bytes(8),
    ]


def learned(model: Model, X: RowTable, y: IntArray, learn: int) -> list[int]:
    labels = np.empty(y.shape[0], np.int64)
    run(model, X, y, WEIGHT, learn, labels)
    return labels.tolist()


# The projection


@given(streams(max_n=6, max_p=30), matrix_distributions)
def test_sparse_rows_and_rows_drawn_on_demand_have_the_matrix_products_bits(
    stream: Stream, distribution: Distribution
) -> None:
    X = thinned(stream).X
    n, p = X.shape
    model = make_model(p, 1, distribution=distribution)
    scale = 1.0 / np.sqrt(model.projection.q)
    expected = np.empty((n, model.F))
    project(X, np.arange(n), scale, model.projection.R, expected)
    for projection in (model.projection, unkept(model).projection):
        for rows in (X, csr_array(X)):
            assert_array_equal(project_rows(projection, rows), expected)
    assert_array_equal(rows_for_passes(model.projection, X), X)


@given(streams(max_n=6, max_p=30), distributions)
def test_the_projection_of_every_distribution_is_equation_two(
    stream: Stream, distribution: Distribution
) -> None:
    X = thinned(stream).X
    model = make_model(X.shape[1], 1, distribution=distribution)
    expected = plain.project(oracle_of(model), X).reshape(X.shape[0], -1)
    found = project_rows(model.projection, csr_array(X))
    largest = np.abs(plain.matrices(model.projection)).max()
    size = np.abs(X).sum(axis=1, keepdims=True) * largest
    assert (np.abs(found - expected) <= 1e-14 * size).all()
    assert found.tobytes() == project_rows(model.projection, X).tobytes()


def test_many_rows_are_drawn_panel_by_panel() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3, 600)) * (rng.random((3, 600)) < 0.7)
    model = make_model(600, 1, K=2)
    expected = project_rows(model.projection, X)
    for rows in (X, csr_array(X)):
        assert_array_equal(project_rows(unkept(model).projection, rows), expected)


@pytest.mark.parametrize("distribution", MATRIX_DISTRIBUTIONS)
def test_a_matrix_beyond_the_limit_is_not_kept(
    distribution: Distribution, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.arange(10, dtype=np.uint64)
    # Half a gigabyte: one feature more is too much.
    wide = np.arange((1 << 17) + 1, dtype=np.uint64)
    assert make_projection(distribution, 0, wide, 256, 4).R.shape == (0, 1024)
    assert 4 * 1024 * (wide.shape[0] - 1) == models.LARGEST_MATRIX
    monkeypatch.setattr(models, "LARGEST_MATRIX", 10 * 6 * 4)
    assert make_projection(distribution, 0, features, 2, 3).R.shape == (10, 6)
    monkeypatch.setattr(models, "LARGEST_MATRIX", 10 * 6 * 4 - 1)
    assert make_projection(distribution, 0, features, 2, 3).R.shape == (0, 6)


@pytest.mark.parametrize("distribution", [*MATRIX_DISTRIBUTIONS, *STRUCTURED])
def test_rows_that_do_not_fit_are_refused(distribution: Distribution) -> None:
    numbers = np.arange(3, dtype=np.uint64)
    projection = make_projection(distribution, 0, numbers, 2, 2)
    unkept = replace(projection, R=projection.R[:0])
    for one in (projection, unkept):
        with pytest.raises(ValueError, match="a value for each feature"):
            project_rows(one, np.ones((2, 4)))
        for columns in ([0, 3], [-1, 2], [1, 1], [2, 0]):
            rows = csr_array((np.ones(2), np.array(columns), np.array([0, 2])), (1, 3))
            with pytest.raises(ValueError, match="ascending, 0 to p - 1"):
                project_rows(one, rows)
    # A matrix without any value is a matrix of zeros.
    assert_array_equal(project_rows(projection, csr_array((2, 3))), np.zeros((2, 4)))


def test_rows_must_be_inside_their_arrays_and_fit_the_result() -> None:
    R, Z = np.zeros((3, 4), np.float32), np.zeros((1, 4))
    values, columns = np.ones(2), np.array([0, 2])
    good = values, columns, np.array([0, 2])
    kernels.project_rows(RowBlock(*good), 1.0, R, Z)
    for starts in ([], [0, 3], [-1, 2], [2, 0]):
        with pytest.raises(TypeError):
            kernels.project_rows(
                RowBlock(values, columns, np.array(starts, np.int64)), 1.0, R, Z
            )
    with pytest.raises(TypeError):
        kernels.project_rows(RowBlock(values, columns[:1], good[2]), 1.0, R, Z)
    for wrong in (np.zeros((2, 4)), np.zeros((1, 3))):
        with pytest.raises(ValueError, match="Z must have as many"):
            kernels.project_rows(RowBlock(*good), 1.0, R, wrong)
    for structure in STRUCTURED.values():
        with pytest.raises(ValueError, match="at least one feature"):
            structure.draw(0, np.zeros(0, np.uint64), 3)
        with pytest.raises(ValueError, match="at least one column"):
            structure.draw(0, np.zeros(3, np.uint64), 0)


# The passes


@given(streams(max_n=40, max_p=9), distributions, rules, learning, st.data())
def test_sparse_or_dense_and_however_cut_labels_and_state_are_the_same(
    stream: Stream,
    distribution: Distribution,
    rule: Combiner,
    learn: int,
    data: st.DataObject,
) -> None:
    X, y, M = thinned(stream)
    model = make_model(X.shape[1], M, distribution=distribution)
    model.rule = rule
    whole, parts, exact = copy_model(model), copy_model(model), copy_model(model)
    expected = learned(whole, X, y, learn)
    if data.draw(st.booleans()):
        parts = unkept(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(y)), max_size=4)))
    labels: list[int] = []
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        if start < stop:
            rows = X[start:stop]
            chosen = csr_array(rows) if data.draw(st.booleans()) else rows
            labels += learned(parts, chosen, y[start:stop], learn)
    assert labels == expected
    assert state(parts) == state(whole)
    assert_array_equal(scores(parts, csr_array(X)), scores(whole, X))
    if rule == "log_sum":
        found = np.empty(len(y), np.int64)
        projected = project_rows(exact.projection, X)
        run_exact(exact, projected, True, y, WEIGHT, learn, found)
        assert found.tolist() == expected
        assert state(exact) == state(whole)


@given(
    streams(),
    wide_laws,
    learning,
    st.sampled_from([4, 16, 64]),
    st.sampled_from([4, 8, 32]),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_the_screened_pass_over_projected_rows_changes_no_bit(
    stream: Stream,
    distribution: Distribution,
    learn: int,
    size: int,
    step: int,
    by_step: bool,
    jobs: int,
) -> None:
    X, y, M = thinned(stream, 0.9)
    one = make_model(X.shape[1], M, K=20, distribution=distribution)
    two = copy_model(one)
    expected = [
        label for i in range(len(y)) for label in learned(one, X[[i]], y[[i]], learn)
    ]
    labels = np.empty(len(y), np.int64)
    ScreenedPass(two, X, size, step, by_step, jobs).run(X, y, WEIGHT, learn, labels)
    assert labels.tolist() == expected
    assert state(one) == state(two)


@given(
    st.integers(0, 2**32 - 1),
    distributions,
    st.integers(1, 60),
    st.integers(1, 40),
    learning,
)
def test_every_distribution_runs_the_algorithm_of_the_paper(
    seed: int, distribution: Distribution, n: int, size: int, learn: int
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = (rng.normal(size=(n, 6)) + rng.normal(size=(3, 6))[y]) * (
        rng.random((n, 6)) < 0.8
    )
    model = make_model(6, 3, distribution=distribution)
    oracle = oracle_of(model)
    labels = np.empty(n, np.int64)
    run_batches(model, csr_array(X), y, WEIGHT, learn, size, labels)
    expected = plain.run(oracle, X, y, batch_size=size, learn_all=learn == LEARN_ALL)
    assert_array_equal(labels, expected)
    mean: FloatArray = oracle.mean.swapaxes(0, 1).reshape(3, model.F)
    assert_allclose(model.gaussians.mean, mean, atol=1e-12)
    dense = make_model(6, 3, distribution=distribution)
    run_batches(dense, X, y, WEIGHT, learn, size, labels)
    assert state(dense) == state(model)


@given(streams(max_n=30, max_p=9), distributions)
def test_learning_all_sparse_rows_without_predicting_leaves_the_same_bits(
    stream: Stream, distribution: Distribution
) -> None:
    X, y, M = thinned(stream)
    one = make_model(X.shape[1], M, distribution=distribution)
    two = copy_model(one)
    learned(one, X, y, LEARN_ALL)
    learn_all(two, csr_array(X), y, WEIGHT)
    assert state(one) == state(two)


@given(streams(max_n=12, max_p=9), distributions, learning, st.data())
def test_a_single_row_that_comes_twice_gives_the_same_result(
    stream: Stream, distribution: Distribution, learn: int, data: st.DataObject
) -> None:
    X, y, M = thinned(stream)
    known = make_model(X.shape[1], M, distribution=distribution)
    fresh = copy_model(known)
    for i in range(len(y)):
        for j in data.draw(st.lists(st.integers(0, len(y) - 1), max_size=2)):
            rows = csr_array(X[[j]]) if data.draw(st.booleans()) else X[[j]]
            fresh.forget_row()
            assert_array_equal(classify(known, rows), classify(fresh, X[[j]]))
        rows = csr_array(X[[i]]) if data.draw(st.booleans()) else X[[i]]
        fresh.forget_row()
        assert learned(known, rows, y[[i]], learn) == learned(
            fresh, X[[i]], y[[i]], learn
        )
    assert state(known) == state(fresh)


# The bound


@given(streams(max_n=24), distributions, st.sampled_from([2, 30, 1 + PANEL // 3]))
def test_a_single_precision_score_of_projected_rows_is_within_its_bound(
    stream: Stream, distribution: Distribution, K: int
) -> None:
    X, y, M = stream
    model = make_model(X.shape[1], M, K=K, distribution=distribution)
    learned(model, csr_array(X), y, LEARN_ALL)
    exact = scores(model, X)
    projected = project_rows(model.projection, X)
    n = X.shape[0]
    densities = SingleDensities.empty(M, model.F)
    densities.origin[:] = projected.mean(axis=0)
    for m in range(M):
        refresh_single_densities(densities, m, model.gaussians)
    Z = np.zeros((-(-n // 4) * 4, model.F), np.float32)
    projection_error, row_norm = np.empty(n), np.empty(n)
    centre_projected(projected, densities.origin, Z, projection_error, row_norm)
    found = np.empty((Z.shape[0], M))
    score_centred(Z, densities, found)
    for i in range(n):
        for m in range(M):
            bound = error_bound(
                found[i, m],
                model.gaussians,
                densities,
                m,
                0.0,
                projection_error[i],
                row_norm[i],
            )
            # A NaN bound, from numbers beyond single precision, promises nothing.
            assert not abs(found[i, m] - exact[i, m]) > bound


def test_the_bound_of_projected_rows_decides_ordinary_rows() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 100)
    X = rng.normal(size=(100, 16)) + rng.normal(size=(3, 16))[y] + 100.0
    model = make_model(16, 3, K=100, distribution="hadamard")
    learned(model, X, y, LEARN_ALL)
    projected = project_rows(model.projection, X)
    densities = SingleDensities.empty(3, model.F)
    projection_error, row_norm = np.empty(100), np.empty(100)
    Z = np.empty((100, model.F), np.float32)
    bounds = []
    for origin in (projected.mean(axis=0), 0.0):
        densities.origin[:] = origin
        for m in range(3):
            refresh_single_densities(densities, m, model.gaussians)
        centre_projected(projected, densities.origin, Z, projection_error, row_norm)
        found = np.empty((100, 3))
        score_centred(Z, densities, found)
        value = found[0, 0]
        bounds.append(
            error_bound(
                value,
                model.gaussians,
                densities,
                0,
                0.0,
                projection_error[0],
                row_norm[0],
            )
        )
    assert bounds[0] < 1.0
    # A pass takes the mean of its first block.
    screened = ScreenedPass(model, X, size=40)
    nothing = np.zeros(0, np.int64)
    screened.run(X, nothing, np.ones(1), 0, np.empty(100, np.int64))
    assert_allclose(screened._densities.origin, projected[:40].mean(axis=0))
    # It has space for a block, or for all rows, in fours, where these are fewer.
    sizes = [ScreenedPass(model, X[:n], size=40)._workspaces[0] for n in (6, 39, 100)]
    assert [space.Z.shape[0] for space in sizes] == [8, 40, 40]
    assert [space.row_norm.shape[0] for space in sizes] == [8, 40, 40]
    # The negative control: without an origin amid the data the bound decides nothing.
    assert bounds[1] > 20 * bounds[0]
