r"""Forecast of the error of predictions whose labels have not arrived, with a band.

A prediction with probability c is wrong with probability 1 − c if probabilities are
calibrated. Whether they are is measured on the labels that have arrived. Let W
predictions wait, and $i = 1 … N$ be the labelled ones in the order of their labels.

**Forecasts.** One is $a$, the mean of 1 − c over the rows that wait. With $e_L$ the
error of the last L labelled rows, and $a_L$ their mean of 1 − c, the others are

$$a + e_L - a_L, \qquad e_L, \qquad L ∈ \{250, \text{all}\}$$

clipped to 0 and 1: the error of waiting rows exceeds $a$ by as much as that of labelled
rows did, or it is what it was.

**Their weights.** All are tried on the past: from each of many places between labelled
rows, the W labels after it are forecast from the labels before it alone. The residual R
is the true error minus the forecast. The forecast is the weighted mean, with weights

$$w_k ∝ 1 / (W^{-2} + \overline{R_k^2})$$

(Bates & Granger, Operational Research Quarterly 20, 1969; one mistake per window is
added, for forecasts without residuals). Places are closer than W rows; $m$ is the
number of windows of W rows that fit.

**The band** is ± h around the forecast, from the residuals R of the weighted mean. From
m = 19 windows on, the $\lceil 0.95 (m + 1) \rceil / m$ quantile of |R| is a split
conformal interval (Vovk, Gammerman & Shafer 2005). With fewer windows there is no such
interval at 95 %: the largest |R| is the quantile m / (m + 1), which is extrapolated
with a heavy tail of index 1, by the factor 20 / (m + 1). h is at least that of a
t-interval with m degrees of freedom, on the root mean square of R. If m < 5 there is no
forecast: the band is [0, 1].

Everything is computed from integers, so that figures do not depend on how rows are
divided into calls.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

import numpy as np
from scipy.special import ndtri, stdtrit

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_integer, check_real

#: Probabilities of mistakes are whole multiples of 1 / ONE.
ONE: Final = 1 << 20
#: Number of labelled rows that stand for the recent ones, L.
RECENT: Final = 250
#: With fewer windows of labelled rows, there is no forecast.
FEWEST: Final = 5.0
#: Labelled rows before the first place in the past.
FIRST: Final = 250
#: Fewest rows of a window, and smallest distance of places.
SHORTEST, CLOSEST = 50, 25
#: A window is at most one part in this many of the history.
LARGEST: Final = 10
#: With a larger share of rows outside the labelled inputs, there is no forecast.
MOST_OUTSIDE: Final = 0.5


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Expected error of predictions whose labels have not arrived.

    Attributes
    ----------
    waiting
        Number of predictions that wait for a label.
    expected
        Their expected error rate; NaN if none waits.
    low, high
        Ends of the band that should contain the true error rate; 0 and 1 if unknown.
    uncorrected
        Mean of one minus the probability of each prediction.
    windows
        Number of windows of as many labelled rows, on which the band is based.
    outside
        Share of rows whose inputs are unlike those with labels; see `InputWatch`.
    reason
        Why the error is unknown; None if it is known.

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb.evaluate.waiting import ErrorForecast
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(0.5, 1.0, 8000)
    >>> forecast = ErrorForecast()
    >>> forecast.add_labelled(confidence, rng.random(8000) > confidence)
    >>> found = forecast.expected(confidence[:500])
    >>> found.known, bool(found.low < found.expected < found.high)
    (True, True)
    """

    waiting: int
    expected: float
    low: float
    high: float
    uncorrected: float
    windows: float
    outside: float
    reason: str | None

    @property
    def known(self) -> bool:
        """Whether there is a forecast.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import ErrorForecast
        >>> ErrorForecast().expected([0.9, 0.8]).known        # no labels yet
        False
        """
        return self.reason is None

    def __str__(self) -> str:
        if self.waiting == 0:
            return "no row waits for its label"
        band = f"{self.low:.3f} to {self.high:.3f}"
        if self.reason is not None:
            return f"expected error unknown: {self.reason}"
        return f"expected error {self.expected:.3f} ({band}) of {self.waiting:,} rows"


