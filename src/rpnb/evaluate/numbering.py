"""Labels as whole numbers, in the order in which they are first met."""

from collections.abc import Hashable, Iterable

import numpy as np

from rpnb.core.arrays import IntArray
from rpnb.evaluate.metrics import NO_ANSWER


class Numbering:
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

    def of(self, labels: Iterable[Hashable]) -> IntArray:
        """Return the number of each label; None is no answer.

        >>> numbering = Numbering()
        >>> numbering.of(["cat", "dog", None, "cat"])
        array([ 0,  1, -1,  0])
        """
        numbers = self._numbers
        return np.array(
            [
                NO_ANSWER if label is None else numbers.setdefault(label, len(numbers))
                for label in labels
            ],
            dtype=np.int64,
        )
