"""Rows drawn within a budget: the draws, the budget, and the probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.asking import asked_rows, uniform
from rpnb.core.asking import BALANCE, Asking, chance, draw_rows, uniforms
from rpnb.core.kernels.arrays import FloatArray

DOUBTS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=80)
BUDGETS = st.sampled_from([0.01, 0.05, 0.3, 0.9, 1.0])
SHARES = st.sampled_from([0.01, 0.2, 1.0])


@given(DOUBTS, BUDGETS, SHARES, st.integers(0, 2**70), st.data())
def test_draws_are_those_of_the_oracle_however_rows_are_cut(
    doubt: list[float], budget: float, share: float, seed: int, data: st.DataObject
) -> None:
    state, q = Asking(), np.array(doubt)
    cut = data.draw(st.integers(0, len(doubt)))
    parts = [draw_rows(state, part, budget, share, seed) for part in (q[:cut], q[cut:])]
    asked, chances = asked_rows(doubt, budget, share, seed)
    assert_array_equal(np.concatenate([part[0] for part in parts]), asked)
    assert_allclose(np.concatenate([part[1] for part in parts]), chances, rtol=1e-12)
    assert state.rows == len(doubt)
    assert state.asked == sum(asked)
    again = Asking.from_array(state.to_array())
    assert again == state


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**12))
def test_a_draw_follows_from_seed_and_row(seed: int, start: int) -> None:
    found = uniforms(seed, start, 3)
    assert found.tolist() == [uniform(seed, start + i) for i in range(3)]


def test_draws_are_uniform_and_differ_between_seeds() -> None:
    a, b = uniforms(0, 0, 100_000), uniforms(1, 0, 100_000)
    for draws in (a, b):
        counts = np.histogram(draws, 20, (0.0, 1.0))[0]
        assert (np.abs(counts - 5000.0) < 5.0 * np.sqrt(5000.0)).all()
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.015
    assert abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < 0.015


def doubts_of(kind: str, n: int) -> FloatArray:
    rng = np.random.default_rng(5)
    if kind == "sure, then lost at once":
        return np.where(np.arange(n) < n // 2, 1e-4, 0.6)
    if kind == "sure, then lost":
        return np.where(np.arange(n) < n // 2, 0.01, 0.6) * rng.random(n)
    if kind == "seldom in doubt":
        return np.where(rng.random(n) < 0.02, 0.5, 1e-6)
    if kind == "never in doubt":
        return np.zeros(n)
    return rng.random(n)


KINDS = ["any", "sure, then lost", "seldom in doubt", "never in doubt"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_the_budget_is_kept_at_every_row(
    kind: str, budget: float, share: float
) -> None:
    q, n = doubts_of(kind, 20_000), 20_000
    asked, _ = draw_rows(Asking(), q, budget, share, 3)
    spent = np.cumsum(asked)
    assert (spent <= budget * np.arange(1, n + 1) + 36.0).all()
    assert spent[-1] > 0.75 * budget * n


def test_an_adversary_who_fools_the_draws_cannot_break_the_budget() -> None:
    # Doubt only where the row is going to be drawn anyway: the most that can be spent.
    n, budget = 5000, 0.02
    draws = uniforms(0, 0, n)
    q = np.where(draws < 0.03, 1.0, 0.0)
    asked, chances = draw_rows(Asking(), q, budget, 0.2, 0)
    assert (np.cumsum(asked) <= budget * np.arange(1, n + 1) + 36.0).all()
    least = 0.25 * 0.2 * budget / (1.0 - 0.95 * budget)
    assert chances.min() == pytest.approx(least)  # only the limit held it back
    assert np.mean(chances < 1.001 * least) > 0.05


@pytest.mark.parametrize("share", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("budget", [0.001, 0.01, 0.05, 0.3, 0.9, 0.999])
def test_the_least_probability_can_hardly_overdraw(budget: float, share: float) -> None:
    # exp(−2 balance) is a supermartingale while the balance is below the limit.
    state = Asking(rows=1e4, balance=-BALANCE, mean=0.1)
    p = chance(state, 1.0, budget, share)
    assert 0.0 < p < budget
    theta = 2.0
    assert np.exp(-theta * budget) * (1.0 - p + p * np.exp(theta)) <= 1.0


@pytest.mark.parametrize("kind", [*KINDS, "sure, then lost at once"])
def test_weighted_sums_are_unbiased(kind: str) -> None:
    q, n = doubts_of(kind, 3000), 3000
    wrong = np.random.default_rng(0).random(n) < np.clip(q, 0.05, 1.0)
    weighted, plain = [], []
    for seed in range(200):
        asked, chances = draw_rows(Asking(), q, 0.05, 0.2, seed)
        rows = asked > 0.0
        weighted.append((wrong[rows] / chances[rows]).sum() / n)
        plain.append(wrong[rows].mean())
    truth, noise = wrong.mean(), np.std(weighted) / np.sqrt(200)
    assert abs(np.mean(weighted) - truth) < 4.0 * noise
    if kind == "any":  # the negative control
        assert np.mean(plain) - truth > 20.0 * np.std(plain) / np.sqrt(200)
