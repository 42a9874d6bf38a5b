"""Shapley values by all sets, or by orders and their reverses: laws and an oracle."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.core.pooled.engine import member_scores, run, score
from rpnb.core.pooled.model import MEMBERS, new_model
from rpnb.core.pooled.reasons import (
    Game,
    given_out,
    log_odds,
    member_terms,
    shapley_values,
)


def quadratic(m: int, seed: int) -> tuple[Game, FloatArray]:
    """A game of single features and pairs, and its Shapley values."""
    rng = np.random.default_rng(seed)
    g, H = rng.normal(size=m), rng.normal(size=(m, m))
    H += H.T
    np.fill_diagonal(H, 0.0)

    def game(masks: BoolArray) -> FloatArray:
        S = masks.astype(np.float64)
        return 3.0 + S @ g + 0.5 * ((S @ H) * S).sum(axis=1)

    return game, g + 0.5 * H.sum(axis=1)


def cubic(m: int, seed: int) -> Game:
    base = quadratic(m, seed)[0]
    return lambda masks: (
        base(masks) + 5.0 * masks[:, :3].all(axis=1) * masks.sum(axis=1)
    )


def by_definition(game: Game, m: int) -> FloatArray:
    """The mean over all orders of what features add after those before them."""
    values, orders = np.zeros(m), list(permutations(range(m)))
    for order in orders:
        mask = np.zeros((1, m), np.bool_)
        before = game(mask)[0]
        for i in order:
            mask[0, i] = True
            after = game(mask)[0]
            values[i] += after - before
            before = after
    return values / len(orders)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_all_sets_give_the_values_of_the_definition(m: int) -> None:
    game = cubic(m, 1)
    found = shapley_values([game], m, 2**m)
    assert_allclose(found.values, by_definition(game, m), atol=1e-12)
    assert_array_equal(found.error, 0.0)


@given(st.integers(2, 20), st.integers(0, 9), st.integers(1, 40))
def test_pairs_have_no_error(m: int, seed: int, evaluations: int) -> None:
    game, expected = quadratic(m, seed)
    found = shapley_values([game], m, min(evaluations, 2**m - 1))
    assert_allclose(found.values, expected, atol=1e-9)
    assert_allclose(found.error, 0.0, atol=1e-9)


@given(st.integers(1, 14), st.integers(1, 3), st.integers(1, 600))
def test_values_add_up_in_any_case(m: int, k: int, evaluations: int) -> None:
    games = [cubic(m, seed) for seed in range(k)]
    found = shapley_values(games, m, evaluations)
    none, every = np.zeros((1, m), np.bool_), np.ones((1, m), np.bool_)
    assert_allclose(found.base, np.mean([game(none)[0] for game in games]))
    assert_allclose(found.score, np.mean([game(every)[0] for game in games]))
    assert_allclose(found.base + found.values.sum(), found.score, atol=1e-9)
    assert (found.error >= 0.0).all()


def test_errors_are_those_of_the_sample() -> None:
    # An interaction of three features: orders differ.
    game = cubic(8, 2)
    exact = shapley_values([game], 8, 256)
    some = shapley_values([game], 8, 160)
    assert some.error[:3].min() > 0.05
    assert (np.abs(some.values - exact.values) < 4.0 * some.error + 1e-9).all()
    more = shapley_values([cubic(14, 2)], 14, 14_000).error
    assert more.max() < 0.5 * shapley_values([cubic(14, 2)], 14, 1400).error.max()
    assert_array_equal(some.values, shapley_values([game], 8, 160).values)


def test_nothing_differs() -> None:
    found = shapley_values([lambda masks: np.full(len(masks), 2.0)], 0, 10)
    assert (found.base, found.score, found.values.shape) == (2.0, 2.0, (0,))


def test_terms_of_the_members_add_up_to_what_the_pool_predicts() -> None:
    rng = np.random.default_rng(0)
    n, M = 700, 3
    y = rng.integers(0, M, n)
    X = rng.normal(size=(n, 4)) + 1.5 * np.eye(M, 4)[y]
    # The last class is never seen: no member knows it.
    model = new_model(list(MEMBERS), 4, 16, 0, np.array([True] * M + [False]), 1)
    labels, none = np.empty(n, np.int64), np.empty((0, M + 1))
    run(model, X, y, np.ones(n), labels, none)
    score(model, X, labels, none, ordered=False)
    terms = member_terms(model.pool, member_scores(model, X))
    assert terms.shape == (n, len(model.outputs) + 1, M + 1)
    total = log_odds(terms)
    given = given_out(model.pool, total)
    assert_array_equal(given[:, :M].argmax(axis=1), labels)
    assert_allclose(total, terms.sum(axis=1), atol=1e-12)
    logs = np.empty((n, M + 1))
    score(model, X, labels, logs, ordered=False)
    assert_allclose(given, np.exp(logs), atol=1e-12)
