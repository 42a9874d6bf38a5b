"""The passes: the fast ones equal the exact one to the bit, which equals the oracle."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles import paper as plain
from rpnb._core.passes import score_centred
from rpnb.core.bayes.model import copy_model
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.calibration import new_calibration
from rpnb.core.passes.engine import (
    batch_probabilities,
    classify,
    learn_all,
    learn_blocks,
    observe_block,
    run,
    run_batches,
    scores,
)
from rpnb.core.passes.screened import ScreenedPass
from rpnb.core.projection.apply import block_rows
from strategies import (
    Stream,
    assert_same_state,
    exact_labels,
    make_model,
    oracle_of,
    streams,
    well_behaved,
)

WEIGHT = np.ones(1)
learning = st.sampled_from([LEARN_MISTAKES, LEARN_ALL])


@given(st.integers(0, 2**32 - 1), st.integers(1, 50), learning, st.booleans())
def test_the_exact_pass_is_the_algorithm_of_the_paper(
    seed: int, n: int, learn: int, declared: bool
) -> None:
    stream = well_behaved(seed, n)
    model = make_model(6, 3)
    model.classes.eligible[:] = declared
    oracle = oracle_of(model)
    labels = exact_labels(model, stream, learn)
    expected = plain.run(oracle, stream.X, stream.y, learn_all=learn == LEARN_ALL)
    assert_array_equal(labels, expected)
    K, q = model.projection.K, model.projection.q
    mean = oracle.mean.swapaxes(0, 1).reshape(3, K * q)
    variance = oracle.variance.swapaxes(0, 1).reshape(3, K * q)
    assert_allclose(model.gaussians.mean, mean, atol=1e-12)
    assert_allclose(1.0 / model.gaussians.precision, variance, rtol=1e-9)
    assert_allclose(model.moments.weight + 1.0, oracle.n)


@given(
    streams(),
    learning,
    st.booleans(),
    st.booleans(),
    st.sampled_from([4, 16, 64]),
    st.sampled_from([4, 8, 32]),
    st.booleans(),
    st.sampled_from([1, 2]),
)
def test_the_screened_pass_leaves_the_same_labels_and_bits(
    stream: Stream,
    learn: int,
    declared: bool,
    frequency: bool,
    size: int,
    step: int,
    by_step: bool,
    jobs: int,
) -> None:
    one = make_model(stream.X.shape[1], stream.M, K=20)
    one.classes.eligible[:] = declared
    if frequency:
        one.count_factor = 20.0
    two = copy_model(one)
    expected = exact_labels(one, stream, learn)
    labels = np.empty(stream.y.shape[0], np.int64)
    screened_pass = ScreenedPass(two, stream.X, size, step, by_step, jobs)
    screened_pass.run(stream.X, stream.y, WEIGHT, learn, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


@pytest.mark.parametrize("step", [8, 32])
def test_a_mistake_changes_the_labels_of_the_rest_of_a_step(step: int) -> None:
    # Random labels: every other row is a mistake, and changes later predictions.
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    one = make_model(3, 2, K=20)
    two, fixed = copy_model(one), copy_model(one)
    labels, stale = np.empty(300, np.int64), np.empty(300, np.int64)
    expected = exact_labels(one, Stream(X, y, 2), LEARN_MISTAKES)
    ScreenedPass(two, X, step=step).run(X, y, WEIGHT, LEARN_MISTAKES, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)
    # Negative control: a model that learns nothing within a step gives other labels.
    for start in range(0, 300, step):
        rows = slice(start, start + step)
        stale[rows] = classify(fixed, X[rows])
        run(fixed, X[rows], y[rows], WEIGHT, LEARN_MISTAKES, labels[rows])
    assert np.sum((stale != expected) & (stale == y)) > 10


def test_a_block_that_is_prepared_ahead_has_its_own_workspace() -> None:
    workspaces: list[int] = []

    class Watched(ScreenedPass):
        def _prepare(self, X: Any, workspace: Any) -> Any:
            workspaces.append(id(workspace.Z))
            return super()._prepare(X, workspace)

    stream = well_behaved(1, 40)
    for jobs in (1, 2):
        workspaces.clear()
        model = make_model(6, 3)
        labels = np.empty(40, np.int64)
        watched = Watched(model, stream.X, 8, 8, False, jobs)
        watched.run(stream.X, stream.y, WEIGHT, LEARN_MISTAKES, labels)
        assert len(workspaces) == 5
        assert all((a != b) == (jobs == 2) for a, b in pairwise(workspaces))


def test_wide_rows_projected_by_blocks_change_no_bit() -> None:
    rng = np.random.default_rng(5)
    p, n = 70, 20
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, p)) + 0.3 * rng.normal(size=(4, p))[y]
    one = make_model(p, 4, K=8, q=2)
    two = copy_model(one)
    labels = np.empty(n, np.int64)
    expected = exact_labels(one, Stream(X, y, 4), LEARN_MISTAKES)
    ScreenedPass(two, X).run(X, y, WEIGHT, LEARN_MISTAKES, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


def test_a_single_precision_score_that_overflows_upwards_does_not_win() -> None:
    # The first class has learned nothing, so that single precision holds neither of the
    # two terms of its score; the one that overflows first is positive.
    X = np.array([[1.0, -7.2e9, -2.8e26], [1.0, 1.4e10, -8.8e25]])
    stream = Stream(X, np.array([1, 1]), 2)
    one = make_model(3, 2, K=20)
    two = copy_model(one)
    expected = exact_labels(one, stream, LEARN_MISTAKES)
    labels = np.empty(2, np.int64)
    screened_pass = ScreenedPass(two, X, by_step=False)
    screened_pass.run(X, stream.y, WEIGHT, LEARN_MISTAKES, labels)
    found = np.empty((4, 2))
    with np.errstate(over="ignore"):
        score_centred(
            screened_pass._workspaces[0].Z[:4], screened_pass._densities, found
        )
    assert found[1, 0] == np.inf
    assert_array_equal(labels, expected)
    assert_array_equal(labels, [0, 1])


@given(streams(max_n=40), learning, st.data())
def test_any_cut_into_calls_gives_the_same_labels_and_bits(
    stream: Stream, learn: int, data: st.DataObject
) -> None:
    n = stream.y.shape[0]
    whole = make_model(stream.X.shape[1], stream.M)
    parts = copy_model(whole)
    expected, labels = np.empty(n, np.int64), np.empty(n, np.int64)
    run(whole, stream.X, stream.y, WEIGHT, learn, expected)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
        rows = slice(start, stop)
        if start < stop:
            run(parts, stream.X[rows], stream.y[rows], WEIGHT, learn, labels[rows])
    assert_array_equal(labels, expected)
    assert_same_state(whole, parts)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 40),
    st.sampled_from([7, 64]),
    learning,
)
def test_mini_batches_are_equations_seven_and_eight(
    seed: int, n: int, size: int, block: int, learn: int
) -> None:
    stream = well_behaved(seed, n)
    model = make_model(6, 3)
    oracle = oracle_of(model)
    labels = np.empty(n, np.int64)
    run_batches(model, stream.X, stream.y, WEIGHT, learn, size, labels, block=block)
    expected = plain.run(
        oracle, stream.X, stream.y, batch_size=size, learn_all=learn == LEARN_ALL
    )
    assert_array_equal(labels, expected)
    assert_allclose(
        model.gaussians.mean,
        oracle.mean.swapaxes(0, 1).reshape(3, model.F),
        atol=1e-12,
    )
    assert_allclose(
        1.0 / model.gaussians.precision,
        oracle.variance.swapaxes(0, 1).reshape(3, model.F),
        rtol=1e-9,
    )
    updates = n if learn == LEARN_ALL else int((labels != stream.y).sum())
    assert (model.n_seen, model.n_updates) == (n, updates)


@given(st.integers(0, 2**32 - 1), st.integers(2, 50))
def test_the_order_inside_a_mini_batch_does_not_matter(seed: int, n: int) -> None:
    stream = well_behaved(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    one, two = make_model(6, 3), make_model(6, 3)
    labels, reordered = np.empty(n, np.int64), np.empty(n, np.int64)
    run_batches(one, stream.X, stream.y, WEIGHT, LEARN_MISTAKES, n, labels)
    run_batches(
        two, stream.X[order], stream.y[order], WEIGHT, LEARN_MISTAKES, n, reordered
    )
    assert_array_equal(labels[order], reordered)
    assert_allclose(one.moments.mean, two.moments.mean, atol=1e-13)
    assert_allclose(one.moments.scatter, two.moments.scatter, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05]), learning)
def test_blocks_observed_apart_are_learned_as_one_mini_batch_to_the_bit(
    seed: int, fading: float, learn: int
) -> None:
    n, size, block = 50, 20, 8
    stream = well_behaved(seed, n)
    weight = np.random.default_rng(seed).uniform(0.5, 3.0, n)
    one, two = make_model(6, 3), make_model(6, 3)
    for model in (one, two):
        model.keep = 1.0 - fading
        model.calibration = new_calibration() if seed % 2 else None
        model.n_seen = 500  # soon, calibration learns from some of the rows only
    labels, out = np.empty(n, np.int64), np.empty((n, 3))
    run_batches(
        one,
        stream.X,
        stream.y,
        weight,
        learn,
        size,
        labels,
        None,
        out,
        block=block,
    )
    for start in range(0, n, size):
        stop = min(start + size, n)
        places = [slice(at, min(at + block, stop)) for at in range(start, stop, block)]
        # Observed in any order, by separate models.
        parts = {
            rows.start: observe_block(
                copy_model(two),
                stream.X[rows],
                stream.y[rows],
                classify(two, stream.X[rows]),
                learn,
                weight[rows],
                rows.start - start,
            )
            for rows in reversed(places)
        }
        given_out = batch_probabilities(two, stream.X[start:stop])
        assert_array_equal(given_out, out[start:stop])
        learn_blocks(two, [parts[rows.start] for rows in places], learn)
        seen = np.concatenate([parts[rows.start].labels for rows in places])
        assert_array_equal(seen, labels[start:stop])
    assert_same_state(one, two)
    if one.calibration is not None and two.calibration is not None:
        assert one.calibration.rows[0] > 0
        for mine, other in zip(one.calibration, two.calibration, strict=True):
            assert_array_equal(mine, other)


def test_the_grouping_of_a_large_mini_batch_is_part_of_its_definition() -> None:
    stream = well_behaved(0, 60)
    whole, blocks = make_model(6, 3), make_model(6, 3)
    for model, block in ((whole, 60), (blocks, 7)):
        labels = np.empty(60, np.int64)
        run_batches(
            model, stream.X, stream.y, WEIGHT, LEARN_ALL, 60, labels, block=block
        )
    assert (whole.moments.scatter != blocks.moments.scatter).any()
    assert_allclose(whole.moments.scatter, blocks.moments.scatter, rtol=1e-12)


def test_batches_of_one_are_one_by_one_to_the_bit() -> None:
    stream = well_behaved(2, 40)
    one, two = make_model(6, 3), make_model(6, 3)
    labels = np.empty(40, np.int64)
    expected = exact_labels(one, stream, LEARN_MISTAKES)
    run_batches(two, stream.X, stream.y, WEIGHT, LEARN_MISTAKES, 1, labels)
    assert_array_equal(labels, expected)
    assert_same_state(one, two)


@given(streams())
def test_learning_all_without_predicting_leaves_the_same_bits(stream: Stream) -> None:
    one = make_model(stream.X.shape[1], stream.M)
    two = copy_model(one)
    exact_labels(one, stream, LEARN_ALL)
    learn_all(two, stream.X, stream.y, WEIGHT)
    assert_same_state(one, two)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 4), min_size=1, max_size=30))
def test_a_whole_weight_is_the_row_repeated_in_one_update(
    seed: int, times: list[int]
) -> None:
    n = len(times)
    stream = well_behaved(seed, n)
    weight = np.array(times, dtype=np.float64)
    model = make_model(6, 3)
    oracle = oracle_of(model)
    labels = np.empty(n, np.int64)
    run(model, stream.X, stream.y, weight, LEARN_MISTAKES, labels)
    for i in range(n):
        assert labels[i] == plain.predict(oracle, stream.X[i : i + 1])[0]
        if labels[i] != stream.y[i]:
            copies = np.repeat(stream.X[i : i + 1], times[i], axis=0)
            plain.update_batch(oracle, copies, int(stream.y[i]), np.ones(times[i]))
    assert_allclose(
        model.gaussians.mean, oracle.mean.swapaxes(0, 1).reshape(3, -1), atol=1e-12
    )
    assert_allclose(model.classes.seen, np.bincount(stream.y, weight, 3))


def test_weights_in_the_plain_batch_are_repetitions() -> None:
    stream = well_behaved(7, 5)
    one, two = oracle_of(make_model(6, 3)), oracle_of(make_model(6, 3))
    plain.update_batch(one, stream.X, 0, np.array([1.0, 2.0, 1.0, 3.0, 1.0]))
    plain.update_batch(two, stream.X[[0, 1, 1, 2, 3, 3, 3, 4]], 0, np.ones(8))
    assert_allclose(one.variance, two.variance)


@given(streams(max_n=20), learning, st.data())
def test_a_row_that_comes_twice_gives_the_same_result(
    stream: Stream, learn: int, data: st.DataObject
) -> None:
    # Single rows, predicted any number of times, in any order, before being learned.
    known = make_model(stream.X.shape[1], stream.M)
    fresh = copy_model(known)
    label, n = np.empty(1, np.int64), stream.y.shape[0]
    for i in range(n):
        for j in data.draw(st.lists(st.integers(0, n - 1), max_size=2)):
            found = classify(known, stream.X[j : j + 1])
            fresh.forget_row()
            assert_array_equal(found, classify(fresh, stream.X[j : j + 1]))
        row = slice(i, i + 1)
        run(known, stream.X[row], stream.y[row], WEIGHT, learn, label)
        fresh.forget_row()
        expected = exact_labels(fresh, Stream(stream.X[row], stream.y[row], 1), learn)
        assert_array_equal(label, expected)
    assert_same_state(known, fresh)


@given(streams(max_n=30), learning)
def test_predicting_changes_nothing(stream: Stream, learn: int) -> None:
    model = make_model(stream.X.shape[1], stream.M)
    run(model, stream.X, stream.y, WEIGHT, learn, np.empty(stream.y.shape[0], np.int64))
    before = copy_model(model)
    before.n_seen, before.n_updates = model.n_seen, model.n_updates
    labels = classify(model, stream.X)
    assert_array_equal(labels, scores(model, stream.X).argmax(axis=1))
    assert_same_state(model, before)


def test_a_prior_that_follows_the_labels_prefers_frequent_classes() -> None:
    model = make_model(6, 2, K=1, q=1)
    model.count_factor = 1.0
    stream = well_behaved(1, 30, M=1)
    exact_labels(model, Stream(stream.X, np.ones(30, np.int64), 2), LEARN_NOTHING)
    assert_array_equal(model.classes.bias, 0.0)
    exact_labels(model, Stream(stream.X, np.ones(30, np.int64), 2), LEARN_MISTAKES)
    assert_allclose(model.classes.bias, [0.0, np.log(31.0)])


def test_memory_does_not_grow_with_the_stream() -> None:
    for p, F in ((3, 600), (16, 1600), (617, 3600), (10**5, 6600)):
        assert block_rows(p, F) * F * 4 <= 2**24 + 64 * F * 4
        assert block_rows(p, F) % 4 == 0
