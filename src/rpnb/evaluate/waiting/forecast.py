r"""The error of predictions whose labels have not come, and how far it may be off.

A prediction that was given the probability c is wrong with probability 1 − c, if
probabilities come true. Whether they do is measured on the labels that have come. Let W
predictions wait, and $i = 1 … N$ be the labelled ones in the order of their labels.

**Forecasts.** One is the mean of 1 − c over the rows that wait. The others correct it
by the last L labelled rows. Rows are in 20 cells of equal width in c; cell b has n_b
labelled rows, and d_b is the sum over them of [wrong] − (1 − c). With
$s = \sum d_b / (50 + \sum n_b)$, a waiting row of cell b counts

$$1 - c + g\, \frac{d_b + 20 s}{n_b + 20}, \qquad L ∈ \{500, 2000\},\; g ∈ \{½, 1\}$$

cut off at 0 and 1.

**Which one, and how far off.** All are tried on the past: from each of many places
between labelled rows, the W labels after it are forecast with the labels before it
alone. The residual R is the true error less the forecast. The forecast with the least
mean |R| is taken. Places are closer than W rows; $m$ is how many windows of W rows fit.

**The band** is ± h around the forecast. From m = 19 windows on, the
$\lceil 0.95 (m + 1) \rceil / m$ quantile of |R| is a split conformal interval (Vovk,
Gammerman & Shafer 2005). With fewer there is none at 95 %: the largest |R| is the
quantile m / (m + 1), and is extrapolated by a heavy tail, that of index 1: a factor of
20 / (m + 1). h is at least that of a t-interval with m degrees of freedom, on
the root mean square of R. With m < 5 nothing is claimed: the band is [0, 1].

Everything is computed from integers, so that figures do not depend on how rows are cut
into calls.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

import numpy as np
from scipy.special import ndtri, stdtrit

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_integer, check_real

#: Cells of probabilities.
N_CELLS: Final = 20
#: Probabilities of mistakes are whole multiples of 1 / ONE.
ONE: Final = 1 << 20
#: Corrections: labelled rows, and the share of the correction; 0 rows for none.
CORRECTIONS: Final = ((0, 0.0), (500, 0.5), (500, 1.0), (2000, 0.5), (2000, 1.0))
#: By how many rows corrections of a cell, and of all, are held back.
CELL_ROWS, ALL_ROWS = 20.0, 50.0
#: Windows of labelled rows without which nothing is claimed.
FEWEST: Final = 5.0
#: Labelled rows before the first place that the past is looked at from.
FIRST: Final = 250
#: Rows of a window, at least; distance of places, at least.
SHORTEST, CLOSEST = 50, 25
#: At most this share of the history is one window.
LARGEST: Final = 10
#: A larger share of rows where no labels were makes the error unknown.
MOST_OUTSIDE: Final = 0.5


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The error that is to be expected of predictions whose labels have not come.

    Attributes
    ----------
    waiting
        Number of predictions that wait.
    expected
        Their expected error rate; NaN if none waits.
    low, high
        Ends of the band that holds the true error rate; 0 and 1 if it is not known.
    uncorrected
        The mean of one minus the probability of each prediction.
    windows
        How many windows of that many labelled rows the band rests on.
    outside
        Share of the rows whose inputs lie where labels were rare; see `InputWatch`.
    reason
        Why nothing is known; None if the band means something.
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
        """Whether the band means something."""
        return self.reason is None

    def __str__(self) -> str:
        if self.waiting == 0:
            return "no row waits for its label"
        band = f"{self.low:.3f} to {self.high:.3f}"
        if self.reason is not None:
            return f"cannot know: {self.reason}"
        return f"expected error {self.expected:.3f} ({band}) of {self.waiting:,} rows"


class WaitingCounts(NamedTuple):
    """Rows that wait, by cell of their probability."""

    rows: IntArray
    """(20,) how many"""
    mistakes: IntArray
    """(20,) sum of the probabilities of mistakes, in units of 1 / ONE"""

    @classmethod
    def of(cls, confidence: Any) -> "WaitingCounts":
        """Count rows by the probabilities of their predictions."""
        cells, mistakes = cells_of(confidence)
        return cls(_sums(cells, np.ones_like(mistakes)), _sums(cells, mistakes))

    def plus(self, other: "WaitingCounts", sign: int = 1) -> "WaitingCounts":
        """Return the counts with those of other rows added or, by −1, removed."""
        return WaitingCounts(
            self.rows + sign * other.rows, self.mistakes + sign * other.mistakes
        )


def cells_of(confidence: Any) -> tuple[IntArray, IntArray]:
    """Return the cells of probabilities, and those of mistakes in units of 1 / ONE."""
    c = np.clip(np.nan_to_num(np.asarray(confidence, np.float64)), 0.0, 1.0)
    cells = np.minimum((c * N_CELLS).astype(np.int64), N_CELLS - 1)
    return cells, ONE - np.rint(c * ONE).astype(np.int64)


def _sums(cells: IntArray, values: IntArray) -> IntArray:
    """Return sums of integers by cell, exactly: they are below 2^53."""
    return np.bincount(cells, values, N_CELLS).astype(np.int64)


@final
class ErrorForecast:
    """Forecasts the error of rows that wait from those whose labels have come.

    Parameters
    ----------
    history : int, default=20000
        Labelled rows that are kept, 24 bytes each.

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
    'too few labels have come'
    """

    def __init__(self, history: int = 20_000) -> None:
        self.history = check_integer("history", history, 100)
        self.labelled = 0
        """number of labelled rows so far"""
        self._cells: IntArray = np.zeros(0, np.int64)
        self._excess: IntArray = np.zeros(0, np.int64)
        self._mistakes: IntArray = np.zeros(0, np.int64)

    def add_labelled(self, confidence: Any, wrong: Any) -> None:
        """Add predictions whose labels have come, in the order of the labels.

        Parameters
        ----------
        confidence : array-like of shape (n,)
            Probabilities that the predicted classes had been given.
        wrong : array-like of shape (n,)
            Whether each prediction was wrong.
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
        waiting : array-like of shape (n,) or WaitingCounts
            Probabilities of the predictions that wait.
        outside : float, default=0.0
            Share of these rows whose inputs lie where the labelled rows were not. The
            band is that much wider, and above 0.5 nothing is known.
        coverage : float, default=0.95
            Share of bands that hold the true error.
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
            reason = "too few labels have come"
        elif outside > MOST_OUTSIDE:
            reason = "the inputs have left what the labels were seen on"
        if reason is not None:
            return ExpectedError(W, expected, 0.0, 1.0, raw, m, outside, reason)
        half = half_width(residuals[:, best], m, expected, W, width, coverage) + outside
        low, high = max(expected - half, 0.0), min(expected + half, 1.0)
        return ExpectedError(W, expected, low, high, raw, m, outside, None)

    def _places(self, width: int) -> tuple[IntArray, int]:
        """Return places in the history to look forward from, the latest first."""
        stride = max(width // 4, CLOSEST)
        return np.arange(len(self._cells) - width, FIRST - 1, -stride), stride

    def _residuals(self, places: IntArray, width: int) -> FloatArray:
        """Return (places, forecasts): true error of rows after less the forecast."""
        if len(places) == 0:
            return np.zeros((0, len(CORRECTIONS)))
        after = _between(places, places + width)
        rows = after(self._cells, np.ones_like(self._cells))
        mistakes = after(self._cells, self._mistakes)
        excess = after(self._cells, self._excess)
        true = (mistakes + excess).sum(axis=1) / (ONE * width)
        return true[:, None] - self._forecasts(places, rows, mistakes)

    def _forecasts(self, places: Any, rows: IntArray, mistakes: IntArray) -> FloatArray:
        """Return (places, forecasts) of rows in cells, with the labels before a place.

        `rows` and `mistakes` (places, 20) are those of rows to forecast.
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
    """Return half of the band's width; see the module's text.

    `residuals` are of windows of `width` rows, m of which would fit side by side.
    """
    absolute = np.sort(np.abs(residuals))
    level = min(coverage * (m + 1.0) / m, 1.0)
    place = min(int(np.ceil(level * len(absolute))), len(absolute)) - 1
    seen = float(absolute[place])
    seen *= max(1.0 / ((1.0 - coverage) * (m + 1.0)), 1.0)
    t = float(stdtrit(m, 0.5 + coverage / 2.0))
    spread = float(np.sqrt(np.mean(residuals**2)))
    # More rows than windows are long: drift goes on, as a random walk does.
    longer = max(waiting / width, 1.0) ** 0.5
    normal = float(ndtri(0.5 + coverage / 2.0))
    chance = normal * (expected * (1.0 - expected) / waiting) ** 0.5
    return max(longer * max(seen, t * spread), chance)
