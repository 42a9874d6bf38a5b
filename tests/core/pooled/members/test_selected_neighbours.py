"""Neighbours by selected features, against the oracle."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oracles.pooled.members.counts import SelectedNeighbours
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray
from rpnb.core.pooled.member import MemberRows, Shape, same_state
from rpnb.core.pooled.members import selected_neighbours as member
from rpnb.core.pooled.model import new_model

N, P = 700, 40


def shape_of(p: int) -> Shape:
    return Shape(p, min(p, 32), 16, 16, 16, 8, 0)


def rows_of(z: SingleArray) -> MemberRows:
    nothing = np.zeros((len(z), 0), np.float32)
    return MemberRows(np.zeros((len(z), 0)), z, nothing, nothing)


def stream(n: int, p: int = P) -> tuple[MemberRows, IntArray, FloatArray]:
    """Return rows of which the second and the fifth feature are informative."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, p))
    X[:, 1] += 2.0 * (y == 1)
    X[:, 4] += 1.0 * y
    return rows_of(X.astype(np.float32)), y, rng.choice([1.0, 0.5, 2.0], n)


def test_selected_neighbours_equal_their_oracle() -> None:
    rows, y, weight = stream(N)
    oracle = SelectedNeighbours(3)
    expected = []
    for z, label, w in zip(rows.z, y, weight, strict=True):
        expected.append(oracle.score(z))
        oracle.learn(z, label, w)
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    scores = np.zeros((N, 1, 3))
    member.learn_rows(state, rows, y, weight, scores)
    assert_allclose(scores[:, 0], expected, rtol=1e-5, atol=1e-5)
    assert_array_equal(state.chosen[: len(oracle.chosen)], oracle.chosen)
    assert_allclose(state.relevance[: len(oracle.chosen)], oracle.relevance, atol=1e-5)
    assert set(state.chosen[:2]) == {1, 4}
    assert np.all(state.chosen[len(oracle.chosen) :] == -1)


def test_equal_features_are_selected_in_their_order() -> None:
    rows, y, weight = stream(60)
    z = rows.z.copy()
    z[:, 7] = z[:, 1] + 4.0 * y  # the most informative, and stands between
    for copy in (2, 20, 39):
        z[:, copy] = z[:, 4]
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(state, rows_of(z), y, weight, np.zeros((60, 1, 3)))
    oracle = SelectedNeighbours(3)
    for row, label, w in zip(z, y, weight, strict=True):
        oracle.learn(row, label, w)
    assert_array_equal(state.chosen[: len(oracle.chosen)], oracle.chosen)
    equal = [j for j in state.chosen if j in (2, 4, 20, 39)]
    assert equal == [2, 4, 20, 39]


def test_the_oldest_rows_are_replaced() -> None:
    rows, y, weight = stream(1400, 5)
    state = member.begin(shape_of(5), np.ones(3, np.bool_), 5)
    member.learn_rows(state, rows, y, weight, np.zeros((1400, 1, 3)))
    slots = np.arange(400, 1400) % 1000
    assert_array_equal(state.rows[slots], rows.z[400:])
    assert_array_equal(state.labels[slots], y[400:])
    kept = state.near[: np.sum(state.chosen >= 0), :1000].T
    chosen = state.chosen[state.chosen >= 0]
    expected = state.rows[:, chosen] * state.relevance[: len(chosen)]
    assert_allclose(kept, expected, rtol=1e-6)


