"""Rows that come one by one: the labels and bits of the exact pass."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb._core.passes import NO_PROJECTION, run_row
from rpnb.core.bayes.model import Model, copy_model, fade_all
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.passes.engine import classify, run
from strategies import (
    WEIGHT,
    Stream,
    assert_same_state,
    exact_labels,
    make_model,
    streams,
    well_behaved,
)

NOT_PROJECTED = np.zeros(0)
learning = st.sampled_from([LEARN_MISTAKES, LEARN_ALL])


def one_by_one(model: Model, stream: Stream, learn: int) -> IntArray:
    labels = np.empty(stream.y.shape[0], np.int64)
    for i in range(stream.y.shape[0]):
        row = slice(i, i + 1)
        run(model, stream.X[row], stream.y[row], WEIGHT, learn, labels[row])
    return labels


@given(
    streams(),
    learning,
    st.booleans(),
    st.sampled_from([0.0, 20.0]),
    st.sampled_from([1.0, 0.9]),
    st.sampled_from([2, 20]),
)
def test_rows_one_by_one_leave_the_same_labels_and_bits(
    stream: Stream,
    learn: int,
    declared: bool,
    count_factor: float,
    keep: float,
    K: int,
) -> None:
    one = make_model(stream.X.shape[1], stream.M, K=K, keep=keep)
    one.classes.eligible[:] = declared
    one.count_factor = count_factor
    two = copy_model(one)
    expected = exact_labels(one, stream, learn)
    assert_array_equal(one_by_one(two, stream, learn), expected)
    assert_same_state(one, two)


@pytest.mark.parametrize("M", [3, 40])
def test_what_is_kept_of_a_model_follows_its_changes(M: int) -> None:
    # Other passes, fading and mini-batches change some classes, or all of them.
    stream = well_behaved(5, 600, M)
    X, y = stream.X, stream.y
    model = make_model(6, M)
    for k, start in enumerate(range(0, 600, 60)):
        rows = slice(start, start + 60)
        some = Stream(X[rows], y[rows], M)
        if k % 4 == 2:
            run(model, *some[:2], WEIGHT, LEARN_ALL, np.empty(60, np.int64))
        elif k % 4 == 3:
            fade_all(model, 0.5)
        else:
            twin = copy_model(model)
            expected = exact_labels(twin, some, LEARN_MISTAKES)
            assert_array_equal(one_by_one(model, some, LEARN_MISTAKES), expected)
            assert_same_state(model, twin)


def test_equal_classes_are_told_apart_by_their_number() -> None:
    model = make_model(2, 3)
    X = np.random.default_rng(0).normal(size=(40, 2))
    for eligible, label in (([True] * 3, 0), ([False, True, True], 1), ([False], -1)):
        model.classes.eligible[:] = eligible
        model.forget_row()
        found = [int(classify(model, x[None, :])[0]) for x in X]
        assert found == [label] * 40


def test_a_row_without_a_matrix_must_come_projected() -> None:
    model = make_model(4, 2, distribution="hadamard")
    x, z = np.ones(4), np.ones(model.F)

    def predict(z: np.ndarray) -> int:
        return run_row(model, x, z, -1, 1.0, LEARN_NOTHING)

    assert predict(NOT_PROJECTED) == NO_PROJECTION
    assert predict(z) == 0
    assert predict(NOT_PROJECTED) == 0  # it is known by now
    model.forget_row()
    assert predict(NOT_PROJECTED) == NO_PROJECTION
    with pytest.raises(ValueError, match="z is not of shape"):
        predict(z[1:])
    with pytest.raises(ValueError, match="y is no class"):
        run_row(model, x, z, 2, 1.0, LEARN_ALL)
    with pytest.raises(ValueError, match="learn is none of 0, 1 and 2"):
        run_row(model, x, z, 1, 1.0, 3)
    model.rule = "vote"
    with pytest.raises(ValueError, match="the rule is not log_sum"):
        predict(z)


def test_threads_may_predict_single_rows_of_one_model() -> None:
    stream = well_behaved(7, 200, M=4)
    model = make_model(6, 4, K=50)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, np.empty(200, np.int64))
    expected = classify(model, stream.X).tolist()

    def predict(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(200)
        found = {int(i): int(classify(model, stream.X[[i]])[0]) for i in order}
        return [found[i] for i in range(200)] == expected

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(predict, range(8)))
