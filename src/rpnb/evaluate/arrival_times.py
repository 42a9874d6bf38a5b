"""Arrival times of rows and labels: the parameters `delay`, `arrival`, `moment`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.evaluate.delays import TimeArray, never
from rpnb.evaluate.stream_blocks import Block


@dataclass(frozen=True)
class ArrivalTimes:
    """Arrival times of rows and labels, as given by the user."""

    delay: Any = None
    """delay of labels: a scalar, one value per row of a table, or a column name"""
    arrival: Any = None
    """arrival times of labels, one per row or a column name; excludes `delay`"""
    moment: Any = None
    """times of the rows, one per row or a column name; None for row numbers"""

    def __post_init__(self) -> None:
        if self.delay is not None and self.arrival is not None:
            raise ValueError("delay and arrival cannot both be given: choose one")
        if self.moment is not None and self.immediate:
            raise ValueError("moment needs delay or arrival, got neither")
        if self.arrival is not None and _is_scalar(self.arrival):
            raise TypeError(
                "arrival must hold one time per row, or name a column, got "
                f"{self.arrival!r}; use delay for one number for all rows"
            )

    @property
    def immediate(self) -> bool:
        """Whether every label arrives with its row."""
        return self.delay is None and self.arrival is None

    @property
    def columns(self) -> list[str]:
        """Names of the columns that hold times, and are not features."""
        given = (self.delay, self.arrival, self.moment)
        return [each for each in given if isinstance(each, str)]

    def check_rows(self, n: int | None) -> None:
        """Check that arrays have a time for each of n rows; n is None for a stream."""
        for name in ("delay", "arrival", "moment"):
            values = getattr(self, name)
            if values is None or _is_scalar(values) or isinstance(values, str):
                continue
            if n is None:
                raise TypeError(
                    f"{name} must be {'one number or ' if name == 'delay' else ''}the "
                    "name of a column if the stream consists of chunks or rows, got an "
                    "array"
                )
            if np.shape(values) != (n,):
                raise ValueError(
                    f"{name} must have one value for each of the {n} rows, got shape "
                    f"{np.shape(values)}"
                )

    def read(self, block: Block, last: Any) -> tuple[TimeArray, TimeArray]:
        """Return the moments and the labels' arrival times of a block's rows.

        `last` is the moment of the previous row, or None.
        """
        numbers: IntArray = np.arange(block.start, block.stop)
        moment: TimeArray = numbers
        if self.moment is not None:
            moment = _times("moment", self._values(self.moment, block), block.start)
            _check_order(moment, last, block.start)
        if self.arrival is not None:
            arrival = _times("arrival", self._values(self.arrival, block), block.start)
            if (arrival.dtype.kind == "M") != (moment.dtype.kind == "M"):
                raise TypeError(
                    "arrival and moment must both hold time stamps or both numbers, "
                    f"got {arrival.dtype} and {moment.dtype}"
                )
        else:
            delay = _times("delay", self._delays(block), block.start)
            if (delay.dtype.kind == "m") != (moment.dtype.kind == "M"):
                raise TypeError(
                    "delay must be durations where moment holds time stamps, and "
                    f"numbers where it does not; got {delay.dtype} and {moment.dtype}"
                )
            zero = np.timedelta64(0, "ns") if delay.dtype.kind == "m" else 0
            _refuse("delay", delay < zero, delay, block.start, "be at least 0")
            arrival = moment + delay
        return _as_numbers(moment, arrival, block.start)

    def _delays(self, block: Block) -> Any:
        if _is_scalar(self.delay):
            return np.full(len(block), self.delay)
        return self._values(self.delay, block)

    def _values(self, given: Any, block: Block) -> Any:
        if isinstance(given, str):
            return column(block, given)
        return np.asarray(given)

    def features(self, block: Block) -> Block:
        """Return the block without the columns that hold times."""
        names = self.columns
        if not names:
            return block
        if isinstance(block.X, list):
            rows = [{k: v for k, v in x.items() if k not in names} for x in block.X]
            return replace(block, X=rows)
        kept = [name for name in block.X.columns if name not in names]
        return replace(block, X=block.X[kept])


def column(block: Block, name: str) -> Any:
    """Return a column of a block by name; refuse an unknown name."""
    X = block.X
    if isinstance(X, list):
        for i, x in enumerate(X):
            if name not in x:
                raise ValueError(f"row {block.start + i} has no feature {name!r}")
        return np.array([x[name] for x in X])
    if not hasattr(X, "columns"):
        raise TypeError(
            f"the column {name!r} needs named features, a frame or dicts, got "
            f"{type(X).__name__}"
        )
    if name not in X.columns:
        raise ValueError(f"X has no column {name!r}, only {list(X.columns)}")
    return X[name].to_numpy()


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, str) and np.ndim(value) == 0


def _times(name: str, values: Any, start: int) -> TimeArray:
    """Return times as integers, floats, time stamps or durations."""
    times = np.asarray(values)
    if times.dtype.kind == "O":
        times = np.array(times.tolist())
        if times.dtype.kind == "O":
            times = _stamps(times.tolist())
    if times.dtype.kind == "b" or times.dtype.kind not in "iufmM":
        raise TypeError(
            f"{name} must hold numbers, time stamps or durations, got {times.dtype}"
        )
    if times.dtype.kind == "M":
        return times.astype("datetime64[ns]")
    if times.dtype.kind == "m":
        return times.astype("timedelta64[ns]")
    if times.dtype.kind == "f":
        _refuse(name, np.isnan(times), times, start, "be a number, or inf for never")
        return times.astype(np.float64)
    return times.astype(np.int64)


def _stamps(values: Sequence[Any]) -> TimeArray:
    """Return Python time stamps or durations as an array of nanoseconds."""
    import datetime as dt

    if any(isinstance(value, int | float) for value in values):
        return np.array(values, dtype=object)  # numbers would become time stamps
    first = next((value for value in values if value is not None), None)
    kind = "timedelta64[ns]" if isinstance(first, dt.timedelta) else "datetime64[ns]"
    try:
        return np.array(values, dtype=kind)
    except (TypeError, ValueError):
        return np.array(values)


def _check_order(moment: TimeArray, last: Any, start: int) -> None:
    """Refuse moments that are missing, or earlier than the previous one."""
    missing = np.isnat(moment) if moment.dtype.kind == "M" else ~np.isfinite(moment)
    _refuse("moment", missing, moment, start, "be known and finite")
    plain = _plain(moment)
    before = plain[:1] if last is None else np.array([last])
    steps = np.concatenate([before, plain])
    wrong = steps[1:] < steps[:-1]
    _refuse("moment", wrong, moment, start, "not be earlier than in the previous row")


def _as_numbers(
    moment: TimeArray, arrival: TimeArray, start: int
) -> tuple[TimeArray, TimeArray]:
    """Return moments and arrival times as numbers of one type."""
    missing = np.isnat(arrival) if arrival.dtype.kind == "M" else None
    m, a = _plain(moment), _plain(arrival)
    if m.dtype != a.dtype:
        m, a = m.astype(np.float64), a.astype(np.float64)
    if missing is not None:
        a = np.where(missing, never(a), a)
    _refuse(
        "arrival", a < m, arrival, start, "not be earlier than the moment of its row"
    )
    return m, a


def _plain(times: TimeArray) -> TimeArray:
    """Return time stamps and durations as integers, numbers unchanged."""
    return times.astype(np.int64) if times.dtype.kind in "mM" else times


def _refuse(name: str, wrong: Any, values: Any, start: int, rule: str) -> None:
    """Raise an error for the first wrong value, with its row, if there is one."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must {rule}, got {values[row]} in row {start + row}")
