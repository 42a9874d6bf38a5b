"""Labels as integers, in the order in which they are first seen."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import IntArray

NO_LABEL = -1
"""The number of None: there is no label, or no prediction."""

# Integers within a range smaller than this are looked up in a table.
_TABLE_SIZE = 256


def first_seen(codes: IntArray, k: int) -> IntArray:
    """Return the distinct codes, all in 0 … k−1, in order of first occurrence.

    >>> first_seen(np.array([2, 0, 2, 3]), 5)
    array([2, 0, 3])
    """
    n = codes.shape[0]
    first = np.full(k, n)
    # The last of several writes to an element wins: going backwards, that of the first
    # row.
    first[codes[::-1]] = np.arange(n - 1, -1, -1)
    order = np.argsort(first, kind="stable")
    return order[: int((first < n).sum())]


@dataclass(frozen=True, slots=True, eq=False)
class CodedLabels:
    """Labels of rows as indices into a table, so that each is looked up only once.

    >>> CodedLabels(np.array([1, 0, 1]), np.array(["cat", "dog"])).decoded().tolist()
    ['dog', 'cat', 'dog']
    """

    codes: IntArray
    """(n,) the index of each label in `values`, −1 for none"""
    values: NDArray[Any]
    """the labels; those that no code refers to are ignored"""

    def __len__(self) -> int:
        return self.codes.shape[0]

    def __getitem__(self, rows: Any) -> "CodedLabels":
        return CodedLabels(self.codes[rows], self.values)

    def decoded(self) -> NDArray[Any]:
        """Return the labels (n,); the dtype is object only if one of them is None."""
        codes, values = self.codes, self.values
        if codes.shape[0] == 1 and codes[0] >= 0:
            return values[codes]  # skip the reduction for a single row
        if codes.min(initial=0) < 0:
            known = codes >= 0
            labels = np.full(codes.shape[0], None, dtype=object)
            labels[known] = values[codes[known]]
            return labels
        return values[codes]


def join_coded(parts: Sequence[CodedLabels]) -> CodedLabels:
    """Concatenate parts whose codes refer to the same values."""
    if len(parts) == 1:
        return parts[0]
    size = max(part.values.shape[0] for part in parts)
    dtype = reduce(np.promote_types, [part.values.dtype for part in parts])
    values = np.zeros(size, dtype)
    for part in parts:
        there = part.codes[part.codes >= 0]
        values[there] = part.values[there]
    return CodedLabels(np.concatenate([part.codes for part in parts]), values)


class LabelIndex:
    """Labels and their numbers 0, 1, 2 …, in the order in which they were added.

    Labels that are equal in Python have one number: 1, 1.0, True and a NumPy integer 1
    are one label.

    Parameters
    ----------
    labels : iterable of hashable, optional
        The first labels.

    Examples
    --------
    >>> index = LabelIndex(["cat"])
    >>> index.of(["cat", "dog", None, "cat"])
    array([ 0,  1, -1,  0])
    >>> index.labels
    ('cat', 'dog')
    >>> index.find("bird") is None
    True
    """

    def __init__(self, labels: Iterable[Hashable] = ()) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._array: NDArray[Any] | None = None
        for label in labels:
            self.add(label)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, label: Hashable) -> bool:
        return label in self._numbers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelIndex):
            return NotImplemented
        return self.labels == other.labels

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LabelIndex({list(self._numbers)!r})"

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The labels, by number."""
        return tuple(self._numbers)

    def array(self) -> NDArray[Any]:
        """Return all labels as an array in which label i has the number i."""
        if self._array is None or self._array.shape[0] != len(self._numbers):
            self._array = np.array(list(self._numbers) or np.zeros(0, np.int64))
        return self._array

    # From labels to numbers

    def add(self, label: Hashable) -> int:
        """Return the number of a label; a new label gets the next one."""
        return self._numbers.setdefault(label, len(self._numbers))

    def find(self, label: Hashable) -> int | None:
        """Return the number of a label, None if it has not been added."""
        return self._numbers.get(label)

    def find_all(self, labels: Iterable[Hashable]) -> IntArray:
        """Return the number of each label, −1 for one that has not been added."""
        numbers = self._numbers
        return np.array([numbers.get(label, -1) for label in labels], np.int64)

    def of(self, labels: Iterable[Hashable] | NDArray[Any] | CodedLabels) -> IntArray:
        """Return the number of each label, adding new ones; None has `NO_LABEL`."""
        if isinstance(labels, CodedLabels):
            return self.of_codes(labels.codes, labels.values.tolist())
        if isinstance(labels, np.ndarray) and labels.dtype.kind == "i" and len(labels):
            return self._of_integers(labels)
        listed = labels.tolist() if isinstance(labels, np.ndarray) else labels
        numbers = self._numbers
        return np.array(
            [
                NO_LABEL if label is None else numbers.setdefault(label, len(numbers))
                for label in listed
            ],
            dtype=np.int64,
        )

    def _of_integers(self, labels: NDArray[Any]) -> IntArray:
        """Return the number of each integer, adding new ones."""
        low, high = int(labels.min()), int(labels.max())
        if high - low < _TABLE_SIZE:
            found: IntArray = self.find_all(range(low, high + 1))[labels - low]
            if found.min() >= 0:
                return found
        distinct, codes = np.unique(labels, return_inverse=True)
        return self.of_codes(codes.reshape(-1), distinct.tolist())

    def of_codes(
        self, codes: IntArray, values: Sequence[Hashable], *, add: bool = True
    ) -> IntArray:
        """Return the number of each label values[code], for labels that are encoded.

        Values that are new and occur are added first, in the order in which they
        occur; with add=False, a value that is not known has the number −1. The code −1
        has `NO_LABEL`.
        """
        if add and any(value not in self._numbers for value in values):
            for i in first_seen(codes[codes >= 0], len(values)).tolist():
                self.add(values[i])
        # No label, −1, is looked up in the last place.
        return np.append(self.find_all(values), NO_LABEL)[codes]

    def coded(self, labels: NDArray[Any]) -> CodedLabels:
        """Return numbered labels, adding new ones, and a table of their dtype."""
        numbers = self.of(labels)
        values = np.zeros(len(self), labels.dtype)
        values[numbers] = labels
        return CodedLabels(numbers, values)

    # And back

    def labels_of(self, numbers: IntArray) -> list[Hashable | None]:
        """Return the label of each number, None for `NO_LABEL`."""
        labels = [*self._numbers, None]
        return [labels[number] for number in numbers.tolist()]
