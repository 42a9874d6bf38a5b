"""How long the runs that are left may take, judged by those that are done."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from rpnb.study.records import Record

Cell = tuple[str, str]


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, weight: float = 1.0) -> None:
        self.total += value
        self.weight += weight

    def value(self) -> float | None:
        return self.total / self.weight if self.weight > 0.0 else None


@dataclass(slots=True)
class Clock:
    """Seconds to expect of a run.

    The mean of runs of the same method on the same dataset; without one, the method's
    seconds by operation times the operations of the run; without that, all methods'.

    Parameters
    ----------
    cost
        Roughly how many operations a run of a dataset and a method takes.
    """

    cost: Callable[[Cell], float]
    _means: defaultdict[Hashable, _Mean] = field(
        default_factory=lambda: defaultdict(_Mean)
    )

    def see(self, record: Record) -> None:
        """Learn from a run that is done."""
        cell = (record.dataset, record.method)
        self._means[cell].add(record.seconds)
        for group in (record.method, None):
            self._means[group].add(record.seconds, self.cost(cell))

    def seconds_of(self, cell: Cell) -> float | None:
        """Return the seconds to expect of one run, or None if nothing is known."""
        if cell in self._means:
            return self._means[cell].value()
        for group in (cell[1], None):
            rate = self._means[group].value() if group in self._means else None
            if rate is not None:
                return rate * self.cost(cell)
        return None

    def seconds_left(self, pending: Counter[Cell], jobs: int) -> float | None:
        """Return the seconds that pending runs take in so many processes."""
        total = 0.0
        for cell, count in pending.items():
            seconds = self.seconds_of(cell)
            if seconds is None:
                return None
            total += seconds * count
        return total / max(jobs, 1)