class WaitingCounts(NamedTuple):
    """Counts of rows that wait."""

    rows: int
    """number of rows"""
    mistakes: int
    """sum of the probabilities of mistakes, in units of 1 / ONE"""

    @classmethod
    def of(cls, confidence: Any) -> "WaitingCounts":
        """Count rows, given the probabilities of their predictions.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import WaitingCounts
        >>> WaitingCounts.of([0.9, 0.6, 0.7]).rows
        3
        """
        mistakes = mistakes_of(confidence)
        return cls(len(mistakes), int(mistakes.sum()))

    def plus(self, other: "WaitingCounts", sign: int = 1) -> "WaitingCounts":
        """Return the counts with those of other rows added or, if sign is −1, removed.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import WaitingCounts
        >>> counts = WaitingCounts.of([0.9, 0.6]).plus(WaitingCounts.of([0.6]), -1)
        >>> counts.rows
        1
        """
        return WaitingCounts(
            self.rows + sign * other.rows, self.mistakes + sign * other.mistakes
        )


def mistakes_of(confidence: Any) -> IntArray:
    """Return one minus each probability, in units of 1 / ONE."""
    c = np.clip(np.nan_to_num(np.asarray(confidence, np.float64)), 0.0, 1.0)
    return ONE - np.rint(c * ONE).astype(np.int64)


