"""Medians with their range, and the fit of a power law."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, minimum and maximum of some numbers."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Return the median and the range.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0)
    """
    return Spread(float(np.median(values)), min(values), max(values))


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """y = factor · x^exponent."""

    exponent: float
    factor: float

    def __call__(self, x: float) -> float:
        """Return y at x."""
        return self.factor * x**self.exponent


def fit_power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """Return the power law fitted to points by least squares of logarithms.

    >>> law = fit_power_law([1.0, 10.0, 100.0], [3.0, 300.0, 30000.0])
    >>> round(law.exponent, 6), round(law.factor, 6)
    (2.0, 3.0)
    """
    if len(set(x)) < 2:
        raise ValueError(f"x must have at least two different values, got {list(x)}")
    logs = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
    dx, dy = (log - log.mean() for log in logs)
    exponent = float(dx @ dy / (dx @ dx))
    factor = float(np.exp(logs[1].mean() - exponent * logs[0].mean()))
    return PowerLaw(exponent, factor)
