"""Rows that were predicted and wait for their labels, with the members' scores.

They are part of the model and of its file. There are at most `MOST_WAITING`: beyond
that, the oldest are dropped, as their labels may never arrive.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.schema import (
    MOST_COUNTED,
    ArraySchema,
    counts,
    reals,
)
from rpnb.labels import LabelIndex

#: Largest number of waiting rows.
MOST_WAITING: Final = 100_000
#: Names of arrays in a model file.
NUMBER, IDS, ROWS, SCORES = (
    f"waiting.{name}" for name in ("number", "ids", "rows", "scores")
)


@dataclass
class WaitingRows:
    """Rows by number, in the order in which they were predicted."""

    classes: LabelArray
    outputs: tuple[str, ...]
    """the classes and outputs that the scores are for"""
    number: int = 0
    """number of the next row"""
    rows: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    """by number: the row (p,) and its scores (K, M)"""

    def __deepcopy__(self, memo: dict[int, Any]) -> "WaitingRows":
        # The rows are replaced and removed, but never changed in place.
        return replace(self, rows=dict(self.rows))

    @property
    def ids(self) -> IntArray:
        """Numbers (w,) of the waiting rows, ascending."""
        return np.array([*self.rows], np.int64)

    def add(self, X: FloatArray, scores: FloatArray) -> IntArray:
        """Keep rows (n, p) with their scores (n, K, M); return their numbers."""
        ids = np.arange(self.number, self.number + X.shape[0])
        self.number += X.shape[0]
        for i, x, s in zip(ids.tolist(), X, scores, strict=True):
            self.rows[i] = (x.copy(), s.copy())
        for i in [*self.rows][: max(len(self.rows) - MOST_WAITING, 0)]:
            del self.rows[i]
        return ids

    def check(self, ids: Any) -> list[int]:
        """Return the numbers of waiting rows; refuse rows that do not wait."""
        given = np.asarray(ids)
        if given.size == 0:
            return []
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError(
                "ids must be the numbers that predict_later returned, in one dimension"
            )
        found: list[int] = given.tolist()
        if len(set(found)) < len(found):
            raise ValueError("ids must not contain a number twice")
        missing = [i for i in found if i not in self.rows]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            shown = ", ".join(map(str, missing[:3]))
            raise ValueError(
                f"ids must be rows that wait for their labels; {shown}{more} do not: "
                "they were learned, or never predicted by predict_later, or are older "
                f"than the last {MOST_WAITING:,} rows that wait"
            )
        return found

    def get(self, ids: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return rows (n, p) and their scores (n, K, M)."""
        pairs = [self.rows[i] for i in ids]
        return np.array([x for x, _ in pairs]), np.array([s for _, s in pairs])

    def remove(self, ids: Sequence[int]) -> None:
        """Forget rows."""
        for i in ids:
            del self.rows[i]

    def align(self, classes: LabelArray, outputs: Sequence[str]) -> None:
        """Arrange all scores by these classes and outputs.

        The score of a class that was not known is −∞; an output that did not exist
        scores 0 for all known classes.
        """
        outputs = tuple(outputs)
        if classes is self.classes and outputs == self.outputs:
            return
        index = LabelIndex(self.classes.tolist())
        source = index.find_all(classes.tolist())
        places = [
            self.outputs.index(name) if name in self.outputs else -1 for name in outputs
        ]
        for i, (x, old) in self.rows.items():
            new = np.full((len(outputs), classes.shape[0]), -np.inf)
            known = np.flatnonzero(source >= 0)
            before = old[:, source[known]]
            silent = np.where(np.isneginf(before[:1]), -np.inf, 0.0)
            for k, place in enumerate(places):
                new[k, known] = before[place] if place >= 0 else silent
            self.rows[i] = (x, new)
        self.classes, self.outputs = classes, outputs

    # Bytes, for callers that keep rows themselves

    def pack(self, scores: FloatArray) -> list[bytes]:
        """Return scores (n, K, M) of the current classes and outputs, row by row."""
        names = [self.classes.tolist(), list(self.outputs)]
        header = json.dumps(names).encode()
        start = struct.pack("<I", len(header)) + header
        return [start + each.astype("<f8").tobytes() for each in scores]

    def add_packed(self, X: FloatArray, packed: Sequence[bytes]) -> list[int]:
        """Add rows (n, p) with scores that `pack` has packed; return their numbers."""
        ids: list[int] = []
        for x, content in zip(X, packed, strict=True):
            size = 4 + struct.unpack_from("<I", content)[0]
            classes, outputs = json.loads(content[4:size])
            scores = np.frombuffer(content, "<f8", offset=size).astype(np.float64)
            one = WaitingRows(np.array(classes), tuple(outputs))
            one.rows[0] = (x, scores.reshape(len(outputs), len(classes)))
            one.align(self.classes, self.outputs)
            ids.append(self.number)
            self.rows[self.number] = one.rows[0]
            self.number += 1
        return ids

    # Files

    def to_arrays(self, p: int) -> dict[str, NDArray[Any]]:
        """Return all rows, of p numbers each, as arrays for a file."""
        K, M = len(self.outputs), self.classes.shape[0]
        X = np.array([x for x, _ in self.rows.values()])
        scores = np.array([s for _, s in self.rows.values()])
        return {
            NUMBER: np.array([self.number]),
            IDS: self.ids,
            ROWS: X.reshape(-1, p),
            SCORES: scores.reshape(-1, K, M),
        }


def rows_waiting(model: Any) -> WaitingRows:
    """Return the rows that a model keeps, with scores of its classes and members."""
    if model._waiting is None:
        model._waiting = WaitingRows(model.classes_, tuple(model._state.outputs))
    found: WaitingRows = model._waiting
    found.align(model.classes_, model._state.outputs)
    return found


def waiting_schema(
    shapes: Mapping[str, tuple[int, ...]], p: int, K: int, M: int
) -> dict[str, ArraySchema]:
    """Return the schema of waiting rows of p numbers in a file."""
    length = min(shapes[IDS][0] if shapes.get(IDS) else 0, MOST_WAITING)
    return {
        NUMBER: counts(1),
        IDS: counts(length),
        ROWS: reals(length, p, nan=True),
        SCORES: reals(length, K, M, infinite=True),
    }


def waiting_from_arrays(
    arrays: dict[str, NDArray[Any]], classes: LabelArray, outputs: Sequence[str]
) -> WaitingRows:
    """Return the rows from the arrays of `to_arrays`, removing these from `arrays`."""
    number, ids = int(arrays.pop(NUMBER)[0]), arrays.pop(IDS)
    X, scores = arrays.pop(ROWS), arrays.pop(SCORES)
    if (np.diff(ids) <= 0).any() or (ids >= number).any() or number > MOST_COUNTED:
        raise ValueError("its waiting rows are not numbered in order")
    if (scores == np.inf).any():
        raise ValueError("its waiting rows have an infinite score")
    waiting = WaitingRows(classes, tuple(outputs))
    for i, x, s in zip(ids.tolist(), X, scores, strict=True):
        waiting.rows[i] = (x.copy(), s.copy())
    waiting.number = number
    return waiting
