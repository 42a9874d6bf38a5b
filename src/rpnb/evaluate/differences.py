r"""Confidence sequences for the difference of two learners, valid at all rows at once.

Results of a stream are inspected repeatedly, and an ordinary confidence interval that
is inspected often enough excludes the truth sooner or later. A confidence sequence does
not: the probability that it *ever* excludes the truth is at most $1 - $ confidence.
This one is by Howard, Ramdas, McAuliffe & Sekhon, "Time-uniform, nonparametric,
nonasymptotic confidence sequences" (Annals of Statistics 49, 2021), which makes no
assumption about the stream, not even that its rows are identically distributed.

$D_i ∈ [-B, B]$ is the loss of one learner in row i minus that of another. Let $\bar
D_t$ be its mean over t rows, and $Δ_t$ the mean of its conditional expectations given
all earlier rows. Theorem 4 there, the empirical Bernstein bound, with $c = 2B$:

$$P\bigl(∃ t: |\bar D_t - Δ_t| ≥ u(V_t) / t\bigr) ≤ 2α, \qquad
V_t = \sum_{i=1}^t (D_i - \bar D_{i-1})^2, \quad \bar D_0 = 0$$

and u of Theorem 1, with $v' = \max(v, m)$, $η = 2$, $s = 1.4$ and $m = B^2$:

$$u(v) = \sqrt{k_1^2 v' ℓ + k_2^2 c^2 ℓ^2} + k_2 c ℓ, \qquad
ℓ = s \log(1 + \log_η(v' / m)) + \log(ζ(s) / α),$$
$$k_1 = (η^{1/4} + η^{-1/4}) / \sqrt 2, \quad k_2 = (\sqrt η + 1) / 2$$
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import zeta

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import log

Loss: TypeAlias = Literal["error", "log_loss"]
#: The largest loss of a row: probabilities below 0.001 count as 0.001.
LARGEST: Final[dict[Loss, float]] = {"error": 1.0, "log_loss": float(log(1000.0))}
_ETA, _S = 2.0, 1.4
_K1 = (_ETA**0.25 + _ETA**-0.25) / np.sqrt(2.0)
_K2 = (np.sqrt(_ETA) + 1.0) / 2.0


def boundary(v: FloatArray, alpha: float, largest: float) -> FloatArray:
    """Return u(v), the bound that is ever crossed with probability at most α."""
    c, m = 2.0 * largest, largest**2
    v = np.maximum(v, m)
    ell = _S * log(1.0 + log(v / m) / log(_ETA)) + log(zeta(_S) / alpha)
    return np.sqrt(_K1**2 * v * ell + (_K2 * c * ell) ** 2) + _K2 * c * ell


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean loss of one learner minus that of another, with a confidence sequence.

    Attributes
    ----------
    first, second
        Names of the learners.
    loss
        Loss that is compared, "error" or "log_loss".
    confidence
        Probability that the intervals at all rows contain the expected difference.
    rows
        Number of rows predicted, at each checkpoint.
    mean, low, high
        Difference, first minus second, and the ends of its interval, at each
        checkpoint.

    Examples
    --------
    >>> from rpnb import baselines
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> models = {"NB": baselines.GaussianNB(), "PA": baselines.PA()}
    >>> result = prequential(models, streams.mixture(3000, seed=0), every=1000)
    >>> found = result.difference("NB", "PA")
    >>> bool(found.low[-1] < found.mean[-1] < found.high[-1] < 0.0)
    True
    """

    first: str
    second: str
    loss: Loss
    confidence: float
    rows: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def better(self) -> str | None:
        """Name of the learner that is significantly better at the end, or None.

        Examples
        --------
        >>> from rpnb import baselines
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> models = {"NB": baselines.GaussianNB(), "PA": baselines.PA()}
        >>> result = prequential(models, streams.mixture(3000, seed=0), every=100)
        >>> result.difference("NB", "PA").better
        'NB'
        """
        if self.low[-1] <= 0.0 <= self.high[-1]:
            return None
        return self.first if self.high[-1] < 0.0 else self.second

    @property
    def since(self) -> int | None:
        """Number of rows from which on that learner has always been better, or None.

        `prequential` inspects the interval at its checkpoints (`every`), `rpnb
        backtest` after every row.

        Examples
        --------
        >>> from rpnb import baselines
        >>> from rpnb.datasets import streams
        >>> from rpnb.evaluate import prequential
        >>> models = {"NB": baselines.GaussianNB(), "PA": baselines.PA()}
        >>> result = prequential(models, streams.mixture(3000, seed=0), every=100)
        >>> result.difference("NB", "PA").since < 3000
        True
        """
        if self.better is None:
            return None
        end = self.high if self.better == self.first else -self.low
        unsure = np.flatnonzero(end >= 0.0)
        return int(self.rows[unsure[-1] + 1 if unsure.size else 0])

    def __str__(self) -> str:
        loss = self.loss.replace("_", "-")
        figures = f"{self.mean[-1]:+.4f} ({self.low[-1]:+.4f} to {self.high[-1]:+.4f})"
        if self.better is None:
            return f"{self.first} and {self.second}: {loss} {figures}, not significant"
        worse = self.second if self.better == self.first else self.first
        return (
            f"{self.better} is better than {worse} since row {self.since:,}: "
            f"{loss} of {self.first} minus {self.second} {figures}"
        )


