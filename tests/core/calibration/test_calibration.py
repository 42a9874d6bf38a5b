"""Calibration: cells, the mixture of temperatures, and all passes alike."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles import calibration as plain
from rpnb._core.streams import (
    CELL_EDGES,
    CELL_WIDTH,
    cell_of,
    certain_code,
    is_calibration_row,
    write_codes,
)
from rpnb.core.bayes.model import Model, copy_model, merge_statistics
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES
from rpnb.core.calibration import (
    UNCERTAIN,
    calibration_rows,
    learn_all_codes,
    merge_calibrations,
    mix_rows,
    new_calibration,
)
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.passes.engine import active_scores, run, run_batches, run_scored
from rpnb.core.passes.screened import ScreenedPass
from strategies import WEIGHT, Stream, make_model, streams, well_behaved


def calibrated(stream: Stream, K: int = 20, active: bool = True) -> Model:
    model = make_model(stream.X.shape[1], stream.M, K=K)
    model.classes.eligible[:] = active
    model.calibration = new_calibration()
    return model


def assert_same_calibration(a: Model, b: Model) -> None:
    assert a.calibration is not None
    assert b.calibration is not None
    for x, y in zip(a.calibration, b.calibration, strict=True):
        assert_array_equal(x, y)


@given(st.floats(0.0, 1e300) | st.sampled_from([0.0, 1.0, 3.999, 4.0, 6.0, 2.0**23]))
@example(float("nan"))
@example(2.0**23 * (1.0 - 2.0**-53))
def test_a_value_is_within_its_cell(u: float) -> None:
    cell = cell_of(u)
    low, high = plain.cell_bounds(cell)
    assert low <= u * plain.UNIT or not u < 2.0**23
    assert u * plain.UNIT < high or not u < 2.0**23
    edges = CELL_EDGES[cell : cell + 2]
    assert [edge * CELL_WIDTH for edge in edges] == [low, high]


@given(st.floats(0.0, 1e5), st.floats(0.0, 10.0), st.floats(-1.0, 1.0))
def test_a_code_is_certain_only_if_the_error_cannot_change_it(
    value: float, error: float, part: float
) -> None:
    code = certain_code(value, error, 1.0)
    true = max(value + part * error, 0.0)
    assert code == UNCERTAIN or code == cell_of(true) + 1
    assert code != UNCERTAIN or error > 0.0


def test_a_difference_without_bounds_is_uncertain() -> None:
    assert certain_code(np.nan, 0.1, 1.0) == UNCERTAIN
    assert certain_code(1.0, np.inf, 1.0) == UNCERTAIN
    assert certain_code(2.0**30, 1.0, 1.0) == cell_of(2.0**30) + 1


def test_rows_are_chosen_by_their_numbers_alone() -> None:
    every = np.arange(5000)
    chosen = calibration_rows(0, 5000)
    assert_array_equal(chosen, [is_calibration_row(int(i)) for i in every])
    assert_array_equal(calibration_rows(400, 900), chosen[400:1300])
    assert chosen[:512].all()
    assert_array_equal(np.flatnonzero(chosen[512:]) + 512, np.arange(529, 5000, 23))


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([1.0, 50.0, 1e4]))
def test_codes_of_scores_are_learned_as_by_the_formulas(
    seed: int, M: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = spread * rng.normal(size=(12, M))
    active = rng.random(M) < 0.8
    active[rng.integers(M)] = True
    best = np.where(active, scores, -np.inf).argmax(axis=1)
    y = rng.integers(0, M, 12)
    codes = np.empty((12, M), np.int16)
    write_codes(scores, active, best, 512.0 / (plain.UNIT * 20.0), codes)
    calibration, oracle = new_calibration(), plain.Calibration(20)
    learn_all_codes(calibration, codes, y)
    for row, m in zip(scores.tolist(), y.tolist(), strict=True):
        oracle.learn(row, active.tolist(), m)
    assert_allclose(calibration.weights.T, oracle.weights, rtol=1e-9)
    assert_allclose(calibration.thresholds, oracle.thresholds, rtol=1e-9)
    assert calibration.rows[0] == oracle.rows
    P = np.empty((12, M))
    mix_rows(calibration.weights, np.where(active, scores, -np.inf), 20.0 / 512.0, P)
    expected = [oracle.predict(row, active.tolist()) for row in scores.tolist()]
    assert_allclose(P, expected, rtol=1e-9, atol=1e-200)


def test_what_is_no_class_or_cell_is_refused() -> None:
    calibration, y = new_calibration(), np.zeros(2, np.int64)
    codes, scores = np.zeros((2, 3), np.int16), np.zeros((2, 3))
    P = np.zeros((2, 3))
    active = np.ones(3, np.bool_)
    for bad in (np.array([0, 3]), np.array([-1, 0])):
        with pytest.raises(ValueError, match="no class"):
            learn_all_codes(calibration, codes, bad)
    with pytest.raises(ValueError, match="no cell"):
        learn_all_codes(calibration, codes + np.int16(47), y)
    with pytest.raises(ValueError, match="y is not of shape 2"):
        learn_all_codes(calibration, codes, y[:1])
    with pytest.raises(ValueError, match="weights is not of shape 4 20"):
        mix_rows(calibration.weights[:3], scores, 1.0, P)
    with pytest.raises(ValueError, match="no class leads"):
        write_codes(scores, active, y - 1, 1.0, codes)
    write_codes(scores, ~active, y - 1, 1.0, codes)
    assert (codes == -1).all()


@pytest.mark.parametrize("tied", [[0, 1, 2], [1, 2], [0]])
def test_classes_with_equal_scores_are_equally_probable(tied: list[int]) -> None:
    scores = np.full(3, -7.0)
    scores[tied] = 2.0
    P = np.empty((1, 3))
    mix_rows(new_calibration().weights, scores[None, :], 0.1, P)
    P = P[0]
    oracle = plain.Calibration(51.2)
    assert_allclose(P, oracle.predict(scores.tolist(), [True] * 3), rtol=1e-12)
    assert (P[tied] == P.max()).all()
    assert_allclose(P.sum(), 1.0, rtol=1e-12)
    if len(tied) == 3:
        assert_allclose(P, 1.0 / 3.0, rtol=1e-12)


def oracle_run(
    stream: Stream, learn: int, *, K: int = 20, active: bool = True
) -> tuple[plain.Calibration, list[list[float]]]:
    """Return the oracle after the stream, and its probabilities before each row."""
    model = calibrated(stream, K, active)
    model.calibration = None
    oracle = plain.Calibration(K)
    P = []
    for i, m in enumerate(stream.y.tolist()):
        row = stream.X[i : i + 1]
        values = active_scores(model, row)[0].tolist()
        there = model.classes.eligible.tolist()
        P.append(oracle.predict(values, there))
        if m >= 0:
            if is_calibration_row(model.n_seen):
                oracle.learn(values, there, m)
            run(model, row, stream.y[i : i + 1], WEIGHT, learn, np.empty(1, np.int64))
    return oracle, P


@pytest.mark.parametrize("active", [True, False])
def test_mixture_and_thresholds_are_those_of_the_formulas(active: bool) -> None:
    stream = well_behaved(3, 40)
    stream.y[[5, 9]] = -1
    oracle, expected = oracle_run(stream, LEARN_MISTAKES, active=active)
    model = calibrated(stream, active=active)
    P = np.empty((40, 3))
    labels = np.empty(40, np.int64)
    run_scored(model, stream.X, stream.y, WEIGHT, LEARN_MISTAKES, labels, P)
    assert model.calibration is not None
    assert_allclose(model.calibration.weights.T, oracle.weights, rtol=1e-9)
    assert_allclose(model.calibration.thresholds, oracle.thresholds)
    assert model.calibration.rows[0] == oracle.rows
    assert_allclose(P, expected, rtol=1e-9)
    # The row of the first class that is known has no probabilities.
    assert_allclose(P.sum(axis=1)[0 if active else 1 :], 1.0, rtol=1e-12)
    assert (P[0] == 0.0).all() != active


@given(
    streams(),
    st.sampled_from([LEARN_MISTAKES, LEARN_ALL]),
    st.booleans(),
    st.sampled_from([0, 507, 520, 1000]),
)
def test_every_pass_leaves_the_same_calibration(
    stream: Stream, learn: int, active: bool, seen: int
) -> None:
    X, y = stream.X, stream.y
    models = [calibrated(stream, active=active) for _ in range(5)]
    for model in models:
        model.n_seen = seen
    labels = np.empty((5, y.shape[0]), np.int64)
    for i in range(y.shape[0]):
        one = slice(i, i + 1)
        run(models[0], X[one], y[one], WEIGHT, learn, labels[0, one])
    ScreenedPass(models[1], X, 16, 8).run(X, y, WEIGHT, learn, labels[1])
    run(models[2], X, y, WEIGHT, learn, labels[2], "exact")
    P = np.empty((y.shape[0], stream.M))
    run_scored(models[3], X, y, WEIGHT, learn, labels[3], P)
    run(models[4], X, y, WEIGHT, learn, labels[4])
    for model in models[1:]:
        assert_same_calibration(models[0], model)
    assert (labels == labels[0]).all()


@pytest.mark.parametrize("learn", [LEARN_MISTAKES, LEARN_ALL])
@pytest.mark.parametrize(
    ("away", "apart"),
    [
        (30.0, 3.0),
        (1e6, 0.0),
        (30.0, 0.5),
        (1e3, 10.0),
    ],
)
def test_scores_that_bounds_cannot_tell_apart_are_computed_again(
    learn: int, away: float, apart: float
) -> None:
    # Far from the origin the bounds of the fast passes are wide: for the label, or for
    # the cells alone where classes are far apart.
    stream = well_behaved(7, 60, M=8)
    centres = apart * np.random.default_rng(1).normal(size=(8, 6))
    X = stream.X + centres[stream.y]
    models = [calibrated(stream) for _ in range(3)]
    labels = np.empty((3, 60), np.int64)
    y = stream.y
    for i in range(60):
        one = slice(i, i + 1)
        run(models[0], X[one], y[one], WEIGHT, learn, labels[0, one])
    ScreenedPass(models[1], X + away).run(X, y, WEIGHT, learn, labels[1])
    run(models[2], X, y, WEIGHT, learn, labels[2], "exact")
    assert (labels == labels[0]).all()
    for model in models[1:]:
        assert_same_calibration(models[0], model)


def test_the_choice_of_pass_does_not_matter() -> None:
    stream = well_behaved(11, 6000)
    y = stream.y.copy()
    y[::7] = -1
    models = [calibrated(stream, K=50) for _ in range(3)]
    labels = np.empty((3, 6000), np.int64)
    run(models[0], stream.X, y, WEIGHT, LEARN_MISTAKES, labels[0])
    ScreenedPass(models[1], stream.X).run(
        stream.X, y, WEIGHT, LEARN_MISTAKES, labels[1]
    )
    for rows in (slice(0, 9), slice(9, 100), slice(100, 2111), slice(2111, 6000)):
        X, some = stream.X[rows], labels[2, rows]
        run(models[2], X, y[rows], WEIGHT, LEARN_MISTAKES, some)
    assert (labels == labels[0]).all()
    assert_same_calibration(models[0], models[1])
    assert_same_calibration(models[0], models[2])


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("has", [True, False])
def test_a_mini_batch_is_scored_before_it_is_learned(asked: bool, has: bool) -> None:
    stream = well_behaved(5, 30)
    model = calibrated(stream)
    if not has:
        model.calibration = None
    labels = np.empty(30, np.int64)
    P = np.empty((30, 3)) if asked else None
    oracle, before = plain.Calibration(20), copy_model(model)
    run_batches(
        model,
        stream.X,
        stream.y,
        WEIGHT,
        LEARN_MISTAKES,
        10,
        labels,
        out=P,
    )
    expected: list[list[float]] = []
    for start in (0, 10, 20):
        rows = slice(start, start + 10)
        scores = active_scores(before, stream.X[rows]).tolist()
        expected += [oracle.predict(s, [True] * 3) for s in scores] if has else scores
        for s, m in zip(scores, stream.y[rows].tolist(), strict=True):
            oracle.learn(s, [True] * 3, m)
        part = np.empty(10, np.int64)
        run_batches(
            before, stream.X[rows], stream.y[rows], WEIGHT, LEARN_MISTAKES, 10, part
        )
    if has:
        assert model.calibration is not None
        assert_allclose(model.calibration.weights.T, oracle.weights, rtol=1e-9)
    if P is not None:
        assert_allclose(P, expected, rtol=1e-9)


def test_without_calibration_rows_have_the_scores_before_they_were_learned() -> None:
    stream = well_behaved(8, 20)
    models = [calibrated(stream, K=4) for _ in range(2)]
    for model in models:
        model.calibration = None
    labels, one = np.empty(20, np.int64), np.empty(1, np.int64)
    found = np.empty((20, 3))
    args = stream.X, stream.y, WEIGHT, LEARN_ALL
    run_scored(models[0], *args, labels, found)
    for i in range(20):
        row = stream.X[i : i + 1]
        assert_allclose(found[i], active_scores(models[1], row)[0], rtol=1e-9)
        run(models[1], row, stream.y[i : i + 1], WEIGHT, LEARN_ALL, one)
        assert labels[i] == one[0]


@pytest.mark.parametrize("rule", ["product", "sum"])
def test_other_rules_are_scored_by_the_same_pass(rule: str) -> None:
    stream = well_behaved(6, 25)
    models = [calibrated(stream, K=5) for _ in range(2)]
    labels = np.empty((2, 25), np.int64)
    for model in models:
        model.rule = rule  # type: ignore[assignment]
    P = np.empty((25, 3))
    args = stream.X, stream.y, WEIGHT, LEARN_MISTAKES
    run_scored(models[0], *args, labels[0], P)
    run(models[1], *args, labels[1])
    assert_array_equal(labels[0], labels[1])
    assert_same_calibration(*models)


def test_merged_calibrations_are_averaged() -> None:
    stream = well_behaved(8, 60)

    def after(rows: slice, base: Model | None = None) -> Model:
        model = calibrated(stream) if base is None else copy_model(base)
        labels = np.empty(60, np.int64)[rows]
        run(model, stream.X[rows], stream.y[rows], WEIGHT, LEARN_MISTAKES, labels)
        return model

    def average(parts: list[tuple[float, Model]]) -> FloatArray:
        found = [w * m.calibration.weights for w, m in parts if m.calibration]
        return np.sum(found, axis=0)

    a, b = after(slice(0, 20)), after(slice(20, 60))
    merged = copy_model(a)
    merge_statistics(merged, b, None)
    assert merged.calibration is not None
    assert_allclose(merged.calibration.weights, average([(1 / 3, a), (2 / 3, b)]))
    assert merged.calibration.rows[0] == 60
    first, second = after(slice(20, 30), a), after(slice(30, 60), a)
    merged = copy_model(first)
    merge_statistics(merged, second, a)
    assert merged.calibration is not None
    assert merged.calibration.rows[0] == 60
    assert_allclose(
        merged.calibration.weights, average([(10 / 40, first), (30 / 40, second)])
    )
    empty = new_calibration()
    assert_array_equal(merge_calibrations(empty, empty, None).weights, empty.weights)


def test_models_without_calibration_merge_as_before() -> None:
    stream = well_behaved(8, 10)
    one, two = calibrated(stream), calibrated(stream)
    two.calibration = None
    merge_statistics(one, two, None)
    assert one.calibration is not None
