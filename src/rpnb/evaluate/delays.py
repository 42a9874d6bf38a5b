"""Labels that come late: when each is learned.

Row t of a stream arrives at a moment m(t); moments do not decrease. Its label arrives
at a(t), not before m(t), or never. The order of events is that of River's
`stream.simulate_qa`:

1. when row t arrives, labels of rows before it with a ≤ m(t) are learned first, in the
   order of their arrival, labels that arrive together in the order of their rows;
2. then row t is predicted;
3. labels that have not arrived when the last row has been predicted are left over.

So a delay of 0 and one of 1 row are alike: the label is learned before the next row is
predicted. Without moments, m(t) = t.
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
    """Return the time at which nothing arrives any more, in the times' type."""
    return _LAST if times.dtype.kind == "i" else np.inf


class Event(NamedTuple):
    """Some rows to be predicted, or learned, or each predicted and learned at once."""

    predict: bool
    learn: bool
    rows: IntArray


@dataclass(frozen=True)
class Events:
    """Rows in the order in which they are predicted or learned."""

    rows: IntArray
    """(e,) their numbers; a row may come twice"""
    predict: BoolArray
    learn: BoolArray
    """(e,) what is done with each: at least one of the two, learning last"""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> "Events":
        return Events(self.rows[part], self.predict[part], self.learn[part])

    def __iter__(self) -> Iterator[Event]:
        """Yield runs of rows with which the same is done."""
        edges = self.edges()
        for begin, end in pairwise(edges):
            what = bool(self.predict[begin]), bool(self.learn[begin])
            yield Event(*what, self.rows[begin:end])

    def edges(self) -> list[int]:
        """Return where runs begin, and the end of the last."""
        p, q = self.predict, self.learn
        inner = np.flatnonzero((p[1:] != p[:-1]) | (q[1:] != q[:-1])) + 1
        return [0, *inner.tolist(), len(self)] if len(self) > 0 else []


@dataclass
class WaitingRows:
    """Rows whose labels have not arrived, as far as the stream was read."""

    rows: IntArray
    """(w,) their numbers"""
    arrival: TimeArray
    """(w,) when their labels arrive"""

    @classmethod
    def none(cls) -> "WaitingRows":
        """Return a record of no rows."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def advance(self, start: int, moment: TimeArray, arrival: TimeArray) -> Events:
        """Return the events of the next rows, and keep the labels still to come.

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
        """Return the labels left over, in the order of their arrival."""
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
