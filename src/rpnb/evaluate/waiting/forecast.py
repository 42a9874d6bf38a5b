r"""Forecast of the error of predictions whose labels have not arrived, with a band.

A prediction with probability c is wrong with probability 1 − c if probabilities are
calibrated. Whether they are is measured on the labels that have arrived. Let W
predictions wait, and $i = 1 … N$ be the labelled ones in the order of their labels.

**Forecasts.** One is the mean of 1 − c over the rows that wait. The others correct it
by the last L labelled rows. Rows are in 20 cells of equal width in c; cell b has n_b
labelled rows, and d_b is the sum over them of [wrong] − (1 − c). With
$s = \sum d_b / (50 + \sum n_b)$, a waiting row of cell b counts

$$1 - c + g\, \frac{d_b + 20 s}{n_b + 20}, \qquad L ∈ \{500, 2000\},\; g ∈ \{½, 1\}$$

clipped to 0 and 1.

**Choice of the forecast.** All are tried on the past: from each of many places between
labelled rows, the W labels after it are forecast from the labels before it alone. The
residual R is the true error minus the forecast. The forecast with the smallest mean |R|
is used. Places are closer than W rows; $m$ is the number of windows of W rows that fit.

**The band** is ± h around the forecast. From m = 19 windows on, the $\lceil 0.95 (m +
1) \rceil / m$ quantile of |R| is a split conformal interval (Vovk, Gammerman & Shafer
2005). With fewer windows there is no such interval at 95 %: the largest |R| is the
quantile m / (m + 1), which is extrapolated with a heavy tail of index 1, by the factor
20 / (m + 1). h is at least that of a t-interval with m degrees of freedom, on the root
mean square of R. If m < 5 there is no forecast: the band is [0, 1].

Everything is computed from integers, so that figures do not depend on how rows are
divided into calls.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

import numpy as np
from scipy.special import ndtri, stdtrit

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_integer, check_real

#: Number of cells of probabilities.
N_CELLS: Final = 20
#: Probabilities of mistakes are whole multiples of 1 / ONE.
ONE: Final = 1 << 20
#: Corrections: number of labelled rows L, and share g of the correction; 0 for none.
CORRECTIONS: Final = ((0, 0.0), (500, 0.5), (500, 1.0), (2000, 0.5), (2000, 1.0))
#: Pseudo-rows that shrink the correction of a cell, and of all cells.
CELL_ROWS, ALL_ROWS = 20.0, 50.0
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
    """Counts of rows that wait, by cell of their probability."""

    rows: IntArray
    """(20,) number of rows"""
    mistakes: IntArray
    """(20,) sum of the probabilities of mistakes, in units of 1 / ONE"""

    @classmethod
    def of(cls, confidence: Any) -> "WaitingCounts":
        """Count rows by the probabilities of their predictions.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import WaitingCounts
        >>> int(WaitingCounts.of([0.9, 0.6, 0.7]).rows.sum())
        3
        """
        cells, mistakes = cells_of(confidence)
        return cls(_sums(cells, np.ones_like(mistakes)), _sums(cells, mistakes))

    def plus(self, other: "WaitingCounts", sign: int = 1) -> "WaitingCounts":
        """Return the counts with those of other rows added or, if sign is −1, removed.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import WaitingCounts
        >>> counts = WaitingCounts.of([0.9, 0.6]).plus(WaitingCounts.of([0.6]), -1)
        >>> int(counts.rows.sum())
        1
        """
        return WaitingCounts(
            self.rows + sign * other.rows, self.mistakes + sign * other.mistakes
        )


def cells_of(confidence: Any) -> tuple[IntArray, IntArray]:
    """Return the cells of probabilities, and one minus them in units of 1 / ONE."""
    c = np.clip(np.nan_to_num(np.asarray(confidence, np.float64)), 0.0, 1.0)
    cells = np.minimum((c * N_CELLS).astype(np.int64), N_CELLS - 1)
    return cells, ONE - np.rint(c * ONE).astype(np.int64)


def _sums(cells: IntArray, values: IntArray) -> IntArray:
    """Return exact sums of integers by cell: they are below 2^53."""
    return np.bincount(cells, values, N_CELLS).astype(np.int64)


@final
class ErrorForecast:
    """Forecasts the error of rows that wait, from rows whose labels have arrived.

    Parameters
    ----------
    history : int, default=20000
        Number of labelled rows to keep, 24 bytes each.

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
        self._cells: IntArray = np.zeros(0, np.int64)
        self._excess: IntArray = np.zeros(0, np.int64)
        self._mistakes: IntArray = np.zeros(0, np.int64)

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
        cells, mistakes = cells_of(confidence)
        if cells.ndim != 1 or missed.shape != cells.shape:
            raise ValueError(
                "confidence and wrong must have one value per row, got shapes "
                f"{cells.shape} and {missed.shape}"
            )
        self.labelled += len(cells)
        keep = self.history
        self._cells = np.concatenate([self._cells, cells])[-keep:]
        self._mistakes = np.concatenate([self._mistakes, mistakes])[-keep:]
        excess = ONE * missed.astype(np.int64) - mistakes
        self._excess = np.concatenate([self._excess, excess])[-keep:]

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
        W = int(waiting.rows.sum())
        if W == 0:
            nothing = "no row waits for its label"
            nan = float("nan")
            return ExpectedError(0, nan, 0.0, 1.0, nan, 0.0, outside, nothing)
        width = min(max(W, SHORTEST), max(self.history // LARGEST, SHORTEST))
        places, stride = self._places(width)
        residuals, m = self._residuals(places, width), 0.0
        best = 0
        if len(places):
            m = min(1.0 + (len(places) - 1) * stride / width, float(len(places)))
            best = int(np.abs(residuals).mean(axis=0).argmin())
        forecasts = self._forecasts(
            [len(self._cells)], waiting.rows[None], waiting.mistakes[None]
        )[0]
        expected, raw = float(forecasts[best]), float(forecasts[0])
        reason = None
        if m < FEWEST:
            needed = FIRST + int(FEWEST) * width
            kept = len(self._cells)
            reason = f"too few labels have arrived ({kept:,} of about {needed:,})"
        elif outside > MOST_OUTSIDE:
            reason = "the inputs are unlike those with labels"
        if reason is not None:
            return ExpectedError(W, expected, 0.0, 1.0, raw, m, outside, reason)
        half = half_width(residuals[:, best], m, expected, W, width, coverage) + outside
        low, high = max(expected - half, 0.0), min(expected + half, 1.0)
        return ExpectedError(W, expected, low, high, raw, m, outside, None)

    def _places(self, width: int) -> tuple[IntArray, int]:
        """Return places in the history to forecast from, the latest first."""
        stride = max(width // 4, CLOSEST)
        return np.arange(len(self._cells) - width, FIRST - 1, -stride), stride

    def _residuals(self, places: IntArray, width: int) -> FloatArray:
        """Return (places, forecasts): the true error after a place minus a forecast."""
        if len(places) == 0:
            return np.zeros((0, len(CORRECTIONS)))
        after = _between(places, places + width)
        rows = after(self._cells, np.ones_like(self._cells))
        mistakes = after(self._cells, self._mistakes)
        excess = after(self._cells, self._excess)
        true = (mistakes + excess).sum(axis=1) / (ONE * width)
        return true[:, None] - self._forecasts(places, rows, mistakes)

    def _forecasts(self, places: Any, rows: IntArray, mistakes: IntArray) -> FloatArray:
        """Return (places, forecasts) of rows in cells, from the labels before a place.

        `rows` and `mistakes` (places, 20) describe the rows to forecast.
        """
        places = np.asarray(places)
        n = rows.sum(axis=1)
        mean = mistakes / (ONE * np.maximum(rows, 1))
        found = [mistakes.sum(axis=1) / (ONE * n)]
        for last, share in CORRECTIONS[1:]:
            before = _between(np.maximum(places - last, 0), places)
            seen = before(self._cells, np.ones_like(self._cells))
            gap = before(self._cells, self._excess) / ONE
            shift = gap.sum(axis=1) / (ALL_ROWS + seen.sum(axis=1))
            by_cell = (gap + CELL_ROWS * shift[:, None]) / (seen + CELL_ROWS)
            error = np.clip(mean + share * by_cell, 0.0, 1.0)
            found.append((rows * error).sum(axis=1) / n)
        return np.stack(found, axis=1)


def _between(begin: IntArray, end: IntArray) -> Any:
    """Return a function that sums integers by cell, between places of a history."""
    edges = np.unique(np.concatenate([begin, end]))

    def sums(cells: IntArray, values: IntArray) -> IntArray:
        part = np.searchsorted(edges, np.arange(len(cells)), side="right")
        k = len(edges) + 1
        each = np.bincount(part * N_CELLS + cells, values, k * N_CELLS)
        up_to = np.cumsum(each.reshape(k, N_CELLS).astype(np.int64), axis=0)
        return up_to[np.searchsorted(edges, end)] - up_to[np.searchsorted(edges, begin)]

    return sums


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
