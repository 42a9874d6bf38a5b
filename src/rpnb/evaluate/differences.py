r"""Is one learner better than another? Answers that hold at every row at once.

A stream is looked at again and again, and a usual confidence interval that is looked at
often enough excludes the truth sooner or later. A confidence sequence does not: the
probability that it *ever* excludes the truth is at most $1 - $ confidence. Here it is
that of Howard, Ramdas, McAuliffe & Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences" (Annals of Statistics 49, 2021), which assumes nothing of the
stream, not even that its rows are drawn alike.

$D_i ∈ [-B, B]$ is the loss of one learner in row i less that of another. Let $\bar D_t$
be its mean over t rows, and $Δ_t$ the mean of what was to be expected of each row,
given all rows before it. Theorem 4 there, the empirical Bernstein bound, with $c = 2B$:

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

Loss: TypeAlias = Literal["error", "log_loss"]
#: The largest loss of a row; a probability below 0.001 counts as that.
LARGEST: Final[dict[Loss, float]] = {"error": 1.0, "log_loss": float(np.log(1000.0))}
_ETA, _S = 2.0, 1.4
_K1 = (_ETA**0.25 + _ETA**-0.25) / np.sqrt(2.0)
_K2 = (np.sqrt(_ETA) + 1.0) / 2.0


def boundary(v: FloatArray, alpha: float, largest: float) -> FloatArray:
    """Return u(v) of the module's formulas: one side is crossed with probability α."""
    c, m = 2.0 * largest, largest**2
    v = np.maximum(v, m)
    ell = _S * np.log1p(np.log(v / m) / np.log(_ETA)) + np.log(zeta(_S) / alpha)
    return np.sqrt(_K1**2 * v * ell + (_K2 * c * ell) ** 2) + _K2 * c * ell


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean loss of one learner less that of another, with a confidence sequence.

    Attributes
    ----------
    first, second
        Names of the learners.
    loss
        "error" or "log_loss".
    confidence
        Probability that the interval holds the expected difference at all rows at once.
    rows
        Rows predicted so far, at each checkpoint.
    mean, low, high
        The difference, first less second, and its interval at each checkpoint.
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
        """The learner that is better at the end; None while neither is shown to be."""
        if self.low[-1] <= 0.0 <= self.high[-1]:
            return None
        return self.first if self.high[-1] < 0.0 else self.second

    @property
    def since(self) -> int | None:
        """Rows after which that was seen, and at every checkpoint since."""
        if self.better is None:
            return None
        end = self.high if self.better == self.first else -self.low
        unsure = np.flatnonzero(end >= 0.0)
        return int(self.rows[unsure[-1] + 1 if unsure.size else 0])

    def __str__(self) -> str:
        loss = self.loss.replace("_", "-")
        figures = f"{self.mean[-1]:+.4f} ({self.low[-1]:+.4f} to {self.high[-1]:+.4f})"
        if self.better is None:
            return f"{self.first} and {self.second}: {loss} {figures}, not told apart"
        worse = self.second if self.better == self.first else self.first
        return (
            f"{self.better} is better than {worse} since row {self.since:,}: "
            f"{loss} of {self.first} less {self.second} {figures}"
        )


def told_apart(found: Sequence[Difference]) -> str | None:
    """Say in a sentence which learners the best one, `first` of all, is better than.

    For differences that hold together with a confidence of 95 %; None for none.
    """
    clear = [each.second for each in found if each.better == each.first]
    unclear = [each.second for each in found if each.better is None]
    said = []
    if clear:
        said.append(f"lower than {', '.join(clear)}")
    if unclear:
        said.append(f"not told apart from {', '.join(unclear)}")
    return f"At 95 % confidence: {'; '.join(said)}." if said else None


class _Sums(NamedTuple):
    """Of all pairs: rows, sums of differences, sums of squares, after some rows."""

    rows: int
    total: FloatArray
    square: FloatArray


class DifferenceTracker:
    """Sums over rows of the differences of all pairs of learners, for one loss.

    Two references are not compared with each other. The sums do not depend on how the
    rows are divided into calls of `add`.
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
        """Add rows: (learners, n) losses; NaN where a learner has none."""
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
        # One after the other, so that the sums do not depend on the calls.
        square = np.cumsum(squares, axis=1)[:, -1]
        self._now = _Sums(before.rows + n, totals[:, -1], square)

    def add_checkpoint(self) -> None:
        """Keep the sums of the rows so far, once for each number of rows."""
        if self._kept and self._kept[-1].rows == self._now.rows:
            self._kept.pop()
        self._kept.append(self._now)

    def difference(
        self, first: str, second: str, confidence: float = 0.95
    ) -> Difference | None:
        """Return the difference of two learners; None where there are no losses."""
        i, j = self._names.index(first), self._names.index(second)
        sign = 1.0 if i < j else -1.0
        pair = self._pairs.index((min(i, j), max(i, j)))
        rows = np.array([kept.rows for kept in self._kept])
        mean = sign * np.array([kept.total[pair] for kept in self._kept]) / rows
        if np.isnan(mean[-1]):
            return None
        v = np.array([kept.square[pair] for kept in self._kept])
        top = LARGEST[self._loss]
        wide = boundary(v, (1.0 - confidence) / 2.0, top) / rows
        low, high = np.maximum(mean - wide, -top), np.minimum(mean + wide, top)
        return Difference(first, second, self._loss, confidence, rows, mean, low, high)

    def pairs(self) -> list[tuple[str, str]]:
        """Return the names of the learners that are compared."""
        return [(self._names[i], self._names[j]) for i, j in self._pairs]
