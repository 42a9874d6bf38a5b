"""Gaussian naive Bayes on the features themselves."""

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from rpnb.core.bayes.naive_bayes import (
    NaiveBayes,
    arrange_naive_bayes,
    blank_naive_bayes,
    block_moments,
    derive_naive_bayes,
    merge_moments,
    naive_bayes_pass,
    naive_bayes_scores,
)
from strategies import Stream, streams

WEIGHT = np.ones(1)


def learned(stream: Stream) -> tuple[NaiveBayes, np.ndarray]:
    state = blank_naive_bayes(stream.M, stream.X.shape[1], 1e-9)
    labels = np.empty(stream.y.shape[0], np.int64)
    naive_bayes_pass(state, stream.X, stream.y, WEIGHT, True, labels)
    return state, labels


def blobs(n: int) -> Stream:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    return Stream(rng.normal(size=(n, 4)) + rng.normal(size=(3, 4))[y], y, 3)


def test_scores_are_log_prior_plus_log_densities() -> None:
    stream = blobs(50)
    state, _ = learned(stream)
    found = np.empty((50, 3))
    naive_bayes_scores(state, stream.X, found)
    for m in range(3):
        rows = stream.X[stream.y == m]
        density = norm(rows.mean(axis=0), rows.std(axis=0))
        expected = np.log(len(rows)) + density.logpdf(stream.X).sum(axis=1)
        assert_allclose(found[:, m], expected, rtol=1e-9)


def test_moments_of_blocks_add_up_to_those_of_all_rows() -> None:
    stream = blobs(60)
    whole, _ = learned(stream)
    state = blank_naive_bayes(3, 4, 1e-9)
    for rows in (slice(0, 25), slice(25, 60)):
        merge_moments(
            state, block_moments(state, stream.X[rows], stream.y[rows], WEIGHT)
        )
    for found, expected in zip(state.moments, whole.moments, strict=True):
        assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(state.log_seen, whole.log_seen)
    assert state.eligible.all()
    # A class that is in no block stays unknown.
    state = blank_naive_bayes(4, 4, 1e-9)
    merge_moments(state, block_moments(state, stream.X, stream.y, WEIGHT))
    assert state.eligible.tolist() == [True, True, True, False]


def test_rows_without_a_label_are_predicted_and_leave_no_trace() -> None:
    X, y, M = blobs(60)
    given = y.copy()
    given[::3] = -1
    known = given >= 0
    state, labels = learned(Stream(X, given, M))
    without, expected = learned(Stream(X[known], y[known], M))
    assert_array_equal(labels[known], expected)
    assert (labels[3:] >= 0).all()
    for one, other in zip(state.moments, without.moments, strict=True):
        assert_array_equal(one, other)


def test_labels_are_those_of_the_model_before_the_row() -> None:
    stream = blobs(40)
    _, labels = learned(stream)
    assert labels[0] == -1
    assert labels[1] == stream.y[0]
    for i in (5, 20, 39):
        before, _ = learned(Stream(stream.X[:i], stream.y[:i], 3))
        scores = np.empty((1, 3))
        naive_bayes_scores(before, stream.X[i : i + 1], scores)
        assert labels[i] == scores.argmax()
        alone = np.empty(1, np.int64)
        nothing = np.zeros(0, np.int64)
        naive_bayes_pass(before, stream.X[i : i + 1], nothing, WEIGHT, False, alone)
        assert labels[i] == alone[0]


@given(streams(max_n=20))
def test_the_densities_are_derived_from_the_moments(stream: Stream) -> None:
    state, _ = learned(stream)
    derived = arrange_naive_bayes(state, np.arange(stream.M))
    for part in (derived.gaussians.mean, derived.gaussians.precision, derived.log_seen):
        part[...] = np.nan
    derive_naive_bayes(derived)
    assert_array_equal(derived.gaussians.mean, state.gaussians.mean)
    assert_array_equal(derived.gaussians.precision, state.gaussians.precision)
    assert_allclose(derived.log_seen, state.log_seen)


def test_classes_can_be_added_and_moved() -> None:
    state, _ = learned(blobs(30))
    arranged = arrange_naive_bayes(state, np.array([2, -1, 0]))
    assert_array_equal(arranged.moments.mean[[0, 2]], state.moments.mean[[2, 0]])
    assert_array_equal(arranged.eligible, [True, False, True])
    assert arranged.log_seen[1] == -np.inf
    assert_array_equal(arranged.gaussians.precision[1], 1.0)
