"""Members of the pool against their oracles, and what holds for all of them."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oracles.pooled.members.counts import BinnedBayes, Transitions
from pooled_memory import size_of
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.features import (
    Features,
    columns_of,
    dense_columns,
    low_columns,
)
from rpnb.core.pooled.member import MemberRows, Shape, copy_state, same_state
from rpnb.core.pooled.members import (
    binned_bayes,
    fading_covariance,
    transitions,
)
from rpnb.core.pooled.model import MEMBERS, model_shape

N = 330
D = 32
NO_FOREST = [name for name in MEMBERS if name != "window_forest"]


def shape_of(p: int) -> Shape:
    return model_shape(p, D, 0, 0)


def rows_of(X: FloatArray) -> MemberRows:
    p = X.shape[1]
    z = np.nan_to_num(X).astype(np.float32)
    phi = np.empty((len(X), columns_of(p, D)), np.float32)
    low = np.empty((len(X), low_columns(p)), np.float32)
    Features.draw(p, D, dense_columns(p, D), 5).fill(z, phi, low)
    return MemberRows(X, z, low, phi)


def part(rows: MemberRows, where: slice) -> MemberRows:
    return MemberRows(rows.raw[where], rows.z[where], rows.low[where], rows.phi[where])


def stream(n: int, p: int = 4, M: int = 3) -> tuple[MemberRows, IntArray, FloatArray]:
    rng = np.random.default_rng(n + p)
    y = rng.integers(0, M, n)
    X = rng.normal(size=(n, p)) + rng.normal(size=(M, p))[y]
    X[rng.random((n, p)) < 0.03] = np.nan
    return rows_of(X), y, rng.choice([1.0, 0.5, 2.0], n)


def scores_along(
    member: ModuleType, rows: MemberRows, y: IntArray, weight: FloatArray, M: int
) -> FloatArray:
    state = member.begin(shape_of(rows.raw.shape[1]), np.ones(M, np.bool_), 5)
    scores = np.zeros((len(y), len(member.OUTPUTS), M))
    member.learn_rows(state, rows, y, weight, scores)
    return scores[:, 0]


@pytest.mark.parametrize("name", NO_FOREST)
def test_weights_far_apart_leave_finite_sums(name: str) -> None:
    """From 1e-12 to 1e12, which the estimator holds weights to."""
    member = MEMBERS[name]
    rows, y, _ = stream(N, 40 if name == "selected_neighbours" else 4)
    weight = 10.0 ** np.random.default_rng(3).uniform(-12.0, 12.0, N)
    state = member.begin(shape_of(rows.raw.shape[1]), np.ones(3, np.bool_), 5)
    scores = np.zeros((N, len(member.OUTPUTS), 3))
    member.learn_rows(state, rows, y, weight, scores)
    assert np.isfinite(scores).all()
    for field, array in state._asdict().items():
        # Of boosted trees these are rows as they came.
        assert np.isfinite(array).all() or field == "raw"


def test_binned_bayes_equals_its_oracle() -> None:
    rows, y, weight = stream(200)
    weight[150:] = 700.0  # counts beyond the table of logarithms
    oracle = BinnedBayes(3, 4)
    expected = []
    missing = np.isnan(rows.raw)
    for z, gone, label, w in zip(rows.z, missing, y, weight, strict=True):
        expected.append(oracle.score(z, gone))
        oracle.learn(z, gone, label, w)
    scores = scores_along(binned_bayes, rows, y, weight, 3)
    assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_bins_are_counted_up_to_a_limit() -> None:
    rows, y, _ = stream(3)
    wide = Shape(1_000_000, *list(shape_of(4))[1:])
    state = binned_bayes.begin(wide, np.ones(3, np.bool_), 0)
    assert state.bins.shape[0] == 0
    scores = np.zeros((3, 1, 3))
    binned_bayes.learn_rows(state, rows, y, np.ones(3), scores)
    assert_allclose(np.exp(scores[0, 0]), 1.0)
    assert_allclose(state.class_weight, np.bincount(y, minlength=3))


@pytest.mark.parametrize("delay", [0, 4])
def test_transitions_equal_their_oracle(delay: int) -> None:
    rows, y, weight = stream(80)
    oracle, active = Transitions(3, delay), np.ones(3)
    expected = []
    for label, w in zip(y, weight, strict=True):
        expected.append(oracle.score(active))
        oracle.learn(label, w)
    late = model_shape(4, D, 0, delay)
    state = transitions.begin(late, np.ones(3, np.bool_), 5)
    scores = np.zeros((80, 1, 3))
    transitions.learn_rows(state, rows, y, weight, scores)
    assert_allclose(scores[:, 0], expected, rtol=1e-12)


# What holds for every member


def learned(name: str, cuts: list[int], n: int = N) -> tuple[Any, FloatArray]:
    member = MEMBERS[name]
    rows, y, weight = stream(n)
    y = np.where(np.arange(n) % 7 == 3, -1, y)
    state = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
    scores = np.zeros((n, len(member.OUTPUTS), 3))
    for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
        where = slice(start, stop)
        member.learn_rows(
            state, part(rows, where), y[where], weight[where], scores[where]
        )
    return state, scores


@pytest.mark.parametrize("name", MEMBERS)
def test_calls_may_end_anywhere(name: str) -> None:
    whole, scores = learned(name, [])
    cuts = [cut for cut in (1, 2, 5, 64, 65, 200, 299, 300, 301) if cut < N]
    parts, others = learned(name, cuts)
    assert scores.tobytes() == others.tobytes()
    assert same_state(whole, parts)


@pytest.mark.parametrize("name", MEMBERS)
def test_scoring_changes_nothing_and_agrees_with_learning(name: str) -> None:
    member = MEMBERS[name]
    state, _ = learned(name, [])
    before = copy_state(state)
    rows, _, _ = stream(N)
    some = part(rows, slice(0, 9))
    scored = np.zeros((9, len(member.OUTPUTS), 3))
    member.score_rows(state, some, scored)
    assert same_state(state, before)
    unlabelled = np.zeros_like(scored)
    member.learn_rows(state, some, np.full(9, -1), np.ones(9), unlabelled)
    assert same_state(state, before)
    assert scored.tobytes() == unlabelled.tobytes()


@pytest.mark.parametrize("name", MEMBERS)
def test_a_label_changes_no_earlier_score(name: str) -> None:
    member = MEMBERS[name]
    rows, y, weight = stream(N)
    other = y.copy()
    row = 2 * N // 3
    other[row] = (y[row] + 1) % 3
    one = scores_along(member, rows, y, weight, 3)
    two = scores_along(member, rows, other, weight, 3)
    assert one[: row + 1].tobytes() == two[: row + 1].tobytes()
    assert one[row + 1 :].tobytes() != two[row + 1 :].tobytes()


@pytest.mark.parametrize("name", MEMBERS)
def test_a_class_that_is_not_active_leaves_no_trace(name: str) -> None:
    member = MEMBERS[name]
    rows, y, weight = stream(N)
    known = np.array([True, False, True, True, False])
    few = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
    many = member.begin(shape_of(4), known, 5)
    source = np.array([0, -1, 1, 2, -1])
    places = np.array([0, 2, 3])
    a = np.zeros((N, len(member.OUTPUTS), 3))
    b = np.zeros((N, len(member.OUTPUTS), 5))
    member.learn_rows(few, rows, y, weight, a)
    member.learn_rows(many, rows, places[y], weight, b)
    assert a.tobytes() == np.ascontiguousarray(b[:, :, places]).tobytes()
    grown = member.grow_classes(few, source, known)
    c, d = np.zeros_like(b), np.zeros_like(b)
    member.learn_rows(grown, rows, places[y], weight, c)
    member.learn_rows(many, rows, places[y], weight, d)
    assert c[:, :, places].tobytes() == d[:, :, places].tobytes()


@pytest.mark.parametrize("name", MEMBERS)
def test_classes_may_come_before_the_first_row(name: str) -> None:
    member = MEMBERS[name]
    rows, y, weight = stream(60)
    none = member.begin(shape_of(4), np.zeros(0, np.bool_), 5)
    grown = member.grow_classes(none, np.full(3, -1), np.ones(3, np.bool_))
    straight = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
    a = np.zeros((len(y), len(member.OUTPUTS), 3))
    b = np.zeros_like(a)
    member.learn_rows(grown, rows, y, weight, a)
    member.learn_rows(straight, rows, y, weight, b)
    assert_array_equal(a, b)


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "boosted_trees"])
def test_memory_does_not_grow_with_the_rows(name: str) -> None:
    first = MEMBERS[name].begin(shape_of(4), np.ones(3, np.bool_), 5)
    assert size_of(learned(name, [])[0]) == size_of(first)


@pytest.mark.parametrize("name", NO_FOREST)
def test_rows_learned_without_scores_leave_the_same_state(name: str) -> None:
    member = MEMBERS[name]
    rows, y, weight = stream(256)
    for n in (2, 128, 256):
        state = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
        nothing = np.zeros((0, len(member.OUTPUTS), 3))
        some = part(rows, slice(0, n))
        member.learn_rows(state, some, y[:n], weight[:n], nothing)
        usual = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
        scores = np.zeros((n, len(member.OUTPUTS), 3))
        member.learn_rows(usual, some, y[:n], weight[:n], scores)
        assert_allclose(state.class_weight, usual.class_weight)
        a, b = np.zeros((1, 1, 3)), np.zeros((1, 1, 3))
        member.score_rows(state, part(rows, slice(0, 1)), a)
        member.score_rows(usual, part(rows, slice(0, 1)), b)
        # Without scores, class covariances are recomputed once, after the last row.
        tolerance = 0.05 if name == "class_covariance" else 1e-3
        assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "name",
    [name for name, member in MEMBERS.items() if member.MERGEABLE],
)
def test_sums_of_parts_are_the_sums_of_the_whole(name: str) -> None:
    member = MEMBERS[name]
    n = 1280
    rows, y, weight = stream(n)
    states = []
    half, most = n * 2 // 5, n * 7 // 10
    cuts = [(0, half), (0, most), (half, n), (0, n)]
    for start, stop in cuts:
        state = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
        scores = np.zeros((stop - start, 1, 3))
        where = slice(start, stop)
        member.learn_rows(state, part(rows, where), y[where], weight[where], scores)
        states.append(state)
    base, first, _, whole = states
    rest = copy_state(base)
    member.learn_rows(
        rest,
        part(rows, slice(most, n)),
        y[most:],
        weight[most:],
        np.zeros((n - most, 1, 3)),
    )
    merged = member.merge([first, rest], base)
    apart = member.merge([base, states[2]])
    for state in (merged, apart):
        assert_allclose(state.class_weight, whole.class_weight, rtol=1e-9)
        a, b = np.zeros((9, 1, 3)), np.zeros((9, 1, 3))
        if name == "transitions":
            assert_allclose(state.pairs.sum(), whole.pairs.sum(), atol=4.0)
            continue
        member.score_rows(state, part(rows, slice(0, 9)), a)
        refreshed = member.merge([whole])
        member.score_rows(refreshed, part(rows, slice(0, 9)), b)
        assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_merged_bins_have_the_logarithms_of_their_sums() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    parts = [binned_bayes.begin(shape_of(4), np.ones(3, np.bool_), 0) for _ in range(3)]
    scores = np.empty((30, 1, 3))
    for state, some in zip(
        parts, (slice(0, 10), slice(10, 30), slice(0, 30)), strict=True
    ):
        n = some.stop - some.start
        binned_bayes.learn_rows(
            state, rows_of(X[some]), y[some], np.ones(n), scores[:n]
        )
    merged, whole = binned_bayes.merge(parts[:2]), parts[2]
    for name in ("class_weight", "log_class", "log_bins", "bins", "logs"):
        assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-6)


@pytest.mark.parametrize(("p", "M", "D"), [(3, 2, 512), (16, 26, 512), (80, 30, 256)])
def test_memory_is_what_the_documentation_says(p: int, M: int, D: int) -> None:
    shape = model_shape(p, D, 0, 0)
    E, d, S = shape.E, shape.d, min(M, 8)
    W, R = min(4000, max(256, 2**19 // p)), min(1000, 2**20 // p)
    F = len(fading_covariance.chosen_columns(shape))
    documented = {
        "shared_covariance": 4 * E * E + 12 * M * E + 1100 * E + 2**18,
        "class_covariance": 8 * M * d * (d + 1) + 8 * d * (d + 1),
        "binned_bayes": 128 * p * M,
        "neighbours": 2048 * (d + 4),
        "selected_neighbours": 64 * p * M + 4 * p * R + 2**17,
        "fading_covariance": 4 * F * F + 12 * M * F + 260 * F,
        "window_forest": 8.3 * p * W + 1024 * 17 * (24 * S + 116),
        "transitions": 8 * M * M,
    }
    # Boosted trees grow with the rows, up to a limit.
    assert {*documented, "boosted_trees"} == set(MEMBERS)
    for name, size in documented.items():
        taken = size_of(MEMBERS[name].begin(shape, np.ones(M, np.bool_), 5))
        # Numbers of classes and columns are rounded up, and there are small arrays.
        assert 0.8 * size < taken < 1.6 * size + 6000 + 100 * M, (name, taken, size)


def test_raw_rows_of_another_width_are_refused() -> None:
    rows, y, weight = stream(8)
    state = binned_bayes.begin(shape_of(4), np.ones(3, np.bool_), 5)
    narrow = MemberRows(rows.raw[:, :2].copy(), rows.z, rows.low, rows.phi)
    scores = np.zeros((8, 1, 3))
    with pytest.raises(ValueError, match="row of raw"):
        binned_bayes.learn_rows(state, narrow, y, weight, scores)
    with pytest.raises(ValueError, match="row of raw"):
        binned_bayes.score_rows(state, narrow, scores)
