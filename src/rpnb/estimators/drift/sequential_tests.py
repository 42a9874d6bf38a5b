"""Detectors that test each error: DDM, EDDM, and Page and Hinkley's test.

They have the same constants and alarms as River's detectors, and an alarm resets them.
Each is a record of numbers, which a model file stores as one array.
"""

from dataclasses import dataclass, field, fields
from math import inf, isnan, sqrt
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

# Number of errors, or values, before which no alarm is given.
_WARM: Final = 30


@dataclass(slots=True)
class _Record:
    """Numbers: the first, n, counts values; the last is 1 at an alarm.

    A parameter is a field that is given by name; it is not among the numbers.
    """

    n: float = 0.0

    def clone(self) -> Self:
        """Return a detector with the same parameters that has seen nothing."""
        given = [each.name for each in fields(self) if each.kw_only]
        return type(self)(**{name: getattr(self, name) for name in given})

    def reset(self) -> None:
        """Forget everything but the parameters."""
        for each in fields(self):
            if not each.kw_only:
                setattr(self, each.name, each.default)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers."""
        found = [getattr(self, name) for name in _numbers(type(self))]
        return {"numbers": np.array(found, np.float64)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], **parameters: Any) -> Self:
        """Return the detector with these numbers; refuse invalid ones."""
        numbers = arrays["numbers"].tolist()
        if len(numbers) != len(_numbers(cls)) or any(map(isnan, numbers)):
            raise ValueError("the detector's numbers are not those of its kind")
        if not 0.0 <= numbers[0] < 2.0**53 or not numbers[0].is_integer():
            raise ValueError("the detector's number of values is not a whole number")
        if numbers[-1] not in (0.0, 1.0):
            raise ValueError("the detector's alarm is neither on nor off")
        return cls(*numbers, **parameters)


def _numbers(record: type[_Record]) -> list[str]:
    """Return the names of a record's numbers, in order."""
    return [each.name for each in fields(record) if not each.kw_only]


@dataclass(slots=True)
class DDM(_Record):
    """Gama, Medas, Castillo & Rodrigues, "Learning with drift detection" (SBIA 2004).

    With p the error rate of n values and s = √(p(1 − p)/n): an alarm where p + s is
    above p' + 3 s', the values at the minimum of p + s so far.

    Departure, with `from_first_error`: p = 0 is no minimum. Its s is 0, and the next
    error alone would give an alarm.
    """

    p: float = 0.0
    least_p: float = inf
    least_s: float = inf
    drift_detected: float = 0.0
    from_first_error: bool = field(default=False, kw_only=True)

    def update(self, x: bool) -> None:
        """Add whether a prediction was wrong."""
        if self.drift_detected:
            self.reset()
        self.n += 1.0
        self.p += (1.0 / self.n) * (x - self.p)
        s = sqrt(max(self.p * (1.0 - self.p), 0.0) / self.n)
        if self.n <= _WARM or (self.from_first_error and self.p == 0.0):
            return
        if self.p + s <= self.least_p + self.least_s:
            self.least_p, self.least_s = self.p, s
        if self.p + s > self.least_p + 3.0 * self.least_s:
            self.drift_detected = 1.0


@dataclass(slots=True)
class EDDM(_Record):
    """Baena-García et al., "Early drift detection method" (IWKDDS 2006).

    With m and s the mean and deviation of the distances between errors: an alarm where
    m + 2s is below 0.9 times its largest value, after 30 errors.
    """

    errors: float = 0.0
    last: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    largest: float = -1.0
    drift_detected: float = 0.0

    def update(self, x: bool) -> None:
        """Add whether a prediction was wrong."""
        if self.drift_detected:
            self.reset()
        self.n += 1.0
        if not x:
            return
        self.errors += 1.0
        distance = self.n - self.last
        self.last = self.n
        before = self.mean
        self.mean += (1.0 / self.errors) * (distance - before)
        self.squares += (distance - before) * (distance - self.mean)
        if self.n <= _WARM:
            return
        variance = self.squares / (self.errors - 1.0) if self.errors > 1.0 else 0.0
        level = self.mean + 2.0 * variance**0.5
        if level > self.largest:
            self.largest = level
        elif self.errors > _WARM and level / self.largest < 0.9:
            self.drift_detected = 1.0


@dataclass(slots=True)
class PageHinkley(_Record):
    """Page, "Continuous inspection schemes" (Biometrika 41, 1954), for a rise.

    m = 0.9999 m + x − x̄ − 0.005 sums the excess over the mean: an alarm where m is
    more than 50 above its minimum, from the 30th value on.
    """

    mean: float = 0.0
    rise: float = 0.0
    least: float = inf
    drift_detected: float = 0.0

    def update(self, x: bool) -> None:
        """Add whether a prediction was wrong."""
        if self.drift_detected:
            self.reset()
        self.n += 1.0
        self.mean += (1.0 / self.n) * (x - self.mean)
        self.rise = (1.0 - 0.0001) * self.rise + (x - self.mean) - 0.005
        self.least = min(self.least, self.rise)
        if self.n >= _WARM and self.rise - self.least > 50.0:
            self.drift_detected = 1.0
