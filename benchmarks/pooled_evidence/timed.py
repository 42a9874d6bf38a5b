"""Rows in the order of time whose labels come in runs.

Files of two packages, seglearn 1.2.5 (`watch_dataset.npy`) and vega_datasets 0.9.0
(the three tables), and one that comes with River.
"""

import csv
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray

_EVERY = 25


def _read_watch(path: Path) -> tuple[FloatArray, IntArray]:
    """Return exercises by a watch's sensors: the recordings in turn, every 25th row."""
    data: dict[str, Any] = np.load(path, allow_pickle=True).item()
    X = np.concatenate(data["X"]).astype(np.float64)
    lengths = [len(rows) for rows in data["X"]]
    y = np.repeat(np.asarray(data["y"], np.int64), lengths)
    return np.ascontiguousarray(X[::_EVERY]), y[::_EVERY]


def _read_weather(path: Path) -> tuple[FloatArray, IntArray]:
    """Return the kind of weather of a day, by its date and what was measured."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = ("precipitation", "temp_max", "temp_min", "wind")
    X = [
        [_day(_time(row["date"])), *(float(row[name]) for name in names)]
        for row in rows
    ]
    kinds = np.unique([row["weather"] for row in rows], return_inverse=True)[1]
    return np.array(X), kinds.astype(np.int64)


def _read_temperatures(path: Path) -> tuple[FloatArray, IntArray]:
    """Return whether an hour is warmer than the median, by day and hour."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    times = [_time(row["date"]) for row in rows]
    X = np.array([[_day(time), float(time.hour)] for time in times])
    return X, _above([float(row["temp"]) for row in rows])


def _read_flow(path: Path) -> tuple[FloatArray, IntArray]:
    """Return whether an hour's flow of water is above the median, by day and hour."""
    from river.datasets import WaterFlow

    pairs = list(WaterFlow())
    X = [[float(x["Time"].weekday()), float(x["Time"].hour)] for x, _ in pairs]
    return np.array(X), _above([flow for _, flow in pairs])


#: By name, how the rows are read and the file, which is not needed for River's.
TIMED: dict[str, tuple[Callable[[Path], tuple[FloatArray, IntArray]], str]] = {
    "watch": (_read_watch, "watch_dataset.npy"),
    "seattle_weather": (_read_weather, "seattle-weather.csv"),
    "seattle_temperature": (_read_temperatures, "seattle-temps.csv"),
    "sf_temperature": (_read_temperatures, "sf-temps.csv"),
    "water_flow": (_read_flow, ""),
}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("/", "-"))


def _day(time: datetime) -> float:
    return float(time.timetuple().tm_yday)


def _above(values: list[float]) -> IntArray:
    return np.asarray(np.array(values) > np.median(values), np.int64)
