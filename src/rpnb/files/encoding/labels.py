"""Labels get numbers in the order in which they are first seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import IntArray

# Integers that lie no further apart are looked up in a table.
_NEAR = 256


def first_seen(codes: IntArray, k: int) -> IntArray:
    """Return the numbers 0 .. k-1 that occur in `codes`, by their first place.

    >>> first_seen(np.array([2, 0, 2, 3]), 5)
    array([2, 0, 3])
    """
    n = codes.shape[0]
    place = np.full(k, n)
    # Of several writes to a place the last one stays: backwards, the first row.
    place[codes[::-1]] = np.arange(n - 1, -1, -1)
    order = np.argsort(place, kind="stable")
    return order[: int((place < n).sum())]


class Book:
    """A list of values, each with its number, that grows as values are seen."""

    def __init__(self, values: list[Any] | None = None) -> None:
        self.values: list[Any] = []
        self._number: dict[Any, int] = {}
        self._array: NDArray[Any] | None = None
        for value in values or []:
            self.add(value)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: Any) -> int:
        """Return the value's number; one not seen before gets the next."""
        number = self._number.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self._array = None
        return number

    def __contains__(self, value: Any) -> bool:
        return value in self._number

    def renumber(
        self, codes: IntArray, values: list[Any], *, grow: bool = True
    ) -> IntArray:
        """Return this book's numbers of values[codes], -1 for those it has not.

        Those that are new and occur are taken in first where it may `grow`.
        """
        table = np.full(len(values), -1)
        if grow and any(value not in self._number for value in values):
            for i in first_seen(codes, len(values)).tolist():
                self.add(values[i])
        for i, value in enumerate(values):
            table[i] = self._number.get(value, -1)
        return table[codes]

    def number_integers(self, values: NDArray[Any]) -> IntArray:
        """Return the numbers of integers, taking in those that are new."""
        if values.shape[0]:
            low, high = int(values.min()), int(values.max())
            if high - low < _NEAR:
                near = [self._number.get(value, -1) for value in range(low, high + 1)]
                numbers: IntArray = np.array(near, np.int64)[values - low]
                if numbers.min() >= 0:
                    return numbers
        distinct, codes = np.unique(values, return_inverse=True)
        return self.renumber(codes.reshape(-1), distinct.tolist())

    def array(self) -> NDArray[Any]:
        """Return all values, by number."""
        if self._array is None or self._array.shape[0] != len(self.values):
            self._array = np.array(self.values or np.zeros(0, np.int64))
        return self._array
