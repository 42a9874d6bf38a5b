"""Nearest neighbours, against their oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from core.pooled.members.test_members import (
    part,
    rows_of,
    scores_along,
    shape_of,
    stream,
)
from oracles.pooled.members.counts import Neighbours
from rpnb.core.pooled.members import neighbours as member


@pytest.mark.parametrize("n", [5, 560])
def test_neighbours_equal_their_oracle(n: int) -> None:
    rows, y, weight = stream(n)
    oracle, active = Neighbours(3), np.ones(3)
    expected = []
    for x, label, w in zip(rows.low, y, weight, strict=True):
        expected.append(oracle.score(x, active))
        oracle.learn(x, label, w)
    scores = scores_along(member, rows, y, weight, 3)
    assert_allclose(scores, expected, rtol=1e-10)


def test_equally_near_rows_count_in_the_order_of_their_slots() -> None:
    rows = rows_of(np.zeros((13, 2)))
    y = np.array([0, 1, 2] + [0] * 10)
    scores = scores_along(member, rows, y, np.ones(13), 3)
    # Of twelve equal rows the first ten vote, the first with most weight.
    votes = np.exp(scores[12])
    ranks = 1.0 / np.arange(1, 11)
    frequency = (np.bincount(y[:12]) + 0.5) / 13.5
    assert_allclose(votes[1], ranks[1] + 0.5 * frequency[1])
    assert_allclose(votes[0], ranks[0] + ranks[3:].sum() + 0.5 * frequency[0])


@given(st.integers(0, 500), st.integers(1, 60), st.integers(0, 99))
def test_the_nearest_are_found_and_the_earlier_slot_comes_first(
    filled: int, values: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # A class for each slot, so that its score shows the rank of the slot.
    state = member.begin(shape_of(1), np.ones(500, np.bool_), 5)
    state.rows[0] = rng.integers(values, size=512)
    state.labels[:500] = np.arange(500)
    state.weight[:] = 1.0
    state.seen[0] = filled
    scores = np.zeros((1, 1, 500))
    member.score_rows(state, rows_of(np.zeros((1, 1))), scores)
    expected = np.full(500, 0.5 * 0.5 / 250.0)
    nearest = np.argsort(state.rows[0, :filled], kind="stable")[:10]
    expected[nearest] += 1.0 / np.arange(1, 1 + len(nearest))
    assert_allclose(np.exp(scores[0, 0]), expected, rtol=1e-9)


def test_rings_merge_into_the_latest_rows_of_both() -> None:
    rows, y, weight = stream(700)
    states = []
    for where in (slice(0, 650), slice(650, 700)):
        state = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
        scores = np.zeros((where.stop - where.start, 1, 3))
        member.learn_rows(state, part(rows, where), y[where], weight[where], scores)
        states.append(state)
    merged = member.merge(states)
    assert merged.seen[0] == 500
    kept = {tuple(merged.rows[:, slot]) for slot in range(500)}
    latest = np.vstack([rows.low[200:650], rows.low[650:700]])
    assert kept == {tuple(row) for row in latest}
    assert_allclose(merged.class_weight.sum(), weight.sum())


def test_arrays_that_do_not_fit_are_refused() -> None:
    state = member.begin(shape_of(4), np.ones(3, np.bool_), 5)
    wrong = np.full(512, 3)
    assert state._replace(labels=wrong).labels[0] == 3  # of slots that are not in use
    for label in (3, -1):
        wrong[499] = label
        with pytest.raises(ValueError, match="of no class"):
            state._replace(labels=wrong, seen=np.array([10**9]))
    with pytest.raises(ValueError, match="negative"):
        state._replace(seen=np.array([-1]))
    with pytest.raises(ValueError, match="a row of low is of length 3, not 4"):
        member.score_rows(state, rows_of(np.zeros((1, 3))), np.zeros((1, 1, 3)))
