"""Rank tests, compared with SciPy and with published examples."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from rpnb.study import statistics
from rpnb.study.statistics import compare, friedman, holm, pairwise, signed_rank

# Demšar (2006), Table 6: AUC of C4.5 with and without two ways of tuning. He ranks the
# equal values of "voting" apart, so the last of them is nudged.
DEMSAR = {
    "C4.5": [
        *(0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661),
        *(0.583, 0.775, 1.000, 0.940, 0.619, 0.972, 0.957),
    ],
    "C4.5+m": [
        *(0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668),
        *(0.583, 0.838, 1.000, 0.962, 0.666, 0.981, 0.978),
    ],
    "C4.5+cf": [
        *(0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609),
        *(0.563, 0.866, 1.000, 0.965, 0.614, 0.9751, 0.946),
    ],
    "C4.5+m+cf": [
        *(0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685),
        *(0.625, 0.875, 1.000, 0.962, 0.669, 0.975, 0.970),
    ],
}

small_differences = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


@given(st.permutations(range(1, 13)), st.lists(st.booleans(), min_size=12, max_size=12))
def test_without_ties_the_signed_rank_test_is_scipys_exact_one(
    sizes: list[int], signs: list[bool]
) -> None:
    d = np.where(signs, sizes, np.negative(sizes))
    assert_allclose(signed_rank(d), stats.wilcoxon(d, method="exact").pvalue)


@given(small_differences)
def test_with_ties_and_zeros_it_counts_all_choices_of_signs(d: list[int]) -> None:
    nonzero = np.array([value for value in d if value])
    ranks = stats.rankdata(np.abs(nonzero))
    observed = abs(ranks @ np.sign(nonzero)) if nonzero.size else 0.0
    sums = [abs(ranks @ signs) for signs in product([-1, 1], repeat=nonzero.size)]
    expected = np.mean(np.array(sums) >= observed - 1e-9)
    assert_allclose(signed_rank(d), expected, rtol=1e-12)


def test_the_normal_law_would_reject_where_signs_alone_cannot() -> None:
    d = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # of ten permutations
    assert stats.wilcoxon(d, method="asymptotic").pvalue < 0.05
    assert signed_rank(d) == 2 / 2**5 > 0.05


def test_differences_by_rounding_alone_are_none() -> None:
    x, y = np.full(10, 0.1) + 0.2, np.full(10, 0.3)
    assert (x != y).all()
    assert signed_rank(x - y) == 1.0
    near = np.array([0.1, 0.2, 0.3]) * 3 - np.array([0.3, 0.6, 0.9])
    assert signed_rank(near) == 1.0


@pytest.mark.parametrize(("better", "expected"), [("low", "worse"), ("high", "better")])
def test_the_means_decide_once_the_test_rejects(
    better: statistics.Better, expected: str
) -> None:
    reference = np.linspace(0.10, 0.19, 10)
    assert compare(reference + 0.01, reference, better) == expected
    assert compare(reference, reference, better) == "equal"
    mixed = reference + 0.01 * np.array([1, -1] * 5)
    assert compare(mixed, reference, better) == "equal"


def test_fewer_than_six_permutations_can_reject_nothing() -> None:
    for n in range(1, 12):
        smallest = signed_rank(np.arange(1.0, n + 1))
        assert statistics.can_reject(n) == (smallest < 0.05)
    assert not statistics.can_reject(5)
    assert statistics.can_reject(6)


def test_friedman_gives_the_figures_of_demsars_example() -> None:
    result = friedman(DEMSAR, "high")
    assert [round(rank, 3) for rank in result.ranks.values()] == [
        *(3.143, 2.000, 2.893, 1.964)
    ]
    assert list(result.ranks) == list(DEMSAR)
    assert round(result.chi2, 2) == 9.28
    assert round(result.F, 2) == 3.69
    assert round(result.critical_difference, 2) == 1.25
    assert round(friedman(DEMSAR, "high", 0.10).critical_difference, 2) == 1.12
    assert 0.01 < result.p_F < result.p_chi2 < 0.05
    assert_allclose(result.p_F, stats.f.sf(result.F, 3, 39))


@given(st.integers(0, 1000), st.integers(3, 5), st.integers(3, 9))
def test_friedman_without_ties_is_scipys(seed: int, k: int, N: int) -> None:
    table = np.random.default_rng(seed).random((k, N))
    means = {f"method {j}": row.tolist() for j, row in enumerate(table)}
    ours, theirs = friedman(means, "low"), stats.friedmanchisquare(*table)
    assert_allclose([ours.chi2, ours.p_chi2], theirs, rtol=1e-9)
    up, down = friedman(means, "high").ranks, ours.ranks
    assert_allclose([up[m] + down[m] for m in means], k + 1)


def test_methods_in_the_same_order_everywhere_differ_significantly() -> None:
    result = friedman({"a": [0.1] * 5, "b": [0.2] * 5, "c": [0.3] * 5}, "low")
    assert list(result.ranks.values()) == [1.0, 2.0, 3.0]
    assert np.isinf(result.F)
    assert result.p_F == 0.0


def test_holm_steps_down_as_in_his_procedure() -> None:
    # 0.01·4, 0.02·3, 0.03·2 (raised to 0.06), 0.04·1 (raised to 0.06)
    assert_allclose(holm([0.04, 0.01, 0.03, 0.02]), [0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_holm_rejects_what_the_procedure_rejects(p_values: list[float]) -> None:
    level, m = 0.05, len(p_values)
    rejected = set()
    for step, i in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[i] * (m - step) > level:
            break
        rejected.add(int(i))
    assert {i for i, p in enumerate(holm(p_values)) if p <= level} == rejected


def test_pairs_are_tested_over_datasets_and_corrected_together() -> None:
    pairs = pairwise(DEMSAR, "high")
    assert len(pairs) == 6
    first = pairs[0]
    assert (first.first, first.second) == ("C4.5", "C4.5+m")
    assert (first.wins, first.ties, first.losses) == (2, 2, 10)
    gain = np.subtract(DEMSAR["C4.5+m"], DEMSAR["C4.5"])
    assert first.p == signed_rank(gain) < 0.05
    assert [pair.p_holm for pair in pairs] == holm([pair.p for pair in pairs])
    turned = pairwise(DEMSAR, "low")[0]
    assert (turned.wins, turned.losses, turned.p) == (10, 2, first.p)


def test_incomparable_learners_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 methods, got 1"):
        friedman({"a": [0.1, 0.2]}, "low")
    with pytest.raises(ValueError, match=r"same datasets .* got \[2, 3\]"):
        pairwise({"a": [0.1, 0.2], "b": [0.1, 0.2, 0.3]}, "low")
    with pytest.raises(ValueError, match="at least 2 of them"):
        friedman({"a": [0.1], "b": [0.2]}, "low")
