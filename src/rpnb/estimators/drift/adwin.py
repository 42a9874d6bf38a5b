r"""ADWIN: a window of values that is cut where its mean has changed.

Bifet & Gavaldà, "Learning from time-changing data with adaptive windowing" (SDM 2007),
section 4, with the same constants and alarms as River's ADWIN: every 32 values, the
window $W$ is cut in two, $W_0$ (older, $n_0$ values) and $W_1$ ($n_1$), at each border
of its buckets. With $σ^2$ the variance of $W$ and

$$\frac1m = \frac1{n_0 - 4} + \frac1{n_1 - 4}, \qquad
δ' = \ln \frac{2 \ln |W|}{δ}, \qquad
ε = \sqrt{\tfrac2m σ^2 δ'} + \tfrac2{3m} δ'$$

the oldest bucket is dropped while some cut has means that differ by more than $ε$.

Values are kept as exponential histograms: level i has up to 5 buckets of $2^i$ values
each, of which only the sum and the sum of squares about the mean are kept; a sixth
bucket merges the two oldest into one of level i + 1.
"""

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.elementary import log

#: Largest number of buckets per level.
BUCKETS: Final = 5
#: Largest number of levels: enough for any stream.
LEVELS: Final = 60
_DELTA, _CLOCK, _SHORTEST, _GRACE = 0.002, 32, 5, 10


@dataclass(slots=True)
class Adwin:
    """An adaptive window over values, with an alarm where their mean has changed."""

    levels: list[list[tuple[float, float]]] = field(default_factory=lambda: [[]])
    """buckets by level: sum, and squares about the mean; the oldest first"""
    width: int = 0
    """values in the window"""
    total: float = 0.0
    squares: float = 0.0
    """sum of the squares of all values about their mean"""
    ticks: int = 0
    """values so far"""
    drift_detected: bool = False
    """whether the last value gave an alarm"""

    @property
    def estimation(self) -> float:
        """The mean of the window."""
        return self.total / self.width if self.width else 0.0

    def clone(self) -> "Adwin":
        """Return a detector that has seen nothing."""
        return Adwin()

    def __deepcopy__(self, memo: Any) -> "Adwin":
        return replace(self, levels=[list(level) for level in self.levels])

    def update(self, x: float) -> None:
        """Add a value, and look for a change; an alarm resets the detector."""
        value = float(x)
        if self.drift_detected:
            self.levels, self.width, self.ticks = [[]], 0, 0
            self.total = self.squares = 0.0
        self.ticks += 1
        self.width += 1
        if self.width > 1:
            before = self.width - 1
            gap = value - self.total / before
            self.squares += before * gap * gap / self.width
        self.total += value
        self.levels[0].append((value, 0.0))
        self._compress()
        self.drift_detected = self._cut()

    def _compress(self) -> None:
        """Merge the two oldest buckets of each level that has too many."""
        for i, level in enumerate(self.levels):
            if len(level) <= BUCKETS:
                return
            n = 1 << i
            (u1, v1), (u2, v2) = level[:2]
            gap = u1 / n - u2 / n
            if i + 1 == len(self.levels):
                self.levels.append([])
            self.levels[i + 1].append((u1 + u2, v1 + v2 + n * n * gap * gap / (n + n)))
            del level[:2]

    def _cut(self) -> bool:
        """Drop the oldest buckets while some cut shows a change; return whether any."""
        if self.ticks % _CLOCK or self.width <= _GRACE:
            return False
        found = False
        while self._has_changed():
            found = True
            self._drop_oldest()
        return found

    def _has_changed(self) -> bool:
        """Return whether the means differ at some border of buckets."""
        n0, u0 = 0, 0.0
        n1, u1 = self.width, self.total
        variance = self.squares / self.width
        spread = float(log(2.0 * log(self.width) / _DELTA))
        for i in range(len(self.levels) - 1, -1, -1):
            n = 1 << i
            for u, _ in self.levels[i]:
                n0, n1, u0, u1 = n0 + n, n1 - n, u0 + u, u1 - u
                if n1 < _SHORTEST:
                    return False
                if n0 < _SHORTEST:
                    continue
                m = 1.0 / (n0 - _SHORTEST + 1) + 1.0 / (n1 - _SHORTEST + 1)
                least = sqrt(2.0 * m * variance * spread) + 2.0 / 3.0 * spread * m
                if abs(u0 / n0 - u1 / n1) > least:
                    return True
        return False

    def _drop_oldest(self) -> None:
        """Forget the oldest bucket."""
        i = len(self.levels) - 1
        n = 1 << i
        u, v = self.levels[i].pop(0)
        self.width -= n
        self.total -= u
        gap = u / n - self.total / self.width
        self.squares -= v + n * self.width * gap * gap / (n + self.width)
        while len(self.levels) > 1 and not self.levels[-1]:
            self.levels.pop()

    # Files

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that the window holds."""
        counts = np.array([len(level) for level in self.levels], np.int64)
        buckets = [bucket for level in self.levels for bucket in level]
        return {
            "counts": counts,
            "buckets": np.array(buckets, np.float64).reshape(-1, 2),
            "sums": np.array([self.total, self.squares], np.float64),
            "ticks": np.array([self.ticks, self.drift_detected], np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> "Adwin":
        """Return the detector that arrays describe; refuse invalid ones."""
        counts = arrays["counts"].tolist()
        buckets = [(u, v) for u, v in arrays["buckets"].tolist()]
        if not 1 <= len(counts) <= LEVELS or not all(
            0 <= count <= BUCKETS for count in counts
        ):
            raise ValueError(f"a level of the detector has 0 to {BUCKETS} buckets")
        if sum(counts) != len(buckets) or (len(counts) > 1 and counts[-1] == 0):
            raise ValueError("the detector's buckets are not those of its levels")
        levels, start = [], 0
        for count in counts:
            levels.append(buckets[start : start + count])
            start += count
        for i, level in enumerate(levels):
            if any(not 0.0 <= u <= 1 << i or not 0.0 <= v <= 1 << i for u, v in level):
                raise ValueError("the detector's buckets hold more than errors can add")
        width = sum(count << i for i, count in enumerate(counts))
        total, squares = arrays["sums"].tolist()
        ticks, alarm = arrays["ticks"].tolist()
        if not 0.0 <= total <= width or not -1.0 <= squares <= width or ticks < width:
            raise ValueError("the detector's sums are not those of its buckets")
        return cls(levels, width, total, squares, ticks, bool(alarm))
