"""Estimate of the remaining time of a study, from the runs so far.

Runs differ in cost by a factor of ten thousand and the longest start first, so the
share of runs that are done is misleading. Instead, the expected times of the remaining
runs are added up.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rpnb.study.run_records import RunRecord

Cell = tuple[str, str]

# Seconds per run for loading and permuting rows and for transferring results.
_OVERHEAD = 0.03
# A run that takes longer than expected is expected to take this much more.
_MORE = 0.25


class Forecast(NamedTuple):
    """The remaining work of a study."""

    seconds: float
    """expected time until the last run ends"""
    share: float
    """share of the work that is done, in seconds of all processes"""


@dataclass(slots=True)
class _Mean:
    """A weighted mean: of seconds, or of seconds per rough cost."""

    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, weight: float = 1.0) -> None:
        self.total += value
        self.weight += weight

    def value(self) -> float:
        return self.total / self.weight


@dataclass(slots=True)
class RemainingTime:
    """Estimates how long runs take, from those that have ended.

    The estimate is the mean time of runs of the same method on the same dataset. If
    there are none, it is the rough cost, scaled by how long the method took on other
    datasets, or else by how long all methods took.
    """

    cost: Callable[[Cell], float]
    """rough estimate of the seconds of a run, from its dataset and method"""
    _means: defaultdict[Hashable, _Mean] = field(
        default_factory=lambda: defaultdict(_Mean), init=False
    )
    _done: float = field(default=0.0, init=False)

    def add(self, record: RunRecord) -> None:
        """Take the time of a finished run into account."""
        cell = (record.dataset, record.method)
        self._means[cell].add(record.seconds)
        for group in (record.method, None):
            self._means[group].add(record.seconds, self.cost(cell))
        self._done += record.seconds + _OVERHEAD

    def seconds_of(self, cell: Cell) -> float:
        """Return the expected seconds of one run."""
        if cell in self._means:
            return self._means[cell].value()
        for group in (cell[1], None):
            if group in self._means:
                return self._means[group].value() * self.cost(cell)
        return self.cost(cell)

    def forecast(
        self,
        pending: Counter[Cell],
        jobs: int,
        running: Iterable[tuple[Cell, float]] = (),
    ) -> Forecast:
        """Return the remaining work: `pending` runs, in `jobs` processes.

        `running` are the pending runs that have started, with their seconds so far.
        """
        started = list(running)
        expected = {cell: self.seconds_of(cell) + _OVERHEAD for cell in pending}
        waiting = pending - Counter(cell for cell, _ in started)
        rests = [
            max(expected[cell] - elapsed, _MORE * elapsed) for cell, elapsed in started
        ]
        work = sum(expected[cell] * count for cell, count in waiting.items())
        work += sum(rests)
        # Not less than the longest run, which one process computes alone.
        longest = max([*(expected[cell] for cell in waiting), *rests], default=0.0)
        done = self._done + sum(elapsed for _, elapsed in started)
        share = done / (done + work) if work > 0.0 else 1.0
        return Forecast(max(work / max(jobs, 1), longest), share)
