"""Statistical tests of whether methods differ, on one dataset and across datasets.

On one dataset, the Wilcoxon signed-rank test over the permutations, as in the paper.
Across datasets, the tests that Demšar recommends ("Statistical comparisons of
classifiers over multiple data sets", JMLR 7, 2006): the Friedman test with average
ranks and Nemenyi's critical difference, and signed-rank tests of pairs with Holm's
correction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, sqrt
from statistics import fmean, variance
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets.paper import Comparison
from rpnb.evaluate.waiting.changes import holm as adjusted

LEVEL = 0.05

#: Whether a small or a large value of a measure is good.
Better: TypeAlias = Literal["low", "high"]


def mean_and_variance(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return mean and variance (n − 1 in the denominator); None where undefined.

    The mean needs one value, the variance two.

    Parameters
    ----------
    values : sequence of float
        Numbers to average.

    Examples
    --------
    >>> mean_and_variance([1.0, 3.0])
    (2.0, 2.0)
    >>> mean_and_variance([1.0])
    (1.0, None)
    """
    mean = fmean(values) if values else None
    return mean, variance(values) if len(values) > 1 else None


def signed_rank(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of the Wilcoxon signed-rank test.

    Zero differences are left out, as in Wilcoxon's paper; ties share their ranks. The
    sum of the positive ranks is compared with its distribution under all 2ⁿ choices of
    signs, given the ranks. Without zeros and ties this is
    `scipy.stats.wilcoxon(d, method="exact")`. With them, SciPy falls back to the normal
    approximation, which is poor for the paper's ten permutations; error rates on small
    datasets, being counts over n, often tie.

    With fewer than six nonzero differences, no p-value is below 0.05.

    Parameters
    ----------
    differences : array-like of shape (n,)
        Differences between two methods on the same permutations or datasets.

    Examples
    --------
    >>> signed_rank([1, 2, 3, 4, 5])
    0.0625
    >>> signed_rank([1, 2, 3, 4, 5, 6])
    0.03125
    """
    d = np.asarray(differences, dtype=np.float64)
    # Rates that should be equal can differ by rounding alone.
    d = d[np.abs(d) > 1e-12]
    if d.size == 0:
        return 1.0
    doubled = np.rint(2.0 * stats.rankdata(np.round(np.abs(d), 12))).astype(np.int64)
    distribution = np.ones(1)  # of the doubled sum of positive ranks
    for rank in doubled:
        wider = np.zeros(distribution.size + rank)
        wider[: distribution.size] += 0.5 * distribution
        wider[rank:] += 0.5 * distribution
        distribution = wider
    positive = int(doubled[d > 0.0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    return min(1.0, 2.0 * float(distribution[: smaller + 1].sum()))


def compare(
    values: ArrayLike, reference: ArrayLike, better: Better, level: float = LEVEL
) -> Comparison:
    """Return whether a method is better than, worse than or equal to a reference.

    As in the paper, the means decide if the signed-rank test finds a difference;
    otherwise the two are "equal".

    Parameters
    ----------
    values, reference : array-like of shape (n,)
        Results of the method and of the reference, on the same permutations.
    better : {"low", "high"}
        Whether low or high values are good.
    level : float, default=0.05
        Significance level of the test.

    Examples
    --------
    >>> errors = [0.10, 0.11, 0.12, 0.10, 0.11, 0.13]
    >>> compare(errors, [0.20, 0.22, 0.21, 0.23, 0.24, 0.25], "low")
    'better'
    >>> compare(errors, [0.11, 0.10, 0.12, 0.10, 0.12, 0.13], "low")
    'equal'
    """
    x, y = np.asarray(values, dtype=float), np.asarray(reference, dtype=float)
    if signed_rank(x - y) >= level or x.mean() == y.mean():
        return "equal"
    return "better" if (x.mean() < y.mean()) == (better == "low") else "worse"


def can_reject(permutations: int, level: float = LEVEL) -> bool:
    """Return whether a signed-rank test of this many differences can reject at all.

    Parameters
    ----------
    permutations : int
        Number of differences.
    level : float, default=0.05
        Significance level of the test.

    Examples
    --------
    >>> can_reject(5), can_reject(6)
    (False, True)
    """
    return 2.0 ** (1 - permutations) < level


@dataclass(frozen=True, slots=True)
class Friedman:
    """The Friedman test of k methods on N datasets.

    Attributes
    ----------
    ranks : mapping of str to float
        Average rank of each method; 1 is best.
    N : int
        Number of datasets.
    chi2, p_chi2 : float
        Friedman's statistic without a correction for ties, and its p-value.
    F, p_F : float
        Iman and Davenport's statistic, which is less conservative, and its p-value.
    critical_difference : float
        Nemenyi's: methods whose average ranks are farther apart differ significantly.
    level : float
        Significance level of the critical difference.

    Examples
    --------
    >>> test = friedman({"A": [0.1, 0.2, 0.1], "B": [0.3, 0.4, 0.5]}, "low")
    >>> test.N, test.ranks
    (3, {'A': 1.0, 'B': 2.0})
    """

    ranks: Mapping[str, float]
    N: int
    chi2: float
    p_chi2: float
    F: float
    p_F: float
    critical_difference: float
    level: float


def friedman(
    means: Mapping[str, Sequence[float]], better: Better, level: float = LEVEL
) -> Friedman:
    r"""Test whether methods differ across datasets: Demšar (2006), section 3.2.2.

    $$\chi_F^2 = \frac{12 N}{k(k+1)} \Big[\sum_j R_j^2 - \frac{k(k+1)^2}{4}\Big],
      \quad F_F = \frac{(N-1)\chi_F^2}{N(k-1) - \chi_F^2},
      \quad CD = q_\alpha \sqrt{\frac{k(k+1)}{6N}}$$
    with $R_j$ the average rank of method j; $\chi_F^2$ has k − 1 degrees of freedom,
    $F_F$ has k − 1 and (k − 1)(N − 1), and $q_\alpha$ is the studentised range over √2.

    Parameters
    ----------
    means : mapping from method to sequence of float
        Mean result of each method on each dataset, datasets in the same order.
    better : {"low", "high"}
        Whether low or high values are good.
    level : float, default=0.05
        Significance level of the critical difference.

    Examples
    --------
    >>> test = friedman({"A": [0.1, 0.2, 0.1], "B": [0.3, 0.4, 0.5]}, "low")
    >>> test.ranks, round(test.critical_difference, 3)
    ({'A': 1.0, 'B': 2.0}, 1.132)
    """
    table = _as_table(means)
    N, k = table.shape
    signed = table if better == "low" else -table
    R = stats.rankdata(np.round(signed, 12), axis=1).mean(axis=0)
    chi2 = 12.0 * N / (k * (k + 1)) * (float(R @ R) - k * (k + 1) ** 2 / 4.0)
    rest = N * (k - 1) - chi2
    F = (N - 1) * chi2 / rest if rest > 1e-9 else inf
    q = stats.studentized_range.ppf(1.0 - level, k, inf) / sqrt(2.0)
    return Friedman(
        ranks=dict(zip(means, R.tolist(), strict=True)),
        N=N,
        chi2=chi2,
        p_chi2=float(stats.chi2.sf(chi2, k - 1)),
        F=F,
        p_F=float(stats.f.sf(F, k - 1, (k - 1) * (N - 1))),
        critical_difference=float(q * sqrt(k * (k + 1) / (6.0 * N))),
        level=level,
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """Comparison of two methods across datasets by the signed-rank test.

    Attributes
    ----------
    first, second : str
        Names of the methods.
    wins, ties, losses : int
        Number of datasets on which the first is better, equal and worse.
    p, p_holm : float
        p-value, and p-value corrected for the number of pairs.

    Examples
    --------
    >>> (pair,) = pairwise({"A": [0.1, 0.2, 0.1], "B": [0.3, 0.4, 0.5]}, "low")
    >>> pair.first, pair.second, pair.wins, pair.p_holm
    ('A', 'B', 3, 0.25)
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    p: float
    p_holm: float


def pairwise(means: Mapping[str, Sequence[float]], better: Better) -> list[Pair]:
    """Compare every two methods across datasets, with Holm's correction for all pairs.

    Datasets on which two methods are equal are left out of their test, as in
    `signed_rank`.

    Parameters
    ----------
    means : mapping from method to sequence of float
        Mean result of each method on each dataset, datasets in the same order.
    better : {"low", "high"}
        Whether low or high values are good.

    Examples
    --------
    >>> (pair,) = pairwise({"A": [0.1, 0.2, 0.1], "B": [0.3, 0.4, 0.5]}, "low")
    >>> pair.wins, pair.losses, pair.p
    (3, 0, 0.25)
    """
    _as_table(means)
    pairs = list(combinations(means, 2))
    sign = 1.0 if better == "low" else -1.0
    gains = [
        np.round(sign * (np.asarray(means[second]) - np.asarray(means[first])), 12)
        for first, second in pairs
    ]
    p_values = [signed_rank(gain) for gain in gains]
    corrected = holm(p_values)
    return [
        Pair(
            first,
            second,
            wins=int((gain > 0).sum()),
            ties=int((gain == 0).sum()),
            losses=int((gain < 0).sum()),
            p=p,
            p_holm=p_holm,
        )
        for (first, second), gain, p, p_holm in zip(
            pairs, gains, p_values, corrected, strict=True
        )
    ]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's step-down procedure, in the same order.

    The i-th smallest of m is multiplied by m + 1 − i; none becomes smaller than one
    before it, nor larger than 1.

    Parameters
    ----------
    p_values : sequence of float
        p-values of all tests.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected: list[float] = adjusted(np.array(p_values, dtype=np.float64)).tolist()
    return corrected


def _as_table(means: Mapping[str, Sequence[float]]) -> FloatArray:
    """Return the means (N, k)."""
    if len(means) < 2:
        raise ValueError(f"means must be of at least 2 methods, got {len(means)}")
    lengths = {len(values) for values in means.values()}
    if len(lengths) != 1 or min(lengths) < 2:
        raise ValueError(
            "means must be on the same datasets for each method, at least 2 of them, "
            f"got {sorted(lengths)}"
        )
    table: FloatArray = np.array(list(means.values()), dtype=np.float64).T
    return table
