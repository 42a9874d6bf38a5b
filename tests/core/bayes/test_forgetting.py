"""Forgetting: against the oracle, in the limit, and the same bits on every path."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles import paper as plain
from oracles.paper import Oracle
from rpnb._core.numbers import log1p
from rpnb.core.bayes.model import Model, copy_model, fade_all
from rpnb.core.bayes.statistics import (
    LEARN_ALL,
    LEARN_MISTAKES,
    add_observation,
    empty_moments,
    fade,
    merge,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.passes.engine import classify, learn_all, run, run_batches
from rpnb.core.passes.screened import ScreenedPass
from strategies import (
    WEIGHT,
    Stream,
    assert_same_state,
    exact_labels,
    make_model,
    oracle_of,
    streams,
    well_behaved,
)

learning = st.sampled_from([LEARN_MISTAKES, LEARN_ALL])
# Windows of 1000, 5 and 1.1 rows.
keeps = st.sampled_from([0.999, 0.8, 1.0 - 1.0 / 1.1])
seeds = st.integers(0, 2**32 - 1)


def with_prior(model: Model, from_counts: bool) -> Model:
    if from_counts:
        model.count_factor = float(model.projection.K)
    return model


@st.composite
def weights(draw: st.DrawFn, n: int) -> FloatArray:
    """One weight for all, or one a row: whole, broken, tiny and huge."""
    if draw(st.booleans()):
        return WEIGHT
    some = st.sampled_from([1.0, 2.0, 0.3, 7.7, 1e-9, 1e9])
    return np.array(draw(st.lists(some, min_size=n, max_size=n)))


def assert_laws_of(model: Model, oracle: Oracle) -> None:
    mean = oracle.mean.swapaxes(0, 1).reshape(model.M, model.F)
    variance = oracle.variance.swapaxes(0, 1).reshape(model.M, model.F)
    assert_allclose(model.gaussians.mean, mean, atol=1e-12)
    assert_allclose(1.0 / model.gaussians.precision, variance, rtol=1e-9)
    assert_allclose(model.moments.weight + model.prior.weight, oracle.n)


# The definition


@given(seeds, st.integers(1, 50), learning, keeps)
def test_the_exact_pass_weighs_the_past_as_the_oracle_does(
    seed: int, n: int, learn: int, keep: float
) -> None:
    stream = well_behaved(seed, n)
    model = make_model(6, 3, keep=keep)
    oracle = oracle_of(model)
    labels = exact_labels(model, stream, learn)
    expected = plain.run(oracle, stream.X, stream.y, learn_all=learn == LEARN_ALL)
    assert_array_equal(labels, expected)
    assert_laws_of(model, oracle)


@given(seeds, st.integers(1, 50), st.integers(2, 30), learning, keeps)
def test_a_mini_batch_fades_the_past_by_its_total_weight(
    seed: int, n: int, size: int, learn: int, keep: float
) -> None:
    stream = well_behaved(seed, n)
    model = make_model(6, 3, keep=keep)
    oracle = oracle_of(model)
    labels = np.empty(n, np.int64)
    run_batches(model, stream.X, stream.y, WEIGHT, learn, size, labels)
    expected = plain.run(
        oracle, stream.X, stream.y, batch_size=size, learn_all=learn == LEARN_ALL
    )
    assert_array_equal(labels, expected)
    assert_laws_of(model, oracle)


def test_the_oracle_without_fading_is_theorem_one() -> None:
    stream = well_behaved(3, 20)
    one, two = oracle_of(make_model(6, 3)), oracle_of(make_model(6, 3))
    for rows in (slice(8), slice(8, 20)):
        weight = np.linspace(0.5, 3.0, 20)[rows]
        plain.update_batch(one, stream.X[rows], 1, weight)
        plain.update_fading(two, stream.X[rows], 1, weight)
    assert_allclose(one.mean, two.mean, atol=1e-13)
    assert_allclose(one.variance, two.variance)


@given(seeds, keeps)
def test_a_row_of_some_weight_fades_the_past_by_it(seed: int, keep: float) -> None:
    stream = well_behaved(seed, 4, M=1)
    weight = np.array([1.0, 2.5, 0.25, 4.0])
    model = make_model(6, 1, keep=keep)
    oracle = oracle_of(model)
    exact_labels(model, stream, LEARN_ALL, weight)
    for i in range(4):
        plain.update_fading(oracle, stream.X[i : i + 1], 0, weight[i : i + 1])
    assert_laws_of(model, oracle)
    left = weight * keep ** np.array([6.75, 4.25, 4.0, 0.0])
    assert_allclose(model.moments.weight, left.sum())


def test_the_weight_tends_to_the_window() -> None:
    for window in (1.5, 10.0, 60.0):
        model = make_model(6, 1, keep=1.0 - 1.0 / window)
        exact_labels(model, well_behaved(0, 1500, M=1), LEARN_ALL)
        assert_allclose(model.moments.weight, [window], rtol=1e-9)


def test_only_the_class_that_learns_forgets() -> None:
    stream = well_behaved(1, 60)
    model = make_model(6, 3, keep=0.5)
    exact_labels(model, stream, LEARN_ALL)
    before = copy_model(model)
    rows = Stream(stream.X, np.zeros(60, np.int64), 3)
    exact_labels(model, rows, LEARN_ALL)
    for now, then in zip(model.moments, before.moments, strict=True):
        assert_array_equal(now[1:], then[1:])
        assert (now[0] != then[0]).any()


def test_old_rows_have_no_influence() -> None:
    old, new = well_behaved(1, 50, M=1), well_behaved(2, 400, M=1)
    fading, fresh, full = (make_model(6, 1, keep=k) for k in (0.9, 0.9, 1.0))
    for model in (fading, full):
        exact_labels(model, old, LEARN_ALL)
    for model in (fading, fresh, full):
        exact_labels(model, new, LEARN_ALL)
    assert_allclose(fading.moments.mean, fresh.moments.mean, atol=1e-12)
    assert_allclose(fading.moments.scatter, fresh.moments.scatter, rtol=1e-12)
    assert np.abs(full.moments.mean - fresh.moments.mean).max() > 0.01


# Fading itself


@given(seeds, st.floats(0.01, 0.99), st.integers(1, 20))
def test_faded_moments_are_those_of_lighter_rows(
    seed: int, factor: float, n: int
) -> None:
    Z = np.random.default_rng(seed).normal(size=(n, 3))
    faded, lighter = empty_moments(1, 3), empty_moments(1, 3)
    for z in Z:
        add_observation(faded, 0, z, 2.0)
        add_observation(lighter, 0, z, 2.0 * factor)
    fade(faded, 0, factor, 1.0)
    for found, expected in zip(faded, lighter, strict=True):
        assert_allclose(found, expected, atol=1e-12)
    # Theorem 1 still holds: merge with others and compare once more.
    other = empty_moments(1, 3)
    add_observation(other, 0, Z[0] + 1.0, 3.0)
    merge(faded, 0, other, 0)
    merge(lighter, 0, other, 0)
    for found, expected in zip(faded, lighter, strict=True):
        assert_allclose(found, expected, atol=1e-12)


def test_a_whole_model_fades_with_its_counts() -> None:
    stream = well_behaved(4, 80)
    model = with_prior(make_model(6, 3), True)
    run(model, stream.X, stream.y, WEIGHT, LEARN_ALL, np.empty(80, np.int64))
    before = copy_model(model)
    classify(model, stream.X[:1])  # whose prediction the model keeps
    fade_all(model, 0.25)
    assert_array_equal(classify(model, stream.X), classify(copy_model(model), stream.X))
    assert_array_equal(model.moments.weight, 0.25 * before.moments.weight)
    assert_array_equal(model.moments.scatter, 0.25 * before.moments.scatter)
    assert_array_equal(model.moments.mean, before.moments.mean)
    assert_array_equal(model.classes.seen, 0.25 * before.classes.seen)
    assert_allclose(model.classes.bias, 5.0 * np.log1p(model.classes.seen))
    # The prior has more influence on classes of less weight.
    assert (np.abs(model.gaussians.mean) < np.abs(before.gaussians.mean)).all()


# Counts


@given(seeds, keeps)
def test_counts_that_determine_the_prior_fade_with_every_row(
    seed: int, keep: float
) -> None:
    stream = well_behaved(seed, 30)
    weight = np.linspace(0.5, 2.0, 30)
    model = with_prior(make_model(6, 3, keep=keep), True)
    exact_labels(model, stream, LEARN_MISTAKES, weight)
    later = weight[::-1].cumsum()[::-1] - weight
    left = weight * keep**later
    assert_allclose(model.classes.seen, np.bincount(stream.y, left, 3), rtol=1e-9)
    expected = [5.0 * log1p(seen) for seen in model.classes.seen.tolist()]
    assert_array_equal(model.classes.bias, expected)


def test_counts_that_determine_no_prior_do_not_fade() -> None:
    stream = well_behaved(0, 30)
    model = make_model(6, 3, keep=0.5)
    exact_labels(model, stream, LEARN_MISTAKES)
    assert_array_equal(model.classes.seen, np.bincount(stream.y, minlength=3))


# Every way, the same bits


def labels_of(stream: Stream) -> IntArray:
    return np.empty(stream.y.shape[0], np.int64)


@given(streams(), learning, keeps, st.booleans(), st.booleans(), st.data())
def test_the_screened_pass_forgets_to_the_bit(
    stream: Stream,
    learn: int,
    keep: float,
    from_counts: bool,
    by_step: bool,
    data: st.DataObject,
) -> None:
    weight = data.draw(weights(stream.y.shape[0]))
    one = with_prior(
        make_model(stream.X.shape[1], stream.M, K=20, keep=keep), from_counts
    )
    two = copy_model(one)
    expected, labels = exact_labels(one, stream, learn, weight), labels_of(stream)
    screened_pass = ScreenedPass(two, stream.X, 16, 8, by_step)
    screened_pass.run(stream.X, stream.y, weight, learn, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


@given(streams(max_n=40), learning, keeps, st.booleans(), st.data())
def test_any_cut_into_calls_forgets_to_the_bit(
    stream: Stream, learn: int, keep: float, from_counts: bool, data: st.DataObject
) -> None:
    n = stream.y.shape[0]
    weight = data.draw(weights(n))
    whole = with_prior(make_model(stream.X.shape[1], stream.M, keep=keep), from_counts)
    parts = copy_model(whole)
    expected, labels = exact_labels(whole, stream, learn, weight), labels_of(stream)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
        rows = slice(start, stop)
        w = weight if weight.shape[0] == 1 else weight[rows]
        if start < stop:
            run(parts, stream.X[rows], stream.y[rows], w, learn, labels[rows])
    assert_array_equal(labels, expected)
    assert_same_state(whole, parts)


@given(streams(max_n=30), learning, keeps, st.booleans(), st.data())
def test_batches_of_one_forget_as_one_by_one_does(
    stream: Stream, learn: int, keep: float, from_counts: bool, data: st.DataObject
) -> None:
    weight = data.draw(weights(stream.y.shape[0]))
    one = with_prior(make_model(stream.X.shape[1], stream.M, keep=keep), from_counts)
    two = copy_model(one)
    expected, labels = exact_labels(one, stream, learn, weight), labels_of(stream)
    run_batches(two, stream.X, stream.y, weight, learn, 1, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


@given(streams(), keeps, st.booleans(), st.data())
def test_learning_all_without_predicting_forgets_to_the_bit(
    stream: Stream, keep: float, from_counts: bool, data: st.DataObject
) -> None:
    weight = data.draw(weights(stream.y.shape[0]))
    one = with_prior(make_model(stream.X.shape[1], stream.M, keep=keep), from_counts)
    two = copy_model(one)
    exact_labels(one, stream, LEARN_ALL, weight)
    learn_all(two, stream.X, stream.y, weight)
    assert_same_state(one, two)


@given(seeds, keeps, st.integers(1, 40))
def test_other_combining_rules_forget_in_the_same_way(
    seed: int, keep: float, n: int
) -> None:
    stream = well_behaved(seed, n)
    one, two = (make_model(6, 3, keep=keep) for _ in range(2))
    exact_labels(one, stream, LEARN_ALL)
    two.rule = "vote"
    run(two, stream.X, stream.y, WEIGHT, LEARN_ALL, labels_of(stream))
    assert_same_state(one, two)


@given(streams(), learning, st.booleans())
def test_a_very_long_window_forgets_nothing(
    stream: Stream, learn: int, from_counts: bool
) -> None:
    p = stream.X.shape[1]
    window = 1e17
    one = with_prior(make_model(p, stream.M), from_counts)
    two = with_prior(make_model(p, stream.M, keep=1.0 - 1.0 / window), from_counts)
    assert_array_equal(
        exact_labels(one, stream, learn), exact_labels(two, stream, learn)
    )
    assert_same_state(one, two)
    # A long memory forgets nearly nothing.
    rows = well_behaved(0, 40)
    exact, nearly = make_model(6, 3), make_model(6, 3, keep=1.0 - 1e-12)
    exact_labels(exact, rows, learn)
    exact_labels(nearly, rows, learn)
    assert_allclose(nearly.moments.scatter, exact.moments.scatter, rtol=1e-9)