def difference_of(
    names: tuple[str, str],
    loss: Loss,
    losses: tuple[FloatArray, FloatArray],
    confidence: float = 0.95,
) -> Difference:
    """Return the difference of two learners after each row, from their losses.

    >>> rng = np.random.default_rng(0)
    >>> losses = tuple((rng.random(20_000) < p).astype(float) for p in (0.2, 0.3))
    >>> print(difference_of(("A", "B"), "error", losses))
    A is better than B since row 1,168: error of A minus B -0.1002 (-0.1192 to -0.0811)
    """
    top = LARGEST[loss]
    D = np.minimum(losses[0], top) - np.minimum(losses[1], top)
    rows = np.arange(1, len(D) + 1)
    mean = np.cumsum(D) / rows
    expected = np.concatenate([[0.0], mean[:-1]])
    squares = np.cumsum((D - expected) ** 2)
    return _with_interval(names, loss, confidence, rows, mean, squares)


def _with_interval(
    names: tuple[str, str],
    loss: Loss,
    confidence: float,
    rows: IntArray,
    mean: FloatArray,
    squares: FloatArray,
) -> Difference:
    """Return means after some rows with their intervals; `squares` are V_t."""
    top = LARGEST[loss]
    wide = boundary(squares, (1.0 - confidence) / 2.0, top) / rows
    low, high = np.maximum(mean - wide, -top), np.minimum(mean + wide, top)
    return Difference(*names, loss, confidence, rows, mean, low, high)


def significance_sentence(found: Sequence[Difference]) -> str | None:
    """Return a sentence on which learners the best one is significantly better than.

    In all differences, which hold together at 95 % confidence, the best learner is
    `first`. Returns None if there are none.
    """
    clear = [each.second for each in found if each.better == each.first]
    unclear = [each.second for each in found if each.better is None]
    parts = []
    if clear:
        parts.append(f"lower than {', '.join(clear)}")
    if unclear:
        parts.append(f"not significantly different from {', '.join(unclear)}")
    return f"At 95 % confidence: {'; '.join(parts)}." if parts else None


class _Sums(NamedTuple):
    """Number of rows, and sums of differences and of squares for all pairs."""

    rows: int
    total: FloatArray
    square: FloatArray


class DifferenceTracker:
    """Tracks the differences of all pairs of learners in one loss.

    References are not compared with each other. The sums do not depend on how rows are
    divided into calls of `add`.
    """

    def __init__(self, names: Sequence[str], references: Sequence[str], loss: Loss):
        self._names = tuple(names)
        self._loss: Loss = loss
        skipped = set(references)
        self._pairs = [
            (i, j)
            for i, j in combinations(range(len(names)), 2)
            if not {names[i], names[j]} <= skipped
        ]
        zeros = np.zeros(len(self._pairs))
        self._now = _Sums(0, zeros, zeros)
        self._kept: list[_Sums] = []

    def add(self, losses: FloatArray) -> None:
        """Add the losses (learners, n) of rows; NaN where a learner has none."""
        n = losses.shape[1]
        if not self._pairs or n == 0:
            return
        first, second = np.array(self._pairs).T
        top = LARGEST[self._loss]
        clipped = np.minimum(losses, top)
        D = clipped[first] - clipped[second]
        before = self._now
        totals = np.cumsum(np.column_stack([before.total, D]), axis=1)
        seen = np.arange(before.rows, before.rows + n)
        expected = totals[:, :-1] / np.maximum(seen, 1)
        squares = np.column_stack([before.square, (D - expected) ** 2])
        # Summed one by one, so that the sums do not depend on the calls.
        square = np.cumsum(squares, axis=1)[:, -1]
        self._now = _Sums(before.rows + n, totals[:, -1], square)

    def add_checkpoint(self) -> None:
        """Record the sums over the rows so far; once per number of rows."""
        if self._kept and self._kept[-1].rows == self._now.rows:
            self._kept.pop()
        self._kept.append(self._now)

    def difference(
        self, first: str, second: str, confidence: float = 0.95
    ) -> Difference | None:
        """Return the difference of two learners; None without losses."""
        i, j = self._names.index(first), self._names.index(second)
        sign = 1.0 if i < j else -1.0
        pair = self._pairs.index((min(i, j), max(i, j)))
        rows = np.array([kept.rows for kept in self._kept])
        mean = sign * np.array([kept.total[pair] for kept in self._kept]) / rows
        if np.isnan(mean[-1]):
            return None
        squares = np.array([kept.square[pair] for kept in self._kept])
        names = first, second
        return _with_interval(names, self._loss, confidence, rows, mean, squares)

    def pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of learners that are compared."""
        return [(self._names[i], self._names[j]) for i, j in self._pairs]
