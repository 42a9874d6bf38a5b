r"""Prediction sets whose coverage holds along any stream: quantile tracking.

A set holds the classes whose *strangeness* s = log((1 − p)/p), p being the class's
probability, is at most a threshold q. For a wished coverage 1 − α the threshold follows

$$q_{t+1} = q_t + \eta_t (e_t - \alpha),$$

with e_t = 1 if the true class was outside the set: adaptive conformal inference (Gibbs
& Candès, NeurIPS 2021) on the threshold itself, which is the quantile tracker of
Angelopoulos, Candès & Tibshirani ("Conformal PID control for time series prediction",
NeurIPS 2023). Summing it over T rows shows what the share of misses is:

$$\frac1T \sum_t e_t - \alpha = \frac{q_{T+1} - q_1}{\eta T}$$

for a constant η. s is limited to ±S, so q stays within S + η of zero and the right side
vanishes with T, whatever the stream and the model: after 5,000 rows it is at most 0.01
as long as the threshold has moved by 10 or less. On the scale of s a step means the
same to a model that is wrong in half of all rows as to one that is wrong in a
thousandth, so one step suits all streams.
"""

from math import log
from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline

#: The coverages whose thresholds are tracked; others are interpolated.
COVERAGES: Final = np.array(
    [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99]
)

# S, the largest absolute strangeness; the threshold before the first row, which leaves
# out what has a probability below a half; η.
_MOST = 12.0
_START = 0.0
_STEP = 0.2


def new_thresholds() -> FloatArray:
    """Return the thresholds of all coverages before the first row."""
    return np.full(COVERAGES.shape[0], _START)


@compiled_inline
def strangeness(p: float) -> float:
    """Return log((1 − p)/p), limited; of p = 0 and of NaN the largest."""
    if not p > 0.0:
        return _MOST
    if p >= 1.0:
        return -_MOST
    return min(max(log((1.0 - p) / p), -_MOST), _MOST)


@compiled
def learn_threshold(thresholds: FloatArray, p: float) -> None:
    """Move all thresholds after a row whose true class had the probability p."""
    s = strangeness(p)
    for c in range(COVERAGES.shape[0]):
        missed = 1.0 if s > thresholds[c] else 0.0
        thresholds[c] += _STEP * (missed - (1.0 - COVERAGES[c]))


@compiled
def track_thresholds(
    thresholds: FloatArray, P: FloatArray, y: IntArray, before: FloatArray
) -> None:
    """Move all thresholds along rows of classes y (n,) with probabilities P (n, M).

    `before` (n, coverages) is set to the thresholds before each row.
    """
    for i in range(y.shape[0]):
        before[i] = thresholds
        learn_threshold(thresholds, P[i, y[i]])


def thresholds_of(thresholds: FloatArray, coverage: float) -> FloatArray:
    """Return the thresholds (n,) of a coverage, from tracked ones (n, coverages).

    Between two tracked coverages the threshold is linear in log(coverage odds).
    """
    right = int(np.searchsorted(COVERAGES, coverage))
    if COVERAGES[right] == coverage:
        return np.ascontiguousarray(thresholds[:, right])
    # Tracked thresholds may cross for a while.
    ordered = np.maximum.accumulate(thresholds, axis=1)
    odds = np.log(COVERAGES / (1.0 - COVERAGES))
    share = (log(coverage / (1.0 - coverage)) - odds[right - 1]) / (
        odds[right] - odds[right - 1]
    )
    return (1.0 - share) * ordered[:, right - 1] + share * ordered[:, right]


@compiled
def in_set(P: FloatArray, thresholds: FloatArray, out: BoolArray) -> None:
    """Write whether each class (n, M) is in its row's set.

    There is one threshold per row, or one for all.
    """
    for i in range(P.shape[0]):
        q = thresholds[i % thresholds.shape[0]]
        for m in range(P.shape[1]):
            out[i, m] = P[i, m] > 0.0 and strangeness(P[i, m]) <= q
