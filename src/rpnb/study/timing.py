"""An estimate of the remaining time of a study, from the runs that are done."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from rpnb.study.records import RunRecord

Cell = tuple[str, str]

# Seconds per run for permuting, evaluating and transferring results.
_OVERHEAD = 0.01


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, weight: float = 1.0) -> None:
        self.total += value
        self.weight += weight

    def value(self) -> float:
        return self.total / self.weight


@dataclass(slots=True)
class RemainingTime:
    """An estimate of the seconds that runs take.

    The mean over runs of the same method on the same dataset; without any, the rough
    cost scaled by the method's runs on other datasets; without these, by all runs.
    """

    cost: Callable[[Cell], float]
    """rough estimate of the seconds of a run, from its dataset and method"""
    _means: defaultdict[Hashable, _Mean] = field(
        default_factory=lambda: defaultdict(_Mean)
    )

    def add(self, record: RunRecord) -> None:
        """Take the time of a finished run into account."""
        cell = (record.dataset, record.method)
        self._means[cell].add(record.seconds)
        for group in (record.method, None):
            self._means[group].add(record.seconds, self.cost(cell))

    def seconds_of(self, cell: Cell) -> float:
        """Return the expected seconds of one run."""
        if cell in self._means:
            return self._means[cell].value()
        for group in (cell[1], None):
            if group in self._means:
                return self._means[group].value() * self.cost(cell)
        return self.cost(cell)

    def seconds_left(self, pending: Counter[Cell], jobs: int) -> float:
        """Return the expected seconds of all pending runs in `jobs` processes."""
        total = sum(
            (self.seconds_of(cell) + _OVERHEAD) * count
            for cell, count in pending.items()
        )
        return total / max(jobs, 1)