@final
class ErrorForecast:
    """Forecasts the error of rows that wait, from rows whose labels have arrived.

    Parameters
    ----------
    history : int, default=20000
        Number of labelled rows to keep, 16 bytes each.

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb.evaluate.waiting import ErrorForecast
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(0.5, 1.0, 8000)
    >>> wrong = rng.random(8000) > confidence
    >>> forecast = ErrorForecast()
    >>> forecast.add_labelled(confidence[:7000], wrong[:7000])
    >>> found = forecast.expected(confidence[7000:])
    >>> bool(found.low <= wrong[7000:].mean() <= found.high)
    True
    >>> forecast.expected(confidence).reason
    'too few labels have arrived (7,000 of about 10,250)'
    """

    def __init__(self, history: int = 20_000) -> None:
        self.history = check_integer("history", history, 100)
        self.labelled = 0
        """number of labelled rows so far"""
        # (n, 2) whether each labelled row was wrong, and the probability of that, both
        # in units of 1 / ONE.
        self._rows: IntArray = np.zeros((0, 2), np.int64)

    def add_labelled(self, confidence: Any, wrong: Any) -> None:
        """Add predictions whose labels have arrived, in the order of the labels.

        Parameters
        ----------
        confidence : array-like of shape (n_samples,)
            Probabilities of the predicted classes.
        wrong : array-like of shape (n_samples,)
            Whether each prediction was wrong.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import ErrorForecast
        >>> forecast = ErrorForecast()
        >>> forecast.add_labelled([0.9, 0.6, 0.7], [False, True, False])
        """
        missed: BoolArray = np.asarray(wrong, np.bool_)
        mistakes = mistakes_of(confidence)
        if mistakes.ndim != 1 or missed.shape != mistakes.shape:
            raise ValueError(
                "confidence and wrong must have one value per row, got shapes "
                f"{mistakes.shape} and {missed.shape}"
            )
        self.labelled += len(mistakes)
        new = np.stack([ONE * missed.astype(np.int64), mistakes], axis=1)
        self._rows = np.concatenate([self._rows, new])[-self.history :]

    def expected(
        self,
        waiting: "WaitingCounts | Any",
        *,
        outside: float = 0.0,
        coverage: float = 0.95,
    ) -> ExpectedError:
        """Forecast the error of rows that wait.

        Parameters
        ----------
        waiting : array-like of shape (n_samples,) or WaitingCounts
            Probabilities of the predictions that wait for a label.
        outside : float, default=0.0
            Share of these rows whose inputs are unlike those of labelled rows. The band
            is that much wider, and above 0.5 there is no forecast.
        coverage : float, default=0.95
            Share of bands that should contain the true error.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import ErrorForecast
        >>> forecast = ErrorForecast()
        >>> forecast.add_labelled([0.9, 0.6, 0.7], [False, True, False])
        >>> forecast.expected([0.8, 0.8]).known               # too few labels
        False
        """
        coverage = check_real("coverage", coverage, 0.0, above=True, high=0.9999)
        if not isinstance(waiting, WaitingCounts):
            waiting = WaitingCounts.of(waiting)
        W = waiting.rows
        if W == 0:
            nothing = "no row waits for its label"
            nan = float("nan")
            return ExpectedError(0, nan, 0.0, 1.0, nan, 0.0, outside, nothing)
        width = min(max(W, SHORTEST), max(self.history // LARGEST, SHORTEST))
        n = len(self._rows)
        total = np.concatenate([np.zeros((1, 2), np.int64), self._rows.cumsum(axis=0)])
        # Places in the past to forecast from, the latest first.
        stride = max(width // 4, CLOSEST)
        places = np.arange(n - width, FIRST - 1, -stride)
        true, mean = (total[places + width] - total[places]).T / (ONE * width)
        residuals = true[:, None] - _forecasts(total, places, mean)
        raw = waiting.mistakes / (ONE * W)
        weights, m = _weights(residuals, width), 0.0
        if len(places):
            m = min(1.0 + (len(places) - 1) * stride / width, float(len(places)))
        forecasts = _forecasts(total, np.array([n]), np.array([raw]))
        expected = float(_mixed(forecasts, weights)[0])
        reason = None
        if m < FEWEST:
            needed = FIRST + int(FEWEST) * width
            reason = f"too few labels have arrived ({n:,} of about {needed:,})"
        elif outside > MOST_OUTSIDE:
            reason = "the inputs are unlike those with labels"
        if reason is not None:
            return ExpectedError(W, expected, 0.0, 1.0, raw, m, outside, reason)
        mixed = _mixed(residuals, weights)
        half = half_width(mixed, m, expected, W, width, coverage) + outside
        low, high = max(expected - half, 0.0), min(expected + half, 1.0)
        return ExpectedError(W, expected, low, high, raw, m, outside, None)


def _forecasts(total: IntArray, places: IntArray, mean: FloatArray) -> FloatArray:
    """Return (places, 5): forecasts of rows from the labels before a place.

    `total` (n + 1, 2) has cumulative sums of mistakes and of their probabilities, and
    `mean` (places,) the mean probabilities of mistakes of the rows to forecast.
    """
    corrected, observed = [], []
    for last in (RECENT, len(total)):
        first = np.maximum(places - last, 0)
        rows = ONE * np.maximum(places - first, 1)
        error, probability = (total[places] - total[first]).T / rows
        corrected.append(np.clip(mean + (error - probability), 0.0, 1.0))
        observed.append(error)
    return np.stack([mean, *corrected, *observed], axis=1)


def _weights(residuals: FloatArray, width: int) -> FloatArray:
    """Return the weights of the forecasts; without residuals, only the first counts."""
    if len(residuals) == 0:
        return np.eye(1, residuals.shape[1])[0]
    weights = 1.0 / (width**-2 + np.mean(residuals**2, axis=0))
    return np.asarray(weights / weights.sum(), np.float64)


def _mixed(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of each row, in an order that does not depend on BLAS."""
    return np.asarray((values * weights).sum(axis=1), np.float64)


def half_width(
    residuals: FloatArray,
    m: float,
    expected: float,
    waiting: int,
    width: int,
    coverage: float,
) -> float:
    """Return half of the band's width: see the docstring of the module.

    `residuals` are those of windows of `width` rows, of which m fit side by side.
    """
    absolute = np.sort(np.abs(residuals))
    level = min(coverage * (m + 1.0) / m, 1.0)
    place = min(int(np.ceil(level * len(absolute))), len(absolute)) - 1
    seen = float(absolute[place])
    seen *= max(1.0 / ((1.0 - coverage) * (m + 1.0)), 1.0)
    t = float(stdtrit(m, 0.5 + coverage / 2.0))
    spread = float(np.sqrt(np.mean(residuals**2)))
    # With more rows than a window has, drift continues like a random walk.
    longer = max(waiting / width, 1.0) ** 0.5
    normal = float(ndtri(0.5 + coverage / 2.0))
    chance = normal * (expected * (1.0 - expected) / waiting) ** 0.5
    return max(longer * max(seen, t * spread), chance)
