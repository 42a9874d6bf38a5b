"""Neighbours by selected features, beside a slow twin."""

import os

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from oracles.pooled.members.counts import SelectedNeighbours
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.member import MemberRows, Shape, same_state
from rpnb.core.pooled.members import selected_neighbours as member
from rpnb.core.pooled.model import new_model

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
N, P = 700 if COMPILED else 70, 40
LOW, PHI = np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)


def shape_of(p: int) -> Shape:
    return Shape(p, min(p, 32), 16, 16, 16, 8, 0)


def stream(n: int, p: int = P) -> tuple[MemberRows, IntArray, FloatArray]:
    """Return rows of which the second and the fifth feature say something."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, p))
    X[:, 1] += 2.0 * (y == 1)
    X[:, 4] += 1.0 * y
    z = X.astype(np.float32)
    return MemberRows(X, z, LOW, PHI), y, rng.choice([1.0, 0.5, 2.0], n)


def test_selected_neighbours_are_their_twin() -> None:
    rows, y, weight = stream(N)
    twin = SelectedNeighbours(3)
    expected = []
    for z, label, w in zip(rows.z, y, weight, strict=True):
        expected.append(twin.score(z))
        twin.learn(z, label, w)
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    scores = np.zeros((N, 1, 3))
    member.learn_rows(state, rows, y, weight, scores)
    assert_allclose(scores[:, 0], expected, rtol=1e-5, atol=1e-5)
    assert_array_equal(state.chosen[: len(twin.chosen)], twin.chosen)
    assert_allclose(state.relevance[: len(twin.chosen)], twin.relevance, atol=1e-5)
    if COMPILED:  # otherwise there are too few rows
        assert set(state.chosen[:2]) == {1, 4}
    assert np.all(state.chosen[len(twin.chosen) :] == -1)


def test_equal_features_are_selected_in_their_order() -> None:
    rows, y, weight = stream(60)
    z = rows.z.copy()
    z[:, 7] = z[:, 1] + 4.0 * y  # says most, and stands between
    for copy in (2, 20, 39):
        z[:, copy] = z[:, 4]
    state = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(
        state, MemberRows(z.astype(float), z, LOW, PHI), y, weight, np.zeros((60, 1, 3))
    )
    twin = SelectedNeighbours(3)
    for row, label, w in zip(z, y, weight, strict=True):
        twin.learn(row, label, w)
    assert_array_equal(state.chosen[: len(twin.chosen)], twin.chosen)
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
    some = MemberRows(rows.raw[:2], rows.z[:2], LOW, PHI)
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
        some = MemberRows(rows.raw[part], rows.z[part], LOW, PHI)
        member.learn_rows(state, some, y[part], weight[part], np.zeros((60, 1, 3)))
        states.append(state)
    merged = member.merge(states)
    whole = member.begin(shape_of(P), np.ones(3, np.bool_), 5)
    member.learn_rows(whole, rows, y, weight, np.zeros((60, 1, 3)))
    assert_allclose(merged.counts, whole.counts)
    assert merged.clock[0] == 60
    found = sorted(zip(merged.labels[:60], merged.weight[:60], strict=True))
    assert found == sorted(zip(y, weight, strict=True))
    member.select(whole)
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
