"""Labels as whole numbers, in the order in which they are first met."""

from collections.abc import Hashable, Iterable

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.evaluate.metrics import NO_ANSWER

# Integers that lie no further apart are looked up in a table.
_NEAR = 256


class LabelIndex:
    """Numbers for labels: truth and answers of all learners share one.

    Labels that are equal in Python have one number, whoever gave them: 1, 1.0 and a
    NumPy integer 1 are one class.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The labels met so far, by number."""
        return tuple(self._numbers)

    def find(self, label: Hashable) -> int | None:
        """Return the number of a label, None if it has not been met."""
        return self._numbers.get(label)

    def of(self, labels: Iterable[Hashable] | LabelArray) -> IntArray:
        """Return the number of each label; None is no answer.

        >>> numbering = LabelIndex()
        >>> numbering.of(["cat", "dog", None, "cat"])
        array([ 0,  1, -1,  0])
        """
        if isinstance(labels, np.ndarray):
            if labels.dtype.kind == "i" and labels.shape[0] > 0:
                found = self._looked_up(labels)
                if found is not None:
                    return found
            labels = labels.tolist()
        numbers = self._numbers
        return np.array(
            [
                NO_ANSWER if label is None else numbers.setdefault(label, len(numbers))
                for label in labels
            ],
            dtype=np.int64,
        )

    def _looked_up(self, labels: LabelArray) -> IntArray | None:
        """Return the numbers of integers close to each other, None if one is new."""
        low, high = int(labels.min()), int(labels.max())
        if high - low >= _NEAR:
            return None
        known = [self._numbers.get(label, -1) for label in range(low, high + 1)]
        found: IntArray = np.array(known, np.int64)[labels - low]
        return found if found.min() >= 0 else None

    def spelt(self, numbers: IntArray) -> list[Hashable | None]:
        """Return the labels of numbers, None for no answer."""
        labels = [*self._numbers, None]
        return [labels[number] for number in numbers.tolist()]
