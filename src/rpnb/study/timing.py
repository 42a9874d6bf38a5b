"""How long the runs that are left may take, judged by those that are done."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from rpnb.study.records import RunRecord

Cell = tuple[str, str]

# Seconds that go into a run's permutation, its measures and the way to and fro.
_AROUND = 0.01


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
    """Seconds to expect of a run.

    The mean of runs of the same method on the same dataset; without one, the rough cost
    corrected by the method's runs on other datasets; without these, by all runs.

    Parameters
    ----------
    cost
        Roughly how many seconds a run of a dataset and a method takes.
    """

    cost: Callable[[Cell], float]
    _means: defaultdict[Hashable, _Mean] = field(
        default_factory=lambda: defaultdict(_Mean)
    )

    def see(self, record: RunRecord) -> None:
        """Learn from a run that is done."""
        cell = (record.dataset, record.method)
        self._means[cell].add(record.seconds)
        for group in (record.method, None):
            self._means[group].add(record.seconds, self.cost(cell))

    def seconds_of(self, cell: Cell) -> float:
        """Return the seconds to expect of one run."""
        if cell in self._means:
            return self._means[cell].value()
        for group in (cell[1], None):
            if group in self._means:
                return self._means[group].value() * self.cost(cell)
        return self.cost(cell)

    def seconds_left(self, pending: Counter[Cell], jobs: int) -> float:
        """Return the seconds that pending runs take in so many processes."""
        total = sum(
            (self.seconds_of(cell) + _AROUND) * count for cell, count in pending.items()
        )
        return total / max(jobs, 1)
