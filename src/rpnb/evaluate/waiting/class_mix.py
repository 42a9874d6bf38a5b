"""Correction of a changing class mix, for classes and rows that have names."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.waiting.priors import PriorCorrection


class NumberedRows(NamedTuple):
    """Corrected probabilities of rows, and their numbers."""

    P: FloatArray
    numbers: list[int]
    """numbers of the rows, in the order in which they were corrected"""


@final
class ClassMix:
    """Corrects the probabilities of rows by `PriorCorrection`.

    Tables of probabilities may have their classes in any order, and new classes.
    """

    def __init__(self) -> None:
        self._priors = PriorCorrection()
        self._places: dict[Any, int] = {}
        self._numbers: dict[Any, int] = {}

    @property
    def share(self) -> float:
        """Share of the correction that is applied, from 0 to 1."""
        return self._priors.share

    @property
    def shares(self) -> dict[Any, float]:
        """Estimated shares of the classes in the last rows; empty if unknown."""
        mix = self._priors.mix
        known = [] if mix is None else mix.tolist()
        return dict(zip(self._places, known, strict=False))

    def apply(self, classes: Sequence[Any], P: FloatArray) -> FloatArray:
        """Return probabilities corrected by the current class mix; count no rows."""
        known = [each in self._places for each in classes]
        if not self.share or not all(known) or len(classes) < len(self._places):
            return P
        columns = [self._places[each] for each in classes]
        whole = np.zeros((len(P), len(self._places)))
        whole[:, columns] = P
        return self._priors.apply(whole)[:, columns]

    def correct(self, classes: Sequence[Any], P: FloatArray) -> NumberedRows:
        """Correct the probabilities of the next rows, whose labels may arrive later."""
        columns = [self._places.setdefault(c, len(self._places)) for c in classes]
        whole = np.zeros((len(P), len(self._places)))
        whole[:, columns] = P
        first = self._priors.rows
        found = self._priors.correct(whole)[:, columns]
        return NumberedRows(found, [*range(first, first + len(P))])

    def name_row(self, row: Hashable, number: int) -> None:
        """Name a corrected row, for its label."""
        self._numbers[row] = number
        while len(self._numbers) > self._priors.most_waiting:
            del self._numbers[next(iter(self._numbers))]

    def add_labelled(self, rows: Sequence[Any], labels: Sequence[Any]) -> None:
        """Add labels in the order of their arrival; those of other rows are ignored."""
        pairs = [
            (self._numbers.pop(row), self._places[label])
            for row, label in zip(rows, labels, strict=True)
            # A class that was unknown when the row arrived has no probability.
            if row in self._numbers and label in self._places
        ]
        if pairs:
            self._priors.add_labelled(*np.array(pairs).T)

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values, if classes and rows are such values."""
        return {
            "classes": [*self._places],
            "numbers": [[*each] for each in self._numbers.items()],
            "priors": self._priors.to_json(),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "ClassMix":
        """Return the correction whose state `to_json` returned."""
        found = cls()
        found._places = {each: i for i, each in enumerate(saved["classes"])}
        found._numbers = dict(saved["numbers"])
        found._priors = PriorCorrection.from_json(saved["priors"])
        return found
