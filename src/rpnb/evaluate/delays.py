"""Late labels: the order in which rows are predicted and labels learned.

Row t of a stream arrives at a moment m(t); moments do not decrease. Its label arrives
at a(t), not before m(t), or never. The order of events is that of River's
`stream.simulate_qa`:

1. When row t arrives, labels of earlier rows with a ≤ m(t) are learned first, in the
   order of their arrival; labels that arrive together are learned in the order of rows.
2. Then row t is predicted.
3. Labels that have not arrived when the last row has been predicted are left over.

Hence a delay of 0 is the same as one of 1 row: the label is learned before the next row
is predicted. Without moments, m(t) = t.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import BoolArray, IntArray

#: Moments as 64-bit integers or floats; time stamps as their nanoseconds.
TimeArray = NDArray[Any]

_LAST = np.iinfo(np.int64).max


def never(times: TimeArray) -> Any:
    """Return the value for "never", in the type of the times."""
    return _LAST if times.dtype.kind == "i" else np.inf


class Event(NamedTuple):
    """Rows to be predicted, or learned, or each predicted and then learned."""

    predict: bool
    learn: bool
    rows: IntArray


@dataclass(frozen=True)
class Events:
    """Rows in the order in which they are predicted or learned."""

    rows: IntArray
    """(e,) numbers of the rows; a row may occur twice"""
    predict: BoolArray
    learn: BoolArray
    """(e,) whether each row is predicted, learned, or predicted and then learned"""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> "Events":
        return Events(self.rows[part], self.predict[part], self.learn[part])

    def __iter__(self) -> Iterator[Event]:
        """Yield runs of rows with the same action."""
        edges = self.edges()
        for begin, end in pairwise(edges):
            what = bool(self.predict[begin]), bool(self.learn[begin])
            yield Event(*what, self.rows[begin:end])

    def edges(self) -> list[int]:
        """Return the starts of all runs, and the end of the last."""
        p, q = self.predict, self.learn
        inner = np.flatnonzero((p[1:] != p[:-1]) | (q[1:] != q[:-1])) + 1
        return [0, *inner.tolist(), len(self)] if len(self) > 0 else []


@dataclass
class WaitingRows:
    """Rows whose labels have not arrived yet."""

    rows: IntArray
    """(w,) their numbers"""
    arrival: TimeArray
    """(w,) arrival times of their labels"""

    @classmethod
    def none(cls) -> "WaitingRows":
        """Return a record of no rows."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def advance(self, start: int, moment: TimeArray, arrival: TimeArray) -> Events:
        """Return the events of the next rows, and keep labels that are still to arrive.

        Labels that have arrived by the moment of the last of these rows are learned
        among them, the others by a later call.
        """
        stop = start + len(moment)
        rows = np.concatenate([self.rows, np.arange(start, stop)])
        times = np.concatenate([self.arrival, arrival])
        # A label is learned just before the first later row that does not arrive before
        # the label; `stop` stands for the next row.
        before = start + np.searchsorted(moment, times)
        before = np.maximum(before, rows + 1)
        arrived = times <= moment[-1]
        pending = ~arrived & (times < never(times))
        self.rows, self.arrival = rows[pending], times[pending]
        rows, times, before = rows[arrived], times[arrived], before[arrived]
        order = np.lexsort((rows, times, before))
        return _events(start, stop, rows[order], before[order])

    def rest(self) -> Events:
        """Return the events of all labels left over, in the order of their arrival."""
        order = np.lexsort((self.rows, self.arrival))
        rows = self.rows[order]
        self.rows, self.arrival = rows[:0], self.arrival[:0]
        always = np.ones(len(rows), np.bool_)
        return Events(rows, ~always, always)


def _events(start: int, stop: int, learned: IntArray, before: IntArray) -> Events:
    """Return predictions from start to stop, and the labels learned between them."""
    predicted = np.arange(start, stop)
    # Labels that are learned before row t come ahead of its prediction.
    keys = np.concatenate([2 * before, 2 * predicted + 1])
    order = np.argsort(keys, kind="stable")
    rows = np.concatenate([learned, predicted])[order]
    predict = order >= len(learned)
    learn = ~predict
    # A row that is learned right after its prediction does both at once.
    pair = np.flatnonzero(predict[:-1] & learn[1:] & (rows[:-1] == rows[1:]))
    learn[pair] = True
    kept = np.ones(len(rows), dtype=bool)
    kept[pair + 1] = False
    return Events(rows[kept], predict[kept], learn[kept])
