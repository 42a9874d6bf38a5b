"""Rows of class −1 among others are predicted and change nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from oracles import paper as plain
from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.statistics import (
    COMBINERS,
    LEARN_ALL,
    LEARN_MISTAKES,
    LEARN_NOTHING,
    Combiner,
)
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.passes.choice import Path
from rpnb.core.passes.engine import run
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


@st.composite
def with_gaps(draw: st.DrawFn) -> Stream:
    stream = draw(streams())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    hidden = rng.random(stream.y.shape[0]) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    return stream._replace(y=np.where(hidden, -1, stream.y))


def one_by_one(model: Model, stream: Stream, learn: int) -> IntArray:
    """Predict, or predict and learn, each row in a separate call."""
    labels = np.empty(stream.y.shape[0], np.int64)
    for i, m in enumerate(stream.y.tolist()):
        before = model.n_seen
        row = Stream(stream.X[i : i + 1], stream.y[i : i + 1], stream.M)
        labels[i] = exact_labels(model, row, LEARN_NOTHING if m < 0 else learn)[0]
        model.n_seen = before + (m >= 0)
    return labels


def prepared(stream: Stream, declared: bool, frequency: bool) -> Model:
    model = make_model(stream.X.shape[1], stream.M, K=20)
    model.classes.eligible[:] = declared
    if frequency:
        model.count_factor = 20.0
    return model


@given(
    with_gaps(),
    learning,
    st.booleans(),
    st.booleans(),
    st.sampled_from([1.0, 0.9]),
    st.sampled_from([4, 32]),
    st.booleans(),
)
def test_every_pass_predicts_unlabelled_rows_and_learns_the_others(
    stream: Stream,
    learn: int,
    declared: bool,
    frequency: bool,
    keep: float,
    step: int,
    ahead: bool,
) -> None:
    one = prepared(stream, declared, frequency)
    one.keep = keep
    models = [copy_model(one) for _ in range(3)]
    expected = one_by_one(one, stream, learn)
    X, y = stream.X, stream.y
    labels = np.empty((3, y.shape[0]), np.int64)
    ScreenedPass(models[0], X, 16, step, ahead).run(X, y, WEIGHT, learn, labels[0])
    for i in range(y.shape[0]):
        row = slice(i, i + 1)
        run(models[1], X[row], y[row], WEIGHT, learn, labels[1, row])
    for start in range(0, y.shape[0], 9):  # too few for the screened pass
        rows = slice(start, start + 9)
        run(models[2], X[rows], y[rows], WEIGHT, learn, labels[2, rows])
    for model, found in zip(models, labels, strict=True):
        assert_array_equal(found, expected)
        assert_same_state(model, one)


@pytest.mark.parametrize("rule", COMBINERS)
@given(st.integers(0, 2**32 - 1), learning)
def test_every_rule_skips_unlabelled_rows_as_the_oracle_does(
    rule: Combiner, seed: int, learn: int
) -> None:
    stream = well_behaved(seed, 30)
    y = np.where(np.random.default_rng(seed).random(30) < 0.5, -1, stream.y)
    model = make_model(6, 3)
    model.rule = rule
    model.classes.eligible[:] = False
    oracle = oracle_of(model)
    labels = np.empty(30, np.int64)
    run(model, stream.X, y, WEIGHT, learn, labels)
    learn_all = learn == LEARN_ALL
    assert_array_equal(labels, plain.run(oracle, stream.X, y, learn_all=learn_all))
    assert_array_equal(model.classes.eligible, oracle.eligible)
    assert_array_equal(model.moments.weight, oracle.n - 1.0)
    assert model.n_seen == np.count_nonzero(y >= 0)


@pytest.mark.parametrize("learn", [LEARN_MISTAKES, LEARN_ALL])
def test_passes_may_change_midway(learn: int) -> None:
    stream = well_behaved(8, 240)
    rng = np.random.default_rng(1)
    stream = stream._replace(y=np.where(rng.random(240) < 0.8, -1, stream.y))
    one = make_model(6, 3)
    two = copy_model(one)
    expected = one_by_one(one, stream, learn)
    labels = np.empty(240, np.int64)
    paths: list[Path] = ["screened", "exact"]
    for k, start in enumerate(range(0, 240, 20)):
        rows = slice(start, start + 20)
        X, y = stream.X[rows], stream.y[rows]
        run(two, X, y, WEIGHT, learn, labels[rows], paths[k % 2])
    assert_array_equal(labels, expected)
    assert_same_state(one, two)