def test_too_many_pairs_give_class_frequencies() -> None:
    rows, y, weight = stream(40)
    few = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(few, rows, y, weight, np.zeros((40, 1, 3)))
    M = member.MOST_PAIRS // P + 1
    source = np.full(M, -1)
    source[:3] = np.arange(3)
    active = source >= 0
    grown = member.grow_classes(few, source, active)
    straight = member.begin(shape_of(P), active, 5)
    assert grown.counts.shape == straight.counts.shape == (0, 8, M)
    assert grown.rows.shape == straight.rows.shape
    some = rows_of(rows.z[:2])
    scores = np.zeros((2, 1, M))
    member.score_rows(grown, some, scores)
    n = few.class_weight
    assert_allclose(scores[0, 0, :3], np.log(0.5 * (n + 0.5) / (n.sum() + 1.5)))
    scores = np.zeros((40, 1, M))
    member.learn_rows(straight, rows, y, weight, scores)
    assert np.all(straight.chosen == -1)


def test_one_class_selects_nothing() -> None:
    rows, _, weight = stream(40)
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(state, rows, np.zeros(40, np.int64), weight, np.zeros((40, 1, 3)))
    assert np.all(state.chosen == -1)
    assert list(state.clock) == [40, 50]


def test_states_merge_into_the_latest_rows_and_all_counts() -> None:
    rows, y, weight = stream(60)
    states = []
    for part in (slice(0, 36), slice(36, 60)):
        state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
        scores = np.zeros((part.stop - part.start, 1, 3))
        member.learn_rows(state, rows_of(rows.z[part]), y[part], weight[part], scores)
        states.append(state)
    merged = member.merge(states)
    whole = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(whole, rows, y, weight, np.zeros((60, 1, 3)))
    assert_allclose(merged.counts, whole.counts)
    assert merged.clock[0] == 60
    found = sorted(zip(merged.labels[:60], merged.weight[:60], strict=True))
    assert found == sorted(zip(y, weight, strict=True))
    whole.select()
    assert_array_equal(merged.chosen, whole.chosen)
    # In turns, the latest last.
    assert_array_equal(
        merged.rows[59], rows.z[59 if merged.labels[59] == y[59] else 35]
    )
    assert same_state((states[0].rows[:36],), (rows.z[:36],))


def test_it_is_a_member_where_rows_have_many_features() -> None:
    active = np.ones(2, np.bool_)
    names = ["binned_bayes", "selected_neighbours"]
    for p, expected in ((32, names[:1]), (33, names)):
        assert list(new_model(names, p, 16, 0, active, 0).names) == expected
    alone = new_model(names[1:], 2, 16, 0, active, 0)
    assert list(alone.names) == names[1:]
    assert alone.pool.weights[0] == 1.0


def test_weights_that_overflow_select_nothing() -> None:
    rows, y, weight = stream(40)
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(state, rows, y, weight, np.zeros((40, 1, 3)))
    state.class_weight[:] = 1e308
    state.select()
    assert np.all(state.chosen == -1)
    assert np.isfinite(state.relevance).all()


def test_arrays_that_do_not_fit_are_refused() -> None:
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    for wrong in (P, -2):
        with pytest.raises(ValueError, match="of no feature"):
            state._replace(chosen=np.full(32, wrong))
    with pytest.raises(ValueError, match="of no class"):
        state._replace(labels=np.full(1000, 3), clock=np.array([1, 32]))
    for R in (0, 1025):
        with pytest.raises(ValueError, match="too few rows or too many"):
            state._replace(
                rows=np.zeros((R, P), np.float32),
                labels=np.zeros(R, np.int64),
                weight=np.zeros(R),
            )
    few = rows_of(np.zeros((1, P - 1), np.float32))
    with pytest.raises(ValueError, match="a row of z is of length 39, not 40"):
        member.score_rows(state, few, np.zeros((1, 1, 3)))


def test_features_are_not_read_where_none_are_kept() -> None:
    M = member.MOST_PAIRS // P + 1
    state = member.begin(shape_of(P), np.ones(M, np.bool_), 5)
    state.chosen[0] = P - 1  # as a damaged file may say
    scores = np.zeros((1, 1, M))
    member.score_rows(state, rows_of(np.zeros((1, 0), np.float32)), scores)
    assert_allclose(scores, np.log(0.25 / (0.5 * M)))
